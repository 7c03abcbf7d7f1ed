"""Whatever LangGraph's serializer takes comes back, and any text, id and message as it was."""

import copy
import dataclasses
import enum
import math
import re
from collections import deque
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Network
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command, Interrupt, Send
from pydantic import BaseModel

from langgraph_harness_memory.errors import SettingError
from langgraph_harness_memory.formats.messages import fields_of, held_by, message_from, message_json
from langgraph_harness_memory.formats.plain import live, plain
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.sessions.saver import SessionSaver
from tests.sessions.conftest import T1, THREAD, chat, say


class Model(BaseModel):
    name: str
    tags: list[str] = []


@dataclasses.dataclass
class Point:
    x: int


class Color(enum.Enum):
    RED = "red"


VALUES: dict[str, Any] = {
    "text": "plain \x00 \u2028 \u0085 \ud800 \U0001f680",
    "numbers": [0, -1, 2**63, 2**64 - 1, 1.5, True, None],
    "empty": ["", [], {}, None],
    "nested": {"a": [{"b": {"c": [1, 2, {"d": None}]}}]},
    "keys": {1: "a", "1": "b"},
    "looks like ours": [{"$serde": ["x", "y"]}, {"$messages": [1]}, {"$message": 1}, {"$": 1}, {"$int": "z", "a": 1}],
    "bytes": b"\x00\xff",
    "bytearray": bytearray(b"ab"),
    "set": {1, 2, 3},
    "frozenset": frozenset({"a"}),
    "deque": deque([1, 2]),
    "datetime": datetime(2026, 1, 31, 9, tzinfo=UTC),
    "date": date(2026, 1, 31),
    "time": time(9, 30),
    "timedelta": timedelta(days=1, seconds=2),
    "zone": ZoneInfo("Asia/Shanghai"),
    "uuid": UUID(int=7),
    "decimal": Decimal("1.10"),
    "path": Path("a/b"),
    "pattern": re.compile("a+", re.IGNORECASE),
    "address": IPv4Address("127.0.0.1"),
    "network": IPv6Network("::/64"),
    "document": Document(page_content="x", metadata={"a": 1}),
    "send": Send("node", {"a": (1, 2)}),
    "sends": [Send("node", {"messages": [HumanMessage("x", id="1")]})],
    "command": Command(goto="x", update={"a": 1}),
    "interrupt": Interrupt(value="why", id="i"),
    "model": Model(name="x", tags=["a"]),
    "dataclass": Point(x=1),
    "enum": Color.RED,
    "array": np.arange(6).reshape(2, 3),
    "message": AIMessage("x", id="1"),
    "messages": [SystemMessage("s", id="0"), HumanMessage("h", id="1"), ToolMessage("t", tool_call_id="c", id="2")],
    "message in a dict": {"last": HumanMessage("h", id="1"), "all": [HumanMessage("h", id="1"), "text", 3]},
    "message in a tuple": (HumanMessage("h", id="1"), 1),
    "removal": [RemoveMessage(id="1"), HumanMessage("h", id="1")],
    "part": [
        AIMessageChunk(
            "x", id="1", tool_call_chunks=[{"name": "t", "args": "{", "id": "c", "index": 0, "type": "tool_call_chunk"}]
        )
    ],
    "function": FunctionMessage("r", name="f", id="1"),
    "chat": ChatMessage("r", role="critic", id="1"),
    "not a number": math.nan,
    "infinite": [math.inf, -math.inf],
}


class _Reversing:
    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "reversing", plaintext[::-1]

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return ciphertext[::-1]


def _checkpoint(values: dict[str, Any]) -> Any:
    return {
        "v": 4,
        "id": str(uuid4()),
        "ts": "2026-01-31T09:00:00+00:00",
        "channel_values": values,
        "channel_versions": dict.fromkeys(values, 1),
        "versions_seen": {"node": {"a": 1}},
        "updated_channels": None,
    }


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return bool((one == other).all()) and one.dtype == other.dtype
    if isinstance(one, float) and math.isnan(one):
        return isinstance(other, float) and math.isnan(other)
    return type(one) is type(other) and bool(one == other)


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("seal", [False, True], ids=["plain", "sealed"])
def test_every_value_comes_back_from_the_disk(folder: Path, name: str, seal: bool) -> None:
    """As a channel's value, as a write, and in metadata; with and without encryption."""
    serde = EncryptedSerializer(_Reversing()) if seal else None
    value = VALUES[name]
    saver = SessionSaver(folder, fsync=False, serde=serde)
    config = saver.put(
        {"configurable": {"thread_id": "t1", "checkpoint_ns": ""}},
        _checkpoint({"a": value, "b": [value]}),
        {"custom": [value]},
        {},
    )  # type: ignore[typeddict-unknown-key]
    saver.put_writes(config, [("a", value), ("b", [value])], "task")
    for reader in (saver, SessionSaver(folder, fsync=False, serde=serde)):
        found = reader.get_tuple(T1)
        assert found is not None
        assert _same(value, found.checkpoint["channel_values"]["a"])
        assert _same(value, found.checkpoint["channel_values"]["b"][0])
        assert _same(value, found.metadata["custom"][0])  # type: ignore[typeddict-item]
        assert found.pending_writes is not None
        assert [_same(value, v if c == "a" else v[0]) for _, c, v in found.pending_writes] == [True, True]


