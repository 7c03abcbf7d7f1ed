"""What sessions give back."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final


class AnyTenant:
    """Stands for every tenant, the shared root included."""

    def __repr__(self) -> str:
        return "ANY"


ANY: Final = AnyTenant()
"""Asks for the sessions of every tenant; `None` asks for those of the shared root alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionInfo:
    """What is known of a session without reading its messages."""

    thread_id: str
    tenant: str | None
    """Whose it is; `None` for the shared root."""
    messages: int
    """Messages in its log, edited versions included."""
    unflushed: int
    """Those of them that no mark covers."""
    first_at: datetime
    """When its log was begun, aware, UTC."""
    last_at: datetime
    """When its last message was written, aware, UTC."""
    size: int
    """Bytes of its log and checkpoints."""
    path: str
    """Its log, relative to the workspace."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionHit:
    """One message of a session that answers a query."""

    thread_id: str
    position: int
    """Its place in the session's log."""
    role: str
    """The message's type: `human`, `ai`, `tool`, …"""
    snippet: str
    """The part of its text around what was found, on one line."""
    said_at: datetime
    """When it was logged, aware, UTC."""
    rank: float
    """Smaller is better, as in FTS5."""
