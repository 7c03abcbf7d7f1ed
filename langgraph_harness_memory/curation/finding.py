"""Which lines of a memory speak of what is to be forgotten."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from langgraph_harness_memory.curation.wording import share, words
from langgraph_harness_memory.errors import SettingError
from langgraph_harness_memory.formats import daily_log, memory_md
from langgraph_harness_memory.formats.daily_log import BlockHeading
from langgraph_harness_memory.formats.tombstones import Tombstones
from langgraph_harness_memory.steps import Failed, Steps, list_files, read_text

ABOUT = 0.5
"""Part of a fact's words that a message must hold to be where the fact came from."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """What is to be forgotten: every line about something, or lines that were pointed at."""

    query: str | None = None
    """Every line that holds all words of this."""
    path: str | None = None
    """`MEMORY.md`, a daily log or an archived one."""
    lines: tuple[int, int] | None = None
    """First and last line in `path`, from 1."""

    def __post_init__(self) -> None:
        if (self.query is None) == (self.path is None):
            raise SettingError.refused("forget", self, "give either query, or path and lines")
        if self.query is not None and not words(self.query):
            raise SettingError.refused("forget.query", self.query, "name at least one word")
        if self.path is not None and self.path != memory_md.PATH and daily_log.day_of(self.path) is None:
            raise SettingError.refused(
                "forget.path", self.path, "give MEMORY.md or a daily log such as memory/2026-04-12.md"
            )
        if self.path is not None and (self.lines is None or not 1 <= self.lines[0] <= self.lines[1]):
            raise SettingError.refused("forget.lines", self.lines, "give the first and the last line, from 1")


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A line that is to be forgotten."""

    path: str
    number: int
    text: str
    heading: BlockHeading | None = None
    """Its block's heading, which names the conversation that still holds it."""


def find(tenant: str | None, target: Target) -> Steps[tuple[Found, ...] | Failed]:
    """Return the lines of both layers and the archive that a target names, for a person to look at first."""
    paths = yield from memory_files(tenant)
    if isinstance(paths, Failed):
        return paths
    found: list[Found] = []
    for path in paths if target.path is None else (target.path,):
        text = yield from read_text(tenant, path)
        if isinstance(text, Failed):
            return text
        found += _named(path, text.text if text else "", target)
    return tuple(found)


def memory_files(tenant: str | None) -> Steps[tuple[str, ...] | Failed]:
    """Return the files of both layers and the archive."""
    paths = yield from list_files(tenant, daily_log.FOLDER)
    if isinstance(paths, Failed):
        return paths
    return (memory_md.PATH, *(path for path in paths if daily_log.day_of(path)))


def said_lines(path: str, text: str) -> Iterator[Found]:
    """Give each line that says something, headings that a person wrote too."""
    for section in daily_log.parse(text):
        if section.title and section.heading is None and (title := daily_log.visible(section.title)):
            yield Found(path=path, number=section.first_line, text=title)
    for line in daily_log.lines(text):
        yield Found(path=path, number=line.number, text=line.text, heading=line.heading)


def is_about(query: str) -> Callable[[str], bool]:
    """Return a test whether a text holds all words of a query."""
    asked = words(query)
    return lambda text: asked <= words(text)


def is_gone(target: Target, stones: Tombstones) -> Callable[[str], bool]:
    """Return the test for everything that a target takes: what it names, and what says the same in other words.

    Args:
        target: What is to be forgotten.
        stones: The stones of the lines that it named, and no others.
    """
    named = is_about(target.query) if target.query is not None else lambda _: False
    return lambda text: named(text) or stones.covers(words(text))


def comes_from(fact: str, message: str) -> bool:
    """Say whether a message is where a fact may have come from."""
    return share(words(fact), words(message)) >= ABOUT


def _named(path: str, text: str, target: Target) -> Iterator[Found]:
    if target.query is not None:
        about = is_about(target.query)
        yield from (line for line in said_lines(path, text) if about(line.text))
    elif target.lines is not None:
        first, last = target.lines
        yield from (line for line in said_lines(path, text) if first <= line.number <= last)
