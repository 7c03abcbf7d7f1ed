"""How a stretch of conversation is parted for the calls of a flush."""

from datetime import UTC, datetime, timedelta

import pytest
from langchain_core.messages import HumanMessage

from langgraph_harness_memory.config import FlushConfig
from langgraph_harness_memory.curation.extraction import room
from langgraph_harness_memory.curation.flush import Batch, batches
from langgraph_harness_memory.curation.provenance import Said
from langgraph_harness_memory.steps import LoggedMessage

AT = datetime(2026, 4, 12, 9, 30, tzinfo=UTC)


def silent(count):
    return [
        LoggedMessage(position=n, message=HumanMessage("x"), logged_at=AT + timedelta(minutes=n)) for n in range(count)
    ]


def part(position, size):
    return Said(position=position, role="user", text="word" * size, sent=AT)


def test_a_stretch_is_parted_where_a_batch_is_full():
    """A part costs its tokens and eight more; a batch of just its budget is not too full, and no message is parted or lost."""
    talk = silent(5)
    said = [part(0, 12), part(2, 12), part(2, 12), part(4, 12)]
    assert list(batches(talk, said, budget=60)) == [
        Batch(positions=(0, 1, 2, 3), said=tuple(said[:3])),
        Batch(positions=(4,), said=(said[3],)),
    ]
    assert [batch.positions for batch in batches(talk, said, budget=59)] == [(0, 1), (2, 3), (4,)]
    assert [batch.positions for batch in batches(talk, said, budget=80)] == [(0, 1, 2, 3, 4)]
    assert [batch.positions for batch in batches(talk, said, budget=1)] == [(0, 1), (2, 3), (4,)]
    assert [batch.positions for batch in batches(talk, [], budget=1)] == [(0, 1, 2, 3, 4)]
    assert list(batches([], [], budget=1)) == []


@pytest.mark.parametrize(
    ("seconds", "positions"),
    [(0, [(0,), (1, 2)]), (30, [(0,), (1, 2)]), (60, [(0, 1), (2,)]), (-1, [(0, 1, 2)]), (120, [(0, 1, 2)])],
)
def test_no_batch_reaches_across_a_border(seconds, positions):
    """What was said at the border's moment was said before it."""
    talk = silent(3)
    border = AT + timedelta(seconds=seconds)
    assert [batch.positions for batch in batches(talk, [], budget=100, borders=[border])] == positions


def test_a_call_has_seven_tenths_of_what_its_instruction_leaves():
    """And two hundred tokens in any case."""
    assert room(FlushConfig(prompt="word" * 100, max_input_tokens=1_100)) == 700
    assert room(FlushConfig(prompt="word" * 1_000, max_input_tokens=1_100)) == 200
