"""Which files of a tenant's tree the index must read again.

A hand edit is seen at the next search: inode, size and both times of every file are compared with what they were. A
file that changed within two seconds before it was read may change once more without a new time stamp, so it is read
again until it has been quiet for that long.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from langgraph_harness_memory.errors import PathRefused
from langgraph_harness_memory.index.lines import Seen
from langgraph_harness_memory.index.rows import is_indexed
from langgraph_harness_memory.workspace import FileInfo, Workspace

QUIET_SECONDS = 2.0
"""How long a file must not have changed before its time stamp is trusted: FAT counts in twos, others in milliseconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stale:
    """What differs between a tree and what was last seen of it."""

    changed: tuple[FileInfo, ...]
    """Files that are new or may differ."""
    gone: tuple[str, ...]
    """Paths that were in the tree and are no longer."""

    def __bool__(self) -> bool:
        return bool(self.changed or self.gone)


def memory_files(tree: Workspace) -> list[FileInfo]:
    """List the files of a tenant's tree that are indexed."""
    try:
        curated = tree.stat("MEMORY.md")
    except PathRefused:  # a folder or a link of that name is no memory
        curated = None
    found = [curated] if curated else []
    found += tree.files("memory", recursive=False)
    found += tree.files("memory/archive", recursive=False)
    found += tree.files("knowledge")
    return [info for info in found if is_indexed(info.path)]


def compare(present: list[FileInfo], seen: Mapping[str, Seen]) -> Stale:
    """Compare a listing with what was last seen."""
    changed = tuple(info for info in present if _may_differ(info, seen.get(info.path)))
    here = {info.path for info in present}
    return Stale(changed=changed, gone=tuple(p for p, s in seen.items() if s.on_disk and p not in here))


def _may_differ(info: FileInfo, seen: Seen | None) -> bool:
    return seen is None or info.fingerprint != seen.fingerprint or info.modified > seen.checked - QUIET_SECONDS
