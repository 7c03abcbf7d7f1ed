"""The checkpoints of a session, `sessions/<id>.jsonl`.

A line stands for each checkpoint, for each task's writes and for each form that we made of a message:

    {"v":1,"kind":"checkpoints","thread":"t1","at":"…","c":"…"}
    {"v":1,"kind":"checkpoint","ns":"","id":"1f0…","parent":"1f0…","body":{…},"c":"…"}
    {"v":1,"kind":"writes","ns":"","id":"1f0…","task":"8a…","body":{…},"c":"…"}
    {"v":1,"kind":"form","id":"m1","h":"…","body":{"message":{…}},"c":"…"}
    {"v":1,"kind":"ancestor","ns":"","id":"1f0…","parent":"1f0…","body":{…},"c":"…"}

A checkpoint's body holds the values of the channels that changed, `values`, and says of the others at which line they
stand, `same`: `[byte offset, bytes]`. A message stands in the session log or in a form's line and is referred to by
what names it, its content hash, and where that line is:

    ["said", id, hash, position, offset, bytes]             one message of the log
    ["run", first position, count, digest, offset, bytes]   several in a row; the digest is over their ids and hashes
    ["made", id, hash, offset, bytes]                       a form
    ["is", value]                                           anything else in the list

A list of them is `{"$messages": [from, item, …]}`: what stands at `from`, `null` for nothing, and then these. Each piece
of such a chain is larger than all that follow it together, so that a list of n items has at most log n pieces.

An ancestor is what remains of a checkpoint that was pruned while a later one still needs its writes to rebuild a
`DeltaChannel`. `late` names the newest checkpoint of the namespace where a line's own is older. `earlier` lists the writes of a
checkpoint that were stored before it. A saver with an encrypting serializer writes `sealed` in place of `body`.
"""

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from langgraph_harness_memory.formats import records

ENDING = ".jsonl"
"""What follows a thread's stem in the name of its checkpoints."""

Pointer = tuple[int, int]
"""Where a line stands: byte offset and bytes without the newline."""

_STRING = rb'"((?:[^"\\]|\\.)*)"'
_KEY = re.compile(
    rb'\{"v":\d+,"kind":"(?:'
    rb'(checkpoint|ancestor)","ns":' + _STRING + rb',"id":' + _STRING + rb',"parent":(?:null|' + _STRING + rb")"
    rb'(?:,"late":' + _STRING + rb")?"
    rb'|(writes)","ns":' + _STRING + rb',"id":' + _STRING + rb',"task":' + _STRING + rb""
    rb'|(form)","id":(?:null|' + _STRING + rb'),"h":"([0-9a-f]{16})"'
    rb")"
)


@dataclass(frozen=True, slots=True)
class CheckpointKey:
    """What names a checkpoint's line."""

    namespace: str
    checkpoint_id: str
    parent_id: str | None
    late: str | None = None
    """The newest checkpoint of the namespace when this one was written, where it is not this one."""
    is_ancestor: bool = False
    """It was pruned and stands for its writes alone."""


@dataclass(frozen=True, slots=True)
class WritesKey:
    """What names a line of writes."""

    namespace: str
    checkpoint_id: str
    task_id: str


@dataclass(frozen=True, slots=True)
class FormKey:
    """What names a form's line."""

    message_id: str | None
    content_hash: str


Key = CheckpointKey | WritesKey | FormKey

Content = tuple[Literal["body"], dict[str, Any]] | tuple[Literal["sealed"], list[str]]
"""A line's content under its name."""


def render_start(thread_id: str, at: datetime) -> bytes:
    """Write the first line of a file of checkpoints."""
    return records.render({"v": records.VERSION, "kind": "checkpoints", "thread": thread_id, "at": at.isoformat()})


def render(key: Key, content: Content) -> bytes:
    """Write a line."""
    record: dict[str, Any] = {"v": records.VERSION}
    match key:
        case CheckpointKey():
            kind = "ancestor" if key.is_ancestor else "checkpoint"
            record |= {"kind": kind, "ns": key.namespace, "id": key.checkpoint_id, "parent": key.parent_id}
            if key.late is not None:
                record["late"] = key.late
        case WritesKey():
            record |= {"kind": "writes", "ns": key.namespace, "id": key.checkpoint_id, "task": key.task_id}
        case FormKey():
            record |= {"kind": "form", "id": key.message_id, "h": key.content_hash}
    name, value = content
    return records.render({**record, name: value})


def peek(line: bytes) -> Key | None:
    """Read a line's key from its start; the line is whole. `None` for other lines."""
    found = _KEY.match(line)
    if found is None:
        return None
    groups = found.groups()
    if groups[0]:
        namespace, checkpoint_id, parent, late = map(_text, groups[1:5])
        is_ancestor = groups[0] == b"ancestor"
        return CheckpointKey(namespace or "", checkpoint_id or "", parent, late, is_ancestor)
    if groups[5]:
        namespace, checkpoint_id, task = map(_text, groups[6:9])
        return WritesKey(namespace or "", checkpoint_id or "", task or "")
    return FormKey(_text(groups[10]), groups[11].decode("ascii"))


def _text(quoted: bytes | None) -> str | None:
    if quoted is None:
        return None
    text = quoted.decode("ascii")
    return str(json.loads(f'"{text}"')) if "\\" in text else text


def content_of(line: bytes) -> Content | None:
    """Read a line's content; `None` where the line is damaged or has none. Never raises."""
    record = records.parse(line)
    if record is None:
        return None
    if isinstance(sealed := record.get("sealed"), list):
        return ("sealed", sealed)
    return ("body", body) if isinstance(body := record.get("body"), dict) else None


def thread_of(line: bytes) -> str | None:
    """Read the thread's id from the first line; `None` where it is damaged or something else."""
    record = records.parse(line)
    thread = record.get("thread") if record is not None and record.get("kind") == "checkpoints" else None
    return thread if isinstance(thread, str) else None
