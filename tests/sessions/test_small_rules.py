"""Small rules of the saver and of search that larger tests pass by."""

import json

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_harness_memory import SessionSaver
from langgraph_harness_memory.sessions.search import SNIPPET, snippet


@pytest.fixture
def saver(tmp_path):
    return SessionSaver(tmp_path / "sessions")


@pytest.mark.parametrize(
    ("current", "following"),
    [(None, 1), (1, 2), (41, 42), ("00000000000000000000000000000007.0.5", f"{8:032}.{0:016}")],
)
def test_the_version_after_another(saver, current, following) -> None:
    """Whole numbers from 1; a thread that another checkpointer began goes on with its strings."""
    assert saver.get_next_version(current, None) == following


def test_a_snippet_says_where_it_was_cut() -> None:
    """On both sides, on one, or on none."""
    long = "a " * 400
    assert snippet("needle in a haystack", ("needle",)) == "needle in a haystack"
    assert snippet("needle " + long, ("needle",)).startswith("needle a")
    assert snippet("needle " + long, ("needle",)).endswith("…")
    assert snippet(long + "needle", ("needle",)).startswith("…a")
    assert snippet(long + "needle", ("needle",)).endswith("needle")
    middle = snippet(f"{long}needle {long}", ("needle",))
    assert middle[0] == middle[-1] == "…"
    assert len(middle) <= SNIPPET + 2


def test_a_task_writes_each_of_its_values_once(saver) -> None:
    """A retried write is dropped; another one of the same task to the same channel is kept."""
    config = {"configurable": {"thread_id": "t1", "checkpoint_ns": ""}}
    stored = saver.put(config, empty_checkpoint(), {"source": "input", "step": -1, "parents": {}}, {})
    for _ in range(2):
        saver.put_writes(stored, [("x", 1), ("x", 1), ("y", 2)], "task", "~a")
    found = saver.get_tuple(stored)
    assert found.pending_writes == [("task", "x", 1), ("task", "x", 1), ("task", "y", 2)]


def test_a_copied_thread_is_the_other_threads_own(saver, tmp_path) -> None:
    """Its file names it, and its checkpoints hold the same values and metadata."""
    graph = StateGraph(MessagesState)
    graph.add_node("say", lambda state: {"messages": [HumanMessage("and more", id=f"s{len(state['messages'])}")]})
    graph.add_edge(START, "say")
    graph.add_edge("say", END)
    agent = graph.compile(checkpointer=saver)
    one, two = ({"configurable": {"thread_id": name}} for name in ("one", "two"))
    agent.invoke({"messages": [HumanMessage("hello", id="h")]}, {**one, "metadata": {"customer": "acme"}})
    saver.copy_thread("one", "two")
    first = json.loads((tmp_path / "sessions" / "two.jsonl").read_bytes().splitlines()[0])
    assert first["thread"] == "two"
    assert agent.get_state(two).values == agent.get_state(one).values
    ours, theirs = (list(saver.list(config)) for config in (one, two))
    assert [each.metadata for each in ours] == [each.metadata for each in theirs]
    assert ours[0].metadata["customer"] == "acme"
    assert [each.checkpoint for each in ours] == [each.checkpoint for each in theirs]
