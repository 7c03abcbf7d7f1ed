"""Checkpoints field by field: what a put writes, what a reader gets, what listings, prunes and copies leave."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, RemoveMessage, SystemMessage
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.constants import START
from langgraph.types import Send

from langgraph_harness_memory.errors import DamagedSession, SettingError
from langgraph_harness_memory.events import Damaged, Event, ForkSeen
from langgraph_harness_memory.formats import records
from langgraph_harness_memory.formats.forms import marked
from langgraph_harness_memory.formats.session_log import hash_of
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.sessions.live import token_of
from langgraph_harness_memory.sessions.saver import SessionSaver
from langgraph_harness_memory.testing.clock import FrozenClock
from tests.sessions.conftest import T1, THREAD, walked

AT = datetime(2026, 1, 31, 9, tzinfo=UTC)
HI, YO = HumanMessage("hi", id="h"), AIMessage("yo", id="a")
HI_HASH, YO_HASH = (hash_of({"type": kind, "content": text}) for kind, text in (("human", "hi"), ("ai", "yo")))


@pytest.fixture
def saver(folder: Path, events: list[Event]) -> SessionSaver:
    return SessionSaver(folder, fsync=False, clock=FrozenClock(AT), on_event=events.append)


def again(folder: Path, **more: Any) -> SessionSaver:
    """Another process over the same files."""
    return SessionSaver(folder, fsync=False, **more)


def checkpoint(checkpoint_id: str, values: dict[str, Any], versions: dict[str, Any] | None = None, **more: Any) -> Any:
    return {
        "v": 4,
        "id": checkpoint_id,
        "ts": f"ts-{checkpoint_id}",
        "channel_values": values,
        "channel_versions": dict.fromkeys(values, 1) if versions is None else versions,
        "versions_seen": {},
        "updated_channels": None,
        **more,
    }


def config(checkpoint_id: str | None = None, *, thread: Any = "t1", ns: str | None = "") -> Any:
    named = {"thread_id": thread} | ({} if ns is None else {"checkpoint_ns": ns})
    return {"configurable": named | ({} if checkpoint_id is None else {"checkpoint_id": checkpoint_id})}


def lines(path: Path) -> list[tuple[list[int], dict[str, Any]]]:
    """The lines of a file: where each stands and what it holds."""
    out, offset = [], 0
    for line in path.read_bytes().splitlines(keepends=True):
        record = json.loads(line)
        del record["c"]
        out.append(([offset, len(line) - 1], record))
        offset += len(line)
    return out


def ids(found: Any) -> list[str]:
    return [each.config["configurable"]["checkpoint_id"] for each in found]


@pytest.fixture
def filled(saver: SessionSaver) -> SessionSaver:
    """Three checkpoints in a row, with writes of the first, and a branch from the first one."""
    first = saver.put(
        config(),
        checkpoint("1", {"messages": [HI], "n": 1}, updated_channels=["messages", "n"]),
        {"source": "input", "step": -1},
        {},
    )
    assert first == config("1")
    saver.put_writes(first, [("messages", [YO]), ("n", 2)], "task", "~p")
    second = saver.put(
        first,
        checkpoint(
            "2",
            {"messages": [HI, YO], "n": 1, "x": (1,)},
            {"messages": 2, "n": 1, "x": 1},
            versions_seen={"node": {"n": 1}},
            updated_channels=["messages", "x"],
        ),
        {"source": "loop", "step": 0, "run_id": "r"},
        {},
    )
    saver.put(
        second,
        checkpoint(
            "3",
            {"messages": [HI, YO], "n": 1, "x": (1,)},
            {"messages": 2, "n": 1, "x": 1},
            versions_seen={"node": {"n": 1}},
            updated_channels=[],
        ),
        {"source": "loop", "step": 1},
        {},
    )
    saver.put(
        first,
        checkpoint("15", {"messages": [HI]}, v=2, pending_sends=["s"], own={"m": YO}, empty=[], none=None),
        {},
        {},
    )
    return saver


def test_each_put_is_a_line_of_what_changed(filled: SessionSaver, folder: Path, events: list[Event]) -> None:
    """Messages stand in the log and are referred to; what did not change is where it was; what is usual is left out."""
    log, saved = lines(folder / "t1.log.jsonl"), lines(folder / "t1.jsonl")
    moment = AT.isoformat()
    assert [record for _, record in log] == [
        {"v": 1, "kind": "session", "thread": "t1", "tenant": None, "at": moment, "tentative": True},
        {"v": 1, "n": 0, "id": "h", "h": HI_HASH, "at": moment, "message": {"type": "human", "content": "hi"}},
        {"v": 1, "n": 1, "id": "a", "h": YO_HASH, "at": moment, "message": {"type": "ai", "content": "yo"}},
    ]
    (_, (hi, _), (yo, _)) = log
    places = [place for place, _ in saved]
    total = f"{(token_of('h', HI_HASH) + token_of('a', YO_HASH)) % 2**64:016x}"
    said_hi = ["said", "h", HI_HASH, 0, *hi]
    said_yo = ["said", "a", YO_HASH, 1, *yo]
    both = ["run", 0, 2, total, hi[0], sum(yo) - hi[0]]
    assert [record for _, record in saved] == [
        {"v": 1, "kind": "checkpoints", "thread": "t1", "at": moment},
        {
            "v": 1,
            "kind": "checkpoint",
            "ns": "",
            "id": "1",
            "parent": None,
            "body": {
                "ts": "ts-1",
                "values": {"messages": {"$messages": [None, said_hi]}, "n": 1},
                "versions": {"messages": 1, "n": 1},
                "seen": {},
                "metadata": {"source": "input", "step": -1},
            },
        },
        {
            "v": 1,
            "kind": "writes",
            "ns": "",
            "id": "1",
            "task": "task",
            "body": {"path": "~p", "writes": [[0, "messages", {"$messages": [None, said_yo]}], [1, "n", 2]]},
        },
        {
            "v": 1,
            "kind": "checkpoint",
            "ns": "",
            "id": "2",
            "parent": "1",
            "body": {
                "ts": "ts-2",
                "values": {"messages": {"$messages": [None, both]}, "x": {"$tuple": [1]}},
                "same": {"n": places[1]},
                "versions": {"messages": 2, "n": 1, "x": 1},
                "seen": {"node": {"n": 1}},
                "metadata": {"source": "loop", "step": 0, "run_id": "r"},
            },
        },
        {
            "v": 1,
            "kind": "checkpoint",
            "ns": "",
            "id": "3",
            "parent": "2",
            "body": {
                "ts": "ts-3",
                "values": {},
                "same": {"messages": places[3], "n": places[1], "x": places[3]},
                "versions": {"messages": 2, "n": 1, "x": 1},
                "seen_at": places[3],
                "metadata": {"source": "loop", "step": 1},
            },
        },
        {
            "v": 1,
            "kind": "checkpoint",
            "ns": "",
            "id": "15",
            "parent": "1",
            "late": "3",
            "body": {
                "ts": "ts-15",
                "values": {},
                "same": {"messages": places[1]},
                "versions": {"messages": 1},
                "format": 2,
                "updated": None,
                "seen_at": places[1],
                "metadata": {},
                "more": {"pending_sends": ["s"], "own": {"m": {"$message": said_yo}}},
            },
        },
    ]
    assert events == [ForkSeen(thread_id="t1", parents=("1",))]


@pytest.mark.parametrize("thread", ["t1", 1])
def test_a_checkpoint_is_read_as_it_was_put(folder: Path, thread: Any) -> None:
    """With its configs under the thread's name as the caller has it, its metadata and its writes."""
    saver = again(folder)
    given = checkpoint(
        "1", {"messages": [HI], "n": 1}, versions_seen={"a": {"n": 1}}, updated_channels=["n"], pending_sends=["s"]
    )
    first = saver.put(config(thread=thread, ns="sub"), given, {"source": "input"}, {})
    saver.put(first, checkpoint("2", {"n": 1}), {}, {})
    saver.put_writes(first, [("n", 5)], "task")
    for reader in (saver, again(folder)):
        found = reader.get_tuple(config("1", thread=thread, ns="sub"))
        assert found == CheckpointTuple(
            config=config("1", thread=thread, ns="sub"),
            checkpoint=given,
            metadata={"source": "input"},
            parent_config=None,
            pending_writes=[("task", "n", 5)],
        )
        newest = reader.get_tuple(config(thread=thread, ns="sub"))
        assert newest is not None
        assert newest.parent_config == config("1", thread=thread, ns="sub")
        assert newest.checkpoint["updated_channels"] is None
        assert reader.get_tuple(config(thread=thread)) is None
        assert reader.get_tuple(config("9", thread=thread, ns="sub")) is None


