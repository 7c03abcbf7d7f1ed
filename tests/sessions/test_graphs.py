"""Real graphs over the checkpointer: turns, branches, edits, sub-graphs, delta channels."""

import asyncio
import operator
import time
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt

from langgraph_harness_memory.events import Event, ForkSeen
from langgraph_harness_memory.formats.forms import marked
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.sessions.saver import SessionSaver
from tests.sessions.conftest import T1, chat, delta_chat, echo, say, size_of, texts, walked


def test_three_turns_stand_in_the_log_once_each(saver: SessionSaver) -> None:
    """After three turns the log holds six messages, in the order in which they were said."""
    state = say(chat(saver), "one", "two", "three")
    logged = [entry.message for entry in saver.log.read("t1")]
    assert logged == state
    assert texts(logged) == ["one", "re: one", "two", "re: two", "three", "re: three"]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_another_process_reads_the_same_state(folder: Path, saver: SessionSaver, durability: str) -> None:
    """What a run ended with is what a checkpointer that never saw it reads."""
    state = say(chat(saver), "one", "two", durability=durability)
    other = SessionSaver(folder, fsync=False)
    assert chat(other).get_state(T1).values["messages"] == state
    assert say(chat(other), "three")[:4] == state


def test_a_saved_state_is_not_written_again(folder: Path, saver: SessionSaver) -> None:
    """Saving the same messages again adds none of them to the log."""
    graph = chat(saver)
    state = say(graph, "one", "two")
    before = (folder / "t1.log.jsonl").stat().st_size
    for _ in range(3):
        graph.update_state(T1, {"messages": state})
    assert (folder / "t1.log.jsonl").stat().st_size == before
    assert graph.get_state(T1).values["messages"] == state


def test_messages_without_ids_stand_in_the_log_once_each(saver: SessionSaver) -> None:
    """A channel whose reducer gives no ids keeps its messages without, and the log has each, equal ones too."""

    class State(TypedDict):
        messages: Annotated[list[AnyMessage], operator.add]

    builder = StateGraph(State)
    builder.add_node("chat", lambda state: {"messages": [AIMessage("ok")]})
    builder.add_edge(START, "chat")
    graph = builder.compile(checkpointer=saver)
    for _ in range(3):
        graph.invoke({"messages": [HumanMessage("go")]}, T1)
    values = graph.get_state(T1).values["messages"]
    assert [m.id for m in values] == [None] * 6
    assert texts([e.message for e in saver.log.read("t1")]) == ["go", "ok"] * 3


def test_an_int_names_the_same_thread_as_its_digits(saver: SessionSaver) -> None:
    """Thread 7 and thread "7" are one."""
    say(chat(saver), "one", config={"configurable": {"thread_id": 7}})
    state = say(chat(saver), "two", config={"configurable": {"thread_id": "7"}})
    assert len(state) == 4


def test_a_removed_message_leaves_the_state_and_stays_in_the_log(saver: SessionSaver) -> None:
    """`RemoveMessage` shortens the state alone."""
    graph = chat(saver)
    state = say(graph, "one", "two")
    graph.update_state(T1, {"messages": [RemoveMessage(id=str(state[0].id))]})
    assert graph.get_state(T1).values["messages"] == state[1:]
    assert len(saver.log.read("t1")) == 4


def test_an_edited_message_is_a_new_version_in_the_log(saver: SessionSaver) -> None:
    """The application's own edit keeps the id, and the log has both texts."""
    graph = chat(saver)
    state = say(graph, "one")
    graph.update_state(T1, {"messages": [HumanMessage("won", id=state[0].id)]})
    logged = [e.message for e in saver.log.read("t1") if e.message.id == state[0].id]
    assert texts(logged) == ["one", "won"]
    assert graph.get_state(T1).values["messages"][0].text == "won"


