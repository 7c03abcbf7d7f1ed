r"""Daily logs: `memory/YYYY-MM-DD.md`, append-only Markdown that a person may edit.

A block is what one flush wrote. Its heading says when, from which conversation, from which messages and from whom;
the machine part stands in a comment that Markdown does not show:

    ## 2026-04-12 03:53 +08:00 · session t1 · messages 0-5 · from user, assistant <!-- harness-memory {"v":1,…} -->
    - Chose Alembic for the database migration

    ## … · from tool:web_search <!-- harness-memory {…,"part":2,"parts":2} -->
    - The release notes name May 3rd

What one flush took from different sources stands in parts of one block, so that each line has one provenance. Lines
that a person writes, with headings of their own or none, are lines like any other. Only `\n` ends a line: no other
separator that a text may hold can begin one.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from langgraph_harness_memory.identifiers import PLAIN, file_stem

VERSION = 1
"""Version of the machine part of a heading."""

FOLDER = "memory"
ARCHIVE = "memory/archive"

_LOG_PATH = re.compile(r"(?:memory|memory/archive)/(\d{4}-\d{2}-\d{2})(?:-\d+)?\.md")
_MACHINE = re.compile(r"\s*<!-- harness-memory (\{.*\}) -->\s*$")
_HEADING = re.compile(r"\ufeff?#{1,6}(?:\s|$)")
_BULLET = re.compile(r"\s*(?:[-*+•]\s+|\d{1,3}[.)]\s+)")
_SEPARATORS = re.compile(r"[\s\x1c-\x1f\x85\u2028\u2029]+")
_HIDDEN = re.compile("[\x00-\x08\x0e-\x1b\x7f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
_BACKSLASH = "\\"
_FORGED = re.compile(r"#{1,6}(?:\s|$)|`{3}|~{3}")


@dataclass(frozen=True, kw_only=True, slots=True)
class BlockHeading:
    """What the heading of a block says."""

    at: datetime
    """When it was written, aware, in the zone that named the file."""
    session: str | None
    """The conversation's id as it is; `None` = no conversation."""
    positions: frozenset[int] = frozenset()
    """Log positions of the messages that the whole block covers; the same in each of its parts."""
    sources: tuple[str, ...] = ()
    """Whose words the lines of this part come from: `user`, `assistant`, `tool:<name>`; empty = not known."""
    size: int = 0
    """Bytes of the lines that were written below it, line ends left out; fewer stand there when a write was torn."""
    part: int = 1
    """Which part of its block this is, from 1."""
    parts: int = 1
    """How many parts the block has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A heading and what stands below it, up to the next; byte for byte as in the file."""

    title: str
    """The heading's line with its ending; empty above the first heading."""
    heading: BlockHeading | None
    """What it says, where it is one of ours."""
    lines: tuple[str, ...]
    """The lines below, with their endings."""
    first_line: int
    """Number of the section's first line, from 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LogLine:
    """A line with content: neither blank nor a heading."""

    number: int
    """From 1."""
    content: str
    """As it stands in the file, without its ending."""
    title: str
    """The nearest heading above as a person sees it; empty where there is none."""
    heading: BlockHeading | None
    """What that heading says, where it is one of ours."""

    @property
    def source(self) -> str:
        """Whose words it comes from, for hits; empty where nothing is said."""
        return ", ".join(self.heading.sources) if self.heading else ""

    @property
    def text(self) -> str:
        """The content without bullet and outer blanks."""
        return bullet_text(self.content)


def log_path(day: str) -> str:
    """Return the daily log of a day `YYYY-MM-DD`."""
    return f"{FOLDER}/{day}.md"


def archive_path(day: str, copy: int = 1) -> str:
    """Return where a day's log lies in the archive; a second file of one day is copy 2."""
    return f"{ARCHIVE}/{day}.md" if copy == 1 else f"{ARCHIVE}/{day}-{copy}.md"


def day_of(path: str) -> date | None:
    """Return the day a daily or archived log belongs to; `None` for any other path and for days that do not exist."""
    found = _LOG_PATH.fullmatch(path)
    if not found:
        return None
    try:
        return date.fromisoformat(found[1])
    except ValueError:
        return None