def test_an_encrypting_serializer_leaves_nothing_readable(folder: Path) -> None:
    """Neither the log nor the checkpoints hold a word of what was said, and all of it is read back and searched."""
    saver = SessionSaver(folder, fsync=False, serde=EncryptedSerializer(_Reversing()))
    state = say(chat(saver), "watermelon", "cucumber")
    data = b"".join(p.read_bytes() for p in folder.glob("*.jsonl"))
    assert b"watermelon" not in data
    assert b"nolemretaw" not in data
    assert b'"content"' not in data
    other = SessionSaver(folder, fsync=False, serde=EncryptedSerializer(_Reversing()))
    assert chat(other).get_state(T1).values["messages"] == state
    assert [e.message for e in other.log.read("t1")] == state
    assert len(other.log.search("cucumber", tenant=None)) == 2
    say(chat(other), "watermelon")
    assert len(other.log.read("t1")) == 6


def test_a_class_that_is_not_allowed_comes_back_as_its_data(folder: Path) -> None:
    """Under a strict allow-list nothing is imported by a name from a file, unless the graph's schema allows it."""
    strict = JsonPlusSerializer(allowed_msgpack_modules=None)
    saver = SessionSaver(folder, fsync=False, serde=strict)
    saver.put({"configurable": {"thread_id": "t1", "checkpoint_ns": ""}}, _checkpoint({"a": Model(name="x")}), {}, {})
    closed = SessionSaver(folder, fsync=False, serde=strict)
    assert closed.get_tuple(T1).checkpoint["channel_values"]["a"] == {"name": "x", "tags": []}  # type: ignore[union-attr]
    opened = closed.with_allowlist([(Model.__module__, "Model")])
    assert opened is not closed
    assert opened.get_tuple(T1).checkpoint["channel_values"]["a"] == Model(name="x")  # type: ignore[union-attr]
    assert closed.get_tuple(T1).checkpoint["channel_values"]["a"] == {"name": "x", "tags": []}  # type: ignore[union-attr]


def test_a_shallow_copy_of_a_checkpointer_is_the_same_checkpointer(saver: SessionSaver) -> None:
    """`copy.copy`, which LangGraph uses, shares the files and what is known of them."""
    other = copy.copy(saver)
    state = say(chat(saver), "one")
    assert chat(other).get_state(T1).values["messages"] == state
    assert len(say(chat(other), "two")) == 4
    assert len(chat(saver).get_state(T1).values["messages"]) == 4