def test_a_form_of_ours_stands_in_the_checkpoints_and_not_in_the_log(folder: Path, saver: SessionSaver) -> None:
    """A summary that takes the first message's id comes back from a new process, and the log keeps the original."""
    graph = chat(saver)
    state = say(graph, "one", "two", "three")
    summary = HumanMessage("summary of it all", id=state[0].id, additional_kwargs=marked("summary", folded=["x"]))
    gone = [RemoveMessage(id=str(m.id)) for m in state[1:4]]
    graph.update_state(T1, {"messages": [summary, *gone]})
    again = chat(SessionSaver(folder, fsync=False)).get_state(T1).values["messages"]
    assert again == [summary, *state[4:]]
    assert texts([e.message for e in saver.log.read("t1")]) == texts(state)


def test_time_travel_after_a_compaction_gives_the_messages_of_then(folder: Path, saver: SessionSaver) -> None:
    """A checkpoint of before the compaction still holds every message, in a new process too."""
    graph = chat(saver)
    state = say(graph, "one", "two")
    old = graph.get_state(T1).config
    summary = HumanMessage("s", id=state[0].id, additional_kwargs=marked("summary"))
    graph.update_state(T1, {"messages": [summary, *[RemoveMessage(id=str(m.id)) for m in state[1:3]]]})
    other = chat(SessionSaver(folder, fsync=False))
    assert len(other.get_state(T1).values["messages"]) == 2
    assert other.get_state(old).values["messages"] == state


def test_a_fork_goes_on_from_its_parent_and_the_other_branch_stays(saver: SessionSaver) -> None:
    """A run from an old checkpoint has the state of then; the log holds both branches."""
    graph = chat(saver)
    say(graph, "one")
    old = graph.get_state(T1).config
    left = say(graph, "left")
    newest = graph.get_state(T1).config
    right = say(graph, "right", config=old)
    assert texts(right) == ["one", "re: one", "right", "re: right"]
    assert graph.get_state(newest).values["messages"] == left
    assert {"left", "right"} <= set(texts([e.message for e in saver.log.read("t1")]))


def test_update_state_on_an_old_checkpoint_makes_a_branch(folder: Path, saver: SessionSaver) -> None:
    """An edit of the past is the newest checkpoint, and reads the same in a new process."""
    graph = chat(saver)
    say(graph, "one")
    old = graph.get_state(T1).config
    say(graph, "two")
    graph.update_state(old, {"messages": [HumanMessage("instead")]})
    other = chat(SessionSaver(folder, fsync=False))
    assert texts(other.get_state(T1).values["messages"]) == ["one", "re: one", "instead"]


def test_two_writers_from_one_checkpoint_are_told_as_a_fork(folder: Path, events: list[Event]) -> None:
    """Both branches are kept, the log holds every message, and the fork is told."""
    saver = SessionSaver(folder, fsync=False, on_event=events.append)
    say(chat(saver), "one")
    at = chat(saver).get_state(T1).config
    say(chat(saver), "left", config=at)
    say(chat(SessionSaver(folder, fsync=False, on_event=events.append)), "right", config=at)
    assert any(isinstance(event, ForkSeen) for event in events)
    assert {"left", "right"} <= set(texts([e.message for e in saver.log.read("t1")]))


def test_an_interrupt_is_resumed_by_another_process(folder: Path, saver: SessionSaver) -> None:
    """A pending interrupt and its answer pass through the files."""

    def ask(state: Any) -> Any:
        return {"messages": [AIMessage(f"you said {interrupt('why?')}")]}

    state = chat(saver, ask).invoke({"messages": [HumanMessage("one")]}, T1)
    assert state["__interrupt__"][0].value == "why?"
    assert saver.log.has_open_writes("t1")
    other = chat(SessionSaver(folder, fsync=False), ask)
    assert other.get_state(T1).interrupts[0].value == "why?"
    assert texts(other.invoke(Command(resume="because"), T1)["messages"]) == ["one", "you said because"]


