"""Any sequence of edits of a thread reads like it does with LangGraph's in-memory checkpointer."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_harness_memory.formats.forms import marked
from langgraph_harness_memory.sessions.lists import Other, Piece, changed_from, count_of, written
from langgraph_harness_memory.sessions.live import Said, Stored
from langgraph_harness_memory.sessions.saver import SessionSaver

SCHEMA = {"v": 4, "ts": "2026-01-31T09:00:00+00:00", "versions_seen": {}, "updated_channels": None}

makes = st.sampled_from(
    [
        lambda n: HumanMessage(f"h{n}", id=f"m{n}"),
        lambda n: AIMessage(f"a{n}", id=f"m{n}"),
        lambda n: ToolMessage(f"t{n}", tool_call_id="c", id=f"m{n}", artifact={"n": n}),
        lambda n: HumanMessage(f"s{n}", id=f"m{n % 3}", additional_kwargs=marked("summary", n=n)),
        lambda n: HumanMessage(f"e{n}", id=f"m{n % 5}"),
        lambda n: HumanMessage("same"),
    ]
)
edits = st.one_of(
    st.tuples(st.just("add"), st.lists(makes, min_size=1, max_size=4)),
    st.tuples(st.just("cut"), st.integers(0, 6)),
    st.tuples(st.just("drop first"), st.integers(0, 6)),
    st.tuples(st.just("replace"), st.integers(0, 6), makes),
    st.tuples(st.just("insert"), st.integers(0, 6), makes),
    st.tuples(st.just("reverse")),
    st.tuples(st.just("text"), st.text(max_size=4)),
    st.tuples(st.just("nothing")),
    st.tuples(st.just("fork"), st.integers(0, 8)),
    st.tuples(st.just("reopen")),
    st.tuples(st.just("write"), makes),
    st.tuples(st.just("prune")),
)


def _edited(values: list[Any], edit: tuple[Any, ...], numbers: Any) -> list[Any]:
    match edit:
        case ("add", new):
            return [*values, *(make(next(numbers)) for make in new)]
        case ("cut", at):
            return values[:at]
        case ("drop first", count):
            return values[count:]
        case ("replace", at, make) if at < len(values):
            return [*values[:at], make(next(numbers)), *values[at + 1 :]]
        case ("insert", at, make):
            return [*values[:at], make(next(numbers)), *values[at:]]
        case ("reverse",):
            return values[::-1]
        case ("text", text):
            return [*values, text]
        case _:
            return list(values)


@settings(max_examples=150)
@given(st.lists(edits, max_size=25))
def test_any_history_reads_as_with_the_checkpointer_in_memory(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Any, ...]]
) -> None:
    """Messages are added, cut, replaced by forms, reordered, forked and pruned; every checkpoint reads the same."""
    folder = tmp_path_factory.mktemp("machine")
    ours, memory = SessionSaver(folder, fsync=False), InMemorySaver()
    numbers = iter(range(10_000))
    at: dict[str, Any] = {"configurable": {"thread_id": "t1", "checkpoint_ns": ""}}
    known: list[dict[str, Any]] = []
    versions: dict[str, int] = {}
    version = 0
    for number, edit in enumerate(steps):
        match edit:
            case ("reopen",):
                ours = SessionSaver(folder, fsync=False)
            case ("fork", back) if known:
                at = known[-1 - back % len(known)]
            case ("write", make) if known:
                message = make(next(numbers))
                for saver in (ours, memory):
                    saver.put_writes(at, [("messages", [message]), ("other", number)], f"task {number:03}", "p")
            case ("prune",) if known:
                ours.prune(["t1"])
                known = known[-1:]
                at = known[0]
                found = memory.get_tuple(at)
                assert found is not None
                memory = InMemorySaver()
                memory.put(
                    found.parent_config or {"configurable": {"thread_id": "t1", "checkpoint_ns": ""}},
                    found.checkpoint,
                    found.metadata,
                    found.checkpoint["channel_versions"],
                )
                for task, channel, value in found.pending_writes or []:
                    memory.put_writes(at, [(channel, value)], f"{task} {channel}", "p")
            case _:
                found = ours.get_tuple(at) if known else None
                before = [] if found is None else found.checkpoint["channel_values"]["messages"]
                after = _edited(before, edit, numbers)
                is_same = edit == ("nothing",) and found is not None
                version += not is_same
                stands = versions[at["configurable"]["checkpoint_id"]] if is_same else version
                checkpoint: Any = {
                    **SCHEMA,
                    "id": f"{number:08}",
                    "channel_values": {"messages": after, "count": len(after), "kept": "as it is"},
                    "channel_versions": {"messages": stands, "count": stands, "kept": 1},
                }
                new = {} if is_same else checkpoint["channel_versions"]
                versions[checkpoint["id"]] = stands
                config = ours.put(at, checkpoint, {"step": number}, new)
                assert memory.put(at, checkpoint, {"step": number}, new) == config
                at = config
                known.append(config)
        for saver in (ours, SessionSaver(folder, fsync=False)):
            for config in known[-4:]:
                one, other = saver.get_tuple(config), memory.get_tuple(config)
                assert one is not None
                assert other is not None
                assert one.checkpoint["channel_values"] == other.checkpoint["channel_values"]
                assert one.metadata == other.metadata
                assert [w[1:] for w in one.pending_writes or []] == [w[1:] for w in other.pending_writes or []]
                assert one.parent_config == other.parent_config
    logged = [(e.message.id, repr(e.message)) for e in ours.log.read("t1") if e.message.id is not None]
    assert len(logged) == len(set(logged))


positions = st.lists(st.integers(0, 40), max_size=30, unique=True)
changes = st.lists(st.tuples(st.integers(0, 30), positions), min_size=1, max_size=30)


def _element(position: int) -> Stored:
    return Stored(f"m{position}", f"{position:016x}", Said(position, (position * 100, 99)))


@given(changes)
def test_a_stored_list_is_short_and_complete(steps: list[tuple[int, list[int]]]) -> None:
    """A list that changes again and again: its pieces always give the whole, and are at most log n."""
    all_elements = {n: _element(n) for n in range(41)}
    lines: dict[Any, list[Any]] = {}
    stored = None
    for number, (keep, tail) in enumerate(steps):
        elements = [*(stored.elements[:keep] if stored else []), *(all_elements[n] for n in tail)]
        stored = changed_from(stored, elements)
        if stored.pieces[-1].pointer is None:
            lines[number, 0] = written(stored)["$messages"]
            stored.stored_at((number, 0))
        assert stored.elements == elements
        assert sum(map(count_of, stored.items)) == len(elements)
        assert stored.starts == [sum(map(count_of, stored.items[:i])) for i in range(len(stored.items))]
        # Read back from what was written, piece by piece.
        items: list[Any] = []
        at = stored.pieces[-1].pointer
        hops = 0
        while at is not None:
            before, *part = lines[at]
            items, at, hops = [*part, *items], None if before is None else tuple(before), hops + 1
        assert items == stored.items
        assert hops <= max(1, len(items)).bit_length() + 1


def test_elements_that_are_no_messages_are_compared_by_value() -> None:
    """Equal values in the same place are not written again."""
    one = changed_from(None, [Other("a"), Other({"b": 1})])
    one.stored_at((0, 10))
    assert changed_from(one, [Other("a"), Other({"b": 1})]) is one
    more = changed_from(one, [Other("a"), Other({"b": 1}), Other("c")])
    assert more.pieces == [Piece((0, 10), 2), Piece(None, 3)]
    assert written(more) == {"$messages": [[0, 10], ["is", "c"]]}


def test_long_histories_grow_by_what_was_added(tmp_path: Path) -> None:
    """A history whose messages alternate with others of a sub-graph still grows by a few bytes a message."""
    saver = SessionSaver(tmp_path, fsync=False)
    at: Any = {"configurable": {"thread_id": "t1", "checkpoint_ns": ""}}
    messages: list[BaseMessage] = []
    sizes = []
    for number in range(400):
        messages = [*messages, HumanMessage(f"m{number}", id=f"m{number}")]
        checkpoint: Any = {
            **SCHEMA,
            "id": f"{number:08}",
            "channel_values": {"messages": messages},
            "channel_versions": {"messages": number},
        }
        at = saver.put(at, checkpoint, {}, {})
        saver.put_writes(at, [("side", [AIMessage("x", id=f"s{number}")])], "task")
        sizes.append((tmp_path / "t1.jsonl").stat().st_size)
    first, second = sizes[199] - sizes[0], sizes[399] - sizes[200]
    assert second < first * 1.5
    assert len(SessionSaver(tmp_path, fsync=False).get_tuple(at).checkpoint["channel_values"]["messages"]) == 400  # type: ignore[union-attr]
