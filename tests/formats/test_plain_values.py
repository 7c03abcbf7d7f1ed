"""Values and messages as plain JSON, exactly: what stands where, what is copied, and who does what JSON cannot."""

import base64
import json
from collections import OrderedDict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_harness_memory.formats import messages, plain
from langgraph_harness_memory.formats.forms import MARKER, form_of, marked

SERDE = JsonPlusSerializer()


class Spelled:
    """A serializer that keeps the text of what it was given."""

    def dumps_typed(self, value: Any) -> tuple[str, bytes]:
        return type(value).__name__, repr(value).encode()

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return data


SPELLED: Any = Spelled()
ODD = {1}
PACKED = {"$serde": ["set", base64.b64encode(b"{1}").decode()]}


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (ODD, PACKED),
        ([ODD], [PACKED]),
        ((ODD,), {"$tuple": [PACKED]}),
        ({"a": ODD}, {"a": PACKED}),
        ({1: ODD}, {"$items": [[1, PACKED]]}),
        ({(2,): [ODD]}, {"$items": [[{"$tuple": [2]}, [PACKED]]]}),
        ({"$a": ODD}, {"$items": [["$a", PACKED]]}),
        ({"$a": 1, "b": 2}, {"$a": 1, "b": 2}),
        ({"": 1}, {"": 1}),
        ({}, {}),
        (float("nan"), {"$float": "nan"}),
        (float("-inf"), {"$float": "-inf"}),
        (bytearray(b"a"), {"$serde": ["bytearray", base64.b64encode(b"bytearray(b'a')").decode()]}),
    ],
)
def test_what_json_cannot_say_goes_through_the_serializer(value: Any, written: Any) -> None:
    """Wherever it stands: in a list, a tuple, a dict, under a key that is none of JSON's."""
    assert repr(plain.plain(value, SPELLED)) == repr(written)


def test_the_serializer_gives_back_what_it_was_given() -> None:
    """By the kind that it named, from the base64 of its bytes; in containers too."""
    assert plain.live(PACKED, SPELLED) == ("set", b"{1}")
    for written in ([PACKED], {"$tuple": [PACKED]}, {"a": PACKED, "b": 1}, {"a": PACKED}):
        found = plain.live(written, SPELLED)
        inner = found[0] if isinstance(found, list | tuple) else found["a"]
        assert inner == ("set", b"{1}")
    assert plain.live({"$items": [[PACKED, PACKED]]}, SPELLED) == {("set", b"{1}"): ("set", b"{1}")}
    assert plain.unpacked(plain.packed(ODD, SPELLED), SPELLED) == ("set", b"{1}")


def test_types_of_the_callers_own_are_asked_for_first() -> None:
    """By their exact type, everywhere in a value; markers of their own are read likewise."""

    def special(kind: type) -> plain.Special | None:
        return (lambda value: {"$set": sorted(value)}) if kind is set else None

    def backwards(kind: type) -> plain.Special | None:
        return (lambda value: {"$backwards": value[::-1]}) if kind is list else None

    for value, written in [
        (ODD, {"$set": [1]}),
        ([ODD], [{"$set": [1]}]),
        ((ODD,), {"$tuple": [{"$set": [1]}]}),
        ({"a": ODD}, {"a": {"$set": [1]}}),
        ({(3,): ODD}, {"$items": [[{"$tuple": [3]}, {"$set": [1]}]]}),
    ]:
        assert plain.plain(value, SERDE, special) == written
        assert plain.live(written, SERDE, {"$set": set}) == value
    assert plain.plain({(1, 2): [3, 4]}, SERDE, backwards) == {"$items": [[{"$tuple": [1, 2]}, {"$backwards": [4, 3]}]]}
    assert plain.plain(frozenset({1}), SPELLED, special) == {
        "$serde": ["frozenset", base64.b64encode(b"frozenset({1})").decode()]
    }
    assert plain.plain([1, "a", None, True, 0.5], SERDE, lambda kind: None) == [1, "a", None, True, 0.5]


