"""Which back ends a workspace brings: its index and its checkpointer."""

from collections.abc import Callable
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_harness_memory.clock import Clock, zone
from langgraph_harness_memory.config import MemoryConfig
from langgraph_harness_memory.events import OnEvent
from langgraph_harness_memory.index.hits import Index
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.workspace import Workspace
from langgraph_harness_memory.workspace.opening import postgres_of


def open_index(workspace: Workspace, config: MemoryConfig, *, clock: Clock, on_event: OnEvent) -> Index:
    """Return the index of a workspace: of its own kind where it brings one, on Postgres beside it, else in SQLite."""
    own: Callable[..., Index] | None = getattr(workspace, "open_index", None)
    if own is not None:
        return own(clock=clock, zone=zone(config.storage.timezone), on_event=on_event)
    postgres = postgres_of(workspace)
    if postgres is not None:
        from langgraph_harness_memory.index.postgres import PostgresMemoryIndex  # noqa: PLC0415  needs an extra

        return PostgresMemoryIndex(postgres, clock=clock, zone=zone(config.storage.timezone))
    from langgraph_harness_memory.index.sqlite import MemoryIndex  # noqa: PLC0415  only where it is used

    return MemoryIndex(
        workspace,
        path=config.storage.index_path,
        clock=clock,
        zone=zone(config.storage.timezone),
        on_event=on_event,
    )


def open_checkpointer(workspace: Workspace, sessions: SessionLog) -> BaseCheckpointSaver[Any]:
    """Return the checkpointer of a workspace: of its own kind, LangGraph's for Postgres, else ours beside the session logs."""
    own: Callable[[], BaseCheckpointSaver[Any]] | None = getattr(workspace, "open_checkpointer", None)
    if own is not None:
        return own()
    postgres = postgres_of(workspace)
    if postgres is not None:
        from langgraph_harness_memory.sessions.postgres import PostgresSessionSaver  # noqa: PLC0415  needs an extra

        return PostgresSessionSaver(postgres)
    from langgraph_harness_memory.sessions.saver import SessionSaver  # noqa: PLC0415  only where it is used

    return SessionSaver.over(sessions)
