"""What the tests of sessions share: savers over a folder of their own, graphs, and a walk that takes no short cut."""

import operator
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, DeltaChannelHistory
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph

from langgraph_harness_memory.events import Event
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.sessions.saver import SessionSaver
from langgraph_harness_memory.workspace.local import LocalWorkspace

T1 = {"configurable": {"thread_id": "t1"}}
THREAD = ThreadRef(thread_id="t1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "saved"


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture
def saver(folder: Path, events: list[Event]) -> SessionSaver:
    return SessionSaver(folder, fsync=False, on_event=events.append)


@pytest.fixture
def log(tmp_path: Path, events: list[Event]) -> SessionLog:
    return SessionLog(LocalWorkspace(tmp_path / "workspace", fsync=False), on_event=events.append)


def echo(state: Any) -> dict[str, Any]:
    """Answer the last message."""
    return {"messages": [AIMessage(f"re: {state['messages'][-1].text}")]}


def chat(saver: BaseCheckpointSaver[Any] | None, node: Callable[[Any], Any] = echo) -> CompiledStateGraph[Any]:
    """A graph of one node over plain `MessagesState`."""
    builder = StateGraph(MessagesState)
    builder.add_node("chat", node)
    builder.add_edge(START, "chat")
    builder.add_edge("chat", END)
    return builder.compile(checkpointer=saver)


def merged(state: list[BaseMessage], writes: Sequence[Any]) -> list[BaseMessage]:
    """A reducer for delta channels: adds messages, by id."""
    found = {m.id: m for m in state}
    for write in writes:
        for message in write if isinstance(write, list) else [write]:
            found[message.id] = message
    return list(found.values())


class DeltaState(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(merged, snapshot_frequency=4)]
    notes: Annotated[list[str], operator.add]


def delta_chat(saver: BaseCheckpointSaver[Any]) -> CompiledStateGraph[Any]:
    """A graph whose messages are a delta channel."""
    builder = StateGraph(DeltaState)
    builder.add_node("chat", lambda state: echo(state) | {"notes": [f"n{len(state['messages'])}"]})
    builder.add_edge(START, "chat")
    builder.add_edge("chat", END)
    return builder.compile(checkpointer=saver)


def say(graph: CompiledStateGraph[Any], *texts: str, config: Any = T1, **more: Any) -> list[BaseMessage]:
    """Run turns; returns the last state's messages."""
    state: Any = {}
    for text in texts:
        state = graph.invoke({"messages": [HumanMessage(text)]}, config, **more)
    messages: list[BaseMessage] = state["messages"]
    return messages


def walked(saver: BaseCheckpointSaver[Any], config: Any, channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
    """The delta history as the base class collects it, from parent to parent."""
    return BaseCheckpointSaver.get_delta_channel_history(saver, config=config, channels=channels)


def texts(messages: Sequence[BaseMessage]) -> list[str]:
    return [m.text for m in messages]


def size_of(folder: Path) -> int:
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and "locks" not in str(p))