def test_a_marker_of_a_newer_format_is_refused() -> None:
    """It is named; an object with further keys is no marker."""
    with pytest.raises(ValueError, match=r"^'\$new' marks a value of a newer format$"):
        plain.live([{"$new": 1}], SERDE)
    with pytest.raises(ValueError, match=r"^'\$' marks a value of a newer format$"):
        plain.live({"$": 1}, SERDE, {"$set": set})
    assert plain.live({"$new": 1, "b": 2}, SERDE) == {"$new": 1, "b": 2}
    assert plain.live({"a$": 1}, SERDE) == {"a$": 1}


def test_nothing_is_shared_with_what_was_read() -> None:
    """Containers are rebuilt."""
    given = {"a": [1, {"b": []}]}
    found = plain.live(given, SERDE)
    found["a"][1]["b"].append(2)
    assert given == {"a": [1, {"b": []}]}
    written = plain.plain(given, SERDE)
    written["a"].append(3)
    assert given == {"a": [1, {"b": []}]}


def test_a_sealed_body_is_ascii_text_for_its_serializer() -> None:
    """Without blanks, so that nothing of it can be lost there; what JSON lacks is refused."""
    body = {"é": ["\ud800", 1]}
    sealed = plain.sealed(body, SPELLED)
    assert sealed == ["bytes", base64.b64encode(repr(b'{"\\u00e9":["\\ud800",1]}').encode()).decode()]
    assert plain.unsealed(plain.sealed(body, SERDE), SERDE) == body
    with pytest.raises(ValueError, match="not JSON compliant"):
        plain.sealed({"a": float("nan")}, SERDE)


# -- messages ---------------------------------------------------------------------------------------------------------


class Whisper(HumanMessage):
    volume: int = 1


class Own(BaseMessage):
    type: str = "own"


def test_a_message_of_another_class_is_written_as_the_nearest_one() -> None:
    """What its class adds is an extra field; a class that is nothing of LangChain's counts as a chat message."""
    assert messages.message_json(Whisper("psst", volume=2), SERDE) == {
        "type": "human",
        "content": "psst",
        "extra": {"volume": 2},
    }
    assert messages.message_json(Own(content="x", name="n"), SERDE) == {"type": "chat", "content": "x", "name": "n"}
    assert messages.message_json(RemoveMessage(id="r"), SERDE) == {"type": "remove", "content": ""}
    assert messages.message_json(AIMessageChunk("x"), SERDE)["type"] == "AIMessageChunk"


def test_a_value_of_another_type_is_no_default() -> None:
    """Although it is equal: an ordered dict comes back as one."""
    message = AIMessage("x", name=None, tool_calls=[], additional_kwargs={})
    assert messages.message_json(message, SERDE) == {"type": "ai", "content": "x"}
    message.__dict__["additional_kwargs"] = OrderedDict()
    record = messages.message_json(message, SPELLED)
    assert list(record) == ["type", "content", "additional_kwargs"]
    assert record["additional_kwargs"]["$serde"][0] == "OrderedDict"


def test_a_message_is_written_through_the_serializer_it_was_given() -> None:
    """Its fields, and the further ones that its class allows."""
    message = ToolMessage("r", tool_call_id="c", artifact=ODD, mood=ODD)
    written = {"type": "tool", "content": "r", "tool_call_id": "c", "artifact": PACKED, "extra": {"mood": PACKED}}
    assert messages.message_json(message, SPELLED) == written
    found = messages.message_from(written, SPELLED, message_id="m")
    assert isinstance(found, ToolMessage)
    assert found.artifact == ("set", b"{1}")
    assert found.mood == ("set", b"{1}")
    assert found.id == "m"


