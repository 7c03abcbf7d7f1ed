"""One tick as a graph: its order, its throttle, its claim, and what a failing step does to the others."""

import asyncio
import itertools
import json
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.graph import END, START, StateGraph

from langgraph_harness_memory import (
    FlushConfig,
    HarnessMemory,
    MaintenanceConfig,
    MemoryConfig,
    StorageConfig,
)
from langgraph_harness_memory.events import Event
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.testing import FrozenClock, ScriptedChatModel
from langgraph_harness_memory.workspace import Lease

FACT = "- Ann moves to Oslo on May 3rd"
MEMORY = f"# Memory\n\n{FACT}"
NOON = datetime(2026, 4, 12, 12, 0, tzinfo=UTC)


def says(*texts: str) -> ScriptedChatModel:
    return ScriptedChatModel(script=list(texts), repeat=True)


def built(
    tmp_path: Path, *, model: Any = None, clock: Any = None, on_event: Any = None, **settings: Any
) -> HarnessMemory:
    config = MemoryConfig(
        maintenance=MaintenanceConfig(autostart=False, **settings), storage=StorageConfig(timezone="UTC")
    )
    return HarnessMemory(
        tmp_path / "w" / "memory",
        model=model or says(FACT, MEMORY),
        config=config,
        clock=clock or FrozenClock(NOON),
        on_event=on_event,
    )


def say(memory: HarnessMemory, text: str, thread_id: str = "t1", user_id: str | None = None) -> None:
    memory.sessions.append(ThreadRef(thread_id=thread_id, tenant=user_id), [HumanMessage(text)])


def test_drawing_shows_the_order(tmp_path: Path) -> None:
    """Recover before consolidation, expiry after it."""
    graph = built(tmp_path).maintenance_graph().get_graph()
    order = ["claim", "recover", "consolidate", "expire", "prune", "reindex", "release"]
    edges = {(edge.source, edge.target) for edge in graph.edges}
    assert {(a, b) for a, b in itertools.pairwise(order)} <= edges


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_tick_recovers_consolidates_and_reports(tmp_path: Path, *, is_async: bool) -> None:
    """What was said and never flushed ends in MEMORY.md within one tick; the report is plain JSON."""
    memory = built(tmp_path)
    say(memory, "I am Ann and move to Oslo on May 3rd")
    report = asyncio.run(memory.amaintain()) if is_async else memory.maintain()
    assert report["ran"]
    assert report["recovered"] == [{"thread_id": "t1", "messages": 1, "facts": 1}]
    assert report["consolidated"][0]["merged"] == 1
    assert report["failures"] == []
    assert json.loads(json.dumps(report)) == report
    stored = memory.workspace.read("MEMORY.md")
    assert stored is not None
    assert "Oslo" in stored.data.decode()
    assert memory.index.search("Oslo")


def test_second_tick_finds_nothing_to_do(tmp_path: Path) -> None:
    """A tick with nothing new asks no model and changes no file."""
    model = says(FACT, MEMORY)
    memory = built(tmp_path, model=model)
    say(memory, "I move to Oslo on May 3rd")
    memory.maintain()
    asked = model.calls
    before = {info.path: info.fingerprint for info in memory.workspace.files() if info.path.endswith(".md")}
    report = memory.maintain()
    assert report["recovered"] == report["consolidated"] == report["expired"] == []
    assert model.calls == asked
    assert {info.path: info.fingerprint for info in memory.workspace.files() if info.path.endswith(".md")} == before


def test_graph_by_itself_runs_only_when_due(tmp_path: Path) -> None:
    """Four hosts by mistake do no harm: whoever comes early does nothing, also in a new process."""
    clock = FrozenClock(NOON)
    memory = built(tmp_path, clock=clock)
    assert memory.maintenance_graph().invoke({})["ran"]
    other = built(tmp_path, clock=clock)
    early = other.maintenance_graph().invoke({})
    assert (early["ran"], early["skipped"]) == (False, "not due")
    clock.advance(timedelta(hours=6))
    assert other.maintenance_graph().invoke({})["ran"]
    assert other.maintain()["ran"]


def test_claim_keeps_a_second_process_out_and_expires(tmp_path: Path) -> None:
    """While one process is at it others skip; a killed one frees the workspace when its claim is over."""
    clock = FrozenClock(NOON)
    memory = built(tmp_path, clock=clock)
    lease = memory.workspace.acquire_lease("maintenance", ttl=timedelta(minutes=15))
    assert isinstance(lease, Lease)
    skipped = memory.maintain()
    assert (skipped["ran"], skipped["skipped"]) == (False, "another process is at it")
    clock.advance(timedelta(minutes=16))
    assert memory.maintain()["ran"]
    assert memory.maintain()["ran"]


