"""A recorded conversation goes through an agent message by message, from wherever it was stopped."""

from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode

from langgraph_harness_memory.cli.replaying import replay
from langgraph_harness_memory.formats.conversations import Conversation
from langgraph_harness_memory.testing import request_faults


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


class Bench:
    """A plain agent with the memory agent's shape, and what a session log would hold."""

    def __init__(self) -> None:
        self.saver = InMemorySaver()
        self.runs = 0
        self.flushes = 0
        self.fail_at: int | None = None

    def build(self, model: Any, tools: Any) -> Any:
        def ask(state: State) -> Any:
            self.runs += 1
            if self.runs == self.fail_at:
                raise KeyboardInterrupt
            return {"messages": [model.invoke(state["messages"])]}

        def flush(state: State) -> Any:
            self.flushes += 1
            return {}

        def route(state: State) -> str:
            return "tools" if state["messages"][-1].tool_calls else "flush"

        graph = StateGraph(State)
        graph.add_node("compaction", lambda state: {})
        graph.add_node("model", ask)
        graph.add_node("tools", ToolNode(tools) if tools else lambda state: {})
        graph.add_node("flush", flush)
        graph.add_edge(START, "compaction")
        graph.add_edge("compaction", "model")
        graph.add_conditional_edges("model", route, ["tools", "flush"])
        graph.add_edge("tools", "compaction")
        graph.add_edge("flush", END)
        return graph.compile(checkpointer=self.saver)

    def messages(self) -> list[Any]:
        checkpoint = self.saver.get_tuple({"configurable": {"thread_id": "t"}})
        return checkpoint.checkpoint["channel_values"].get("messages", []) if checkpoint else []

    def replay(self, messages: list[Any]) -> Any:
        return replay(
            Conversation(thread_id="t", messages=tuple(messages)),
            build=self.build,
            logged=lambda: {str(m.id) for m in self.messages()},
            count=len,
        )


def call(*ids: str, text: str = "") -> AIMessage:
    return AIMessage(text, tool_calls=[{"name": f"tool_{i[-1]}", "args": {}, "id": i} for i in ids])


def result(call_id: str, text: str = "done") -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id)


def identified(messages: list[Any]) -> list[Any]:
    return [m.model_copy(update={"id": f"m{n}"}) for n, m in enumerate(messages)]


