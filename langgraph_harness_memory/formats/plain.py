"""Any value of a message or a channel as plain JSON, and back as it was.

What JSON can say exactly stands as itself. Everything else is an object with one key that names what it is:

    {"$items": [[key, value], …]}   a dict whose keys are not all strings, or whose only key is one of these names
    {"$tuple": […]}   {"$bytes": "base64"}   {"$int": "0x…"}   {"$float": "nan"}
    {"$serde": ["msgpack", "base64"]}   anything langgraph's serializer takes

Nothing is imported by a name that stands in a file, except through langgraph's serializer and its allow-list.
"""

import base64
import json
import math
from collections.abc import Callable
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol

MARKERS = frozenset({"$items", "$tuple", "$bytes", "$int", "$float", "$serde"})
"""Keys that say what an object stands for."""

SAFE_INTEGER_BITS = 1024
"""Longer integers stand in hexadecimal: Python refuses decimal ones of more than 4 300 digits."""

Special = Callable[[Any], Any]
"""Turns a value of one type into JSON, or the content of one marker into a value."""

Specials = Callable[[type], Special | None]
"""Says how values of an exact type are turned into JSON; `None` = as others are."""


def plain(value: Any, serde: SerializerProtocol, special: "Specials | None" = None) -> Any:
    """Turn a value into plain JSON.

    Args:
        value: Anything; containers are walked, never changed.
        serde: Takes what JSON cannot say.
        special: Says what to do with values of a type that it knows; asked before `serde`, and for lists too.

    Raises:
        TypeError: The serializer cannot take a value either.
    """
    kind = type(value)
    if value is None or kind is str or kind is bool:
        return value
    if kind is int:
        return value if value.bit_length() <= SAFE_INTEGER_BITS else {"$int": hex(value)}
    if kind is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if special is not None and (act := special(kind)) is not None:
        return act(value)
    if kind is dict:
        return _plain_dict(value, serde, special)
    if kind is list:
        return [plain(item, serde, special) for item in value]
    if kind is tuple:
        return {"$tuple": [plain(item, serde, special) for item in value]}
    if kind is bytes:
        return {"$bytes": base64.b64encode(value).decode("ascii")}
    return {"$serde": packed(value, serde)}


def _plain_dict(value: dict[Any, Any], serde: SerializerProtocol, special: "Specials | None") -> Any:
    if all(type(key) is str for key in value) and not (len(value) == 1 and is_marker(value)):
        return {key: plain(item, serde, special) for key, item in value.items()}
    return {"$items": [[plain(k, serde, special), plain(v, serde, special)] for k, v in value.items()]}


def is_marker(value: dict[str, Any]) -> bool:
    """Say whether a dict with one key would be taken for a marker; every key with a `$` is kept free."""
    return next(iter(value))[:1] == "$"


def packed(value: Any, serde: SerializerProtocol) -> list[str]:
    """Serialize a value to its type and base64."""
    kind, data = serde.dumps_typed(value)
    return [kind, base64.b64encode(data).decode("ascii")]


def unpacked(value: list[str], serde: SerializerProtocol) -> Any:
    """Read back what `packed` wrote."""
    kind, data = value
    return serde.loads_typed((kind, base64.b64decode(data)))


def sealed(body: dict[str, Any], serde: SerializerProtocol) -> list[str]:
    """Seal plain JSON: its ASCII text goes through the serializer, so that nothing of it can be lost there."""
    return packed(json.dumps(body, separators=(",", ":"), allow_nan=False).encode("ascii"), serde)


def unsealed(value: list[str], serde: SerializerProtocol) -> dict[str, Any]:
    """Read back what `sealed` wrote."""
    body: dict[str, Any] = json.loads(unpacked(value, serde))
    return body


def live(value: Any, serde: SerializerProtocol, special: "dict[str, Special] | None" = None) -> Any:
    """Turn plain JSON back into the value that it stood for.

    Args:
        value: What `plain` gave; containers are rebuilt, never shared.
        serde: The same serializer, or one that reads what it wrote.
        special: What to do with further markers, by their key.

    Raises:
        ValueError: A marker does not hold what it should.
    """
    kind = type(value)
    if kind is list:
        return [live(item, serde, special) for item in value]
    if kind is not dict:
        return value
    if len(value) == 1:
        ((key, content),) = value.items()
        if key[:1] == "$":
            return _marked(key, content, serde, special)
    return {key: live(item, serde, special) for key, item in value.items()}


def _marked(key: str, content: Any, serde: SerializerProtocol, special: "dict[str, Special] | None") -> Any:
    if special is not None and (act := special.get(key)) is not None:
        return act(content)
    match key:
        case "$items":
            return {live(k, serde, special): live(v, serde, special) for k, v in content}
        case "$tuple":
            return tuple(live(item, serde, special) for item in content)
        case "$bytes":
            return base64.b64decode(content)
        case "$int":
            return int(content, 16)
        case "$float":
            return float(content)
        case "$serde":
            return unpacked(content, serde)
        case _:
            raise ValueError(f"{key!r} marks a value of a newer format")
