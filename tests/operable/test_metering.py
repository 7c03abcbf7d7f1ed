"""What memory spends on models can be seen: per call, per day, and from the turn that caused it."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langgraph_harness_memory import (
    CompactionConfig,
    FlushConfig,
    HarnessMemory,
    MaintenanceConfig,
    MemoryConfig,
    create_memory_agent,
)
from langgraph_harness_memory.events import Event, ModelAsked
from langgraph_harness_memory.formats import usage
from langgraph_harness_memory.formats.usage import Spent, Usage
from langgraph_harness_memory.testing import FrozenClock, Reply, ScriptedChatModel

SUMMARY = "## SESSION INTENT\nPlan\n\n## SUMMARY\nTalked.\n\n## ARTIFACTS\nNone\n\n## NEXT STEPS\nNone"


def settings(**groups: Any) -> MemoryConfig:
    defaults: dict[str, Any] = {"maintenance": MaintenanceConfig(autostart=False), "flush": FlushConfig(mode="inline")}
    return MemoryConfig(**{**defaults, **groups})


@pytest.fixture
def told() -> list[Event]:
    return []


def asked(told: list[Event]) -> list[ModelAsked]:
    return [event for event in told if isinstance(event, ModelAsked)]


def test_each_internal_call_is_told_with_the_providers_own_count(tmp_path: Path, told: list[Event]) -> None:
    """A flush of 120 and 30 tokens is told as 150, and the agent's own call is not told at all."""
    curator = ScriptedChatModel(script=[Reply(text="- a fact", usage=(120, 30))])
    with HarnessMemory(tmp_path / "w", model=curator, config=settings(), on_event=told.append) as memory:
        agent = create_memory_agent(ScriptedChatModel(script=["Noted."]), memory=memory)
        agent.invoke({"messages": [HumanMessage("a fact")]}, {"configurable": {"thread_id": "t1"}})
    (event,) = asked(told)
    assert (event.purpose, event.tokens, event.is_estimate, event.failed) == ("flush", 150, False, False)


def test_a_call_without_a_count_is_estimated_and_a_failed_one_says_so(tmp_path: Path, told: list[Event]) -> None:
    """What was sent is paid for, whatever came back."""
    curator = ScriptedChatModel(script=[ConnectionError("down"), "- a fact"])
    with HarnessMemory(tmp_path / "w", model=curator, config=settings(), on_event=told.append) as memory:
        memory.flush([HumanMessage("a fact")], "t1")
        memory.flush([], "t1")
    first, second = asked(told)
    assert (first.failed, second.failed) == (True, False)
    assert first.is_estimate
    assert first.tokens > 100


def test_the_rules_cost_nothing(tmp_path: Path, told: list[Event]) -> None:
    """Where no model exists the extractor's calls are told, at no tokens."""
    with HarnessMemory(tmp_path / "w", config=settings(), on_event=told.append) as memory:
        memory.flush([HumanMessage("My name is Ann and I live in Graz.")], "t1")
    (event,) = asked(told)
    assert (event.by_rules, event.tokens) == (True, 0)


@pytest.mark.parametrize("mode", ["inline", "background"])
def test_a_call_is_linked_to_the_run_whose_turn_it_was_asked_for(tmp_path: Path, told: list[Event], mode: Any) -> None:
    """Also where it ran in the background, after the turn."""
    run_id = "0198f0aa-0000-7000-8000-000000000001"
    curator = ScriptedChatModel(script=["- a fact"])
    config = settings(flush=FlushConfig(mode=mode))
    with HarnessMemory(tmp_path / "w", model=curator, config=config, on_event=told.append) as memory:
        agent = create_memory_agent(ScriptedChatModel(script=["Noted."]), memory=memory)
        run = {"configurable": {"thread_id": "t1"}, "run_id": run_id}
        agent.invoke({"messages": [HumanMessage("a fact")]}, run)
    assert [event.turn_run_id for event in asked(told)] == [run_id]


def test_health_shows_tokens_by_day_across_restarts(tmp_path: Path) -> None:
    """Two days, two processes: each day has its own sum, and the last success is known."""
    clock = FrozenClock("2026-01-05T09:00:00+00:00")
    for day in range(2):
        curator = ScriptedChatModel(script=[Reply(text="- a fact", usage=(100, day))])
        with HarnessMemory(tmp_path / "w", model=curator, config=settings(), clock=clock) as memory:
            memory.flush([HumanMessage(f"fact {day}", id=f"m{day}")], "t1")
            health = memory.health()
        clock.advance(timedelta(days=1))
    assert list(health.tokens_by_day.values()) == [100, 101]
    assert health.succeeded_at is not None
    assert health.succeeded_at.date().isoformat() == "2026-01-06"
    assert (
        json.loads((tmp_path / "w" / "memory" / ".usage.json").read_text())["days"]["2026-01-05"]["flush"]["calls"] == 1
    )


def test_health_shows_failures_and_the_age_of_what_waits(tmp_path: Path) -> None:
    """A model that is down: one failure, two messages, waiting since they were said."""
    clock = FrozenClock("2026-01-05T09:00:00+00:00")
    curator = ScriptedChatModel(script=[ConnectionError("down")], repeat=True)
    with HarnessMemory(tmp_path / "w", model=curator, config=settings(), clock=clock) as memory:
        memory.flush([HumanMessage("one", id="a"), HumanMessage("two", id="b")], "t1")
        clock.advance(hours=5)
        health = memory.health()
    assert health.failures == {"FlushFailed": 1}
    assert health.unflushed == 2
    assert health.oldest_unflushed_at is not None
    assert clock.now() - health.oldest_unflushed_at == timedelta(hours=5)


def test_summaries_are_counted_too(tmp_path: Path, told: list[Event]) -> None:
    """A compaction asks the summary model within the turn."""
    summariser = ScriptedChatModel(script=[Reply(text=SUMMARY, usage=(500, 40))])
    config = settings(flush=None, compaction=CompactionConfig(trigger_messages=8, keep_messages=3, model=summariser))
    with HarnessMemory(tmp_path / "w", config=config, on_event=told.append) as memory:
        messages = [HumanMessage(f"message {n}", id=f"m{n}") for n in range(9)]
        memory.compact(messages, thread_id="t1")
        assert memory.health().tokens_by_day
    assert [(event.purpose, event.tokens) for event in asked(told)] == [("summary", 540)]


def test_a_damaged_file_counts_as_empty_and_is_replaced(tmp_path: Path) -> None:
    """Sums decide nothing, so that damage costs the sums and no more."""
    folder = tmp_path / "w" / "memory"
    folder.mkdir(parents=True)
    (folder / ".usage.json").write_bytes(b"\xff{")
    curator = ScriptedChatModel(script=[Reply(text="- a fact", usage=(1, 1))])
    with HarnessMemory(tmp_path / "w", model=curator, config=settings()) as memory:
        memory.flush([HumanMessage("a fact")], "t1")
    assert (
        sum(s.tokens for p in usage.parse((folder / ".usage.json").read_text()).days.values() for s in p.values()) == 2
    )


def test_usage_is_read_back_as_it_was_written() -> None:
    """Rendering and parsing are inverse; what is no day or no sum is left out."""
    made = Usage(days={"2026-01-05": {"flush": Spent(calls=2, failures=1, tokens=30)}})
    assert usage.parse(usage.render(made)) == made
    odd = '{"v": 1, "days": {"soon": {}, "2026-01-05": {"flush": {"calls": "many"}, "x": 3}}, "succeeded_at": "never"}'
    assert usage.parse(odd) == Usage(days={"2026-01-05": {"flush": Spent()}})