def test_a_failed_step_is_taken_up_where_it_stopped(folder: Path, saver: SessionSaver) -> None:
    """Of two parallel tasks the one that succeeded is not run again."""
    runs: list[str] = []

    class State(TypedDict):
        done: Annotated[list[str], operator.add]

    def flaky(state: State) -> Any:
        runs.append("flaky")
        if runs.count("flaky") == 1:
            # LangGraph drops what a task returns once another one of its step has failed.
            while (found := saver.get_tuple(T1)) is None or not found.pending_writes:
                time.sleep(0.001)
            raise ValueError("not yet")
        return {"done": ["flaky"]}

    def sure(state: State) -> Any:
        runs.append("sure")
        return {"done": ["sure"]}

    def graph(saver: SessionSaver) -> Any:
        builder = StateGraph(State)
        builder.add_node("flaky", flaky)
        builder.add_node("sure", sure)
        builder.add_edge(START, "sure")
        builder.add_edge(START, "flaky")
        return builder.compile(checkpointer=saver)

    with pytest.raises(ValueError, match="not yet"):
        graph(saver).invoke({"done": []}, T1)
    state = graph(SessionSaver(folder, fsync=False)).invoke(None, T1)
    assert sorted(state["done"]) == ["flaky", "sure"]
    assert runs.count("sure") == 1


def _fan(saver: Any) -> Any:
    class State(TypedDict):
        items: Annotated[list[str], operator.add]

    def worker(name: str) -> Any:
        return lambda state: {"items": [name]}

    builder = StateGraph(State)
    for name in ("zeta", "alpha", "mu", "beta"):
        builder.add_node(name, worker(name))
        builder.add_edge(START, name)
        builder.add_edge(name, "last")
    builder.add_node("last", lambda state: interrupt("wait"))
    return builder.compile(checkpointer=saver)


def test_parallel_writes_are_read_in_the_order_of_their_tasks(folder: Path, saver: SessionSaver) -> None:
    """Pending writes come in the order in which a step applies them, as with LangGraph's own checkpointer."""

    def order(saver: Any) -> list[list[Any]]:
        _fan(saver).invoke({"items": []}, T1)
        return [
            [(channel, value) for _, channel, value in found.pending_writes or [] if channel == "items"]
            for found in saver.list(T1)
        ]

    assert order(saver) == order(InMemorySaver())
    assert [t.pending_writes for t in SessionSaver(folder, fsync=False).list(T1)] == [
        t.pending_writes for t in saver.list(T1)
    ]


def test_a_sent_state_does_not_hold_its_messages_again(folder: Path, saver: SessionSaver) -> None:
    """Ten tasks that are sent the whole history refer to it; nothing of its text is in the checkpoints."""

    class State(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]

    def spread(state: State) -> list[Send]:
        return [Send("work", {"messages": state["messages"], "part": i}) for i in range(10)]

    builder = StateGraph(State)
    builder.add_node(
        "work", lambda state: {"messages": [AIMessage(f"part {state['part']} of {len(state['messages'])}")]}
    )
    builder.add_conditional_edges(START, spread, ["work"])
    graph = builder.compile(checkpointer=saver)
    history = [HumanMessage("long " * 200, id=f"m{i}") for i in range(20)]
    graph.invoke({"messages": history}, T1)
    assert b"long long" not in (folder / "t1.jsonl").read_bytes()
    assert chat(SessionSaver(folder, fsync=False)).get_state(T1).values["messages"][:20] == history
    assert [len(e.message.text) for e in saver.log.read("t1")[:20]] == [1000] * 20


