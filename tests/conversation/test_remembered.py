"""What compaction remembers of a thread."""

import pytest

from langgraph_harness_memory.conversation.memory import CompactionMemory

VALUES = {
    "failures": 2,
    "rest": 3,
    "paid_key": "k",
    "paid_text": "t",
    "paid_by_rules": True,
    "view": [{"type": "human", "data": {"content": "x"}}],
}


def test_all_of_it_is_plain_json_and_read_back():
    """What is at its default is left out."""
    memory = CompactionMemory.of(VALUES)
    assert memory == CompactionMemory(**VALUES)
    assert memory.as_json() == VALUES
    assert CompactionMemory().as_json() == {}


@pytest.mark.parametrize(
    "values",
    [
        None,
        [],
        "x",
        7,
        {"failures": "2", "rest": None, "paid_key": 1, "paid_text": 2, "view": {}, "paid_by_rules": "yes"},
    ],
)
def test_anything_else_is_an_empty_memory(values):
    """A state that somebody else wrote stops nothing."""
    assert CompactionMemory.of(values) == CompactionMemory()


def test_twice_as_many_checks_pass_after_each_failure():
    """Up to thirty-one; a success ends it and is remembered."""
    memory = CompactionMemory()
    rests = []
    for _ in range(6):
        memory.failed()
        rests.append((memory.failures, memory.rest))
    assert rests == [(1, 1), (2, 3), (3, 7), (4, 15), (5, 31), (6, 31)]
    memory.succeeded("k", "t", by_rules=True)
    assert memory == CompactionMemory(paid_key="k", paid_text="t", paid_by_rules=True)
