"""What kind of file system a folder lies on; Linux tells in `/proc/self/mountinfo`, elsewhere nothing is known."""

from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")

NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "ncpfs", "davfs"}
)
"""File systems where a lock or an fsync may mean less than on a local disk."""


def file_system(folder: Path, mounts: str | None = None) -> str | None:
    """Return the type of the file system that a folder lies on.

    Args:
        folder: An absolute path; it need not exist.
        mounts: The text of `mountinfo`; `None` = this machine's.

    Returns:
        For example `ext4`, `nfs4` or `fuse.sshfs`; `None` where nobody tells.
    """
    if mounts is None:
        try:
            mounts = MOUNTS.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
    best: tuple[int, str] | None = None
    for line in mounts.splitlines():
        before, mark, after = line.partition(" - ")
        fields = before.split(" ")
        if not mark or len(fields) < 5:
            continue
        point = Path(
            fields[4].replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
        )
        if folder.is_relative_to(point) and (best is None or len(point.parts) >= best[0]):
            best = len(point.parts), after.split(" ")[0]
    return best[1] if best else None


def is_remote(kind: str | None) -> bool:
    """Say whether locks and syncs of this kind of file system are promised by another machine or a program."""
    return kind is not None and (kind in NETWORK or kind.startswith("fuse"))
