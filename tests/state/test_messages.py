"""How messages merge in the state."""

import random as random_module
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from typing_extensions import TypedDict

from langgraph_harness_memory.conversation.folding import fold_update
from langgraph_harness_memory.formats.forms import form_of, marked
from langgraph_harness_memory.state import MemoryState, latest, memory_messages
from langgraph_harness_memory.testing.conversations import conversation


def chat(*ids: str) -> list[BaseMessage]:
    return [HumanMessage(f"text of {i}", id=i) for i in ids]


def fold(messages: list[BaseMessage], text: str = "summary") -> list[BaseMessage]:
    return fold_update(messages, text, tail=None, by_rules=False, facts={})


def ids(messages: Any) -> list[str | None]:
    return [m.id for m in messages]


# Ordinary input

IDS = st.sampled_from(["a", "b", "c", "d", "e", "f"])
TYPES = st.sampled_from([HumanMessage, AIMessage, AIMessageChunk])
MESSAGES = st.builds(lambda kind, text, i: kind(content=text, id=i), TYPES, st.text(max_size=3), IDS)
REMOVALS = st.builds(lambda i: RemoveMessage(id=i), IDS)


@given(st.lists(MESSAGES, max_size=6, unique_by=lambda m: m.id), st.lists(st.one_of(MESSAGES, REMOVALS), max_size=6))
def test_it_equals_add_messages_on_ordinary_input(left: list[Any], right: list[Any]) -> None:
    """Replacement, removal, re-adding and order, within one write."""
    try:
        expected = add_messages(list(left), list(right))
    except ValueError:
        # `add_messages` refuses the removal of an unknown message; here it does nothing.
        known = set(ids(left))
        kept = []
        for message in right:
            if not isinstance(message, RemoveMessage) or message.id in known:
                kept.append(message)
                known.add(message.id)
        expected = add_messages(list(left), kept)
    assert memory_messages(list(left), list(right)) == expected


@pytest.mark.parametrize(
    "write",
    [
        "hello",
        ("user", "hello"),
        ["user", "hello"],
        [("user", "hello"), ("assistant", "hi")],
        {"role": "user", "content": "hello", "id": "x"},
        [{"type": "human", "content": "hello", "id": "x"}],
        HumanMessage("hello", id="x"),
        [AIMessageChunk("hi", id="y")],
        ["hello", "again"],
        [],
    ],
)
def test_it_takes_every_form_that_add_messages_takes(write: Any) -> None:
    """Strings, pairs, dicts, chunks, one or several."""
    expected: Any = add_messages(chat("a"), write)
    merged = memory_messages(chat("a"), write)
    assert [(m.type, m.content) for m in merged] == [(m.type, m.content) for m in expected]
    assert all(m.id for m in merged)
    assert not any(isinstance(m, AIMessageChunk) for m in merged)


def test_a_message_without_an_id_is_given_one() -> None:
    """In place, so that the caller's object is the state's."""
    message = HumanMessage("hello")
    assert memory_messages([], message)[0] is message
    assert message.id


def test_removing_everything_keeps_what_follows() -> None:
    """As with `add_messages`."""
    write = [HumanMessage("x", id="x"), RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("y", id="y")]
    assert ids(memory_messages(chat("a", "b"), write)) == ids(add_messages(chat("a", "b"), list(write))) == ["y"]


def test_the_lists_that_are_passed_stay_as_they_are() -> None:
    """Reducers are pure, and an earlier checkpoint may hold the same list."""
    left, right = chat("a", "b"), [RemoveMessage(id="a"), *chat("c")]
    memory_messages(left, right)
    assert (ids(left), ids(right)) == (["a", "b"], ["a", "c"])


def test_nothing_merges_with_nothing() -> None:
    """A channel without a value."""
    assert memory_messages(None, None) == []
    assert ids(memory_messages(None, chat("a"))) == ["a"]


# Forms of ours


def test_a_fold_takes_the_place_of_what_it_folded() -> None:
    """And of nothing else; what arrived meanwhile stays behind it."""
    messages = chat("s", "a", "b", "q", "c", "d")
    update = fold([messages[1], messages[2], messages[4]])
    merged = memory_messages([*messages, *chat("new")], update)
    assert ids(merged) == ["s", "a", "q", "d", "new"]
    assert form_of(merged[1]) == "summary"