def fact_line(text: str) -> str:
    """Turn a fact into one bullet that cannot begin a heading, a block or a comment.

    Line ends of every kind become blanks, characters that do not show are dropped, and what Markdown would take for
    structure at the start of a bullet is escaped.
    """
    flat = _SEPARATORS.sub(" ", _HIDDEN.sub("", text)).strip()
    flat = flat.replace("<!--", "&lt;!--").replace("-->", "--&gt;")
    return f"- {_BACKSLASH if _FORGED.match(flat) else ''}{flat}\n"


def bullet_text(line: str) -> str:
    """Return a line's text without its bullet and outer blanks."""
    marker = _BULLET.match(line)
    return line[marker.end() if marker else 0 :].strip()


def render_heading(heading: BlockHeading) -> str:
    """Write a heading's line, its ending included."""
    title = [heading.at.strftime("%Y-%m-%d %H:%M ") + _offset(heading.at)]
    if heading.session is not None:
        plain = PLAIN.fullmatch(heading.session)
        title.append(f"session {heading.session if plain else file_stem(heading.session)}")
    if heading.positions:
        title.append(f"messages {render_positions(heading.positions)}")
    if heading.sources:
        title.append(f"from {', '.join(_label(source) for source in heading.sources)}")
    return f"## {' · '.join(title)} <!-- harness-memory {_machine_part(heading)} -->\n"


def render_block(parts: Sequence[tuple[BlockHeading, Sequence[str]]]) -> str:
    """Write a block of one or more parts, ready to be appended.

    Args:
        parts: Each part's heading and facts; sizes and part numbers are filled in here.

    Returns:
        Whole lines and a blank one at the end, so that blocks stand apart.
    """
    out: list[str] = []
    for number, (heading, facts) in enumerate(parts, start=1):
        lines = [fact_line(fact) for fact in facts]
        out.append(render_heading(replace(heading, size=_size(lines), part=number, parts=len(parts))))
        out += [*lines, "\n"]
    return "".join(out)


def parse_heading(line: str) -> BlockHeading | None:
    """Read a heading of ours; `None` for any other line."""
    found = _MACHINE.search(line) if line.removeprefix("\ufeff").startswith("## ") else None
    if not found:
        return None
    try:
        fields = json.loads(found[1])
        return _heading_from(fields)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def visible(line: str) -> str:
    """Return a heading as a person sees it: without hashes and machine part. Other lines stay as they are."""
    if not _HEADING.match(line):
        return line
    return _MACHINE.sub("", line.removeprefix("\ufeff").rstrip("\r\n")).lstrip("#").strip()


def parse(text: str) -> tuple[Section, ...]:
    """Read a daily log, or any Markdown, section by section; `render` gives the same text back."""
    sections: list[Section] = []
    title, below, first = "", list[str](), 1
    for number, line in enumerate(_split(text), start=1):
        if not _HEADING.match(line):
            below.append(line)
            continue
        if title or below:
            sections.append(_section(title, below, first))
        title, below, first = line, [], number
    if title or below:
        sections.append(_section(title, below, first))
    return tuple(sections)


def render(sections: Sequence[Section]) -> str:
    """Write sections as they were read."""
    return "".join(section.title + "".join(section.lines) for section in sections)


def lines(text: str) -> Iterator[LogLine]:
    """Give each line with content, with what the nearest heading above says of it."""
    for section in parse(text):
        shown = visible(section.title)
        start = section.first_line + (1 if section.title else 0)
        for number, line in enumerate(section.lines, start=start):
            content = line.rstrip("\r\n")
            if content.strip("\ufeff \t\v\f\x00"):
                yield LogLine(number=number, content=content, title=shown, heading=section.heading)


def covered(text: str, session: str) -> frozenset[int]:
    """Return the log positions of a session that whole blocks of this log cover.

    A block whose write was torn holds less than its heading says, or lacks a part, and covers nothing.
    """
    parts: dict[tuple[frozenset[int], datetime], set[int]] = {}
    positions: set[int] = set()
    for section in parse(text):
        heading = section.heading
        if heading is None or heading.session != session or not heading.positions:
            continue
        if _size(section.lines) < heading.size:
            continue
        whole = parts.setdefault((heading.positions, heading.at), set())
        whole.add(heading.part)
        if whole >= set(range(1, heading.parts + 1)):
            positions |= heading.positions
    return frozenset(positions)


