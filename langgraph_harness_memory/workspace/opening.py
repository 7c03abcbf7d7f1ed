"""A workspace from what a person types: a folder, or a Postgres URL."""

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from langgraph_harness_memory.errors import SettingError
from langgraph_harness_memory.workspace import Workspace
from langgraph_harness_memory.workspace.local import LocalWorkspace

if TYPE_CHECKING:
    from langgraph_harness_memory.workspace.postgres import PostgresWorkspace

POSTGRES_SCHEMES = ("postgresql://", "postgres://")


def is_postgres_url(text: str) -> bool:
    """Say whether a text names a workspace on Postgres."""
    return text.lower().startswith(POSTGRES_SCHEMES)


def postgres_of(workspace: Workspace) -> "PostgresWorkspace | None":
    """Return a workspace if it is one on Postgres; without loading psycopg for one that is not."""
    module = sys.modules.get("langgraph_harness_memory.workspace.postgres")
    is_one = module is not None and isinstance(workspace, module.PostgresWorkspace)
    return cast("PostgresWorkspace", workspace) if is_one else None


def open_workspace(where: str | Path | Workspace, **settings: Any) -> Workspace:
    """Open a workspace by its folder or URL.

    Args:
        where: A folder; or `postgresql://user:password@host/database?schema=name`, the schema being optional; or a
            workspace, which is returned as it is.
        **settings: `lock_timeout`, `on_event`, and those of the back end: `fsync` and `clock` for a folder,
            `max_connections` for Postgres. A setting of the other back end is left out.

    Raises:
        SettingError: It is a URL of another kind.
        MissingExtra: It is a Postgres URL and psycopg is not installed.
    """
    if isinstance(where, Workspace):
        return where
    text = str(where)
    if is_postgres_url(text):
        wanted = {key: value for key, value in settings.items() if key not in ("fsync", "clock")}
        # Loaded here: psycopg is an optional package.
        back_end = import_module("langgraph_harness_memory.workspace.postgres")
        opened: Workspace = back_end.PostgresWorkspace.from_conn_string(text, **wanted)
        return opened
    if isinstance(where, str) and "://" in where:
        raise SettingError.refused("workspace", where, "give a folder or a postgresql:// URL")
    return LocalWorkspace(where, **{key: value for key, value in settings.items() if key != "max_connections"})