def test_sub_graphs_keep_their_own_checkpoints_and_are_logged_with_their_name(
    folder: Path, saver: SessionSaver
) -> None:
    """What a sub-graph says is logged with its namespace and read back by a new process."""
    inner = StateGraph(MessagesState)
    inner.add_node("think", lambda state: {"messages": [AIMessage("thought")]})
    inner.add_node("pause", lambda state: {"messages": [AIMessage(interrupt("go on?"))]})
    inner.add_edge(START, "think")
    inner.add_edge("think", "pause")
    outer = StateGraph(MessagesState)
    outer.add_node("helper", inner.compile())
    outer.add_edge(START, "helper")
    graph = outer.compile(checkpointer=saver)
    graph.invoke({"messages": [HumanMessage("hi")]}, T1)
    assert [e.message.text for e in saver.log.read("t1", namespace="helper")] == ["thought"]
    other = outer.compile(checkpointer=SessionSaver(folder, fsync=False))
    task = other.get_state(T1, subgraphs=True).tasks[0]
    assert texts(task.state.values["messages"]) == ["hi", "thought"]  # type: ignore[union-attr]
    assert texts(other.invoke(Command(resume="yes"), T1)["messages"]) == ["hi", "thought", "yes"]


def test_delta_history_equals_the_walk_of_the_base_class(saver: SessionSaver) -> None:
    """At each checkpoint of a delta channel our history is the one that a walk from parent to parent gives."""
    graph = delta_chat(saver)
    say(graph, *"abcdefg")
    for found in list(saver.list(T1)):
        for channels in (["messages"], ["messages", "notes", "nothing"]):
            assert saver.get_delta_channel_history(config=found.config, channels=channels) == walked(
                saver, found.config, channels
            )


def test_delta_state_is_the_one_of_langgraphs_own_checkpointer(folder: Path, saver: SessionSaver) -> None:
    """A thread with a delta channel reads back as it was, at each checkpoint, in a new process."""
    say(delta_chat(saver), *"abcdefg")
    other = delta_chat(SessionSaver(folder, fsync=False))
    states = [(texts(s.values.get("messages", [])), s.values.get("notes")) for s in other.get_state_history(T1)]
    memory = InMemorySaver()
    say(delta_chat(memory), *"abcdefg")
    assert states == [
        (texts(s.values.get("messages", [])), s.values.get("notes")) for s in delta_chat(memory).get_state_history(T1)
    ]


@pytest.mark.parametrize("turns", range(1, 8))
def test_pruning_keeps_what_a_delta_channel_is_rebuilt_from(folder: Path, saver: SessionSaver, turns: int) -> None:
    """After `prune("keep_latest")` the state is the same, one checkpoint is listed, and the thread goes on."""
    graph = delta_chat(saver)
    state = say(graph, *"abcdefgh"[:turns])
    before = walked(saver, T1, ["messages"])["messages"]["writes"]
    saver.prune(["t1"])
    assert len(list(saver.list(T1))) == 1
    assert graph.get_state(T1).values["messages"] == state
    assert walked(saver, T1, ["messages"]) == saver.get_delta_channel_history(config=T1, channels=["messages"])
    head = saver.get_tuple(T1)
    assert head is not None
    is_snapshot = "messages" in head.checkpoint["channel_values"]
    assert walked(saver, T1, ["messages"])["messages"]["writes"] == ([] if is_snapshot else before)
    other = delta_chat(SessionSaver(folder, fsync=False))
    assert other.get_state(T1).values["messages"] == state
    assert say(other, "more")[:-2] == state


@pytest.mark.parametrize("gone", range(5))
def test_deleting_runs_keeps_what_a_delta_channel_is_rebuilt_from(folder: Path, saver: SessionSaver, gone: int) -> None:
    """Without the checkpoints of one of five runs the state of the last one is the same."""
    graph = delta_chat(saver)
    state: list[Any] = []
    for number, text in enumerate("abcde"):
        state = say(
            graph,
            text,
            config={"configurable": {"thread_id": "t1", "run_id": f"r{number}"}, "metadata": {"run_id": f"r{number}"}},
        )
    runs = {t.metadata.get("run_id") for t in saver.list(T1)}
    assert f"r{gone}" in runs
    saver.delete_for_runs([f"r{gone}"])
    assert {t.metadata.get("run_id") for t in saver.list(T1)} == runs - {f"r{gone}"}
    other = SessionSaver(folder, fsync=False)
    if gone < 4:
        assert delta_chat(other).get_state(T1).values["messages"] == state
    assert walked(other, T1, ["messages"]) == other.get_delta_channel_history(config=T1, channels=["messages"])


