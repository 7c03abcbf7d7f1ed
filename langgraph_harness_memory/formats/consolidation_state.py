"""`memory/.consolidation_state`: what consolidation has merged, by line and by content.

No time of a file is looked at: a restored, copied or touched log holds the lines that it held. A line's key is made of
what its block's heading says and of the line, so that the same words on another day are new and the same block in
another file is not.

    {"v": 1, "merged": "<base64 of 8-byte keys>", "files": {"memory/2026-04-12.md": "<hash>"}, "memory": {…}, …}

Earlier systems kept a single instant here; it is read, and lines from before it count as merged.
"""

import base64
import hashlib
import json
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from itertools import chain
from typing import Any, Literal

from langgraph_harness_memory.formats.daily_log import LogLine, render_positions

PATH = "memory/.consolidation_state"
VERSION = 1
KEY_BYTES = 8
"""Length of a line's key: with a million lines, two share one once in 37 million memories."""

Writer = Literal["model", "rules", "person"]
"""Who wrote a `MEMORY.md`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """A `MEMORY.md` that this package left behind."""

    text: str
    writer: Writer


@dataclass(frozen=True, kw_only=True, slots=True)
class Pending:
    """A rewrite that was about to happen: with it a crash between `MEMORY.md` and the marks is recognised."""

    text: str
    """The `MEMORY.md` that was about to be written, or that is proposed."""
    writer: Writer
    keys: frozenset[bytes]
    """The lines it merges."""
    changes: str
    """The entry for the change log."""
    entry_id: str
    """The entry's id."""
    base: str = ""
    """Hash of the `MEMORY.md` it replaces."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsolidationState:
    """What was merged, and what the memory looked like then."""

    merged: frozenset[bytes] = frozenset()
    """Keys of the lines that were merged, or seen and set aside."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Content hash by path of the logs whose lines are all merged, so that an unchanged log is not read line by line."""
    memory: Written | None = None
    """The last `MEMORY.md` of ours; what a person removed since is seen by comparison."""
    removed: tuple[str, ...] = ()
    """Facts that a person took out of `MEMORY.md`; they do not come back by themselves."""
    by_hand: tuple[str, ...] = ()
    """Facts that a person wrote into `MEMORY.md` since; what they forgot before and write again by hand stays."""
    pending: Pending | None = None
    proposal: Pending | None = None
    """What waits for a person's yes, in review mode."""
    is_lost: bool = False
    """`MEMORY.md` was found missing or blank and is not rebuilt from all logs yet."""
    merged_before: datetime | None = None
    """Lines from before this moment count as merged: the single instant of earlier systems."""

    def with_merged(self, keys: Iterable[bytes]) -> "ConsolidationState":
        """Return this state with more lines merged."""
        return replace(self, merged=self.merged | frozenset(keys))


def line_key(line: LogLine) -> bytes:
    """Return the key of a log's line."""
    heading = line.heading
    where = (
        f"{heading.at.isoformat()}|{heading.session}|{render_positions(heading.positions)}|{heading.part}"
        if heading
        else line.title
    )
    said = f"{where}\n{line.content.strip()}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=KEY_BYTES).digest()


def text_hash(text: str) -> str:
    """Return what stands for a whole text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def is_from_before(line: LogLine, day: date | None, instant: datetime) -> bool:
    """Say whether a line was written before an instant, by its heading or, for a hand-written one, by its log's day."""
    if line.heading:
        return line.heading.at <= instant
    return day is not None and day < instant.date()


def parse(text: str) -> ConsolidationState:
    """Read the state, also the single instant of earlier systems.

    Raises:
        ValueError: It is damaged.
    """
    if not text.lstrip().startswith("{"):
        return ConsolidationState(merged_before=_instant(text.strip())) if text.strip() else ConsolidationState()
    try:
        fields: dict[str, Any] = json.loads(text)
        if "v" not in fields:
            return ConsolidationState(merged_before=_instant(str(next(iter(fields.values())))))
        return _state(fields)
    except (ValueError, TypeError, KeyError, AttributeError, StopIteration, RecursionError) as error:
        raise ValueError(f"{PATH} cannot be read: {error}") from error


def render(state: ConsolidationState) -> str:
    """Write the state."""
    fields: dict[str, Any] = {"v": VERSION, "files": dict(sorted(state.files.items()))}
    if state.memory:
        fields["memory"] = {"text": state.memory.text, "writer": state.memory.writer}
    if state.removed:
        fields["removed"] = list(state.removed)
    if state.by_hand:
        fields["by_hand"] = list(state.by_hand)
    for name, pending in (("pending", state.pending), ("proposal", state.proposal)):
        if pending:
            fields[name] = _pending_fields(pending)
    if state.is_lost:
        fields["lost"] = True
    if state.merged_before:
        fields["merged_before"] = state.merged_before.isoformat()
    fields["merged"] = _packed(state.merged)
    return json.dumps(fields) + "\n"


def _packed(keys: frozenset[bytes]) -> str:
    return base64.b64encode(b"".join(sorted(keys))).decode("ascii")


def _unpacked(text: str) -> frozenset[bytes]:
    data = base64.b64decode(text, validate=True)
    if len(data) % KEY_BYTES:
        raise ValueError("the marks are cut off")
    return frozenset(chain.from_iterable(struct.iter_unpack(f"{KEY_BYTES}s", data)))


def _pending_fields(pending: Pending) -> dict[str, str]:
    return {
        "text": pending.text,
        "writer": pending.writer,
        "merges": _packed(pending.keys),
        "changes": pending.changes,
        "entry": pending.entry_id,
        "base": pending.base,
    }


def _pending(fields: dict[str, str] | None) -> Pending | None:
    if fields is None:
        return None
    return Pending(
        text=str(fields["text"]),
        writer=_writer(fields["writer"]),
        keys=_unpacked(fields["merges"]),
        changes=str(fields["changes"]),
        entry_id=str(fields["entry"]),
        base=str(fields["base"]),
    )


def _writer(name: str) -> Writer:
    match name:
        case "model" | "rules" | "person":
            return name
        case _:
            raise ValueError(f"{name!r} writes no memory")


def _state(fields: dict[str, Any]) -> ConsolidationState:
    memory = fields.get("memory")
    before = fields.get("merged_before")
    return ConsolidationState(
        merged=_unpacked(fields["merged"]),
        files={str(path): str(value) for path, value in fields["files"].items()},
        memory=Written(text=str(memory["text"]), writer=_writer(memory["writer"])) if memory else None,
        removed=tuple(str(fact) for fact in fields.get("removed", ())),
        by_hand=tuple(str(fact) for fact in fields.get("by_hand", ())),
        pending=_pending(fields.get("pending")),
        proposal=_pending(fields.get("proposal")),
        is_lost=bool(fields.get("lost", False)),
        merged_before=_instant(before) if before else None,
    )


def _instant(text: str) -> datetime:
    """Read an ISO moment, or seconds or milliseconds since the epoch."""
    bare = text.strip().strip('"')
    if re.fullmatch(r"\d{9,}(\.\d+)?", bare):
        number = float(bare)
        return datetime.fromtimestamp(number / 1000 if number > 1e11 else number, tz=UTC)
    digits = re.sub(r"(\.\d{6})\d+", r"\1", bare)
    try:
        at = datetime.fromisoformat(digits)
    except ValueError as error:
        raise ValueError(f"{PATH} cannot be read: {bare[:40]!r} is no moment") from error
    return at if at.tzinfo else at.replace(tzinfo=UTC)