SHAPES = {
    "a question and an answer": [HumanMessage("a"), AIMessage("b")],
    "tools, parallel, twice": [
        SystemMessage("s"), HumanMessage("a"), call("c1", "c2"), result("c1"), result("c2"), call("c1"), result("c1", "again"), AIMessage("z"),
    ],
    "a user who speaks between result and answer": [HumanMessage("a"), call("c1"), result("c1"), HumanMessage("hurry"), AIMessage("z")],
    "an answer after an answer": [HumanMessage("a"), AIMessage("b"), AIMessage("c"), HumanMessage("d"), AIMessage("e")],
    "the assistant speaks first": [AIMessage("hello"), HumanMessage("a"), AIMessage("b")],
    "nobody answers": [HumanMessage("a"), AIMessage("b"), HumanMessage("c"), HumanMessage("d")],
    "cut off at a call": [HumanMessage("a"), call("c1", "c2")],
    "cut off after a result": [HumanMessage("a"), call("c1"), result("c1")],
    "a result is missing": [HumanMessage("a"), call("c1", "c2"), result("c1"), AIMessage("b")],
    "a result is late": [HumanMessage("a"), call("c1"), HumanMessage("b"), result("c1"), AIMessage("c")],
    "a result without its call": [result("c9"), HumanMessage("a"), AIMessage("b")],
    "a result answered twice": [HumanMessage("a"), call("c1"), result("c1"), result("c1", "b"), AIMessage("c")],
    "a system message in the middle": [HumanMessage("a"), AIMessage("b"), SystemMessage("s"), HumanMessage("c"), AIMessage("d")],
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_every_message_arrives_once_and_in_order(shape):
    """Whatever the shape: ids, order and words of the state are those of the recording."""
    bench = Bench()
    messages = identified(shape)
    outcome = bench.replay(messages)
    assert [(m.id, m.type, m.content) for m in bench.messages()] == [(m.id, m.type, m.content) for m in messages]
    assert outcome.new == len(messages)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_a_second_replay_adds_nothing(shape):
    """No message, no model call, no flush."""
    bench = Bench()
    messages = identified(shape)
    bench.replay(messages)
    before = (bench.runs, bench.flushes)
    outcome = bench.replay(messages)
    assert (outcome.new, outcome.requests) == (0, 0)
    assert (bench.runs, bench.flushes) == before


TURNS = st.lists(
    st.sampled_from(
        [
            [HumanMessage("a")],
            [AIMessage("b")],
            [HumanMessage("a"), AIMessage("b")],
            [HumanMessage("a"), call("c1", "c2"), result("c2"), result("c1"), AIMessage("b")],
            [HumanMessage("a"), call("c1"), result("c1"), call("c1"), result("c1"), HumanMessage("x"), AIMessage("b")],
            [call("c1")],
            [result("c1")],
            [SystemMessage("s")],
        ]
    ),
    min_size=1,
    max_size=6,
)


@given(TURNS, st.integers(1, 8))
def test_a_replay_that_is_stopped_goes_on_from_where_it_was(turns, stop):
    """Stopped at any model call and run again: the same end as without the stop, with nothing twice."""
    messages = identified([m for turn in turns for m in turn])
    bench = Bench()
    bench.fail_at = stop
    try:
        bench.replay(messages)
    except KeyboardInterrupt:
        bench.replay(messages)
    ids = [m.id for m in bench.messages()]
    assert sorted(ids, key=lambda i: int(i[1:])) == [m.id for m in messages]


class Stumbling(InMemorySaver):
    """Dies at its n-th checkpoint, when the writes of the step before it are stored already."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.left = at

    def put(self, *args: Any, **kwargs: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise OSError("the machine went down")
        return super().put(*args, **kwargs)


@pytest.mark.parametrize("at", range(1, 16))
def test_call_ids_that_come_again_find_their_own_results_after_a_crash(at):
    """A recording whose every call has the same id, cut off at any checkpoint: each result in its own place."""
    turns = [m for n in range(3) for m in (call("c1"), result("c1", f"result {n}"))]
    messages = identified([HumanMessage("a"), *turns, AIMessage("z")])
    bench = Bench()
    bench.saver = Stumbling(at)
    try:
        bench.replay(messages)
    except OSError:
        bench.replay(messages)
    assert [(m.id, m.content) for m in bench.messages()] == [(m.id, m.content) for m in messages]


def test_a_grown_recording_adds_what_is_new():
    """The longer version of a session goes on where the shorter one ended."""
    bench = Bench()
    messages = identified(SHAPES["tools, parallel, twice"] + SHAPES["a question and an answer"])
    bench.replay(messages[:8])
    assert bench.replay(messages).new == 2
    assert [m.id for m in bench.messages()] == [m.id for m in messages]


def test_valid_recordings_make_valid_requests():
    """The requests of a well-formed recording have no fault, and their sizes are reported."""
    bench = Bench()
    outcome = bench.replay(identified(SHAPES["tools, parallel, twice"]))
    assert outcome.faults == ()
    assert (outcome.requests, outcome.longest_request, outcome.sent_tokens) == (3, 7, 2 + 5 + 7)
    assert outcome.plain_tokens == outcome.sent_tokens
    assert request_faults(bench.messages()) == []


@pytest.mark.parametrize("size", [4, 50])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_the_memory_agent_logs_every_message_of_any_shape_once(shape, size, tmp_path):
    """Through the real agent, with and without compaction on the way: all in the log, once, and nothing at the second run."""
    from langgraph_harness_memory import (
        CompactionConfig,
        FlushConfig,
        HarnessMemory,
        MaintenanceConfig,
        MemoryConfig,
        create_memory_agent,
    )
    from langgraph_harness_memory.curation.extractor import ExtractiveChatModel

    rules = ExtractiveChatModel()
    config = MemoryConfig(
        compaction=CompactionConfig(trigger_messages=size, keep_messages=2, model=rules),
        flush=FlushConfig(mode="inline"),
        maintenance=MaintenanceConfig(autostart=False),
    )
    messages = identified([*shape, *SHAPES["a question and an answer"], *shape])
    conversation = Conversation(thread_id="t", messages=tuple(messages))
    with HarnessMemory(tmp_path / "w", model=rules, config=config) as memory:

        def lead():
            return replay(
                conversation,
                build=lambda model, tools: create_memory_agent(model, tools, memory=memory),
                logged=lambda: {str(e.message.id) for e in memory.sessions.read("t")},
                count=len,
            )

        first, second = lead(), lead()
        logged = [(e.message.id, e.message.content) for e in memory.sessions.read("t")]
    assert sorted(logged) == sorted((m.id, m.content) for m in messages)
    assert (first.new, second.new, second.requests) == (len(messages), 0, 0)
    assert first.faults == ()