def test_tick_that_is_turned_away_by_its_own_process_says_so(tmp_path: Path) -> None:
    """A person who asks for a tick while the scheduler runs one is told that it is this process, and by whom."""
    asked = threading.Event()
    go_on = threading.Event()

    def slow(messages: list[BaseMessage]) -> str:
        asked.set()
        assert go_on.wait(30)
        return FACT

    memory = built(tmp_path, model=ScriptedChatModel(script=[slow, FACT, MEMORY], repeat=True))
    say(memory, "I move to Oslo on May 3rd")
    memory.start()
    try:
        assert asked.wait(30)
        turned_away = memory.maintain()
        assert not turned_away["ran"]
        assert turned_away["skipped"].startswith("this process is at it already: its own scheduler")
    finally:
        go_on.set()
        memory.stop()
    assert memory.maintain()["ran"]


def test_failing_step_is_reported_and_the_next_ones_run(tmp_path: Path) -> None:
    """A model that is down leaves expiry, pruning and the index their tick; the slot is not burnt."""
    events: list[Event] = []
    down = ScriptedChatModel(script=[ConnectionError("down")], repeat=True)
    memory = built(tmp_path, model=down, on_event=events.append)
    say(memory, "I move to Oslo on May 3rd")
    memory.workspace.append("memory/2026-04-11.md", f"{FACT}\n".encode())
    report = memory.maintain()
    assert {failure["step"] for failure in report["failures"]} == {"recover", "consolidate"}
    assert report["reindexed"] == 1
    assert "MaintenanceFailed" in {type(event).__name__ for event in events}
    assert memory.sessions.unflushed("t1")
    again = built(tmp_path, model=says(FACT, MEMORY)).maintain()
    assert again["failures"] == []
    assert again["recovered"]


def test_interrupted_tick_frees_the_workspace(tmp_path: Path) -> None:
    """Ctrl-C in the middle of a consolidation does not keep the next tick out for a quarter of an hour."""
    memory = built(tmp_path, model=ScriptedChatModel(script=[KeyboardInterrupt(), FACT, MEMORY]))
    say(memory, "I move to Oslo on May 3rd")
    with pytest.raises(KeyboardInterrupt):
        memory.maintain()
    assert memory.maintain()["recovered"]


def test_tick_visits_every_tenant_and_one_on_request(tmp_path: Path) -> None:
    """Tenants with sessions, with files alone and with ids that their folder does not spell are all looked after."""
    memory = built(tmp_path, model=says("NO_REPLY"))
    strange = "Ann/../Bob ü"
    say(memory, "hello", "t1", strange)
    memory.workspace.append("users/plain/memory/2026-04-11.md", b"- a line by hand\n")
    report = memory.maintain()
    assert report["reindexed"] == 3
    assert memory.maintain(user_id=strange)["reindexed"] == 1
    memory.sessions.delete("t1")
    memory.request_consolidation(user_id=strange)
    assert memory.maintain()["reindexed"] == 3


def test_old_merged_logs_are_archived_and_unmerged_ones_wait(tmp_path: Path) -> None:
    """A log that no consolidation has taken in is never archived, however old; an archived one is still found."""
    down = ScriptedChatModel(script=[ConnectionError("down")], repeat=True)
    memory = built(tmp_path, model=down)
    memory.workspace.append("memory/2026-01-01.md", b"- Ann was born in Bergen\n")
    report = memory.maintain()
    assert report["expired"][0]["waiting"] == ["memory/2026-01-01.md"]
    assert memory.workspace.stat("memory/2026-01-01.md") is not None
    memory = built(tmp_path, model=says("# Memory\n\n- Ann was born in Bergen"))
    report = memory.maintain()
    assert report["expired"][0]["archived"] == ["memory/2026-01-01.md"]
    assert memory.workspace.stat("memory/2026-01-01.md") is None
    assert "memory/archive/2026-01-01.md" in {hit.path for hit in memory.index.search("Bergen")}
    assert built(tmp_path).maintain()["expired"] == []


def test_second_log_of_an_archived_day_takes_nobodys_place(tmp_path: Path) -> None:
    """A log restored from a backup after its day was archived is archived beside it."""
    memory = built(tmp_path, model=says("# Memory\n\n- Ann was born in Bergen"))
    memory.workspace.append("memory/archive/2026-01-01.md", b"- an earlier line\n")
    memory.workspace.append("memory/2026-01-01.md", b"- Ann was born in Bergen\n")
    memory.maintain()
    archived = sorted(info.path for info in memory.workspace.files("memory/archive"))
    assert archived == ["memory/archive/2026-01-01-2.md", "memory/archive/2026-01-01.md"]


def test_archive_is_deleted_only_on_request_and_it_is_told(tmp_path: Path) -> None:
    """The archive lives for ever unless the user says how long."""
    events: list[Event] = []
    memory = built(tmp_path, model=says("NO_REPLY"))
    memory.workspace.append("memory/archive/2020-01-01.md", b"- old\n")
    memory.maintain()
    assert memory.workspace.stat("memory/archive/2020-01-01.md") is not None
    memory = built(tmp_path, model=says("NO_REPLY"), on_event=events.append, archive_retention_days=365)
    assert memory.maintain()["expired"][0]["deleted"] == ["memory/archive/2020-01-01.md"]
    assert "Deleted" in {type(event).__name__ for event in events}
    assert memory.index.search("old") == []


