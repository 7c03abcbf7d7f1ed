"""The session log, `sessions/<id>.log.jsonl`: every raw message, once, in the order in which it was logged.

    {"v":1,"kind":"session","thread":"t1","tenant":null,"at":"…","c":"…"}
    {"v":1,"n":0,"id":"m1","h":"9f86d081884c7d65","at":"…","message":{"type":"human","content":"Hi"},"c":"…"}

`n` is the message's position: it counts from 0 and is never used twice. `h` is a hash of the message's content; a
message that the application edits keeps its id and gets another line with another hash. `ns` names the sub-graph that
it was said in, `tenant` the owner in each line too, so that a damaged first line does not open a thread to others. A
log that belongs to a saver with an encrypting serializer holds `sealed` in place of `message`, and its first line a
sealed `salt` for the hashes.

A log that a checkpointer began is `tentative`: it knows no more than the config. The first front door that writes to it
says whose it is in an owner line, `{"v":1,"kind":"owner","tenant":"alice","at":"…","c":"…"}`.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from langgraph_harness_memory.formats import records

ENDING = ".log.jsonl"
"""What follows a thread's stem in the name of its log."""

_MESSAGE = re.compile(rb'\{"v":\d+,"n":(\d{1,15}),"id":("(?:[^"\\]|\\.)*"|null),"h":"([0-9a-f]{16})"')


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionStart:
    """The first line: whose thread it is."""

    thread_id: str
    tenant: str | None
    begun_at: datetime
    is_tentative: bool = False
    """The owner is a guess until an owner line says whose it is."""
    salt: list[str] | None = None
    """What hashes begin with, sealed; `None` in a log that is not sealed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnerLine:
    """Says whose a tentative log is; the first one counts."""

    tenant: str | None
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageLine:
    """One message of a log."""

    position: int
    message_id: str | None
    content_hash: str
    logged_at: datetime
    namespace: str
    tenant: str | None
    message: dict[str, Any] | None
    """The message as plain JSON, without its id; `None` where it is sealed."""
    sealed: list[str] | None = None


@dataclass(frozen=True, slots=True)
class LineKey:
    """What is known of a message's line without reading all of it."""

    position: int
    message_id: str | None
    content_hash: str


def hash_of(message: dict[str, Any], *, salt: bytes = b"") -> str:
    """Hash a message's plain JSON without its id: 16 hexadecimal digits that do not depend on the order of keys.

    A lone surrogate counts as the `?` that LangGraph's own checkpointers silently make of it, so that the message is
    not taken for an edited one when it comes back from them.
    """
    text = _canonical(message)
    if "\\ud" in text:  # an emoji, or half of one
        raw = json.dumps(message, ensure_ascii=False)
        if raw.encode("utf-8", "ignore").decode() != raw:
            text = _canonical(json.loads(raw.encode("utf-8", "replace")))
    return hashlib.sha256(salt + text.encode("ascii")).hexdigest()[:16]


def _canonical(message: dict[str, Any]) -> str:
    return json.dumps(message, ensure_ascii=True, separators=(",", ":"), sort_keys=True, allow_nan=False)


def render_start(start: SessionStart) -> bytes:
    """Write the first line of a log."""
    record = {
        "v": records.VERSION,
        "kind": "session",
        "thread": start.thread_id,
        "tenant": start.tenant,
        "at": start.begun_at.isoformat(),
    }
    if start.is_tentative:
        record["tentative"] = True
    return records.render(record if start.salt is None else {**record, "salt": start.salt})


def render_owner(line: OwnerLine) -> bytes:
    """Write the line that says whose a tentative log is."""
    return records.render({"v": records.VERSION, "kind": "owner", "tenant": line.tenant, "at": line.at.isoformat()})


def render_message(line: MessageLine) -> bytes:
    """Write the line of a message."""
    record: dict[str, Any] = {
        "v": records.VERSION,
        "n": line.position,
        "id": line.message_id,
        "h": line.content_hash,
        "at": line.logged_at.isoformat(),
    }
    if line.namespace:
        record["ns"] = line.namespace
    if line.tenant is not None:
        record["tenant"] = line.tenant
    record |= {"message": line.message} if line.sealed is None else {"sealed": line.sealed}
    return records.render(record)


def peek(line: bytes) -> LineKey | None:
    """Read a message's key from the start of its line, which is whole; `None` for other lines."""
    found = _MESSAGE.match(line)
    if found is None:
        return None
    quoted = found.group(2)
    message_id = None if quoted == b"null" else quoted[1:-1].decode("ascii")
    if message_id is not None and "\\" in message_id:
        message_id = json.loads(quoted)
    return LineKey(int(found.group(1)), message_id, found.group(3).decode("ascii"))


def parse(line: bytes) -> SessionStart | OwnerLine | MessageLine | None:
    """Read a line; `None` where it is damaged or of a kind that is not known here. Never raises."""
    record = records.parse(line)
    if record is None:
        return None
    try:
        if record.get("kind") == "session":
            return SessionStart(
                thread_id=record["thread"],
                tenant=record["tenant"],
                begun_at=datetime.fromisoformat(record["at"]),
                is_tentative=record.get("tentative", False),
                salt=record.get("salt"),
            )
        if record.get("kind") == "owner":
            return OwnerLine(tenant=record["tenant"], at=datetime.fromisoformat(record["at"]))
        if "n" not in record:
            return None
        return MessageLine(
            position=record["n"],
            message_id=record["id"],
            content_hash=record["h"],
            logged_at=datetime.fromisoformat(record["at"]),
            namespace=record.get("ns", ""),
            tenant=record.get("tenant"),
            message=record.get("message"),
            sealed=record.get("sealed"),
        )
    except (KeyError, TypeError, ValueError):
        return None