def test_a_config_without_a_namespace_means_the_agent_itself(saver: SessionSaver) -> None:
    """For a put, its writes and a reader."""
    stored = saver.put(config(ns=None), checkpoint("1", {"n": 1}), {}, {})
    assert stored == config("1")
    saver.put_writes(config("1", ns=None), [("n", 2)], "task")
    found = saver.get_tuple(config(ns=None))
    assert found is not None
    assert found.config == config("1")
    assert found.pending_writes == [("task", "n", 2)]


# -- listings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config_", "more", "found"),
    [
        (config(), {}, ["3", "2", "15", "1"]),
        (config(ns=None), {}, ["3", "2", "15", "1"]),
        (config(ns="sub"), {}, ["4"]),
        (config("2"), {}, ["2"]),
        (config("9"), {}, []),
        (config(thread="none"), {}, []),
        (config(), {"limit": 2}, ["3", "2"]),
        (config(), {"limit": 0}, []),
        (config(), {"limit": 9}, ["3", "2", "15", "1"]),
        (config(), {"before": config("2")}, ["15", "1"]),
        (config(), {"before": config("1")}, []),
        (config(), {"before": config()}, ["3", "2", "15", "1"]),
        (config(), {"filter": {"source": "loop"}}, ["3", "2"]),
        (config(), {"filter": {"source": "loop", "step": 0}}, ["2"]),
        (config(), {"filter": {"source": "loop"}, "limit": 1}, ["3"]),
        (config(), {"filter": {}}, ["3", "2", "15", "1"]),
        (config(), {"filter": {"run_id": None}, "before": config("3"), "limit": 1}, ["15"]),
        (None, {}, ["7", "4", "3", "2", "15", "1"]),
        (None, {"filter": {"step": 7}}, ["7"]),
    ],
)
def test_checkpoints_are_listed_newest_first(
    filled: SessionSaver, folder: Path, config_: Any, more: dict[str, Any], found: list[str]
) -> None:
    """Of a thread, a namespace, one id, before another one, with some metadata, at most so many; or of all threads."""
    filled.put(config(ns="sub"), checkpoint("4", {"n": 1}), {}, {})
    filled.put(config(thread="other/thread"), checkpoint("7", {"n": 1}), {"step": 7}, {})
    if config_ == config(ns=None):
        found = ["4", *found]
    for reader in (filled, again(folder)):
        listed = list(reader.list(config_, **more))
        assert ids(listed) == found
        for each in listed:
            assert reader.get_tuple(each.config) == each


