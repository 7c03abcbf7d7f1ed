"""The stones of what was forgotten, from within rules."""

from datetime import UTC, datetime

from langgraph_harness_memory.curation.tombs import change_tombstones, read_tombstones
from langgraph_harness_memory.curation.wording import words
from langgraph_harness_memory.errors import UnreadableFile, WorkspaceError
from langgraph_harness_memory.formats import tombstones
from langgraph_harness_memory.formats.tombstones import Tombstones
from langgraph_harness_memory.steps import Conflict, WriteText

AT = datetime(2026, 4, 12, 9, 30, tzinfo=UTC)
STONES = Tombstones(key="ab" * 8).with_stone(words("Has a cat called Ivy"), at=AT)


def test_no_stones_cover_nothing(world):
    """A memory in which nothing was forgotten."""
    stones = world.run(read_tombstones("alice"))
    assert stones.stones == ()
    assert not stones.covers(words("anything"))


def test_damaged_stones_are_never_taken_for_none(world):
    """Neither read nor written over; the message says what to do."""
    world.put(tombstones.PATH, "[]")
    for rule in (read_tombstones(None), change_tombstones(None, lambda old: STONES, key="cd" * 8)):
        failed = world.run(rule)
        assert isinstance(failed.error, UnreadableFile)
        assert str(failed.error).startswith("memory/.tombstones")
        assert str(failed.error).endswith("; mend or remove it, and forget again what it named")
    assert world.text(tombstones.PATH) == "[]"


def test_the_first_stone_takes_the_key_that_is_given(world):
    """Later ones are hashed with the key that stands."""
    add = lambda old: old.with_stone(words("tea"), at=AT)  # noqa: E731  two lines of a function would say no more
    assert world.run(change_tombstones(None, add, key="cd" * 8)).key == "cd" * 8
    assert world.run(change_tombstones(None, add, key="ef" * 8)).key == "cd" * 8
    assert len(tombstones.parse(world.text(tombstones.PATH)).stones) == 1


def test_an_unchanged_file_of_stones_is_not_written(world):
    """Not even where there was none."""
    world.run(change_tombstones(None, lambda old: old, key="cd" * 8))
    assert world.files == {}


def test_stones_that_somebody_else_changes_each_time_are_given_up(world):
    """After five tries; it says what to do."""
    answer = world._answer
    world._answer = lambda step: Conflict() if isinstance(step, WriteText) else answer(step)
    failed = world.run(change_tombstones(None, lambda old: STONES, key="cd" * 8))
    assert isinstance(failed.error, WorkspaceError)
    assert str(failed.error) == "memory/.tombstones changed 5 times while it was written; try again"
    assert sum(isinstance(step, WriteText) for step in world.steps) == 5
