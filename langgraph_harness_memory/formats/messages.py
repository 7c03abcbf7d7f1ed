"""A message as plain JSON, and back as it was.

Fields that hold what the class gives them anyway are left out. A message is rebuilt from its fields without running
the validators of its class, so that it comes back exactly as it was, and never by a name that stands in the file:
`type` picks one of LangChain's own message classes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    BaseMessageChunk,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from langgraph_harness_memory.formats.plain import live, plain

WHOLE = (HumanMessage, AIMessage, ToolMessage, SystemMessage, FunctionMessage, ChatMessage)
"""Classes of messages that are said."""

CHUNKS = (
    AIMessageChunk,
    HumanMessageChunk,
    ToolMessageChunk,
    SystemMessageChunk,
    FunctionMessageChunk,
    ChatMessageChunk,
)
"""Classes of parts of messages, as a stream gives them."""

IDENTIFIERS = frozenset({"id", "tool_call_id", "type", "name", "role"})
"""Fields that name something; a redactor leaves them alone."""

_UNCHANGING = frozenset({str, type(None), int, float, bool, bytes, datetime, date, timedelta, Decimal, UUID})

REDACTED_FIELDS = (
    "content",
    "tool_calls",
    "invalid_tool_calls",
    "additional_kwargs",
    "response_metadata",
    "artifact",
    "extra",
)


class _Field(NamedTuple):
    name: str
    default: Any
    """What it holds when it is left out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Shape:
    cls: type[BaseMessage]
    fields: tuple[_Field, ...]
    names: frozenset[str]
    required: frozenset[str]
    template: dict[str, Any]
    """Every field with what it holds when it is left out; shared, and never handed out."""
    containers: tuple[tuple[str, type], ...]
    """Fields that begin as an empty container, which each message needs for itself."""


@cache
def _shapes() -> dict[str, _Shape]:
    return {shape.fields[0].default: shape for shape in map(_shape, (*WHOLE, *CHUNKS, RemoveMessage))}


@cache
def _shape(cls: type[BaseMessage]) -> _Shape:
    order = ["type", "id", *(n for n in cls.model_fields if n not in {"type", "id"})]
    fields = []
    for name in order:
        info = cls.model_fields[name]
        # "…" is no JSON value: a field that must be given is never taken for left out.
        fields.append(_Field(name, ... if info.is_required() else info.get_default(call_default_factory=True)))
    defaults = {field.name: field.default for field in fields}
    return _Shape(
        cls=cls,
        fields=tuple(fields),
        names=frozenset(order),
        required=frozenset(name for name, default in defaults.items() if default is ...),
        template={name: defaults[name] for name in cls.model_fields},
        containers=tuple((name, type(value)) for name, value in defaults.items() if isinstance(value, list | dict)),
    )


def is_message(value: Any) -> bool:
    """Say whether a value is a message of one of LangChain's own classes, no part and no removal."""
    return type(value) in WHOLE


Fields = tuple[dict[str, Any], dict[str, Any] | None]
"""What a message holds: its fields, and the further ones that its class allows."""


def fields_of(message: BaseMessage) -> Fields:
    """Copy what a message holds, containers copied too, so that later changes of the message do not reach the copy.

    Returns:
        Its fields and its further ones; equal to `held_by(message)` until the message is changed. A value that could
        change unseen is replaced by one that equals nothing.
    """
    fields, extra = held_by(message)
    return {name: _apart(value) for name, value in fields.items()}, _apart(extra)


held_by: Callable[[BaseMessage], Fields] = attrgetter("__dict__", "__pydantic_extra__")
"""Returns what a message holds at this moment: its fields and its further ones, not copied."""


def _apart(value: Any) -> Any:
    kind = type(value)
    if kind in _UNCHANGING:
        return value
    if kind is dict:
        return {key: _apart(item) for key, item in value.items()}
    if kind is list:
        return [_apart(item) for item in value]
    if kind is tuple:
        return tuple(_apart(item) for item in value)
    return object()


