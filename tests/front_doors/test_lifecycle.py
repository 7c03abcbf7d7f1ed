"""Life of a memory: nothing at construction, work in the background, an end that drains, and no disk that ends a turn."""

import asyncio
import gc
import os
import threading
import time
import weakref
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langgraph_harness_memory import FlushConfig, HarnessMemory, MaintenanceConfig, create_memory_agent
from langgraph_harness_memory.testing import ScriptedChatModel
from langgraph_harness_memory.testing.scripted import Reply
from tests.front_doors.conftest import says, settings, thread

FACT = "- Ann moves to Oslo on May 3rd"


def slow(seconds: float) -> ScriptedChatModel:
    return ScriptedChatModel(script=[Reply(text=FACT, delay=timedelta(seconds=seconds))], repeat=True)


def ours() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("harness-memory")]


def test_building_touches_no_disk_and_starts_no_thread(tmp_path: Path) -> None:
    """A memory that nobody uses costs nothing."""
    before = ours()
    memory = HarnessMemory(tmp_path / "w", model=says("x"))
    create_memory_agent(says("x"), memory=memory)
    assert memory.tools
    assert memory.middleware()
    assert list(tmp_path.iterdir()) == []
    assert ours() == before


def test_answer_does_not_wait_for_the_flush_and_closing_does(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """A slow memory model holds up nobody, and leaving the block drains."""
    with build(model=slow(0.5), config=settings(flush=FlushConfig())) as memory:
        agent = door(says("fine"), [], memory)
        start = time.monotonic()
        agent.invoke({"messages": [HumanMessage("I am Ann and move to Oslo on May 3rd")]}, thread())
        assert time.monotonic() - start < 0.45
    assert memory.sessions.unflushed("t1") == []
    assert len(memory.workspace.files("memory")) >= 1


def test_closing_gives_up_in_time_and_the_next_start_recovers(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """What closing cut off stands in the session log and is flushed by the next process's first tick."""
    config = settings(flush=FlushConfig(drain_timeout=timedelta(milliseconds=50)))
    first = build(model=slow(1.0), config=config)
    door(says("fine"), [], first).invoke({"messages": [HumanMessage("I move to Oslo on May 3rd")]}, thread())
    start = time.monotonic()
    assert not first.close()
    assert time.monotonic() - start < 0.9
    assert first.sessions.unflushed("t1")
    second = build(model=says(FACT), config=settings(flush=FlushConfig(), maintenance=MaintenanceConfig()))
    door(says("fine"), [], second).invoke({"messages": [HumanMessage("hello")]}, thread("another"))
    end = time.monotonic() + 10
    while second.sessions.unflushed("t1") and time.monotonic() < end:
        time.sleep(0.02)
    assert second.sessions.unflushed("t1") == []
    second.close()
    blocks = [info.path for info in second.workspace.files("memory") if info.path[7:11] == "2026"]
    text = "".join(stored.data.decode() for path in blocks if (stored := second.workspace.read(path)))
    assert text.count("session t1") == 1


def test_memory_that_nobody_closes_is_let_go_of(tmp_path: Path) -> None:
    """The scheduler and an idle queue keep no memory alive; an agent does."""
    memory = HarnessMemory(tmp_path / "w", model=says("NO_REPLY"))
    agent = create_memory_agent(says("fine"), memory=memory)
    parts = weakref.ref(memory._parts)
    del memory
    agent.invoke({"messages": [HumanMessage("hello")]}, thread())
    gc.collect()
    held = parts()
    assert held is not None
    assert held.scheduler.running
    held.queue.drain(timedelta(seconds=5))
    scheduler = held.scheduler
    del held, agent
    end = time.monotonic() + 15
    while (parts() is not None or scheduler.running) and time.monotonic() < end:
        gc.collect()
        time.sleep(0.05)
    assert parts() is None
    assert not scheduler.running


@pytest.mark.asyncio
async def test_sync_operations_work_inside_a_running_loop(build: Callable[..., HarnessMemory]) -> None:
    """In a notebook, where a loop runs already, each operation can be called as it is."""
    memory = build(model=says(FACT, f"# Memory\n\n{FACT}"))
    assert memory.flush([HumanMessage("I move to Oslo on May 3rd")], "t1").facts == 1
    assert memory.consolidate().merged == 1
    assert memory.maintain()["ran"]
    assert memory.index.search("Oslo")
    assert memory.health().is_well
    assert memory.context_message() is not None
    agent = create_memory_agent(says("fine"), memory=memory)
    assert agent.invoke({"messages": [HumanMessage("hello")]}, thread())["messages"][-1].text == "fine"


@pytest.mark.asyncio
async def test_every_operation_has_its_async_twin(build: Callable[..., HarnessMemory]) -> None:
    """The same day on the event loop."""
    async with build(model=says(FACT, f"# Memory\n\n{FACT}")) as memory:
        assert (await memory.aflush([HumanMessage("I move to Oslo on May 3rd")], "t1")).facts == 1
        assert (await memory.aconsolidate()).merged == 1
        await memory.arequest_consolidation()
        assert (await memory.amaintain())["ran"]
        assert (await memory.ahealth()).is_well
        saved = await memory.asave("Ann's number is 42")
        assert saved.path.startswith("memory/")
        assert (await memory.aforget("number 42")).lines == 1
        block = await memory.acontext_message()
        assert block is not None
        assert "Oslo" in str(block.text)
        messages = await memory.acompact([HumanMessage(f"{n}: " + "word " * 80) for n in range(30)], thread_id="t2")
        assert len(messages) < 30
        assert (await memory.adelete_user("nobody")).threads == ()


def test_compacting_by_hand_folds_and_logs(build: Callable[..., HarnessMemory]) -> None:
    """A notebook can fold a list of messages without any graph."""
    given = [HumanMessage(f"{n}: " + "some words of Ann's " * 40) for n in range(12)]
    from langgraph_harness_memory.testing import request_faults
    from tests.front_doors.conftest import SUMMARY

    memory = build("other", model=says(SUMMARY))
    folded = memory.compact(given, thread_id="notebook")
    assert len(folded) < 12
    assert folded[-1].text == given[-1].text
    assert request_faults(folded) == []
    assert len(memory.sessions.read("notebook")) >= 12 - len(folded)
    assert all(message.id is None for message in given)


needs_modes = pytest.mark.skipif(os.geteuid() == 0, reason="root may write where modes forbid it")


def blocked(tmp_path: Path) -> Path:
    """A workspace that cannot exist: a file stands where a folder should be."""
    (tmp_path / "file").write_text("not a folder")
    return tmp_path / "file" / "workspace"


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_missing_disk_ends_no_turn(door: Any, tmp_path: Path, *, is_async: bool) -> None:
    """Without a workspace the agent runs without memory, with one warning per cause, and loses nothing of its state."""
    from langgraph.checkpoint.memory import InMemorySaver

    events: list[Any] = []
    memory = HarnessMemory(blocked(tmp_path), model=says(FACT), config=settings(), on_event=events.append)
    agent = door(says("fine"), [], memory)
    agent.checkpointer = InMemorySaver()
    for n in range(6):
        given = {"messages": [HumanMessage(f"question {n} " + "at length " * 30, id=f"q{n}")]}
        result = asyncio.run(agent.ainvoke(given, thread())) if is_async else agent.invoke(given, thread())
        assert result["messages"][-1].text == "fine"
    assert [m.id for m in result["messages"] if m.type == "human"] == [f"q{n}" for n in range(6)]
    told = [(event.what, event.reason.split(":")[0]) for event in events if type(event).__name__ == "Degraded"]
    assert told
    assert len(told) == len(set(told))
    memory.close()


@needs_modes
def test_read_only_disk_ends_no_turn(door: Any, tmp_path: Path) -> None:
    """A memory that can be read and not written is read."""
    from langgraph.checkpoint.memory import InMemorySaver

    root = tmp_path / "workspace"
    root.mkdir()
    (root / "MEMORY.md").write_text("- Ann likes tea\n")
    root.chmod(0o555)
    try:
        model = says("fine")
        agent = door(model, [], HarnessMemory(root, model=says(FACT), config=settings()))
        agent.checkpointer = InMemorySaver()
        agent.invoke({"messages": [HumanMessage("hello")]}, thread())
        assert "Ann likes tea" in model.requests[-1].text
    finally:
        root.chmod(0o755)


def test_health_names_what_is_wrong(tmp_path: Path) -> None:
    """Health never raises; it says what could not be looked at."""
    memory = HarnessMemory(blocked(tmp_path), model=says(FACT), config=settings())
    health = memory.health()
    assert not health.is_well
    assert not health.is_writable
    assert health.problems


def test_edit_of_the_memory_is_seen_in_the_next_turn(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """Turn 1 sees `alpha`; the file is edited; turn 2 on the same thread sees `beta`."""
    memory = build()
    model = says("fine")
    agent = door(model, [], memory)
    for word in ("alpha", "beta"):
        memory.workspace.replace("MEMORY.md", f"- the word is {word}\n".encode())
        agent.invoke({"messages": [HumanMessage("hello")]}, thread())
        assert f"the word is {word}" in model.requests[-1].text


def test_system_prompt_stays_the_same_while_nothing_is_written(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """Two turns without a write to memory: byte for byte the same beginning of the request."""
    memory = build()
    memory.workspace.replace("MEMORY.md", b"- the word is alpha\n")
    memory.workspace.replace("AGENTS.md", b"You are a careful clerk.\n")
    memory.workspace.replace("knowledge/trains.md", b"about trains\n")
    model = says("fine")
    agent = door(model, [], memory)
    for _ in range(2):
        agent.invoke({"messages": [HumanMessage("hello")]}, thread())
    first, second = ([str(m.content) for m in r.messages if m.type == "system"] for r in model.requests)
    assert first == second
    assert "careful clerk" in first[0]
    assert "knowledge/trains.md" in first[0]
