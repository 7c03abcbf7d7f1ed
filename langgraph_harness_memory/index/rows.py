"""Rows: the lines of a memory file, as the index keeps them.

A row is one line with content, what stands above it, and its terms. Headings that this package wrote are not rows of
their own; headings of people are, since a person may look for them. Which line is what comes from `formats`.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from langgraph_harness_memory.formats import daily_log
from langgraph_harness_memory.index.dates import day_in
from langgraph_harness_memory.index.text import terms_of

BLANK = " \t\r\v\f\0\ufeff"
"""What a line may hold and still say nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Above:
    """What stands above the next line of a file, so that a file that only grew is read from where it ended."""

    number: int = 0
    """Lines above, blank ones too."""
    heading: str = ""
    """The nearest heading, as a person sees it."""
    day: str = ""
    """ISO day that the lines belong to; empty = none."""
    source: str = ""
    """Where the block says its lines come from; empty = nothing is said."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line with content."""

    number: int
    text: str
    terms: str
    """Its terms, joined by blanks."""
    heading: str
    day: str
    source: str
    is_heading: bool


def is_indexed(path: str) -> bool:
    """Say whether a file of a tenant's tree is memory: `MEMORY.md`, daily logs, the archive and knowledge.

    What records changes is left out, since it holds what was dropped; so is everything hidden.
    """
    parts = path.split("/")
    if not path.lower().endswith(".md") or any(part.startswith(".") or not part for part in parts):
        return False
    match parts:
        case ["MEMORY.md"]:
            return True
        case ["memory", name] | ["memory", "archive", name]:
            return name != "CHANGES.md"
        case ["knowledge", *_]:
            return True
        case _:
            return False


def is_never_indexed(path: str) -> bool:
    """Say whether a text may not enter the index even when it is handed in: it is hidden, or no memory of this tenant."""
    parts = path.split("/")
    hidden = any(part.startswith(".") or not part for part in parts)
    return hidden or path == "memory/CHANGES.md" or parts[0] in {"users", "sessions", "large_tool_results"}


def rows_of(path: str, text: str, above: Above | None = None) -> tuple[list[Row], Above]:
    """Cut a file, or what was added to it, into rows.

    Args:
        path: The file, relative to its tenant's root.
        text: Its text, or the text after `above`.
        above: Where the text begins; `None` = at the top of the file.

    Returns:
        The rows in order, and what stands above the line after the last complete one.
    """
    logged = daily_log.day_of(path)
    state = above or Above(day=logged.isoformat() if logged else "")
    start = state.number
    rows: list[Row] = []
    for section in daily_log.parse(text):
        number = start + section.first_line
        if section.title:
            state = _below(section, number, state, day_is_fixed=logged is not None)
            if section.heading is None:
                rows += _row(number, section.title, state, is_heading=True)
            number += 1
        for line in section.lines:
            rows += _row(number, line, state, is_heading=False)
            number += 1
    complete = start + text.count("\n")
    return rows, Above(number=complete, heading=state.heading, day=state.day, source=state.source)


def _below(section: daily_log.Section, number: int, state: Above, *, day_is_fixed: bool) -> Above:
    heading = daily_log.visible(section.title)
    source = ", ".join(section.heading.sources) if section.heading else ""
    named = None if day_is_fixed else day_in(heading)
    day = state.day if day_is_fixed else (named.isoformat() if named else "")
    return Above(number=number, heading=heading, day=day, source=source)


def _row(number: int, line: str, above: Above, *, is_heading: bool) -> Iterator[Row]:
    content = line.rstrip("\r\n")
    if content.strip(BLANK):
        yield Row(number, content, " ".join(terms_of(content)), above.heading, above.day, above.source, is_heading)


def occurrences(rows: Iterable[str]) -> Counter[str]:
    """Count in how many of these rows each term stands; a row is given by its joined terms."""
    return Counter(term for terms in rows for term in set(terms.split()))


@dataclass(frozen=True, kw_only=True, slots=True)
class Marks:
    """Where the complete lines of a file end, and hashes that tell whether it only grew."""

    size: int
    """Bytes of its complete lines."""
    prefix: str
    """Hash of these bytes."""
    whole: str
    """Hash of the file."""


def marks_of(data: bytes) -> Marks:
    """Measure a file's bytes."""
    size = data.rfind(b"\n") + 1
    digest = hashlib.sha256(data[:size])
    prefix = digest.hexdigest()
    digest.update(data[size:])
    return Marks(size=size, prefix=prefix, whole=digest.hexdigest())


def only_grew(data: bytes, before: Marks) -> bool:
    """Say whether a file's earlier complete lines still stand at its top, byte for byte."""
    return len(data) >= before.size and hashlib.sha256(data[: before.size]).hexdigest() == before.prefix


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """What turns the stored rows of a file into its present ones."""

    removed: list[int]
    """Places of stored rows that are gone, from 0."""
    added: list[Row]
    """Rows to write."""
    shifted_from: int
    """Place of the first stored row after the change."""
    shift: int
    """How many lines those rows moved down; negative = up."""


def changes(before: list[Row], after: list[Row]) -> Changes:
    """Compare stored with present rows: what is equal at the top and at the bottom stays.

    Rows below a change keep their index entries and only take their new number.
    """
    top = 0
    while top < min(len(before), len(after)) and before[top] == after[top]:
        top += 1
    low = 0
    rest = min(len(before), len(after)) - top
    shift = after[-1].number - before[-1].number if before and after else 0
    while low < rest and _same_but_moved(before[-1 - low], after[-1 - low], shift):
        low += 1
    return Changes(
        removed=list(range(top, len(before) - low)),
        added=after[top : len(after) - low],
        shifted_from=len(before) - low,
        shift=shift if low else 0,
    )


def _same_but_moved(old: Row, new: Row, shift: int) -> bool:
    return (
        old.text == new.text
        and old.number + shift == new.number
        and (old.heading, old.day, old.source, old.is_heading) == (new.heading, new.day, new.source, new.is_heading)
    )