def message_json(message: BaseMessage, serde: SerializerProtocol) -> dict[str, Any]:
    """Write a message of LangChain's own classes as plain JSON, without its id.

    Args:
        message: Any message; one of another class is written as the nearest of LangChain's own.
        serde: Takes what JSON cannot say.

    Raises:
        TypeError: It holds a value that the serializer cannot take.
    """
    shape = _shape(_nearest(type(message)))
    held = message.__dict__
    record: dict[str, Any] = {"type": shape.fields[0].default}
    for name, default in shape.fields[2:]:
        value = held.get(name, default)
        # An equal value of another type (True for 1) is no default.
        if value is not default and not (type(value) is type(default) and value == default):
            record[name] = plain(value, serde)
    extra = {k: v for k, v in held.items() if k not in shape.names} | (message.model_extra or {})
    if extra:
        record["extra"] = plain(extra, serde)
    return record


def _nearest(cls: type[BaseMessage]) -> type[BaseMessage]:
    known = (*WHOLE, *CHUNKS, RemoveMessage)
    return next((c for c in cls.__mro__ if c in known), ChatMessage)


def message_from(record: dict[str, Any], serde: SerializerProtocol, *, message_id: str | None) -> BaseMessage:
    """Build the message that a record holds, and give it its id.

    Raises:
        ValueError: It is no record of a message, or one of a newer format.
    """
    return message_and_fields(record, serde, message_id=message_id)[0]


def message_and_fields(
    record: dict[str, Any], serde: SerializerProtocol, *, message_id: str | None
) -> tuple[BaseMessage, Fields]:
    """Build the message that a record holds, and what `fields_of` would say of it.

    Raises:
        ValueError: It is no record of a message, or one of a newer format.
    """
    shape = _shapes().get(record.get("type", ""))
    if shape is None:
        raise ValueError(f"{record.get('type')!r} is no type of message")
    if not shape.required <= record.keys():
        raise ValueError(f"a {record['type']!r} message without {sorted(shape.required - record.keys())}")
    values, fields = shape.template.copy(), shape.template.copy()
    values["id"] = fields["id"] = message_id
    for name, kind in shape.containers:
        values[name] = kind()
    extra: dict[str, Any] = {}
    for name, value in record.items():
        if type(value) is str and name in shape.names:
            values[name] = fields[name] = value
        elif name == "extra":
            extra = live(value, serde)
        elif name in shape.names and name != "id":
            values[name] = live(value, serde)
            fields[name] = _apart(values[name])
    given = {"id", *record}
    given.discard("extra")
    return _built(shape.cls, values, given, extra), (fields, _apart(extra))


def _built(cls: type[BaseMessage], values: dict[str, Any], given: set[str], extra: dict[str, Any]) -> BaseMessage:
    # What `model_construct` does, without its walk over fields that are all here: a third of its time, on each of
    # the thousands of messages of a resumed thread.
    message = cls.__new__(cls)
    object.__setattr__(message, "__dict__", values)
    object.__setattr__(message, "__pydantic_fields_set__", given)
    object.__setattr__(message, "__pydantic_extra__", extra)
    object.__setattr__(message, "__pydantic_private__", None)
    return message


def redacted(record: dict[str, Any], redact: Callable[[str], str]) -> dict[str, Any]:
    """Return a message's JSON with every text redacted; what identifies it or a tool call stays."""
    return {name: _clean(value, redact) if name in REDACTED_FIELDS else value for name, value in record.items()}


def _clean(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_clean(item, redact) for item in value]
    if isinstance(value, dict):
        return {k: v if k in IDENTIFIERS and isinstance(v, str) else _clean(v, redact) for k, v in value.items()}
    return value


def without_secrets(value: Any, redact: Callable[[str], str]) -> Any:
    """Return a value with every text in it redacted: in lists, tuples and under the keys of dicts; messages stay."""
    kind = type(value)
    if kind is str:
        return redact(value)
    if kind is list:
        return [without_secrets(item, redact) for item in value]
    if kind is tuple:
        return tuple(without_secrets(item, redact) for item in value)
    if kind is dict:
        return {k: v if k in IDENTIFIERS and type(v) is str else without_secrets(v, redact) for k, v in value.items()}
    return value


def without_parts(message: BaseMessage) -> BaseMessage:
    """Return a streamed part as the whole message that LangGraph makes of it; others as they are."""
    from langchain_core.messages import message_chunk_to_message  # noqa: PLC0415 - rarely needed

    return message_chunk_to_message(message) if isinstance(message, BaseMessageChunk) else message
