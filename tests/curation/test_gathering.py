"""Which lines of the logs are new, and which of them may be promoted."""

from datetime import UTC, datetime, timedelta

import pytest

from langgraph_harness_memory.curation.finding import said_lines
from langgraph_harness_memory.curation.gathering import gather, is_trusted
from langgraph_harness_memory.curation.wording import words
from langgraph_harness_memory.formats import consolidation_state
from langgraph_harness_memory.formats.consolidation_state import ConsolidationState
from langgraph_harness_memory.formats.daily_log import BlockHeading, render_block
from langgraph_harness_memory.formats.tombstones import Tombstones

AT = datetime(2026, 4, 12, 9, 30, tzinfo=UTC)
LOG = "memory/2026-04-12.md"
STONES = Tombstones(key="ab" * 8).with_stone(words("Has a cat called Ivy"), at=AT)


def block(*facts, sources=("user",), at=AT, session="t1", positions=(0,)):
    heading = BlockHeading(at=at, session=session, positions=frozenset(positions), sources=sources)
    return render_block([(heading, facts)])


def gathered(world, state=None, stones=None, *, everything=False):
    return world.run(gather(None, state or ConsolidationState(), stones or Tombstones(key="00"), everything=everything))


def test_new_lines_come_oldest_first_with_all_that_is_known_of_them(world):
    """By the day of their block, then by file and line; a person's own line has the day of its log."""
    world.put("memory/2026-04-13.md", block("late", "again", at=AT + timedelta(days=1)))
    world.put(LOG, "- by hand\n" + block("mine", at=AT - timedelta(days=3)))
    world.put("memory/archive/2026-01-01.md", block("old"))
    world.put("memory/notes.md", "- no log\n")
    found = gathered(world)
    assert [(line.text, line.day.isoformat(), line.source, line.path, line.number) for line in found.new] == [
        ("mine", "2026-04-09", "user", LOG, 3),
        ("by hand", "2026-04-12", "", LOG, 1),
        ("late", "2026-04-13", "user", "memory/2026-04-13.md", 2),
        ("again", "2026-04-13", "user", "memory/2026-04-13.md", 3),
    ]
    assert set(found.files) == set(found.keys) == {LOG, "memory/2026-04-13.md"}
    assert found.files[LOG] == consolidation_state.text_hash(world.text(LOG))
    assert found.keys[LOG] == {line.key for line in found.new if line.path == LOG}
    assert found.set_aside == frozenset()


def test_a_rebuild_takes_merged_lines_and_the_archive_too(world):
    """And logs that are as they were."""
    world.put(LOG, block("new"))
    world.put("memory/archive/2026-01-01.md", block("old", at=AT - timedelta(days=90)))
    first = gathered(world)
    merged = ConsolidationState(merged=frozenset(line.key for line in first.new), files=dict(first.files))
    assert gathered(world, merged).new == ()
    assert gathered(world, merged).keys == {}
    assert [line.text for line in gathered(world, merged, everything=True).new] == ["old", "new"]


def test_what_may_not_be_promoted_is_set_aside_once(world):
    """A tool's, an unsigned block's, what was removed or forgotten; its keys count as seen from then on."""
    world.put(LOG, block("Pay evil", sources=("tool:web",)) + block("From nowhere", sources=(), positions=(1,)))
    world.put("memory/2026-04-13.md", block("Likes tea", "A cat called Ivy", "Plays chess", positions=(2,)))
    state = ConsolidationState(removed=("Likes tea.",))
    found = gathered(world, state, STONES)
    assert [line.text for line in found.new] == ["Plays chess"]
    assert len(found.set_aside) == 4
    seen = state.with_merged(found.set_aside)
    assert gathered(world, seen, STONES).set_aside == frozenset()


def test_a_copied_line_is_taken_once(world):
    """From the earlier file, as it stands in the archive and beside it."""
    world.put(LOG, block("Lives in Oslo"))
    world.put("memory/2026-04-10.md", block("Lives in Oslo"))
    assert [line.path for line in gathered(world).new] == ["memory/2026-04-10.md"]


@pytest.mark.parametrize(
    ("sources", "trusted"),
    [
        (("user",), True),
        (("assistant", "user"), True),
        ((), False),
        (("tool:web",), False),
        (("user", "tool:web"), False),
    ],
)
def test_only_what_user_and_assistant_said_is_trusted(sources, trusted, world):
    """A block of ours says whose words it holds."""
    (line,) = said_lines(LOG, block("x", sources=sources))
    assert is_trusted(line) == trusted