def test_a_listing_goes_on_while_checkpoints_go(filled: SessionSaver) -> None:
    """What is gone by now is left out, and does not count."""
    listed = filled.list(config(), limit=3)
    assert ids([next(listed)]) == ["3"]
    filled.prune(["t1"])
    assert list(listed) == []


def test_a_message_that_was_changed_in_place_is_a_new_version_unless_its_node_returned_another(
    saver: SessionSaver, folder: Path
) -> None:
    """Where nothing says which messages a step returned, a changed object counts as returned."""
    mine, other = HumanMessage("one", id="m"), AIMessage("yo", id="a")
    saver.put(config(), checkpoint("1", {"m": [mine, other]}), {}, {})
    mine.content = "two"
    saver.put(config("1"), checkpoint("2", {"m": [mine, other]}, {"m": 2}), {}, {})
    mine.content = "three"
    saver.put_writes(config("2"), [("m", [other])], "task")
    saver.put(config("2"), checkpoint("3", {"m": [mine, other]}, {"m": 3}), {}, {})
    found = [each.checkpoint["channel_values"]["m"][0].content for each in again(folder).list(config())]
    assert found == ["two", "two", "one"]
    assert [entry.message.text for entry in saver.log.read("t1")] == ["one", "yo", "two"]


# -- writes -----------------------------------------------------------------------------------------------------------


def test_writes_are_read_in_the_order_in_which_a_step_applies_them(saver: SessionSaver, folder: Path) -> None:
    """Regular ones once, special ones as they were last said; those before their checkpoint too."""
    saver.put_writes(config("1"), [("early", 1)], "b-task", "~b")
    saver.put(config(), checkpoint("1", {"n": 1}), {}, {})
    saver.put_writes(config("1"), [("x", 1), ("__error__", "first")], "c-task", "~c")
    saver.put_writes(config("1"), [("x", 9), ("__error__", "second")], "c-task", "~c")
    saver.put_writes(config("1"), [("y", 1), ("z", 2)], "a-task", "~a")
    for reader in (saver, again(folder)):
        found = reader.get_tuple(config("1"))
        assert found is not None
        assert found.pending_writes == [
            ("a-task", "y", 1),
            ("a-task", "z", 2),
            ("b-task", "early", 1),
            ("c-task", "__error__", "second"),
            ("c-task", "x", 1),
        ]
    size = (folder / "t1.jsonl").stat().st_size
    saver.put_writes(config("1"), [("y", 1), ("z", 2)], "a-task", "~a")
    saver.put_writes(config("1"), [], "d-task")
    assert (folder / "t1.jsonl").stat().st_size == size


def test_a_replayed_checkpoint_lists_the_writes_before_it(saver: SessionSaver, folder: Path) -> None:
    """A checkpoint that is put again keeps what its tasks wrote."""
    saver.put(config(), checkpoint("1", {"n": 1}), {}, {})
    saver.put_writes(config("1"), [("n", 2)], "task")
    saver.put(config(), checkpoint("2", {"n": 1}), {}, {})
    saver.put(config(), checkpoint("1", {"n": 5}), {}, {})
    for reader in (saver, again(folder)):
        found = reader.get_tuple(config("1"))
        assert found is not None
        assert (found.checkpoint["channel_values"], found.pending_writes) == ({"n": 5}, [("task", "n", 2)])
    saved = lines(folder / "t1.jsonl")
    assert saved[-1][1]["body"]["earlier"] == [saved[2][0]]
    assert saved[-1][1]["late"] == "2"


# -- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ([], []),
        ([1, [2]], [1, [2]]),
        (Send("node", {"a": (1,)}), {"$send": ["node", {"a": {"$tuple": [1]}}]}),
        (
            RemoveMessage(id="h"),
            {"$message": ["is", {"type": "remove", "content": "", "id": "h"}]},
        ),
        (
            [HumanMessage("no id")],
            {"$messages": [None, ["is", {"$message": ["is", {"type": "human", "content": "no id", "id": None}]}]]},
        ),
    ],
)
def test_how_a_value_of_the_input_stands(saver: SessionSaver, folder: Path, value: Any, written: Any) -> None:
    """A message of the input that has no id yet gets it later and stands in full."""
    saver.put(config(), checkpoint("1", {START: value}), {}, {})
    assert lines(folder / "t1.jsonl")[1][1]["body"]["values"] == {START: written}
    found = again(folder).get_tuple(config())
    assert found is not None
    assert found.checkpoint["channel_values"] == {START: value}


