"""Evicted results of sessions: they live as long as the last session that names them."""

import re
from datetime import timedelta

from langgraph_harness_memory.sessions.pool import SessionPool
from langgraph_harness_memory.workspace import Workspace

LEASE = timedelta(minutes=1)
"""How long a session that is being deleted is claimed; a crash frees it after that."""


def release(pool: SessionPool, stem: str, *, folder: str) -> None:
    """Delete the evicted files that only one session names, before that session is deleted.

    These are its own, and those of a session that it was copied from and that is gone. A session is searched as text:
    a path that stands in its files, wherever, keeps the file.

    Args:
        pool: The sessions.
        stem: The session's.
        folder: Where evicted results lie.
    """
    workspace = pool.workspace
    candidates = {file.path for file in workspace.files(f"{folder}/{stem}")} | _inherited(pool, stem, folder)
    logs, checkpoints = pool.stems()
    paths = [pool.log_path(s) for s in logs if s != stem] + [pool.checkpoint_path(s) for s in checkpoints if s != stem]
    for path in paths:
        if not candidates:
            return
        candidates -= _named(workspace, path, folder)
    for path in candidates:
        workspace.delete(path)
    if not workspace.files(f"{folder}/{stem}"):
        workspace.delete(f"{folder}/{stem}")


def _inherited(pool: SessionPool, stem: str, folder: str) -> set[str]:
    named = _named(pool.workspace, pool.checkpoint_path(stem), folder)
    named |= _named(pool.workspace, pool.log_path(stem), folder)
    owners = {path.split("/")[-2] for path in named}
    gone = {o for o in owners if o != stem and pool.workspace.stat(pool.log_path(o)) is None}
    return {path for path in named if path.split("/")[-2] in gone and pool.workspace.stat(path) is not None}


def _named(workspace: Workspace, path: str, folder: str) -> set[str]:
    stored = workspace.read(path)
    if stored is None:
        return set()
    pattern = re.escape(folder.encode()) + rb"/[a-z0-9_~-]+/[A-Za-z0-9._~-]+"
    return {found.decode("ascii").rstrip(".") for found in re.findall(pattern, stored.data)}
