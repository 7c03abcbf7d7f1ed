"""Evicted results of sessions: they live as long as the last session that names them."""

import re
from datetime import timedelta

from langgraph_harness_memory.formats import session_log
from langgraph_harness_memory.workspace import Workspace

LEASE = timedelta(minutes=1)
"""How long a session that is being deleted is claimed; a crash frees it after that."""


def release(workspace: Workspace, stem: str, *, folder: str) -> None:
    """Delete the evicted files that only one session names, before that session is deleted.

    These are its own, and those of a session that it was copied from and that is gone. A session is searched as text:
    a path that stands in its files, wherever, keeps the file.

    Args:
        workspace: The root of the workspace.
        stem: The session's.
        folder: Where evicted results lie.
    """
    candidates = {file.path for file in workspace.files(f"{folder}/{stem}")} | _inherited(workspace, stem, folder)
    if not candidates:
        return
    for other in workspace.files("sessions", recursive=False):
        if not candidates:
            return
        if other.path.endswith(".jsonl") and _stem(other.path) != stem:
            candidates -= _named(workspace, other.path, folder)
    for path in candidates:
        workspace.delete(path)
    if not workspace.files(f"{folder}/{stem}"):
        workspace.delete(f"{folder}/{stem}")


def _inherited(workspace: Workspace, stem: str, folder: str) -> set[str]:
    named = _named(workspace, f"sessions/{stem}.jsonl", folder) | _named(
        workspace, f"sessions/{stem}{session_log.ENDING}", folder
    )
    owners = {path.split("/")[-2] for path in named}
    gone = {o for o in owners if o != stem and workspace.stat(f"sessions/{o}{session_log.ENDING}") is None}
    return {path for path in named if path.split("/")[-2] in gone and workspace.stat(path) is not None}


def _named(workspace: Workspace, path: str, folder: str) -> set[str]:
    stored = workspace.read(path)
    if stored is None:
        return set()
    pattern = re.escape(folder.encode()) + rb"/[a-z0-9_~-]+/[A-Za-z0-9._~-]+"
    return {found.decode("ascii").rstrip(".") for found in re.findall(pattern, stored.data)}


def _stem(path: str) -> str:
    return path.rsplit("/", maxsplit=1)[-1].removesuffix(session_log.ENDING).removesuffix(".jsonl")