def test_messages_stand_in_the_log_wherever_a_value_holds_them(saver: SessionSaver, folder: Path) -> None:
    """In a list of a list, under a key, as the value itself; each once."""
    form = SystemMessage("short", id="s", additional_kwargs=marked("summary"))
    values = {"list": [[HI, YO, 3], []], "dict": {"last": YO}, "one": HI, "form": [form, form]}
    saver.put(config(), checkpoint("1", values), {}, {})
    _, (hi, _), (yo, _) = lines(folder / "t1.log.jsonl")
    saved = lines(folder / "t1.jsonl")
    said_hi, said_yo = ["said", "h", HI_HASH, 0, *hi], ["said", "a", YO_HASH, 1, *yo]
    digest = f"{(token_of('h', HI_HASH) + token_of('a', YO_HASH)) % 2**64:016x}"
    run = ["run", 0, 2, digest, hi[0], sum(yo) - hi[0]]
    (place, made), (_, line) = saved[1:]
    hashed = hash_of(made["body"]["message"])
    assert made == {"v": 1, "kind": "form", "id": "s", "h": hashed, "body": {"message": made["body"]["message"]}}
    assert line["body"]["values"] == {
        "list": [{"$messages": [None, run, ["is", 3]]}, []],
        "dict": {"last": {"$message": said_yo}},
        "one": {"$message": said_hi},
        "form": {"$messages": [None, *[["made", "s", hashed, *place]] * 2]},
    }
    for reader in (saver, again(folder)):
        found = reader.get_tuple(config())
        assert found is not None
        assert found.checkpoint["channel_values"] == values


def test_a_streamed_part_stands_in_place_and_is_logged_whole(saver: SessionSaver, folder: Path) -> None:
    """The state gets its part back, the log holds the message; a part without an id is no message of the log."""
    part = AIMessageChunk("yo", id="a")
    saver.put(config(), checkpoint("1", {"part": part, "nameless": AIMessageChunk("x")}), {}, {})
    assert [record.get("id") for _, record in lines(folder / "t1.log.jsonl")] == [None, "a"]
    found = again(folder).get_tuple(config())
    assert found is not None
    assert found.checkpoint["channel_values"]["part"] == part
    assert saver.log.read("t1")[0].message == YO


def test_messages_of_a_sub_graph_are_logged_under_its_name(saver: SessionSaver, folder: Path) -> None:
    """Without the task ids in it; writes likewise."""
    ns = "outer:1f0|inner:2a"
    saver.put(config(ns=ns), checkpoint("1", {"m": [HI]}), {}, {})
    saver.put_writes(config("1", ns=ns), [("m", [YO])], "task")
    assert [entry.namespace for entry in saver.log.read("t1")] == ["outer|inner", "outer|inner"]
    assert [record["ns"] for _, record in lines(folder / "t1.jsonl")[1:]] == [ns, ns]


def test_the_user_of_a_config_owns_what_is_begun(saver: SessionSaver) -> None:
    """A number counts, `True` does not; writes may come first."""
    for number, (user, tenant) in enumerate([("alice", "alice"), (7, "7"), (True, None), (None, None), (["a"], None)]):
        named = {"configurable": {"thread_id": f"p{number}", "checkpoint_ns": "", "user_id": user}}
        saver.put(named, checkpoint("1", {"m": [HI]}), {}, {})
        assert saver.log.tenant(f"p{number}") == tenant
        first = {"configurable": {**named["configurable"], "thread_id": f"w{number}", "checkpoint_id": "1"}}
        saver.put_writes(first, [("m", [HI])], "task")
        assert saver.log.tenant(f"w{number}") == tenant


# -- damage -----------------------------------------------------------------------------------------------------------


def spoil(path: Path, number: int) -> int:
    """Damage a line in its middle, and return where it stands."""
    data = path.read_bytes().splitlines(keepends=True)
    line = data[number]
    data[number] = line[:40] + b"~" + line[41:]
    path.write_bytes(b"".join(data))
    return sum(map(len, data[:number]))


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (
            1,
            (
                "t1.jsonl: the value of channel 'n' at byte {} cannot be read; go on from an earlier checkpoint "
                "(configurable.checkpoint_id), the session log holds every message"
            ),
        ),
        (
            2,
            (
                "t1.jsonl: the messages at byte {} cannot be read; go on from an earlier checkpoint, the session log holds "
                "every message"
            ),
        ),
        (
            3,
            (
                "t1.jsonl: the form of message 's' at byte {} cannot be read; go on from an earlier checkpoint, the session "
                "log holds every message"
            ),
        ),
    ],
)
def test_a_line_that_is_lost_is_named(saver: SessionSaver, folder: Path, number: int, message: str) -> None:
    """With its file, its place and what to do; what does not need it is read."""
    other = [HumanMessage(f"{n}", id=f"{n}") for n in range(5)]
    saver.log.append(THREAD, other)
    notes: list[AnyMessage] = [other[n] for n in (0, 2, 4, 1)]
    saver.put(config(), checkpoint("1", {"n": 1}), {}, {})
    saver.put(config("1"), checkpoint("2", {"n": 1, "m": notes}, {"n": 1, "m": 1}), {}, {})
    form = HumanMessage("short", id="s", additional_kwargs=marked("summary"))
    saver.put(config("2"), checkpoint("3", {"n": 1, "m": [*notes, form]}, {"n": 1, "m": 2}), {}, {})
    place = spoil(folder / "t1.jsonl", number)
    with pytest.raises(DamagedSession) as damaged:
        again(folder).get_tuple(config("3"))
    assert str(damaged.value) == message.format(place)