def test_a_fold_means_the_same_to_add_messages() -> None:
    """On a plain `MessagesState` the update has the same end."""
    messages = chat("a", "b", "c")
    update = fold(messages[:2])
    assert memory_messages(messages, update) == add_messages(list(messages), list(update))


def test_a_retried_fold_changes_nothing() -> None:
    """A node that ran twice, also after more was said."""
    messages = chat("a", "b", "c")
    update = fold(messages[:2])
    once = memory_messages(memory_messages(messages, update), chat("d"))
    assert memory_messages(once, update) == once


@pytest.mark.parametrize("larger_first", [True, False])
def test_two_compactions_at_once_leave_one_summary(larger_first: bool) -> None:
    """The one that folded more stands, whichever arrives first, and no message is lost between them."""
    messages = chat("a", "b", "c", "d", "e")
    small, large = fold(messages[:2], "small"), fold(messages[:4], "large")
    first, second = (large, small) if larger_first else (small, large)
    merged = memory_messages(memory_messages(messages, first), second)
    assert [m.content for m in merged] == ["large", "text of e"]


def test_of_two_compactions_that_folded_different_messages_the_first_stands() -> None:
    """What only the second one folded stays as it was said."""
    messages = chat("a", "b", "c", "d", "e")
    first, second = fold([messages[0], messages[1]], "one"), fold([messages[0], messages[2]], "two")
    merged = memory_messages(memory_messages(messages, first), second)
    assert [m.content for m in merged] == ["one", "text of c", "text of d", "text of e"]


def test_an_outdated_compaction_is_ignored() -> None:
    """The second one was made from the first; a retry of the first arrives after it."""
    messages = chat("a", "b", "c", "d", "e")
    first = fold(messages[:2], "one")
    folded = memory_messages(messages, first)
    second = fold(folded[:3], "two")
    merged = memory_messages(folded, second)
    assert [m.content for m in merged] == ["two", "text of e"]
    assert memory_messages(merged, first) == merged


def test_a_form_of_a_message_that_was_folded_is_ignored() -> None:
    """Truncation and compaction ran at the same time."""
    messages = chat("a", "b", "c")
    form = HumanMessage("short", id="b", additional_kwargs=marked("truncated", in_place=True))
    merged = memory_messages(memory_messages(messages, fold(messages[:2])), [form])
    assert [m.content for m in merged] == ["summary", "text of c"]
    first = HumanMessage("short", id="a", additional_kwargs=marked("clipped", in_place=True))
    assert memory_messages(merged, [first]) == merged


def test_an_evicted_result_that_is_new_is_appended() -> None:
    """The tool node evicts before the state has seen the result."""
    form = ToolMessage("short", id="r", tool_call_id="c", additional_kwargs=marked("evicted", path="p"))
    assert ids(memory_messages(chat("a"), [form])) == ["a", "r"]


def test_a_client_that_sends_its_history_again_does_not_undo_a_compaction() -> None:
    """Also what an earlier compaction folded, and the message whose id the summary took over."""
    messages = chat("a", "b", "c", "d", "e")
    folded = memory_messages(messages, fold(messages[:2], "one"))
    folded = memory_messages(folded, fold(folded[:2], "two"))
    again = memory_messages(folded, [*messages, *chat("new")])
    assert [m.content for m in again] == ["two", "text of d", "text of e", "text of new"]


def test_a_fold_of_a_conversation_that_was_cleared_is_ignored() -> None:
    """The application removed it while the summariser worked."""
    messages = chat("a", "b", "c")
    update = fold(messages[:2])
    assert memory_messages(memory_messages(messages, [RemoveMessage(id=REMOVE_ALL_MESSAGES)]), update) == []


def test_a_fold_whose_first_message_is_gone_stands_at_the_next() -> None:
    """The order stays right."""
    messages = chat("s", "a", "b", "c")
    update = fold(messages[1:3])
    merged = memory_messages([messages[0], *messages[2:]], update)
    assert ids(merged) == ["s", "a", "c"]


