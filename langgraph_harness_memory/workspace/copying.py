"""Move a workspace from one back end to another, either way, and prove that it arrived.

    read a file ─► replace it at the target ─► read it back ─► equal?          again for what changed meanwhile

The target must hold nothing unless the caller says otherwise, and then a file that is there already is left if it is
equal and refused if it is not, so that a copy can be resumed and never mixes two memories.
"""

from collections.abc import Callable
from dataclasses import dataclass

from langgraph_harness_memory.errors import SettingError, UnreadableFile, VersionConflict
from langgraph_harness_memory.workspace import FileInfo, Workspace

ROUNDS = 5
"""How often files that changed under the copy are copied again; a workspace in use settles between two turns."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Copied:
    """What a copy did."""

    files: int
    """Files that stand at the target now as they stand at the source."""
    bytes: int
    skipped: int
    """Of those, the files that were there already."""


def copy_workspace(
    source: Workspace, target: Workspace, *, resume: bool = False, progress: Callable[[str], None] | None = None
) -> Copied:
    """Copy every file of a workspace and compare what arrived, byte by byte.

    Locks and leases stay behind: they belong to processes. The source is only read.

    Args:
        source: Where the files are.
        target: Where they shall be; empty, unless `resume`.
        resume: Go on with a copy that was cut off: equal files are left, a different one is refused.
        progress: Is told each path as it is done.

    Returns:
        What was done; every counted file was read back from the target.

    Raises:
        SettingError: The target holds files and `resume` is not set, or source and target are the same.
        VersionConflict: The target holds another version of a file, or the source kept changing.
        UnreadableFile: What was read back is not what was written.
    """
    if source.name == target.name:
        raise SettingError.refused("target", target.name, "give another place than the source")
    if not resume and target.files():
        raise SettingError.refused("target", target.name, "give an empty workspace, or resume a copy that was cut off")
    done: dict[str, tuple[str, int, bool]] = {}
    for _ in range(ROUNDS):
        found = {info.path: info for info in source.files()}
        left = [info for path, info in found.items() if done.get(path, ("",))[0] != info.fingerprint]
        for path in [path for path in done if path not in found]:
            target.delete(path)
            del done[path]
        if not left:
            break
        for info in left:
            copied = _copy_file(source, target, info, ours=info.path in done)
            if copied is not None:
                done[info.path] = copied
                if progress is not None:
                    progress(info.path)
    else:
        raise VersionConflict(f"{source.name!r} kept changing while it was copied: stop what writes to it, then resume")
    return Copied(
        files=len(done),
        bytes=sum(size for _, size, _ in done.values()),
        skipped=sum(skipped for _, _, skipped in done.values()),
    )


def _copy_file(source: Workspace, target: Workspace, info: FileInfo, *, ours: bool) -> tuple[str, int, bool] | None:
    """Copy one file; return the fingerprint it was read at, its size, and whether it was there already."""
    stored = source.read(info.path)
    if stored is None:
        return None
    there = target.read(info.path)
    if there is not None and there.data == stored.data:
        return info.fingerprint, len(stored.data), not ours
    if there is not None and not ours:
        raise VersionConflict(f"{target.name!r} holds another version of {info.path!r}: copy into an empty workspace")
    target.replace(info.path, stored.data, expect=None if there is None else there.version, create=there is None)
    arrived = target.read(info.path)
    if arrived is None or arrived.data != stored.data:
        raise UnreadableFile(f"{info.path!r} reads differently from {target.name!r} than it was written")
    return info.fingerprint, len(stored.data), False