def test_a_message_that_stands_alone_and_is_lost_is_named(saver: SessionSaver, folder: Path) -> None:
    """Nothing can stand in its place."""
    saver.put(config(), checkpoint("1", {"one": HI}), {}, {})
    spoil(folder / "t1.log.jsonl", 1)
    with pytest.raises(DamagedSession, match=r"^message 'h' of t1\.jsonl cannot be read$"):
        again(folder).get_tuple(config("1"))


def test_messages_of_a_list_that_are_lost_are_left_out_and_told(saver: SessionSaver, folder: Path) -> None:
    """How many there should be, and how many were read."""
    saver.put(config(), checkpoint("1", {"m": [HI, YO]}), {}, {})
    place = spoil(folder / "t1.log.jsonl", 2)
    events: list[Event] = []
    found = again(folder, on_event=events.append).get_tuple(config("1"))
    assert found is not None
    assert found.checkpoint["channel_values"] == {"m": [HI]}
    assert [event.reason for event in events if isinstance(event, Damaged)] == [
        f"the line at byte {place} is damaged and was skipped",
        "2 messages from position 0 on are not what a checkpoint refers to; 1 of them were read",
    ]


def test_a_log_whose_lines_moved_is_read_by_its_positions(saver: SessionSaver, folder: Path) -> None:
    """A blank line at its beginning moves every byte; the messages are the same, and nothing is told."""
    saver.put(config(), checkpoint("1", {"m": [HI, YO], "one": YO}), {}, {})
    path = folder / "t1.log.jsonl"
    path.write_bytes(b"\n" + path.read_bytes())
    events: list[Event] = []
    found = again(folder, on_event=events.append).get_tuple(config("1"))
    assert found is not None
    assert found.checkpoint["channel_values"] == {"m": [HI, YO], "one": YO}
    assert events == []


def test_an_item_of_a_newer_format_is_refused(saver: SessionSaver, folder: Path) -> None:
    """It is shown."""
    saver.put(config(), checkpoint("1", {"m": [HI]}), {}, {})
    path = folder / "t1.jsonl"
    first, second = path.read_bytes().splitlines(keepends=True)
    record = json.loads(second)
    del record["c"]
    record["body"]["values"]["m"] = {"$messages": [None, ["new", 1]]}
    path.write_bytes(first + records.render(record))
    with pytest.raises(DamagedSession, match=r"^t1\.jsonl: \['new', 1\] is no item of a list of messages$"):
        again(folder).get_tuple(config("1"))


@pytest.mark.parametrize("count", [1, 3])
def test_a_state_is_read_from_the_lines_that_it_refers_to(saver: SessionSaver, folder: Path, count: int) -> None:
    """A long log costs nothing; nor is it read again for messages that are in memory."""
    long = [HumanMessage("x" * 1000, id=f"m{n}") for n in range(400)]
    saver.log.append(THREAD, long)
    last: list[AnyMessage] = [*long[-count:]]
    saver.put(config(), checkpoint("1", {"m": last}), {}, {})
    saver.put(config("1"), checkpoint("2", {"m": last, "n": 1}, {"m": 1, "n": 1}), {}, {})
    reader, read = again(folder), []
    stored = reader.log.workspace.read

    def counted(path: str, **span: Any) -> Any:
        found = stored(path, **span)
        read.append((path, 0 if found is None else len(found.data)))
        return found

    reader.log.workspace.read = counted  # type: ignore[method-assign]
    for at, most in ((config(), 10_000), (config("1"), 0)):
        read.clear()
        found = reader.get_tuple(at)
        assert found is not None
        assert found.checkpoint["channel_values"]["m"] == last
        assert sum(size for path, size in read if path == "t1.log.jsonl") <= most


# -- removing ---------------------------------------------------------------------------------------------------------


