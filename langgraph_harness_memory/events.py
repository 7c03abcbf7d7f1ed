"""What happened, as typed values: for `on_event`, for custom stream events and for the log.

An event is told once, after the fact, and never raises into a run. `as_dict` gives the plain form that streams carry.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """Base of all events."""

    thread_id: str | None = None
    """The conversation it belongs to, where it belongs to one."""
    tenant: str | None = None
    """The user whose memory it concerns; `None` for the shared root."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Compacted(Event):
    """A prefix was folded into a summary."""

    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    by_rules: bool = False
    """The model had failed too often and the rules summarised."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CompactionFailed(Event):
    """A summary failed or was refused; the history is as it was."""

    reason: str
    failures: int
    """Failures in a row on this thread."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ArgumentsTruncated(Event):
    """Long arguments of old tool calls were shortened."""

    messages: int
    characters_saved: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Evicted(Event):
    """A tool's result went to a file."""

    tool: str
    characters: int
    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class EvictionFailed(Event):
    """A tool's result could not be written to a file; it was clipped in view and stays in the session log."""

    tool: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Recovered(Event):
    """A context overflow was answered by compacting and trying again."""

    attempts: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Flushed(Event):
    """Facts of a stretch of conversation were written to the daily log."""

    messages: int
    facts: int
    path: str | None
    """The daily log; `None` when there was nothing to write."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FlushFailed(Event):
    """A flush failed; its messages stay unmarked and are tried again."""

    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Consolidated(Event):
    """`MEMORY.md` was rewritten."""

    added: int
    changed: int
    dropped: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsolidationFailed(Event):
    """A consolidation failed or its output was refused; `MEMORY.md` is as it was."""

    reason: str
    kept_aside: str | None = None
    """Where the refused text lies."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Forgotten(Event):
    """Lines were removed from memory on request."""

    lines: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Deleted(Event):
    """Something reached the end of its retention."""

    path: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Damaged(Event):
    """A file holds bytes that cannot be read; they were skipped and left, or moved aside."""

    path: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ForkSeen(Event):
    """Two writers went on from the same checkpoint of one thread; both branches are kept."""

    parents: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class MaintenanceFailed(Event):
    """One step of a maintenance tick failed; the others ran."""

    step: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Degraded(Event):
    """Memory could not do its part in a turn, and the turn went on without it."""

    what: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelAsked(Event):
    """A model was asked by memory itself."""

    purpose: str
    """`summary`, `flush` or `consolidation`."""
    tokens: int
    """The provider's own count of the call, or an estimate where it gives none."""
    is_estimate: bool
    seconds: float
    failed: bool = False
    """It raised or was too slow."""
    by_rules: bool = False
    """The model-free extractor answered; it costs no tokens."""
    turn_run_id: str | None = None
    """The run whose turn it was asked for, also where it happened in the background; `None` outside a turn."""


OnEvent = Callable[[Event], None]
"""Receives events as they happen; what it raises is logged and goes no further."""


def as_dict(event: Event) -> dict[str, Any]:
    """Return the plain form of an event, as custom streams carry it: `type` is the event's name in snake case."""
    name = type(event).__name__
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
    return {"type": f"memory.{snake}", **asdict(event)}