def without_lines(data: bytes, numbers: frozenset[int]) -> bytes:
    """Return a file without some of its lines; every other byte stays, valid UTF-8 or not, and sizes in headings follow.

    Args:
        data: The file.
        numbers: Lines to remove, from 1; headings of ours stay.
    """
    text = data.decode("latin-1")
    kept: list[Section] = []
    for section in parse(text):
        start = section.first_line + (1 if section.title else 0)
        below = tuple(line for number, line in enumerate(section.lines, start=start) if number not in numbers)
        gone = sum(len(line.rstrip("\r\n")) for line in section.lines) - sum(len(line.rstrip("\r\n")) for line in below)
        title = section.title
        if section.heading:
            title = (
                _resized(title, replace(section.heading, size=max(section.heading.size - gone, 0))) if gone else title
            )
        elif section.first_line in numbers:
            title = ""
        kept.append(replace(section, title=title, lines=below))
    return render(kept).encode("latin-1")


def render_positions(positions: frozenset[int]) -> str:
    """Write log positions as ranges: `0-5,7`."""
    spans: list[list[int]] = []
    for position in sorted(positions):
        if spans and position == spans[-1][1] + 1:
            spans[-1][1] = position
        else:
            spans.append([position, position])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def parse_positions(text: str) -> frozenset[int]:
    """Read ranges of log positions.

    Raises:
        ValueError: They are no ranges, or name more positions than a session can hold.
    """
    positions: set[int] = set()
    for span in filter(None, text.split(",")):
        first, _, last = span.partition("-")
        start, end = int(first), int(last or first)
        if not 0 <= end - start <= 1_000_000:
            raise ValueError(f"{span!r} is no range of log positions")
        positions.update(range(start, end + 1))
    return frozenset(positions)


def _split(text: str) -> list[str]:
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _section(title: str, below: list[str], first: int) -> Section:
    return Section(title=title, heading=parse_heading(title), lines=tuple(below), first_line=first)


def _size(below: Sequence[str]) -> int:
    return sum(len(line.rstrip("\r\n").encode("utf-8", "surrogatepass")) for line in below)


def _resized(title: str, heading: BlockHeading) -> str:
    bare = title.rstrip("\r\n")
    shown = bare[: bare.index("<!-- harness-memory ")]
    return f"{shown}<!-- harness-memory {_machine_part(heading)} -->{title[len(bare) :]}"


def _offset(at: datetime) -> str:
    digits = at.strftime("%z") or "+0000"
    return f"{digits[:3]}:{digits[3:5]}"


def _label(source: str) -> str:
    return fact_line(source)[2:-1].replace("·", "-")


def _machine_part(heading: BlockHeading) -> str:
    fields: dict[str, Any] = {"v": VERSION, "at": heading.at.isoformat(timespec="seconds")}
    if heading.session is not None:
        fields["session"] = heading.session
    if heading.positions:
        fields["messages"] = render_positions(heading.positions)
    fields |= {"from": list(heading.sources), "size": heading.size}
    if heading.parts > 1:
        fields |= {"part": heading.part, "parts": heading.parts}
    plain = json.dumps(fields, separators=(",", ":"))
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("--", "-\\u002d")


def _heading_from(fields: dict[str, Any]) -> BlockHeading | None:
    at = datetime.fromisoformat(fields["at"])
    session, sources = fields.get("session"), fields.get("from", [])
    numbers = [fields.get("size", 0), fields.get("part", 1), fields.get("parts", 1)]
    well_formed = (
        isinstance(fields["v"], int)
        and at.tzinfo is not None
        and (session is None or isinstance(session, str))
        and isinstance(sources, list)
        and all(isinstance(source, str) for source in sources)
        and all(isinstance(number, int) and 0 <= number < 1_000_000_000 for number in numbers)
    )
    if not well_formed:
        return None
    return BlockHeading(
        at=at,
        session=session,
        positions=parse_positions(fields.get("messages", "")),
        sources=tuple(sources),
        size=numbers[0],
        part=numbers[1],
        parts=numbers[2],
    )