def test_a_prune_writes_the_newest_checkpoint_anew(filled: SessionSaver, folder: Path) -> None:
    """Whole, without what was for the others; its file is as long as it says, and its values are the same."""
    filled.put_writes(config("3"), [("n", 7)], "task", "~p")
    before = filled.get_tuple(config())
    log = (folder / "t1.log.jsonl").read_bytes()
    filled.prune(["t1"])
    assert (folder / "t1.log.jsonl").read_bytes() == log
    head, saved, writes = [record for _, record in lines(folder / "t1.jsonl")]
    assert head == {"v": 1, "kind": "checkpoints", "thread": "t1", "at": AT.isoformat()}
    assert {key: value for key, value in saved.items() if key != "body"} == {
        "v": 1,
        "kind": "checkpoint",
        "ns": "",
        "id": "3",
        "parent": "2",
    }
    assert set(saved["body"]) == {"ts", "values", "versions", "metadata", "seen", "updated"}
    assert saved["body"]["seen"] == {"node": {"n": 1}}
    assert saved["body"]["updated"] == []
    assert writes["body"] == {"path": "~p", "writes": [[0, "n", 7]]}
    for reader in (filled, again(folder)):
        assert reader.get_tuple(config()) == before
        assert ids(reader.list(config())) == ["3"]


def test_a_prune_of_all_checkpoints_deletes_their_file_and_leaves_the_log(filled: SessionSaver, folder: Path) -> None:
    """The thread can begin anew; another thread is left alone."""
    filled.put(config(thread="t2"), checkpoint("1", {"n": 1}), {}, {})
    filled.prune(["t1", "nothing"], strategy="delete")
    assert sorted(path.name for path in folder.glob("*.jsonl")) == ["t1.log.jsonl", "t2.jsonl"]
    assert filled.get_tuple(config()) is None
    filled.put(config(), checkpoint("4", {"m": [HI]}), {}, {})
    assert ids(again(folder).list(config())) == ["4"]
    with pytest.raises(SettingError) as refused:
        filled.prune(["t2"], strategy="all")
    assert "strategy='all'" in str(refused.value)
    assert "give 'keep_latest' or 'delete'" in str(refused.value)
    assert ids(filled.list(config(thread="t2"))) == ["1"]


def test_the_checkpoints_of_a_run_are_deleted_in_every_thread(filled: SessionSaver, folder: Path) -> None:
    """And no others; without a run nothing is touched."""
    filled.put(config(thread="t2"), checkpoint("1", {"n": 1}), {"run_id": "r"}, {})
    filled.put(config(thread="t3"), checkpoint("1", {"n": 1}), {"run_id": "s"}, {})
    t3 = (folder / "t3.jsonl").read_bytes()
    data = (folder / "t1.jsonl").read_bytes()
    filled.delete_for_runs([])
    assert (folder / "t1.jsonl").read_bytes() == data
    before = {each.config["configurable"]["checkpoint_id"]: each for each in filled.list(config())}
    filled.delete_for_runs(["r", "q"])
    for reader in (filled, again(folder)):
        left = list(reader.list(config()))
        assert ids(left) == ["3", "15", "1"]
        assert left == [before[name] for name in ("3", "15", "1")]
        assert ids(reader.list(None)) == ["3", "15", "1", "1"]
    assert (folder / "t3.jsonl").read_bytes() == t3
    assert not (folder / "t2.jsonl").exists()


# -- copying ----------------------------------------------------------------------------------------------------------


def test_a_copy_refers_to_its_own_log(filled: SessionSaver, folder: Path) -> None:
    """Behind what the target holds: every position and offset is the target's, in lists, values, metadata and writes."""
    form = HumanMessage("short", id="s", additional_kwargs=marked("summary"))
    values = {"m": [form, YO, HI, "text"], "deep": {"list": [[YO, HI]], "one": (HI, 1)}, "n": 1}
    filled.put(config("3"), checkpoint("5", values), {"said": YO}, {})  # type: ignore[typeddict-unknown-key]
    filled.put_writes(config("5"), [("m", [HI, form]), ("n", {"last": YO})], "task", "~p")
    other = filled.put(config(thread="t2"), checkpoint("0", {"m": [SystemMessage("mine", id="x")]}), {}, {})
    filled.copy_thread("t1", "t2")
    for reader in (filled, again(folder)):
        copied = list(reader.list(config(thread="t2")))
        original = list(reader.list(config()))
        assert ids(copied) == [*ids(original), "0"]
        for one, two in zip(original, copied, strict=False):
            assert (one.checkpoint, one.metadata) == (two.checkpoint, two.metadata)
            assert one.pending_writes == two.pending_writes
            assert two.config["configurable"]["thread_id"] == "t2"
            assert (one.parent_config is None) == (two.parent_config is None)
        assert reader.get_tuple(other) is not None
    assert [(e.message.id, e.position) for e in filled.log.read("t2")] == [("x", 0), ("h", 1), ("a", 2)]
    _, _, (hi, _), (yo, _) = lines(folder / "t2.log.jsonl")
    last = next(r for _, r in lines(folder / "t2.jsonl") if r.get("id") == "5" and r["kind"] == "checkpoint")
    said_hi, said_yo = ["said", "h", HI_HASH, 1, *hi], ["said", "a", YO_HASH, 2, *yo]
    assert last["body"]["metadata"] == {"said": {"$message": said_yo}}
    assert last["body"]["values"]["deep"] == {
        "list": [{"$messages": [None, said_yo, said_hi]}],
        "one": {"$tuple": [{"$message": said_hi}, 1]},
    }
    assert last["body"]["values"]["m"]["$messages"][2:] == [said_yo, said_hi, ["is", "text"]]


