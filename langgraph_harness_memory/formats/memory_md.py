"""`MEMORY.md`: Markdown that a model curates and a person edits, and where its earlier versions lie.

Only lines matter here: a line that is neither blank nor a heading holds a fact. Headings are kept and carry no meaning.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from langgraph_harness_memory.formats.daily_log import bullet_text
from langgraph_harness_memory.identifiers import content_hash

PATH = "MEMORY.md"
BACKUPS = "memory/.backups"
REJECTED = "memory/.rejected"
PROPOSAL = "MEMORY.proposed.md"
"""What consolidation proposes in review mode; stands beside `MEMORY.md` until a person accepts or rejects it."""

_HEADING = re.compile(r"\ufeff?#{1,6}(?:\s|$)")
_RULE = re.compile(r"\s*(?:[-*_=]\s*){3,}$")
_BACKUP = re.compile(r"memory/\.backups/MEMORY-(\d{8}T\d{12})Z-([0-9a-f]{8})\.md")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """A line of `MEMORY.md` that says something."""

    number: int
    """Its line, from 1."""
    text: str
    """Without bullet and outer blanks."""
    heading: str
    """The nearest heading above; empty where there is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    """An earlier `MEMORY.md`."""

    name: str
    """What to pass to `restore`."""
    path: str
    at: datetime
    """When it was replaced, aware, UTC."""


def facts(text: str) -> tuple[Fact, ...]:
    """Return the lines that say something, in order."""
    found: list[Fact] = []
    heading = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if _HEADING.match(line):
            heading = line.removeprefix("\ufeff").lstrip("#").strip()
        elif (said := bullet_text(line.strip("\ufeff\r\x00"))) and not _RULE.fullmatch(line.rstrip("\r")):
            found.append(Fact(number=number, text=said, heading=heading))
    return tuple(found)


def without(text: str, is_gone: Callable[[str], bool]) -> str:
    """Return a memory without the facts that are gone; every other line stays as it is.

    Args:
        text: The memory.
        is_gone: Judges a fact without bullet and outer blanks.
    """
    gone = {fact.number for fact in facts(text) if is_gone(fact.text)}
    return "\n".join(line for number, line in enumerate(text.split("\n"), start=1) if number not in gone)


def cut(text: str, budget: int) -> str:
    """Return as many whole lines from the top as fit into a number of characters, the final newline included."""
    if len(text) <= budget:
        return text
    end = text.rfind("\n", 0, max(budget, 0))
    return text[: end + 1]


def tidy(text: str) -> str:
    """End a memory with exactly one newline and without blanks at line ends."""
    return "\n".join(line.rstrip() for line in text.strip("\n\r\ufeff").split("\n")) + "\n"


def versions(paths: Iterable[str]) -> tuple[Version, ...]:
    """Return the earlier versions among the paths of the backup folder, newest first."""
    found: list[Version] = []
    for path in paths:
        name = _BACKUP.fullmatch(path)
        if name:
            at = datetime.strptime(name[1], "%Y%m%dT%H%M%S%f").replace(tzinfo=UTC)
            found.append(Version(name=path.removeprefix(f"{BACKUPS}/").removesuffix(".md"), path=path, at=at))
    return tuple(sorted(found, key=lambda version: version.name, reverse=True))


def version_path(name: str) -> str | None:
    """Return the path of a version by its name; `None` where the name is no version's."""
    path = f"{BACKUPS}/{name}.md"
    return path if _BACKUP.fullmatch(path) else None


def rejected_path(at: datetime, text: str) -> str:
    """Return where a text that was refused at this moment is kept."""
    digest = content_hash(text.encode("utf-8", "surrogatepass"))[:8]
    return f"{REJECTED}/{at.astimezone(UTC):%Y%m%dT%H%M%S%fZ}-{digest}.md"