def test_a_copied_thread_reads_and_goes_on_like_the_original(folder: Path, saver: SessionSaver) -> None:
    """The copy has the same states, its own log and marks, and outlives the original."""
    graph = delta_chat(saver)
    state = say(graph, *"abcde")
    copied = {"configurable": {"thread_id": "t2"}}
    history = [s.values for s in graph.get_state_history(T1)]
    saver.copy_thread("t1", "t2")
    assert [s.values for s in graph.get_state_history(copied)] == history
    assert [e.message for e in saver.log.read("t2")] == [e.message for e in saver.log.read("t1")]
    saver.delete_thread("t1")
    other = SessionSaver(folder, fsync=False)
    assert delta_chat(other).get_state(copied).values["messages"] == state
    assert walked(other, copied, ["messages"]) == other.get_delta_channel_history(config=copied, channels=["messages"])
    assert say(delta_chat(other), "more", config=copied)[:-2] == state


def test_a_copy_goes_after_what_the_target_holds(folder: Path, saver: SessionSaver) -> None:
    """Copying to a thread with a log of its own keeps that log, and the copied state is right."""
    say(chat(saver), "other", config={"configurable": {"thread_id": "t2"}})
    state = say(chat(saver), "one", "two")
    saver.copy_thread("t1", "t2")
    other = SessionSaver(folder, fsync=False)
    assert chat(other).get_state({"configurable": {"thread_id": "t2"}}).values["messages"] == state
    assert len(other.log.read("t2")) == 6


def test_pruning_gives_the_disk_space_back_and_leaves_the_log(folder: Path, saver: SessionSaver) -> None:
    """Of a hundred turns one checkpoint remains, and every message is still in the log."""
    graph = chat(saver)
    state = say(graph, *[f"{i} " + "x" * 400 for i in range(100)])
    before = (folder / "t1.jsonl").stat().st_size
    saver.prune(["t1", "never"])
    assert (folder / "t1.jsonl").stat().st_size < before / 50
    assert len(saver.log.read("t1")) == 200
    assert chat(SessionSaver(folder, fsync=False)).get_state(T1).values["messages"] == state
    assert say(graph, "more")[:-2] == state
    saver.prune(["t1"], strategy="delete")
    assert list(saver.list(T1)) == []
    assert len(saver.log.read("t1")) == 202


def test_a_pruned_thread_keeps_its_forms(folder: Path, saver: SessionSaver) -> None:
    """Forms are rewritten with the checkpoint that needs them."""
    graph = chat(saver)
    state = say(graph, "one", "two", "three")
    summary = HumanMessage("s " * 50, id=state[0].id, additional_kwargs=marked("summary"))
    graph.update_state(T1, {"messages": [summary, *[RemoveMessage(id=str(m.id)) for m in state[1:3]]]})
    expected = say(graph, "four")
    saver.prune(["t1"])
    assert chat(SessionSaver(folder, fsync=False)).get_state(T1).values["messages"] == expected


def test_deleting_a_thread_gives_all_its_disk_space_back(folder: Path, saver: SessionSaver) -> None:
    """A thread of a hundred turns of 4 kB leaves nothing behind."""
    graph = chat(saver)
    say(graph, *["y" * 4000 for _ in range(100)])
    assert size_of(folder) > 400_000
    saver.delete_thread("t1")
    assert size_of(folder) == 0
    assert graph.get_state(T1).values == {}
    assert len(say(graph, "again")) == 2


