"""Short turns share one flush: a call for each cost several times what the agent itself did."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from langchain_core.messages import HumanMessage

from langgraph_harness_memory import FlushConfig, HarnessMemory
from langgraph_harness_memory.testing import ScriptedChatModel
from tests.front_doors.conftest import prebuilt_agent, says, settings, thread

FACT = "- Ann plans a trip to Oslo on May 3rd"


def talk(memory: HarnessMemory, turns: int, text: str = "I plan a trip") -> None:
    agent = prebuilt_agent(says("fine"), [], memory)
    for n in range(turns):
        agent.invoke({"messages": [HumanMessage(f"{text} {n}", id=f"m{n}")]}, thread())


def built(build: Callable[..., HarnessMemory], **flush: Any) -> tuple[HarnessMemory, ScriptedChatModel]:
    model = says(FACT)
    return build(model=model, config=settings(flush=FlushConfig(**flush))), model


def wait_for(what: Callable[[], bool]) -> bool:
    end = time.monotonic() + 20
    while not what() and time.monotonic() < end:
        time.sleep(0.01)
    return what()


def test_closing_flushes_all_short_turns_in_one_call(build: Callable[..., HarnessMemory]) -> None:
    """Three turns of a few words: nothing is asked until the memory is closed, then once, and nothing is left."""
    memory, model = built(build)
    talk(memory, 3)
    memory.close()
    assert model.calls == 1
    assert memory.sessions.unflushed("t1") == []


def test_a_quiet_thread_is_flushed_however_little_is_new(build: Callable[..., HarnessMemory]) -> None:
    """After `quiet` without a turn the facts are in the daily log, while the process goes on."""
    memory, model = built(build, quiet=timedelta(milliseconds=50))
    talk(memory, 1)
    assert wait_for(lambda: memory.sessions.unflushed("t1") == [])
    assert model.calls == 1


def test_a_new_turn_begins_the_quiet_anew(build: Callable[..., HarnessMemory]) -> None:
    """A conversation that goes on is not flushed in the middle of it, turn by turn."""
    memory, model = built(build, quiet=timedelta(seconds=30))
    talk(memory, 3)
    time.sleep(0.5)
    assert model.calls == 0
    memory.close()
    assert model.calls == 1


def test_a_long_turn_does_not_wait(build: Callable[..., HarnessMemory]) -> None:
    """What is worth a call of its own is flushed behind the answer."""
    memory, model = built(build, min_new_tokens=200, quiet=timedelta(hours=1))
    talk(memory, 1, text="I plan a long trip. " * 100)
    assert wait_for(lambda: memory.sessions.unflushed("t1") == [])
    assert model.calls == 1


def test_inline_flushes_each_run(build: Callable[..., HarnessMemory]) -> None:
    """Who waits for the flush wants its facts."""
    memory, model = built(build, mode="inline")
    talk(memory, 2)
    assert model.calls == 2