RECORDS = [
    {"type": "human", "content": "hi"},
    {"type": "human", "content": [{"type": "text", "text": "hi"}], "additional_kwargs": {"a": [1]}},
    {"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": {}, "id": "c", "type": "tool_call"}]},
    {"type": "tool", "content": "r", "tool_call_id": "c", "artifact": {"$tuple": [1, [2]]}},
    {"type": "system", "content": "s", "name": "n", "extra": {"mood": ["good"]}},
    {"type": "chat", "content": "c", "role": "critic"},
    {"type": "AIMessageChunk", "content": "p", "response_metadata": {"m": 1}},
    {"type": "remove", "content": ""},
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["type"])
def test_a_record_gives_a_message_and_a_copy_of_what_it_holds(record: dict[str, Any]) -> None:
    """The same as LangChain would build and as the message itself would say; a change of it does not reach the copy."""
    message, fields = messages.message_and_fields(record, SERDE, message_id="m")
    extra = record.get("extra", {})
    given = {k: plain.live(v, SERDE) for k, v in record.items() if k not in {"type", "extra"}}
    built = type(message)(**given, **extra, id="m")
    assert message == built
    assert message.model_fields_set == {"id", *(k for k in record if k != "extra")}
    assert message.model_extra == extra
    assert fields == messages.fields_of(message) == messages.held_by(message)
    assert fields[0]["id"] == "m"
    message.additional_kwargs["changed"] = True
    message.response_metadata["changed"] = True
    if isinstance(message.content, list):
        message.content.append("changed")
    assert fields == messages.fields_of(built)
    assert messages.message_json(built, SERDE) == record


def test_messages_of_one_record_share_nothing() -> None:
    """Containers that a record leaves out are new ones for each."""
    one, other = (messages.message_from({"type": "ai", "content": "x"}, SERDE, message_id=None) for _ in range(2))
    assert isinstance(one, AIMessage)
    assert isinstance(other, AIMessage)
    one.additional_kwargs["a"] = 1
    one.tool_calls.append({"name": "f", "args": {}, "id": "c", "type": "tool_call"})
    assert (other.additional_kwargs, other.tool_calls, other.id) == ({}, [], None)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({}, "None is no type of message"),
        ({"type": "whisper", "content": "x"}, "'whisper' is no type of message"),
        ({"type": "human"}, "a 'human' message without ['content']"),
        ({"type": "tool"}, "a 'tool' message without ['content', 'tool_call_id']"),
        ({"type": "chat", "content": "x"}, "a 'chat' message without ['role']"),
        ({"type": "human", "content": {"$new": 1}}, "'$new' marks a value of a newer format"),
    ],
)
def test_what_is_no_record_of_a_message_is_refused(record: dict[str, Any], reason: str) -> None:
    """With what is missing."""
    with pytest.raises(ValueError, match=r".") as refused:
        messages.message_from(record, SERDE, message_id="m")
    assert str(refused.value) == reason


def test_an_id_in_a_record_does_not_count() -> None:
    """It stands in the line; keys that no class knows are dropped."""
    given = {"type": "human", "content": "x", "id": {"$tuple": []}, "unknown": 1}
    message, fields = messages.message_and_fields(given, SERDE, message_id="m")
    assert message.id == "m"
    assert fields[0]["id"] == "m"
    assert not hasattr(message, "unknown")


@pytest.mark.parametrize(
    "value",
    [
        "x", None, 1, 0.5, True, b"b", datetime(2026, 1, 1, tzinfo=UTC), date(2026, 1, 1), timedelta(1), Decimal(1), UUID(int=1),
        [1, ("a", {"b": [2]})],
    ],
)  # fmt: skip
def test_what_cannot_change_unseen_is_noted_as_itself(value: Any) -> None:
    """Containers by their content."""
    message = HumanMessage("x", additional_kwargs={"value": value}, mood=value)
    assert messages.fields_of(message) == messages.held_by(message)
    assert messages.fields_of(message)[0]["additional_kwargs"]["value"] == value