def test_data_in_a_log_is_never_taken_for_code(folder: Path, saver: SessionSaver) -> None:
    """Constructor envelopes of LangChain and of LangGraph inside a message are plain data."""
    traps = [
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "HumanMessage"],
            "kwargs": {"content": "x"},
        },
        {"lc": 2, "type": "constructor", "id": ["subprocess", "check_output"], "args": [["false"]]},
        {"lc": 1, "type": "secret", "id": ["OPENAI_API_KEY"]},
    ]
    message = ToolMessage("x", tool_call_id="c", id="m", artifact=traps, additional_kwargs={"trap": traps[1]})
    chat(saver).update_state(T1, {"messages": [HumanMessage("h", id="h"), message]})
    other = SessionSaver(folder, fsync=False)
    assert chat(other).get_state(T1).values["messages"][1] == message
    assert other.log.read("t1")[1].message == message


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
any_values = st.recursive(
    json_values | st.binary(max_size=8) | st.integers(min_value=2**70, max_value=2**2000),
    lambda inner: (
        st.tuples(inner, inner)
        | st.dictionaries(
            st.integers() | st.text(max_size=3) | st.sampled_from(["$serde", "$tuple", "$x"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
calls = st.builds(
    lambda name, args, call_id: {"name": name, "args": args, "id": call_id, "type": "tool_call"},
    st.text(max_size=8),
    st.dictionaries(st.text(max_size=5), json_values, max_size=3),
    st.none() | st.text(max_size=8),
)
contents = st.text(st.characters()) | st.lists(
    st.text() | st.fixed_dictionaries({"type": st.just("text"), "text": st.text(st.characters())}), max_size=3
)
ids = st.none() | st.text(st.characters(), max_size=12)
kwargs = st.dictionaries(st.text(max_size=5), json_values, max_size=3)
messages = st.one_of(
    st.builds(HumanMessage, content=contents, id=ids, name=st.none() | st.text(max_size=5), additional_kwargs=kwargs),
    st.builds(
        AIMessage,
        content=contents,
        id=ids,
        tool_calls=st.lists(calls, max_size=2),
        response_metadata=kwargs,
        usage_metadata=st.none() | st.just({"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
        invalid_tool_calls=st.just([{"name": "x", "args": "{", "id": None, "error": "e", "type": "invalid_tool_call"}]),
    ),
    st.builds(
        ToolMessage,
        content=contents,
        id=ids,
        tool_call_id=st.text(max_size=5),
        status=st.sampled_from(["success", "error"]),
        artifact=any_values,
    ),
    st.builds(SystemMessage, content=contents, id=ids),
)


@given(any_values)
def test_a_value_written_as_plain_json_is_read_as_itself(value: Any) -> None:
    """Tuples stay tuples, numbers and keys keep their types, and nothing is mistaken for one of our own markers."""
    serde = JsonPlusSerializer()
    assert repr(live(plain(value, serde), serde)) == repr(value)


@given(messages)
def test_a_message_is_read_as_it_was_written(message: BaseMessage) -> None:
    """Every field comes back, and a message that nobody changed equals what was noted of it."""
    serde = JsonPlusSerializer()
    again = message_from(message_json(message, serde), serde, message_id=message.id)
    assert type(again) is type(message)
    assert repr(again) == repr(message)
    assert again == message
    noted = fields_of(message)
    assert held_by(message) == noted
    message.response_metadata["changed"] = [1]
    assert held_by(message) != noted


@given(st.lists(messages, max_size=5))
def test_the_log_gives_messages_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, said: list[BaseMessage]
) -> None:
    """Whatever is appended is read back, in order, once, by another reader as well."""
    from langgraph_harness_memory.workspace.local import LocalWorkspace

    workspace = LocalWorkspace(tmp_path_factory.mktemp("log"), fsync=False)
    log = SessionLog(workspace)
    positions = log.append(THREAD, said)
    again = log.append(THREAD, said)
    assert again == positions
    read = SessionLog(workspace).read("t1")
    distinct = {(m.id, repr(m)): m for m in said}
    assert [repr(e.message) for e in read] == [repr(m) for m in distinct.values()]
    assert [e.position for e in read] == list(range(len(read)))


HOSTILE = [
    "../../tmp/x",
    "a/b",
    "..",
    ".",
    "",
    "\x00",
    "x" * 300,
    "CON",
    "aux.md",
    "a",
    "A",
    "a.log",
    "a.b",
    "é",
    "e\u0301",
    "名" * 100,
    "\ud800",
    " a ",
    "a:b",
    "-",
    "~",
    "sessions",
    "locks",
]


def test_hostile_thread_ids_are_threads_like_others(folder: Path, saver: SessionSaver) -> None:
    """Any string names a thread of its own, stays inside the folder, and is listed by its name."""
    graph = chat(saver)
    for number, name in enumerate(HOSTILE):
        say(graph, f"hello {number}", config={"configurable": {"thread_id": name}})
    other = SessionSaver(folder, fsync=False)
    for number, name in enumerate(HOSTILE):
        config = {"configurable": {"thread_id": name}}
        assert chat(other).get_state(config).values["messages"][0].text == f"hello {number}"
        assert [e.message.text for e in other.log.read(name)] == [f"hello {number}", f"re: hello {number}"]
    assert {t.config["configurable"]["thread_id"] for t in other.list(None)} == set(HOSTILE)
    assert {info.thread_id for info in other.log.threads()} == set(HOSTILE)
    files = [p for p in folder.parent.rglob("*") if p.is_file() and ".locks" not in p.parts]
    assert all(p.parent == folder for p in files)
    assert len(files) == 2 * len(HOSTILE)
    for name in HOSTILE:
        other.delete_thread(name)
    assert list(other.list(None)) == []


def test_no_thread_at_all_is_refused(saver: SessionSaver) -> None:
    """`None` is no thread."""
    with pytest.raises(SettingError, match=r"configurable\.thread_id=None cannot be used"):
        saver.get_tuple({"configurable": {"thread_id": None}})


def test_a_message_of_the_applications_own_class_is_logged_and_kept(folder: Path, saver: SessionSaver) -> None:
    """The state gets its class back through the serializer, the log the nearest class of LangChain's."""
    saver.put(
        {"configurable": {"thread_id": "t1", "checkpoint_ns": ""}},
        _checkpoint({"messages": [Whisper("psst", id="w")]}),
        {},
        {},
    )
    other = SessionSaver(folder, fsync=False)
    found = other.get_tuple(T1)
    assert found is not None
    assert found.checkpoint["channel_values"]["messages"] == [Whisper("psst", id="w")]
    assert [type(e.message) for e in other.log.read("t1")] == [HumanMessage]
    assert other.log.read("t1")[0].message.text == "psst"


class Whisper(HumanMessage):
    volume: int = 1


def test_thread_refs_of_sub_graphs_are_told_apart(log: SessionLog) -> None:
    """Messages are read by the namespace that they were said in."""
    log.append(THREAD, [HumanMessage("outer", id="o")])
    log.append(ThreadRef(thread_id="t1", namespace="helper"), [HumanMessage("inner", id="i")])
    assert [e.message.text for e in log.read("t1", namespace="")] == ["outer"]
    assert [e.message.text for e in log.read("t1", namespace="helper")] == ["inner"]
    assert [e.namespace for e in log.read("t1")] == ["", "helper"]
