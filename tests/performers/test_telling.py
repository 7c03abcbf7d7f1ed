"""Events reach the callback, the custom stream and the log, and never raise."""

import logging
from typing import Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph

from langgraph_harness_memory.events import Degraded, Event, Evicted, FlushFailed
from langgraph_harness_memory.performers import Teller


def test_event_reaches_callback_stream_and_log(caplog: pytest.LogCaptureFixture) -> None:
    """In a run an event is told three ways, once each."""
    events: list[Event] = []
    teller = Teller(events.append)
    event = Evicted(tool="search", characters=9, path="large_tool_results/t/x.txt", thread_id="t")

    class State(TypedDict):
        x: int

    def node(state: State) -> dict[str, Any]:
        teller.tell(event)
        return {}

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").add_edge("node", END).compile()
    with caplog.at_level(logging.INFO, logger="langgraph_harness_memory"):
        told = list(graph.stream({"x": 1}, stream_mode="custom"))
    assert [item["type"] for item in told] == ["memory.evicted"]
    assert events == [event]
    assert "memory.evicted" in caplog.text


def test_callback_that_raises_goes_no_further(caplog: pytest.LogCaptureFixture) -> None:
    """A bug in `on_event` is logged and does not reach the run."""

    def bad(_: Event) -> None:
        raise ZeroDivisionError("bug")

    Teller(bad).tell(FlushFailed(reason="x"))
    assert "on_event raised for FlushFailed" in caplog.text


def test_degradation_is_told_once_per_cause_until_it_works_again(caplog: pytest.LogCaptureFixture) -> None:
    """A full disk is one warning, not one per turn; after a recovery the next failure is told again."""
    events: list[Any] = []
    teller = Teller(events.append)
    for _ in range(3):
        teller.degraded("the session log", OSError("full"))
    teller.degraded("the session log", PermissionError("read-only"))
    assert [(e.what, e.reason) for e in events] == [
        ("the session log", "OSError: full"),
        ("the session log", "PermissionError: read-only"),
    ]
    assert all(isinstance(e, Degraded) for e in events)
    teller.works("the session log")
    teller.degraded("the session log", OSError("full"))
    assert len(events) == 3


def test_secrets_do_not_reach_an_event() -> None:
    """What a provider's error repeats of a key is redacted."""
    events: list[Any] = []
    Teller(events.append, redact=lambda text: text.replace("sk-123", "[REDACTED]")).tell(
        FlushFailed(reason="bad key sk-123")
    )
    assert events[0].reason == "bad key [REDACTED]"
