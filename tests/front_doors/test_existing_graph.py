"""A graph that was there before gains memory with at most six changed lines."""

import difflib
from collections.abc import Callable
from typing import Any

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool

from langgraph_harness_memory import HarnessMemory
from langgraph_harness_memory.testing import ScriptedChatModel, assert_valid_request
from langgraph_harness_memory.testing.scripted import Reply
from tests.front_doors.conftest import says, settings, thread

BEFORE = """
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

model = chat_model.bind_tools(tools)

def call_model(state: MessagesState):
    return {"messages": [model.invoke(state["messages"])]}

builder = StateGraph(MessagesState)
builder.add_node("model", call_model)
builder.add_node("tools", ToolNode(tools))
builder.add_edge(START, "model")
builder.add_conditional_edges("model", tools_condition)
builder.add_edge("tools", "model")
graph = builder.compile(checkpointer=InMemorySaver())
"""

AFTER = """
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

model = memory.wrap_model(chat_model.bind_tools([*tools, *memory.tools]))

def call_model(state: MessagesState):
    return {"messages": [model.invoke(state["messages"])]}

builder = StateGraph(MessagesState)
builder.add_node("compaction", memory.compaction_node())
builder.add_node("model", call_model)
builder.add_node("tools", memory.tool_node([*tools, *memory.tools]))
builder.add_node("flush", memory.flush_node())
builder.add_edge(START, "compaction")
builder.add_edge("compaction", "model")
builder.add_conditional_edges("model", tools_condition, {"tools": "tools", END: "flush"})
builder.add_edge("tools", "compaction")
graph = builder.compile(checkpointer=memory.checkpointer)
"""


def changed_lines(before: str, after: str) -> int:
    """Lines that somebody has to touch: added or rewritten ones, and removed ones that nothing took the place of."""
    marks = [line[0] for line in difflib.ndiff(before.splitlines(), after.splitlines())]
    return max(marks.count("+"), marks.count("-"))


@tool
def dump(size: int) -> str:
    """Return a long text."""
    return "x" * size


def build_graph(source: str, **names: Any) -> Any:
    scope: dict[str, Any] = dict(names)
    exec(compile(source, "graph.py", "exec"), scope)
    return scope["graph"]


SIX = """
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

model = memory.wrap_model(chat_model.bind_tools(tools))

def call_model(state: MessagesState):
    return {"messages": [model.invoke(state["messages"])]}

builder = StateGraph(MessagesState)
builder.add_node("model", call_model)
builder.add_node("tools", ToolNode(tools))
builder.add_node("before", memory.compaction_node())
builder.add_node("flush", memory.flush_node())
builder.add_edge(START, "before").add_edge("before", "model")
builder.add_conditional_edges("model", tools_condition, {"tools": "tools", END: "flush"})
builder.add_edge("tools", "before")
graph = builder.compile(checkpointer=InMemorySaver())
"""


def test_six_lines_are_enough() -> None:
    """Count them."""
    assert changed_lines(BEFORE, SIX) <= 6


def test_graph_of_six_changed_lines_remembers(build: Callable[..., HarnessMemory]) -> None:
    """Its own model function, a plain `ToolNode`, a plain `MessagesState`, another checkpointer: all parts work."""
    fact = "- Ann moves to Oslo on May 3rd"
    memory = build(model=says(fact, "NO_REPLY"))
    turns = [[Reply(calls=[("dump", {"size": 90_000})]), "a long text, indeed"] for _ in range(4)]
    model = ScriptedChatModel(script=[entry for turn in turns for entry in turn])
    graph = build_graph(SIX, chat_model=model, tools=[dump], memory=memory)
    for n in range(4):
        result = graph.invoke({"messages": [HumanMessage(f"question {n} " + "at length " * 30)]}, thread())
    messages = result["messages"]
    assert len(messages) < 9
    assert messages[0].additional_kwargs["lc_source"] == "summarization"
    assert all(len(m.text) < 6_000 for m in messages if isinstance(m, ToolMessage))
    assert len(memory.sessions.read("t1")) == 16
    assert memory.sessions.unflushed("t1") == []
    for request in model.requests:
        assert_valid_request(request.messages)
        assert request.tokens < 30_000
    memory.consolidate()
    stored = memory.workspace.read(memory.sessions.path_of("t1"))
    assert stored is not None
    assert b"x" * 90_000 in stored.data
    assert memory.index.search("Oslo")


def test_whole_wiring_binds_the_reader_and_evicts_before_the_checkpoint(build: Callable[..., HarnessMemory]) -> None:
    """With our tool node and checkpointer too, a large result never reaches a checkpoint."""
    memory = build(config=settings())
    model = ScriptedChatModel(script=[Reply(calls=[("dump", {"size": 90_000})]), "done"])
    graph = build_graph(AFTER, chat_model=model, tools=[dump], memory=memory)
    graph.invoke({"messages": [HumanMessage("go")]}, thread())
    for state in graph.get_state_history(thread()):
        assert all(len(m.text) < 6_000 for m in state.values.get("messages", []))
    shown = next(m for m in graph.get_state(thread()).values["messages"] if isinstance(m, ToolMessage))
    assert "read_file(path=" in shown.text