@pytest.mark.parametrize("value", [{1}, bytearray(b"x"), object()])
def test_what_could_change_unseen_counts_as_changed(value: Any) -> None:
    """It is noted as something that equals nothing."""
    message = HumanMessage("x", additional_kwargs={"deep": [(value,)]})
    assert messages.fields_of(message) != messages.held_by(message)


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        (HumanMessage("x"), True),
        (ChatMessage("x", role="r"), True),
        (Whisper("x"), False),
        (AIMessageChunk("x"), False),
        (RemoveMessage(id="x"), False),
        ("x", False),
    ],
)
def test_which_values_are_whole_messages_of_langchains_own(value: Any, is_one: bool) -> None:
    """No part, no removal, no class of the application."""
    assert messages.is_message(value) is is_one


def test_a_redactor_sees_every_text_that_is_no_identifier() -> None:
    """In content, calls, extras and keys' values; ids, names, types and roles stay where they are text."""
    record = {
        "type": "ai",
        "name": "n",
        "content": ["t", {"type": "text", "text": "t", "id": ["t"]}],
        "tool_calls": [{"name": "n", "args": {"q": "t", "n": 1}, "id": "i", "type": "tool_call"}],
        "invalid_tool_calls": [{"args": "t", "error": "t", "id": None}],
        "additional_kwargs": {"role": "r", "deep": {"tool_call_id": "i", "k": "t"}},
        "response_metadata": {"m": "t"},
        "artifact": "t",
        "extra": {"mood": "t"},
        "status": "success",
        "usage_metadata": {"input_tokens": 1},
    }
    assert messages.redacted(record, str.upper) == {
        "type": "ai",
        "name": "n",
        "content": ["T", {"type": "text", "text": "T", "id": ["T"]}],
        "tool_calls": [{"name": "n", "args": {"q": "T", "n": 1}, "id": "i", "type": "tool_call"}],
        "invalid_tool_calls": [{"args": "T", "error": "T", "id": None}],
        "additional_kwargs": {"role": "r", "deep": {"tool_call_id": "i", "k": "T"}},
        "response_metadata": {"m": "T"},
        "artifact": "T",
        "extra": {"mood": "T"},
        "status": "success",
        "usage_metadata": {"input_tokens": 1},
    }


def test_texts_of_a_value_are_redacted_and_messages_in_it_are_not() -> None:
    """Messages go their own way."""
    message = HumanMessage("t", id="m")
    value = {"a": ["t", ("t", 1)], "id": "i", "name": ["t"], "m": message, 5: "t"}
    found = messages.without_secrets(value, str.upper)
    assert found == {"a": ["T", ("T", 1)], "id": "i", "name": ["T"], "m": message, 5: "T"}
    assert found["m"] is message
    assert messages.without_secrets("t", str.upper) == "T"
    assert messages.without_secrets(None, str.upper) is None


def test_a_streamed_part_becomes_the_message_that_langgraph_makes_of_it() -> None:
    """Whole messages stay the objects they are."""
    whole = SystemMessage("x")
    assert messages.without_parts(whole) is whole
    assert messages.without_parts(AIMessageChunk("x", id="m")) == AIMessage("x", id="m")


def test_a_form_says_what_it_is_and_what_belongs_to_it() -> None:
    """In plain JSON; an original says nothing."""
    kwargs = marked("evicted", path="a/b", folded=["m"])
    assert kwargs == {"harness_memory": {"form": "evicted", "path": "a/b", "folded": ["m"]}}
    assert json.loads(json.dumps(kwargs)) == kwargs
    assert form_of(HumanMessage("x", additional_kwargs=kwargs)) == "evicted"
    for other in ({}, {"other": 1}, {MARKER: "evicted"}, {MARKER: {"path": "a"}}):
        assert form_of(HumanMessage("x", additional_kwargs=other)) is None