def test_a_copy_writes_a_list_once(saver: SessionSaver, folder: Path) -> None:
    """Two roots of a thread hold the same messages; the second refers to the first, and has all its other values."""
    values = {"m": [HI, YO, "text"], "x": 5, "y": [YO]}
    for number in ("1", "2", "3"):
        saver.put(config(), checkpoint(number, {**values, "m": values["m"][: int(number)]}), {}, {})
    saver.put(config(), checkpoint("4", values), {}, {})
    saver.copy_thread("t1", "t2")
    originals, copies = (list(again(folder).list(config(thread=thread))) for thread in ("t1", "t2"))
    assert [each.checkpoint for each in copies] == [each.checkpoint for each in originals]
    saved = lines(folder / "t2.jsonl")
    assert saved[4][1]["body"]["same"] == {"m": saved[3][0], "y": saved[1][0]}
    assert saved[4][1]["body"]["values"] == {"x": 5}


def test_a_copy_survives_the_original(filled: SessionSaver, folder: Path) -> None:
    """And takes its marks along; a thread is not copied onto itself."""
    filled.log.mark_flushed(THREAD, [0])
    before = list(filled.list(config()))
    filled.copy_thread("t1", "t1")
    assert list(filled.list(config())) == before
    filled.copy_thread("nothing", "t3")
    assert not list(folder.glob("t3*"))
    filled.copy_thread("t1", "t2")
    filled.delete_thread("t1")
    reader = again(folder)
    assert [each.checkpoint for each in reader.list(config(thread="t2"))] == [each.checkpoint for each in before]
    assert reader.log.flushed("t2").ranges == ((0, 0),)
    assert lines(folder / "t2.jsonl")[0][1]["thread"] == "t2"
    assert reader.get_tuple(config()) is None


# -- delta channels ---------------------------------------------------------------------------------------------------


def test_the_history_of_a_channel_goes_back_to_its_nearest_value(saver: SessionSaver, folder: Path) -> None:
    """The writes of each step since, oldest first; of a channel that never had a value, all of them."""
    saver.put(config(), checkpoint("0", {}), {}, {})
    saver.put_writes(config("0"), [("d", 0), ("e", 0), ("f", 0)], "task")
    saver.put(config("0"), checkpoint("1", {"d": 5}), {}, {})
    saver.put_writes(config("1"), [("d", 1), ("e", 1)], "b", "~b")
    saver.put_writes(config("1"), [("d", 2)], "a", "~a")
    saver.put(config("1"), checkpoint("2", {}), {}, {})
    saver.put_writes(config("2"), [("d", 3), ("e", 3)], "task")
    saver.put(config("2"), checkpoint("3", {}), {}, {})
    saver.put_writes(config("3"), [("d", 9)], "task")
    for reader in (saver, again(folder)):
        for at in (config("3"), config()):
            found = reader.get_delta_channel_history(config=at, channels=["d", "e", "g"])
            assert found == {
                "d": {"writes": [("a", "d", 2), ("b", "d", 1), ("task", "d", 3)], "seed": 5},
                "e": {"writes": [("task", "e", 0), ("b", "e", 1), ("task", "e", 3)]},
                "g": {"writes": []},
            }
            assert found == walked(reader, at, ["d", "e", "g"])
        assert reader.get_delta_channel_history(config=config("1"), channels=["d"]) == {
            "d": {"writes": [("task", "d", 0)]}
        }
        assert reader.get_delta_channel_history(config=config("0"), channels=["d"]) == {"d": {"writes": []}}
        assert reader.get_delta_channel_history(config=config("3"), channels=[]) == {}


def test_a_prune_keeps_what_a_counted_channel_is_rebuilt_from(saver: SessionSaver, folder: Path) -> None:
    """Out of listings, with the writes of that channel alone, back to its nearest value."""
    counted: Any = {"counters_since_delta_snapshot": {"d": [2, 2]}}
    form = HumanMessage("short", id="s", additional_kwargs=marked("summary"))
    saver.put(config(), checkpoint("0", {"d": [HI], "x": 1}), {}, {})
    saver.put(
        config("0"),
        checkpoint("1", {"d": [HI, form], "x": 1}, {"d": 2, "x": 1}, updated_channels=["d"], own=[1]),
        {"step": 1},
        {},
    )
    saver.put_writes(config("1"), [("d", [YO, form]), ("x", 1)], "task", "~p")
    saver.put(config("1"), checkpoint("2", {"x": 2}, {"d": 3, "x": 2}), counted, {})
    saver.put_writes(config("2"), [("d", [HI])], "task", "~p")
    saver.put(config("2"), checkpoint("3", {"x": 2}, {"d": 4, "x": 2}), counted, {})
    before = saver.get_delta_channel_history(config=config("3"), channels=["d"])
    assert before["d"]["seed"] == [HI, form]
    for _ in range(2):
        saver.prune(["t1"])
        saved = [record for _, record in lines(folder / "t1.jsonl")]
        assert [(r["kind"], r.get("id")) for r in saved] == [
            ("checkpoints", None),
            ("form", "s"),
            ("ancestor", "1"),
            ("writes", "1"),
            ("ancestor", "2"),
            ("writes", "2"),
            ("checkpoint", "3"),
        ]
        one, two = saved[2]["body"], saved[4]["body"]
        assert (one["metadata"], one["seen"], one["updated"]) == ({}, {}, None)
        assert "more" not in one
        assert (list(one["values"]), one["versions"], two["values"], two["versions"]) == (["d"], {"d": 2}, {}, {"d": 3})
        assert [write[1] for write in saved[3]["body"]["writes"]] == ["d"]
        for reader in (saver, again(folder)):
            assert reader.get_delta_channel_history(config=config("3"), channels=["d"]) == before
            assert ids(reader.list(config())) == ["3"]
    # A user saw a copy of a pruned thread without the messages of its last steps.
    saver.copy_thread("t1", "t2")
    copied = again(folder)
    assert copied.get_delta_channel_history(config=config("3", thread="t2"), channels=["d"]) == before
    assert ids(copied.list(config(thread="t2"))) == ["3"]