def test_old_sessions_are_pruned_once_they_are_flushed(tmp_path: Path) -> None:
    """A session that nobody came back to goes after its time, never with messages that were not flushed."""
    clock = FrozenClock(NOON)
    down = ScriptedChatModel(script=[ConnectionError("down")], repeat=True)
    memory = built(tmp_path, model=down, clock=clock)
    say(memory, "I move to Oslo on May 3rd")
    clock.advance(timedelta(days=181))
    assert memory.maintain()["pruned"] == []
    memory = built(tmp_path, clock=clock)
    assert memory.maintain()["pruned"] == ["t1"]
    assert memory.sessions.threads() == []


def test_retention_of_zero_keeps_for_ever(tmp_path: Path) -> None:
    """0 days = no retention."""
    clock = FrozenClock(NOON)
    memory = built(tmp_path, clock=clock, daily_file_retention_days=0, session_retention_days=0)
    say(memory, "I move to Oslo on May 3rd")
    memory.maintain()
    clock.advance(timedelta(days=5_000))
    report = memory.maintain()
    assert report["expired"] == report["pruned"] == []


@pytest.mark.parametrize("user_id", [None, "ann"], ids=["shared root", "a user"])
def test_flush_asks_for_a_consolidation_that_waits_for_its_gap(tmp_path: Path, user_id: str | None) -> None:
    """The signal of a flush is served by the scheduler after the gap, outlives the process, and is served once."""
    clock = FrozenClock(NOON)
    curated = "MEMORY.md" if user_id is None else f"users/{user_id}/MEMORY.md"
    memory = built(tmp_path, model=says("NO_REPLY"), clock=clock)
    memory.workspace.append(f"{curated.removesuffix('MEMORY.md')}memory/2026-04-11.md", b"- a line\n")
    memory._parts.run_due()
    memory = built(tmp_path, model=says(FACT, MEMORY), clock=clock)
    memory.flush([HumanMessage("I move to Oslo on May 3rd")], "t1", user_id=user_id)
    wait = memory._parts.run_due()
    assert timedelta(minutes=29) < wait <= timedelta(minutes=30)
    assert memory.workspace.stat(curated) is None
    clock.advance(timedelta(minutes=30))
    later = built(tmp_path, model=says(MEMORY), clock=clock)
    later._parts.run_due()
    assert later.workspace.stat(curated) is not None
    clock.advance(timedelta(minutes=31))
    quiet = built(tmp_path, model=ScriptedChatModel(script=[]), clock=clock)
    quiet._parts.run_due()


def test_consolidation_runs_on_no_turns_thread(tmp_path: Path) -> None:
    """Inline or in the background, due or overdue: the thread that talks never consolidates."""
    from langgraph_harness_memory import create_memory_agent

    threads: list[str] = []

    def curate(messages: list[Any]) -> str:
        if '"task": "consolidation"' in str(messages[-1].text):
            threads.append(threading.current_thread().name)
            return MEMORY
        return FACT

    # A short gap: where the first tick comes before the flush, the next one does not wait half an hour.
    config = MemoryConfig(flush=FlushConfig(mode="inline"), maintenance=MaintenanceConfig(min_gap=timedelta(seconds=1)))
    model = ScriptedChatModel(script=[curate], repeat=True)
    with HarnessMemory(tmp_path / "w" / "memory", model=model, config=config) as memory:
        agent = create_memory_agent(says("fine"), memory=memory)
        agent.invoke({"messages": [HumanMessage("I move to Oslo")]}, {"configurable": {"thread_id": "t1"}})
        mine = threading.current_thread().name
        for _ in range(1500):
            if threads:
                break
            threading.Event().wait(0.02)
    assert threads
    assert mine not in threads


def test_graph_is_a_node_of_somebody_elses_graph(tmp_path: Path) -> None:
    """It can stand in a graph with a state of its own."""

    class Night(TypedDict, total=False):
        ran: bool
        note: str

    memory = built(tmp_path)
    say(memory, "I move to Oslo on May 3rd")
    graph = StateGraph(Night)
    graph.add_node("maintenance", memory.maintenance_graph())
    graph.add_edge(START, "maintenance")
    graph.add_edge("maintenance", END)
    result = graph.compile().invoke({"note": "mine"})
    assert result == {"note": "mine", "ran": True}
    assert memory.workspace.stat("MEMORY.md") is not None


def test_damaged_state_of_consolidation_archives_nothing(tmp_path: Path) -> None:
    """Marks that cannot be read are no reason to take a log for merged."""
    memory = built(tmp_path, model=says("NO_REPLY"))
    memory.workspace.append("memory/2026-01-01.md", b"- Ann was born in Bergen\n")
    memory.workspace.replace("memory/.consolidation_state", b'{"v": 1, "merged": 7}')
    report = memory.maintain()
    assert "expire" in {failure["step"] for failure in report["failures"]}
    assert memory.workspace.stat("memory/2026-01-01.md") is not None
