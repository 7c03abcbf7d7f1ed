"""What a user interface sees of a turn that compacts: the agent's own tokens and messages, and events."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool

from langgraph_harness_memory import FlushConfig, HarnessMemory
from langgraph_harness_memory.testing import ScriptedChatModel
from langgraph_harness_memory.testing.scripted import Reply
from tests.front_doors.conftest import says, settings, thread

AT_LENGTH = " and here is what I have to say about it at some length, with names and numbers" * 3

SAID = [f"answer number {n}" for n in range(6)]


@tool
def lookup(topic: str) -> str:
    """Look something up."""
    return f"About {topic}: nothing."


def stream(agent: Any, n: int, mode: Any, *, is_async: bool) -> list[Any]:
    given = {"messages": [HumanMessage(f"question {n}{AT_LENGTH}", id=f"q{n}")]}
    if not is_async:
        return list(agent.stream(given, thread(), stream_mode=mode))

    async def collect() -> list[Any]:
        return [chunk async for chunk in agent.astream(given, thread(), stream_mode=mode)]

    return asyncio.run(collect())


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_messages_stream_shows_the_agent_alone(
    door: Any, build: Callable[..., HarnessMemory], *, is_async: bool
) -> None:
    """Over turns that compact and flush, the token stream holds the answers and tool messages, and nothing internal."""
    script: list[Any] = []
    for text in SAID:
        script += [Reply(calls=[("lookup", {"topic": "Oslo"})]), text]
    events: list[Any] = []
    memory = build(model=says("- Ann said a thing on May 3rd"), on_event=events.append)
    agent = door(ScriptedChatModel(script=script), [lookup], memory)
    seen: list[Any] = []
    for n in range(6):
        seen += stream(agent, n, "messages", is_async=is_async)
    assert "Compacted" in {type(event).__name__ for event in events}
    assert "Flushed" in {type(event).__name__ for event in events}
    messages = [message for message, _ in seen]
    assert not [m for m in messages if isinstance(m, RemoveMessage | HumanMessage)]
    answers = "".join(str(m.text) for m in messages if isinstance(m, AIMessage))
    assert answers == "".join(SAID)
    assert len([m for m in messages if isinstance(m, ToolMessage)]) == 6


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_custom_stream_tells_of_a_compaction_with_counts(
    door: Any, build: Callable[..., HarnessMemory], *, is_async: bool
) -> None:
    """A user interface is told what was folded, in plain JSON."""
    agent = door(says("fine"), [], build())
    told: list[Any] = []
    for n in range(5):
        told += stream(agent, n, "custom", is_async=is_async)
    compacted = [chunk for chunk in told if chunk["type"] == "memory.compacted"]
    assert compacted
    assert compacted[0]["messages_before"] > compacted[0]["messages_after"] > 0
    assert compacted[0]["tokens_before"] > 0
    assert compacted[0]["thread_id"] == "t1"


def test_nothing_is_told_where_nothing_happens(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """A turn in which memory only looks emits no event."""
    agent = door(says("fine"), [], build(config=settings(flush=None)))
    assert stream(agent, 0, "custom", is_async=False) == []


def test_summary_takes_the_place_of_the_first_folded_message(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """The saved state is small, in order, and its summary is marked for user interfaces."""
    agent = door(says("fine"), [], build())
    for n in range(6):
        agent.invoke({"messages": [HumanMessage(f"question {n}{AT_LENGTH}", id=f"q{n}")]}, thread())
    messages = agent.get_state(thread()).values["messages"]
    assert len(messages) < 8
    assert messages[0].additional_kwargs["lc_source"] == "summarization"
    assert [m.type for m in messages[-2:]] == ["human", "ai"]
    assert messages[-2].text == f"question 5{AT_LENGTH}"


def test_messages_are_logged_before_their_step_is_shown(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """Whoever saw a step's update finds its messages in the session log, whatever the checkpointer does."""
    memory = build(config=settings(flush=FlushConfig(trigger="never")))
    script = [Reply(calls=[("lookup", {"topic": "Oslo"}), ("lookup", {"topic": "Rome"})]), "done"]
    agent = door(ScriptedChatModel(script=script), [lookup], memory)
    agent.checkpointer = None
    shown: set[str] = set()
    for update in agent.stream({"messages": [HumanMessage("hello", id="q")]}, thread(), stream_mode="updates"):
        for values in update.values():
            found = (values or {}).get("messages", [])
            found = getattr(found, "value", found)  # deepagents overwrites the list where it repairs it
            shown |= {message.id for message in found if not isinstance(message, RemoveMessage)}
        logged = {entry.message.id for entry in memory.sessions.read("t1")}
        assert shown <= logged | {"q"}
    assert len(shown - {"q"}) == 4
    assert len(memory.sessions.read("t1")) == 5


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol:Warning")
def test_v3_stream_shows_the_agent_alone(build: Callable[..., HarnessMemory]) -> None:
    """The newer event stream of `create_agent` holds no internal message either."""
    from tests.front_doors.conftest import langchain_agent

    agent = langchain_agent(says("fine"), [], build(model=says("- A fact about Ann on May 3rd")))
    texts: list[str] = []
    for n in range(5):
        run = agent.stream_events({"messages": [HumanMessage(f"question {n}{AT_LENGTH}")]}, thread(), version="v3")
        texts += [str(message.text) for message in run.messages]
    assert texts == ["fine"] * 5


def test_background_flush_reaches_no_stream(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """What is flushed behind the answer tells its event to the callback alone, and the answer does not wait."""
    slow = ScriptedChatModel(
        script=[Reply(text="- A fact about Ann on May 3rd", delay=timedelta(milliseconds=200))], repeat=True
    )
    events: list[Any] = []
    memory = build(config=settings(flush=FlushConfig(mode="background")), model=slow, on_event=events.append)
    chunks = stream(door(says("fine"), [], memory), 0, ["custom", "messages"], is_async=False)
    assert not events
    assert "".join(str(c[0].text) for kind, c in chunks if kind == "messages") == "fine"
    memory.close()
    assert [type(event).__name__ for event in events] == ["ModelAsked", "Flushed"]