def test_a_forged_marker_is_a_message_like_any_other() -> None:
    """A marker that says nothing of what it folded folds nothing."""
    odd = HumanMessage("x", id="z", additional_kwargs={"harness_memory": {"form": "summary", "folded": "everything"}})
    assert ids(memory_messages(chat("a"), [odd])) == ["a", "z"]


# Batches


def _writes(random: random_module.Random, messages: list[BaseMessage]) -> list[Any]:
    """Draw writes of every kind: new messages, edits, removals, forms, folds of the state as it was or as it is."""
    writes: list[Any] = []
    state = list(messages)
    for step in range(random.randint(1, 6)):
        kind = random.randrange(6)
        known = random.choice(state) if state else HumanMessage("x", id="x")
        if kind == 0:
            write: Any = [HumanMessage("new", id=f"n{step}"), AIMessage("reply", id=f"r{step}")]
        elif kind == 1:
            write = [HumanMessage("edited", id=known.id)]
        elif kind == 2:
            write = [RemoveMessage(id=random.choice(["unknown", str(known.id)]))]
        elif kind == 3:
            write = [known.model_copy(update={"additional_kwargs": marked("truncated", in_place=True)})]
        else:
            source = random.choice([messages, state])
            write = fold(source[: random.randint(2, 8)], f"s{step}") if len(source) > 2 else []
        writes.append(write)
        state = memory_messages(state, write)
    return writes


@given(st.randoms(use_true_random=False), st.integers(0, 6))
def test_a_batch_of_writes_equals_the_writes_one_by_one(random: Any, border: int) -> None:
    """`DeltaChannel` replays in other batches than it was written in."""
    messages = conversation(random, turns=4, longest=4)
    writes = _writes(random, messages)
    one_by_one = messages
    for write in writes:
        one_by_one = memory_messages(one_by_one, write)
    assert memory_messages(messages, writes) == one_by_one
    assert memory_messages(memory_messages(messages, writes[:border]), writes[border:]) == one_by_one


@given(st.randoms(use_true_random=False))
def test_any_write_that_is_repeated_at_once_changes_nothing(random: Any) -> None:
    """A retried node."""
    messages = conversation(random, turns=4, longest=4)
    for write in _writes(random, messages):
        once = memory_messages(messages, write)
        assert memory_messages(once, write) == once
        messages = once


def test_ids_are_unique_after_any_writes() -> None:
    """No two messages answer to one id."""
    random = random_module.Random(3)
    for _ in range(200):
        messages = conversation(random, turns=4, longest=4)
        merged = memory_messages(messages, _writes(random, messages))
        assert len(set(ids(merged))) == len(merged)


# In graphs


class DeltaState(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(memory_messages, snapshot_frequency=4)]


@pytest.mark.parametrize("schema", [MemoryState, DeltaState, MessagesState])
def test_a_compaction_in_a_graph_ends_the_same_in_every_channel(schema: type) -> None:
    """A plain channel with our reducer, a `DeltaChannel` with it, and `add_messages`, each read back from checkpoints."""

    def speak(state: Any) -> Any:
        return {"messages": [AIMessage("reply", id=f"r{len(state['messages'])}-{state['messages'][-1].id}")]}

    def compacted(state: Any) -> Any:
        messages = state["messages"]
        return {"messages": fold(messages[:-2])} if len(messages) > 4 else {}

    graph = StateGraph(schema)
    graph.add_node("compact", compacted)
    graph.add_node("speak", speak)
    graph.add_edge(START, "compact")
    graph.add_edge("compact", "speak")
    app = graph.compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    for turn in range(9):
        app.invoke({"messages": [HumanMessage("hi", id=f"h{turn}")]}, config)
        messages = app.get_state(config).values["messages"]
        assert sum(form_of(m) == "summary" for m in messages) <= 1
        assert messages[-2].id == f"h{turn}"
    assert len(messages) <= 5
    assert form_of(messages[0]) == "summary"


def test_memorys_own_values_merge_by_name() -> None:
    """Two nodes of one step may each write theirs."""
    assert latest({"a": 1, "b": 2}, {"b": 3, "c": None}) == {"a": 1, "b": 3}
    assert latest(None, None) == {}
