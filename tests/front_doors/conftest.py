"""What the tests of the front doors share: agents of every kind around the same model, tools and memory."""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langgraph.graph import END, START, StateGraph

from langgraph_harness_memory import (
    CompactionConfig,
    FlushConfig,
    HarnessMemory,
    MaintenanceConfig,
    MemoryConfig,
    MemoryState,
    create_memory_agent,
)
from langgraph_harness_memory.testing import ScriptedChatModel

SUMMARY = """## SESSION INTENT
Ann plans a trip to Oslo.

## SUMMARY
Ann asked about the weather in Oslo several times and it rained.

## ARTIFACTS
None

## NEXT STEPS
None"""

QUIET = MaintenanceConfig(autostart=False)


def thread(thread_id: str = "t1", user_id: str | None = None) -> dict[str, Any]:
    configurable = {"thread_id": thread_id} | ({} if user_id is None else {"user_id": user_id})
    return {"configurable": configurable}


def says(*texts: str) -> ScriptedChatModel:
    """A model that says these, the last again and again."""
    return ScriptedChatModel(script=list(texts), repeat=True)


def settings(**groups: Any) -> MemoryConfig:
    """Settings without anything in the background, unless a test asks for it."""
    defaults: dict[str, Any] = {
        "maintenance": QUIET,
        "flush": FlushConfig(mode="inline"),
        "compaction": CompactionConfig(trigger_messages=8, keep_messages=3, model=says(SUMMARY)),
    }
    return MemoryConfig(**{**defaults, **groups})


def route(state: Any) -> str:
    return "tools" if getattr(state["messages"][-1], "tool_calls", None) else "flush"


def nodes_agent(model: Any, tools: Sequence[Any], memory: HarnessMemory, *, state: Any = MemoryState) -> Any:
    graph = StateGraph(state)
    graph.add_node("compaction", memory.compaction_node(model=model, tools=memory.with_tools(tools)))
    graph.add_node("model", memory.model_node(model, memory.with_tools(tools)))
    graph.add_node("tools", memory.tool_node(memory.with_tools(tools)))
    graph.add_node("flush", memory.flush_node())
    graph.add_edge(START, "compaction")
    graph.add_edge("compaction", "model")
    graph.add_conditional_edges("model", route, ["tools", "flush"])
    graph.add_edge("tools", "compaction")
    graph.add_edge("flush", END)
    return graph.compile(checkpointer=memory.checkpointer)


def prebuilt_agent(model: Any, tools: Sequence[Any], memory: HarnessMemory) -> Any:
    return create_memory_agent(model, tools, memory=memory)


def langchain_agent(model: Any, tools: Sequence[Any], memory: HarnessMemory) -> Any:
    return create_agent(model, list(tools), middleware=memory.middleware(), checkpointer=memory.checkpointer)


def deep_agent(model: Any, tools: Sequence[Any], memory: HarnessMemory) -> Any:
    from deepagents import create_deep_agent

    return create_deep_agent(model, list(tools), middleware=memory.middleware(), checkpointer=memory.checkpointer)


DOORS: dict[str, Callable[[Any, Sequence[Any], HarnessMemory], Any]] = {
    "nodes": nodes_agent,
    "prebuilt": prebuilt_agent,
    "create_agent": langchain_agent,
    "deepagents": deep_agent,
}


@pytest.fixture(params=list(DOORS))
def door(request: pytest.FixtureRequest) -> Callable[[Any, Sequence[Any], HarnessMemory], Any]:
    """Each way to build an agent."""
    return DOORS[request.param]


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Callable[..., HarnessMemory]]:
    """Builds memories in folders of their own and closes them."""
    built: list[HarnessMemory] = []

    def make(name: str = "workspace", **arguments: Any) -> HarnessMemory:
        arguments.setdefault("config", settings())
        arguments.setdefault("model", says("NO_REPLY"))
        memory = HarnessMemory(tmp_path / name / "memory", **arguments)
        built.append(memory)
        return memory

    yield make
    for memory in built:
        memory.close()


def told(messages: Sequence[BaseMessage]) -> list[tuple[str, str, tuple[str, ...]]]:
    """What was said, without ids: role, text, calls."""
    return [
        (message.type, str(message.text), tuple(call["name"] for call in getattr(message, "tool_calls", ())))
        for message in messages
    ]


SECOND = timedelta(seconds=1)
