"""What ends a run ends it: interrupts, cancellation and Ctrl-C are never taken for a failure of memory."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.errors import NodeCancelledError
from langgraph.types import Command, interrupt

from langgraph_harness_memory import CompactionConfig, HarnessMemory
from langgraph_harness_memory.testing import ScriptedChatModel
from langgraph_harness_memory.testing.scripted import Failure, Reply
from tests.front_doors.conftest import says, settings, thread

AT_LENGTH = " and here is what I have to say about it at some length, with names and numbers" * 3


def fill(agent: Any, turns: int) -> None:
    for n in range(turns):
        agent.invoke({"messages": [HumanMessage(f"question {n}{AT_LENGTH}", id=f"q{n}")]}, thread())


def summarising_with(model: Any) -> Any:
    return settings(compaction=CompactionConfig(trigger_messages=8, keep_messages=3, model=model))


@pytest.mark.parametrize("error", [KeyboardInterrupt, asyncio.CancelledError], ids=lambda e: e.__name__)
def test_interrupt_in_the_summary_ends_the_run(
    door: Any, build: Callable[..., HarnessMemory], error: type[BaseException]
) -> None:
    """Ctrl-C while a summary is made is Ctrl-C."""
    summariser = ScriptedChatModel(script=[Failure(error=error())], repeat=True)
    agent = door(says("fine"), [], build(config=summarising_with(summariser)))
    with pytest.raises((error, NodeCancelledError)):  # langgraph names the node of a cancelled sync run
        fill(agent, 6)
    assert summariser.calls == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, asyncio.CancelledError], ids=lambda e: e.__name__)
def test_interrupt_in_an_inline_flush_ends_the_run(
    door: Any, build: Callable[..., HarnessMemory], error: type[BaseException]
) -> None:
    """… and so it is while facts are written; they stay unmarked and are flushed later."""
    memory = build(model=ScriptedChatModel(script=[Failure(error=error()), "NO_REPLY"], repeat=True))
    agent = door(says("fine"), [], memory)
    with pytest.raises((error, NodeCancelledError)):  # langgraph names the node of a cancelled sync run
        fill(agent, 1)
    assert len(memory.sessions.unflushed("t1")) == 2
    memory.maintain()
    assert memory.sessions.unflushed("t1") == []


def test_cancelled_turn_stops_while_a_summary_is_made(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """Whoever cancels a turn does not wait for the summary."""
    slow = ScriptedChatModel(script=[Reply(text="late", delay=timedelta(seconds=20))])
    agent = door(says("fine"), [], build(config=summarising_with(slow)))
    fill(agent, 3)

    async def run() -> float:
        given = {"messages": [HumanMessage(f"one more{AT_LENGTH}"), HumanMessage(f"and one{AT_LENGTH}")]}
        task = asyncio.create_task(agent.ainvoke(given, thread()))
        while not slow.calls:  # noqa: ASYNC110  a scripted model has no event to wait for
            await asyncio.sleep(0.01)
        loop = asyncio.get_running_loop()
        start = loop.time()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return loop.time() - start

    assert asyncio.run(run()) < 2


def test_interrupted_tool_is_asked_once_and_its_neighbours_run_once(
    door: Any, build: Callable[..., HarnessMemory]
) -> None:
    """A tool that waits for a person repeats no other call of its step, and the log holds every message once."""
    ran: list[str] = []

    @tool
    def book(city: str) -> str:
        """Book a room, once a person agrees."""
        answer = interrupt({"book": city})
        ran.append("book")
        return f"booked: {answer}"

    @tool
    def weather(city: str) -> str:
        """Tell the weather."""
        ran.append("weather")
        return "rain"

    calls = [("book", {"city": "Oslo"}), ("weather", {"city": "Oslo"})]
    agent = door(ScriptedChatModel(script=[Reply(calls=calls), "done"]), [book, weather], memory := build())
    agent.invoke({"messages": [HumanMessage("go")]}, thread())
    assert agent.get_state(thread()).interrupts
    result = agent.invoke(Command(resume="yes"), thread())
    assert result["messages"][-1].text == "done"
    assert ran.count("book") == 1
    # A node that runs all calls of a step is run again as a whole; elsewhere each call is a task of its own.
    assert "weather" in ran if door.__name__ == "nodes_agent" else ran.count("weather") == 1
    logged = [entry.message for entry in memory.sessions.read("t1")]
    assert [m.type for m in logged].count("ai") == 2
    assert "booked: yes" in [m.text for m in logged]


def test_stopping_between_nodes_and_going_on(build: Callable[..., HarnessMemory]) -> None:
    """The prebuilt agent can be stopped at its nodes and goes on from there."""
    from langgraph_harness_memory import create_memory_agent

    memory = build()
    agent = create_memory_agent(says("fine"), memory=memory, interrupt_before=["model"], interrupt_after=["flush"])
    agent.invoke({"messages": [HumanMessage("hello")]}, thread())
    assert agent.get_state(thread()).next == ("model",)
    result = agent.invoke(None, thread())
    assert result["messages"][-1].text == "fine"


@pytest.mark.parametrize("raises", [True, False], ids=["model raises", "interrupt"])
def test_turn_that_never_came_to_its_end_is_flushed_later(
    door: Any, build: Callable[..., HarnessMemory], *, raises: bool
) -> None:
    """What was said before an error or an interrupt is not forgotten: maintenance recovers it."""

    @tool
    def ask() -> str:
        """Ask a person."""
        return str(interrupt("well?"))

    first = Failure(error=ValueError("no connection")) if raises else Reply(calls=[("ask", {})])
    memory = build(model=says("- Ann moves to Oslo on May 3rd", "NO_REPLY"))
    agent = door(ScriptedChatModel(script=[first]), [ask], memory)
    given = {"messages": [HumanMessage("I am Ann and move to Oslo on May 3rd.")]}
    if raises:
        with pytest.raises(ValueError, match="no connection"):
            agent.invoke(given, thread())
    else:
        agent.invoke(given, thread())
    assert memory.sessions.unflushed("t1")
    report = memory.maintain()
    assert report["recovered"][0]["facts"] == 1
    assert memory.sessions.unflushed("t1") == []