def test_another_checkpointer_and_a_log_of_its_own(log: SessionLog) -> None:
    """With LangGraph's own checkpointer a node that logs what it sees leaves a complete log."""
    from langgraph_harness_memory.tenancy import ambient_thread

    def logging(state: Any) -> Any:
        answer = AIMessage(f"re: {state['messages'][-1].text}", id=f"a{len(state['messages'])}")
        log.append(ambient_thread(), [*state["messages"], answer])
        return {"messages": [answer]}

    state = say(chat(InMemorySaver(), logging), "one", "two", "three")
    assert [e.message for e in log.read("t1")] == state


def test_one_checkpointer_serves_several_event_loops(folder: Path) -> None:
    """Each loop goes on where the one before stopped, and sync calls stand between them."""
    saver = SessionSaver(folder, fsync=False)
    graph = chat(saver)

    async def turn(text: str) -> int:
        state = await graph.ainvoke({"messages": [HumanMessage(text)]}, T1)
        history = [s async for s in graph.aget_state_history(T1)]
        assert history[0].values["messages"] == state["messages"]
        return len(state["messages"])

    assert asyncio.run(turn("one")) == 2
    assert len(say(graph, "two")) == 4
    assert asyncio.run(turn("three")) == 6


def test_listing_while_reading_and_writing_does_not_deadlock(saver: SessionSaver) -> None:
    """Each listed checkpoint is read again, and others are stored, while the listing is under way."""
    graph = chat(saver)
    say(graph, "one", "two")
    count = 0
    for found in saver.list(T1):
        again = saver.get_tuple(found.config)
        assert again is not None
        assert again.checkpoint == found.checkpoint
        graph.update_state(T1, {"messages": [HumanMessage(f"while {count}")]})
        count += 1
    assert count == 6
    abandoned = saver.list(T1)
    next(abandoned)
    assert len(say(graph, "three")) == 12
    assert next(abandoned).checkpoint["id"] < next(saver.list(T1)).checkpoint["id"]


def test_long_tool_results_are_in_the_log_to_the_last_character(saver: SessionSaver) -> None:
    """Five thousand characters of a tool's result are still there when the state holds an evicted form of it."""
    result = "0123456789" * 500
    graph = chat(saver)
    call = AIMessage("", id="c", tool_calls=[{"name": "t", "args": {}, "id": "x", "type": "tool_call"}])
    graph.update_state(T1, {"messages": [call, ToolMessage(result, tool_call_id="x", id="r")]})
    placeholder = ToolMessage("see file", tool_call_id="x", id="r", additional_kwargs=marked("evicted", path="p"))
    graph.update_state(T1, {"messages": [placeholder]})
    assert graph.get_state(T1).values["messages"][1].text == "see file"
    assert [e.message.text for e in saver.log.read("t1") if e.message.id == "r"] == [result]


def test_a_thread_of_langgraphs_checkpointer_goes_on_here(saver: SessionSaver) -> None:
    """Checkpoints with the string versions of LangGraph's own checkpointer are taken over and continued."""
    memory = InMemorySaver()
    say(chat(memory), "one", "two")
    for found in reversed(list(memory.list(T1))):
        saver.put(
            found.parent_config or {"configurable": {"thread_id": "t1", "checkpoint_ns": ""}},
            found.checkpoint,
            found.metadata,
            {},
        )
    assert texts(say(chat(saver), "three")) == ["one", "re: one", "two", "re: two", "three", "re: three"]


def test_a_run_that_ends_in_an_error_keeps_its_steps(saver: SessionSaver) -> None:
    """A graph that hits its recursion limit can be read and continued."""

    def loop(state: Any) -> Any:
        return Command(update=echo(state), goto="chat")

    with pytest.raises(GraphRecursionError, match="Recursion limit"):
        chat(saver, loop).invoke({"messages": [HumanMessage("go")]}, {**T1, "recursion_limit": 5})
    assert len(chat(saver).get_state(T1).values["messages"]) >= 5