def test_the_async_twins_of_a_saver(saver: SessionSaver, folder: Path) -> None:
    """Each does what the sync method does."""

    async def all_of_them() -> None:
        assert await saver.aput(config(), checkpoint("1", {"n": 1}), {"step": 0, "run_id": "r"}, {}) == config("1")
        await saver.aput_writes(config("1"), [("n", 2)], "task", "~p")
        await saver.aput(config("1"), checkpoint("2", {"n": 3}), {"step": 1}, {})
        found = await saver.aget_tuple(config("1"))
        assert found == saver.get_tuple(config("1"))
        assert found is not None
        assert found.pending_writes == [("task", "n", 2)]
        more: Any
        for more, listed in [
            ({}, ["2", "1"]),
            ({"limit": 1}, ["2"]),
            ({"before": config("2")}, ["1"]),
            ({"filter": {"step": 0}}, ["1"]),
        ]:
            assert ids([each async for each in saver.alist(config(), **more)]) == listed
        history = await saver.aget_delta_channel_history(config=config("2"), channels=["n"])
        assert history == {"n": {"writes": [("task", "n", 2)], "seed": 1}}
        await saver.acopy_thread("t1", "t2")
        await saver.acopy_thread("t1", "t3")
        assert ids([each async for each in saver.alist(None)]) == ["2", "2", "2", "1", "1", "1"]
        await saver.adelete_for_runs(["r"])
        assert ids([each async for each in saver.alist(None)]) == ["2", "2", "2"]
        await saver.aprune(["t2"], strategy="delete")
        await saver.aprune(["t3"])
        await saver.adelete_thread("t1")
        assert [t.config["configurable"]["thread_id"] async for t in saver.alist(None)] == ["t3"]

    asyncio.run(all_of_them())
    assert sorted(path.name for path in folder.glob("*.jsonl")) == ["t3.jsonl"]


# -- settings ---------------------------------------------------------------------------------------------------------


def test_a_folder_named_sessions_is_part_of_a_workspace(tmp_path: Path) -> None:
    """Its evicted results lie beside it; any other folder holds nothing but sessions."""
    inside = SessionSaver(tmp_path / "workspace" / "sessions", fsync=False)
    inside.put(config(), checkpoint("1", {"m": [HI]}), {}, {})
    assert inside.log.path_of("t1") == "sessions/t1.log.jsonl"
    assert (tmp_path / "workspace" / "sessions" / "t1.jsonl").exists()
    beside = SessionSaver(str(tmp_path / "saved"), fsync=False)
    beside.put(config(), checkpoint("1", {"m": [HI]}), {}, {})
    assert beside.log.path_of("t1") == "t1.log.jsonl"
    assert (tmp_path / "saved" / "t1.jsonl").exists()
    over = SessionSaver.over(inside.log)
    assert over.log is inside.log
    assert ids(over.list(config())) == ["1"]


def test_a_thread_is_named_by_a_string_or_a_number(saver: SessionSaver) -> None:
    """`None` is neither, wherever it is given."""
    for call in (
        lambda: saver.get_tuple(config(thread=None)),
        lambda: saver.put(config(thread=None), checkpoint("1", {}), {}, {}),
        lambda: saver.put_writes(config("1", thread=None), [("a", 1)], "task"),
    ):
        with pytest.raises(SettingError) as refused:
            call()
        assert "configurable.thread_id=None" in str(refused.value)
        assert "give a string or a whole number" in str(refused.value)


@pytest.mark.parametrize(("current", "following"), [(None, 1), (0, 1), (7, 8), ("00000007.5", f"{8:032}.{0:016}")])
def test_versions_count_up(saver: SessionSaver, current: Any, following: Any) -> None:
    """From one; those of other checkpointers as their strings."""
    assert saver.get_next_version(current, None) == following


def test_the_log_is_the_savers_own(saver: SessionSaver) -> None:
    """What a front door logs is found by the checkpointer and not written again."""
    saver.log.append(ThreadRef(thread_id="t1"), [HI, YO])
    saver.put(config(), checkpoint("1", {"m": [HI, YO]}), {}, {})
    assert len(saver.log.read("t1")) == 2
    found = saver.get_tuple(T1)
    assert found is not None
    assert found.checkpoint["channel_values"]["m"] == [HI, YO]
