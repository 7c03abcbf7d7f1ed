"""The text files of one tenant, as the steps name them."""

import contextlib
from datetime import datetime

from langgraph_harness_memory.errors import VersionConflict
from langgraph_harness_memory.formats import daily_log
from langgraph_harness_memory.formats.memory_md import BACKUPS
from langgraph_harness_memory.identifiers import content_hash, file_stem, tenant_root
from langgraph_harness_memory.steps import Conflict, RemoveLines, TextFile, WriteEvicted, WriteText
from langgraph_harness_memory.workspace import Workspace, read_text, text_bytes

REMOVALS = 50
"""Tries to remove lines from a file that others append to; between reading and replacing it lies a millisecond."""


def of_tenant(workspace: Workspace, tenant: str | None) -> Workspace:
    """Return the workspace that holds a tenant's memory."""
    return workspace if tenant is None else workspace.under(str(tenant_root(tenant)))


def read(files: Workspace, path: str) -> TextFile | None:
    """Read a text file; `None` where there is none."""
    found = read_text(files, path)
    return None if found is None else TextFile(text=found[0], version=found[1])


def write(files: Workspace, step: WriteText, *, now: datetime, backups: int) -> str | Conflict:
    """Replace a text file if it is still at the version that was read, keeping the old one if asked.

    Args:
        files: The tenant's workspace.
        step: What to write where.
        now: When, for the backup's name.
        backups: Backups of this file that stay; the oldest go.
    """
    if step.backup and step.expect is not None:
        _back_up(files, step.path, now=now, keep=backups)
    try:
        return files.replace(step.path, text_bytes(step.text), expect=step.expect, create=step.expect is None)
    except VersionConflict:
        return Conflict()


def remove_lines(files: Workspace, step: RemoveLines) -> str | Conflict:
    """Remove lines of a file, every other byte untouched, if it is still what was read or only grew since."""
    for _ in range(REMOVALS):
        stored = files.read(step.path)
        if stored is None or (stored.version != step.expect and not _only_grew(stored.data, step.text)):
            break
        kept = daily_log.without_lines(stored.data, step.numbers)
        with contextlib.suppress(VersionConflict):
            return files.replace(step.path, kept, expect=stored.version)
    return Conflict()


def _only_grew(data: bytes, text: str | None) -> bool:
    return text is not None and text.endswith("\n") and data.startswith(text_bytes(text))


def _back_up(files: Workspace, path: str, *, now: datetime, keep: int) -> None:
    stored = files.read(path)
    if stored is None:
        return
    stem, dot, ending = path.rsplit("/", 1)[-1].rpartition(".")
    name = f"{BACKUPS}/{stem}-{now:%Y%m%dT%H%M%S%fZ}-{content_hash(stored.data)[:8]}{dot}{ending}"
    files.replace(name, stored.data)
    kept = [info.path for info in files.files(BACKUPS) if info.path.rsplit("/", 1)[-1].startswith(f"{stem}-")]
    for old in sorted(kept)[:-keep]:
        files.delete(old)


def write_evicted(workspace: Workspace, step: WriteEvicted, *, folder: str) -> str:
    """Put a text into an eviction file of a thread, named after what it is and what it holds.

    The same text lands in the same file, two texts never do, whatever the ids of the calls.

    Returns:
        The workspace-relative path.
    """
    data = text_bytes(step.text)
    path = f"{folder}/{file_stem(step.thread.thread_id)}/{file_stem(step.name)}-{content_hash(data)}.txt"
    if workspace.stat(path) is None:
        workspace.replace(path, data)
    return path
