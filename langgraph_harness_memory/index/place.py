"""Where the index of a workspace lies.

<parent>/memory_index.db            the first workspace under a parent
<parent>/<name>.memory_index.db     any other one
<workspace>/memory_index.db         where the parent cannot be written
in memory                           where nothing can, or the workspace is no folder of this machine
"""

import os
from collections.abc import Iterator
from pathlib import Path

from langgraph_harness_memory.index.database import Unusable, owner_of
from langgraph_harness_memory.workspace import Workspace

FILE_NAME = "memory_index.db"


def owner_name(workspace: Workspace) -> str:
    """Return what an index file calls its workspace; a folder's own name, so that moving the parent moves both."""
    root = root_of(workspace)
    return root.name if root else workspace.name


def root_of(workspace: Workspace) -> Path | None:
    """Return the folder of a local workspace; `None` for one that lies elsewhere."""
    root = getattr(workspace, "root", None)
    return root if isinstance(root, Path) else None


def places(workspace: Workspace, path: Path | None) -> Iterator[Path]:
    """Give the paths to try, the best first.

    Args:
        workspace: What is indexed.
        path: Where the user wants the index; `None` = the usual places.
    """
    if path is not None:
        yield path
        return
    root = root_of(workspace)
    if root is None:
        return
    if root.name and _can_write(root.parent):
        yield from _beside(root)
    yield root / FILE_NAME


def _beside(root: Path) -> Iterator[Path]:
    shared, own = root.parent / FILE_NAME, root.parent / f"{root.name}.{FILE_NAME}"
    if not own.exists() and _is_free_for(shared, root):
        yield shared
    yield own


def _is_free_for(path: Path, root: Path) -> bool:
    """Say whether an index file belongs to this workspace, to none, or to one that is gone."""
    try:
        owner = owner_of(path)
    except (Unusable, OSError):
        return False
    return owner is None or owner == root.name or not (root.parent / owner).is_dir()


def _can_write(folder: Path) -> bool:
    """Say whether files can be made in a folder, or in the nearest one above that exists."""
    existing = next((f for f in (folder, *folder.parents) if f.exists()), None)
    return existing is not None and os.access(existing, os.W_OK | os.X_OK)
