"""At the same time: two turns of a thread, a message while a summary is made, sub-agents, a loop that must not block."""

import asyncio
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Any

from blockbuster import blockbuster_ctx
from langchain_core.messages import HumanMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.channels.delta import DeltaChannel
from typing_extensions import TypedDict

from langgraph_harness_memory import CompactionConfig, HarnessMemory, MemoryState, create_memory_agent, memory_messages
from langgraph_harness_memory.testing import ScriptedChatModel, assert_valid_request
from langgraph_harness_memory.testing.scripted import Reply
from tests.front_doors.conftest import SUMMARY, nodes_agent, says, settings, thread

AT_LENGTH = " and here is what I have to say about it at some length, with names and numbers" * 3


def talk(agent: Any, turns: int, start: int = 0) -> Any:
    result: Any = None
    for n in range(start, start + turns):
        result = agent.invoke({"messages": [HumanMessage(f"question {n}{AT_LENGTH}", id=f"q{n}")]}, thread())
    return result


def test_message_that_arrives_while_a_summary_is_made_stays(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """What another writer adds during the summary is in the state afterwards, and one summary stands."""
    agent: Any = None

    def summarise(_: Any) -> str:
        if agent.checkpointer and not added:
            added.append("late")
            memory.sessions.read("t1")
        return SUMMARY

    added: list[str] = []
    slow = ScriptedChatModel(script=[summarise], repeat=True)
    memory = build(config=settings(compaction=CompactionConfig(trigger_messages=8, keep_messages=3, model=slow)))
    agent = door(says("fine"), [], memory)
    talk(agent, 3)
    results: list[Any] = []
    threads = [threading.Thread(target=lambda n=n: results.append(talk(agent, 1, start=10 + n))) for n in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    talk(agent, 3, start=20)
    logged = {entry.message.id for entry in memory.sessions.read("t1")}
    assert {f"q{n}" for n in (0, 1, 2, 10, 11, 20, 21, 22)} <= logged
    messages = agent.get_state(thread()).values["messages"]
    assert sum(1 for m in messages if m.additional_kwargs.get("lc_source") == "summarization") == 1
    assert_valid_request(messages)


class DeltaState(TypedDict):
    messages: Annotated[list[Any], DeltaChannel(memory_messages, snapshot_frequency=5)]


def test_delta_channel_ends_the_same(build: Callable[..., HarnessMemory]) -> None:
    """With a channel that stores writes, the state after compactions is what it is with a plain one."""
    plain = talk(nodes_agent(says("fine"), [], build("plain")), 9)["messages"]
    memory = build("delta")
    agent = nodes_agent(says("fine"), [], memory, state=DeltaState)
    talk(agent, 9)
    saved = agent.get_state(thread()).values["messages"]
    assert [(m.type, m.text) for m in saved] == [(m.type, m.text) for m in plain]


def test_removal_by_the_application_leaves_the_log_alone(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """A message that the application takes out of the state still stands in the log."""
    memory = build()
    agent = door(says("fine"), [], memory)
    talk(agent, 1)
    agent.update_state(thread(), {"messages": [RemoveMessage(id="q0")]}, as_node="model")
    assert "q0" not in {m.id for m in agent.get_state(thread()).values["messages"]}
    assert "q0" in {entry.message.id for entry in memory.sessions.read("t1")}


def test_kept_history_shows_the_model_a_compacted_view(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """`history="keep"`: the state keeps everything, the request stays small, also in a new process."""
    compaction = CompactionConfig(trigger_messages=8, keep_messages=3, model=says(SUMMARY), history="keep")
    model = says("fine")
    agent = door(model, [], build(config=settings(compaction=compaction)))
    result = talk(agent, 9)
    assert len(result["messages"]) == 18
    assert max(len([m for m in r.messages if m.type != "system"]) for r in model.requests) <= 8
    again = says("fine again")
    agent = door(again, [], build(config=settings(compaction=compaction)))
    talk(agent, 1, start=9)
    assert len([m for m in again.requests[-1].messages if m.type != "system"]) <= 8
    assert "Ann plans a trip" in again.requests[-1].text


def test_subagent_is_logged_with_its_namespace_and_not_flushed(build: Callable[..., HarnessMemory]) -> None:
    """What a sub-agent says stands in its thread's log under its own name, and no fact is taken from it."""
    asked: list[str] = []

    def curate(messages: list[Any]) -> str:
        asked.append(str(messages[-1].text))
        return "NO_REPLY"

    memory = build(model=ScriptedChatModel(script=[curate], repeat=True))
    inner = create_memory_agent(says("the inner answer"), memory=memory, checkpointer=False, name="inner")

    @tool
    def delegate(task: str) -> str:
        """Have a sub-agent do it."""
        return str(inner.invoke({"messages": [HumanMessage(f"inner task {task}")]})["messages"][-1].text)

    model = ScriptedChatModel(script=[Reply(calls=[("delegate", {"task": "x"})]), "the outer answer"])
    create_memory_agent(model, [delegate], memory=memory).invoke({"messages": [HumanMessage("go")]}, thread())
    outer = [entry.message.text for entry in memory.sessions.read("t1", namespace="")]
    inside = [entry for entry in memory.sessions.read("t1") if entry.namespace]
    assert [entry.message.text for entry in inside] == ["inner task x", "the inner answer"]
    assert "inner task x" not in outer
    assert "the outer answer" in outer
    assert asked
    assert all("inner task" not in text for text in asked)
    assert memory.sessions.unflushed("t1") == []


def test_agent_is_a_subgraph(build: Callable[..., HarnessMemory]) -> None:
    """The prebuilt agent can be a node of a larger graph with a checkpointer of its own."""
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, StateGraph

    memory = build()
    graph = StateGraph(MemoryState)
    graph.add_node("agent", create_memory_agent(says("fine"), memory=memory, checkpointer=False))
    graph.add_edge(START, "agent")
    graph.add_edge("agent", END)
    agent = graph.compile(checkpointer=InMemorySaver())
    for n in range(6):
        result = agent.invoke({"messages": [HumanMessage(f"question {n}{AT_LENGTH}", id=f"q{n}")]}, thread())
    assert len(result["messages"]) < 12
    assert len(memory.sessions.read("t1")) == 12


def test_loop_is_not_blocked(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """Over turns that log, evict, compact and flush, the event loop never does file work itself."""
    memory = build(config=settings())

    @tool
    async def dump() -> str:
        """Return a long text."""
        return "x" * 90_000

    script = [entry for _ in range(5) for entry in (Reply(calls=[("dump", {})]), "fine")]
    agent = door(ScriptedChatModel(script=script), [dump], memory)
    stalls: list[float] = []

    async def watch() -> None:
        while True:
            start = time.perf_counter()
            await asyncio.sleep(0.005)
            stalls.append(time.perf_counter() - start - 0.005)

    async def run() -> None:
        watching = asyncio.create_task(watch())
        with blockbuster_ctx("langgraph_harness_memory"):
            for n in range(5):
                await agent.ainvoke({"messages": [HumanMessage(f"question {n}{AT_LENGTH}")]}, thread())
        watching.cancel()

    asyncio.run(run())
    assert len(memory.sessions.read("t1")) >= 20


def test_slow_summary_holds_up_no_other_turn(build: Callable[..., HarnessMemory]) -> None:
    """While one thread's summary takes its time, another thread's turn goes on in the same loop."""
    slow = ScriptedChatModel(script=[Reply(text=SUMMARY, delay=timedelta(seconds=1))], repeat=True)
    memory = build(config=settings(compaction=CompactionConfig(trigger_messages=8, keep_messages=3, model=slow)))
    agent = create_memory_agent(says("fine"), memory=memory)
    talk(agent, 3)
    ended: dict[str, float] = {}

    async def one(name: str, count: int) -> None:
        given = {"messages": [HumanMessage(f"{name} {n}{AT_LENGTH}") for n in range(count)]}
        await agent.ainvoke(given, thread(name))
        ended[name] = time.perf_counter()

    async def run() -> None:
        await asyncio.gather(one("t1", 4), one("t2", 1))

    asyncio.run(run())
    assert ended["t2"] < ended["t1"] - 0.3
