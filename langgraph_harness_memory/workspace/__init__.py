"""A tree of text files: read, append, replace-if-version, list, move, delete, lock, lease.

Everything a memory keeps is a file of a workspace, by a relative POSIX path. A back end stores the tree (`local`: a
folder; `postgres`: tables; `store`: a LangGraph store) and promises no more than this:

* an append or replace that returned is durable, and a failed one left the file as it was;
* a reader sees the old or the new version of a replaced file, never a part;
* concurrent appends never interleave;
* no path leaves the tree.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredFile:
    """A file's bytes and the version they were read at."""

    data: bytes
    version: str
    """Changes whenever the content changes; opaque."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileInfo:
    """What is known of a file without reading it."""

    path: str
    """Relative POSIX path."""
    size: int
    """Bytes."""
    modified: float
    """Seconds since the epoch, as the back end has it; for retention and display, never for correctness."""
    fingerprint: str
    """Differs after any change that the back end can notice cheaply (local: inode, size, both times; postgres: version)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """A claim on a name that expires by itself."""

    name: str
    owner: str
    """Token of the claim; only it can renew or release."""


@runtime_checkable
class Workspace(Protocol):
    """A tree of text files.

    Every method that does I/O raises `PathRefused` for a path that would leave the tree, `LockTimeout` when another
    process held a lock for too long, and `WorkspaceError` (`UnreadableFile` when reading) for what the back end could not
    do. Each has an `a…` twin.
    """

    @property
    def name(self) -> str:
        """What to call this workspace in messages: a folder, or a URL without its password."""
        ...

    def under(self, folder: str) -> "Workspace":
        """Return the workspace rooted at a folder of this one; locks and leases are of that folder too."""
        ...

    def read(self, path: str, *, start: int = 0, end: int | None = None) -> StoredFile | None:
        """Read a file's bytes.

        Args:
            path: The file.
            start: First byte.
            end: Byte after the last; `None` = to the end of the file.

        Returns:
            `None` where there is no such file.
        """
        ...

    def stat(self, path: str) -> FileInfo | None:
        """Describe a file without reading it; `None` where there is no such file."""
        ...

    def append(self, path: str, data: bytes, *, is_whole_line: Callable[[bytes], bool] | None = None) -> int:
        """Append to a file, durably, creating it and its folders.

        Args:
            path: The file.
            data: Whole lines, the last newline included.
            is_whole_line: Judges what follows the file's last newline, if anything does. `None`: it is somebody's
                last line and gains its newline. Otherwise a fragment that is refused is moved aside to
                `<path>.torn-<n>` first, so that it is never glued to what follows.

        Returns:
            The offset at which `data` stands.
        """
        ...

    def replace(self, path: str, data: bytes, *, expect: str | None = None, create: bool = False) -> str:
        """Replace a file's content, atomically and durably.

        Args:
            path: The file.
            data: The whole new content.
            expect: The version that was read; another one raises `VersionConflict`. `None` = whatever is there.
            create: The file must not exist, else `VersionConflict`.

        Returns:
            The new version.
        """
        ...

    def files(self, folder: str = "", *, recursive: bool = True) -> list[FileInfo]:
        """List the files of a folder, sorted by path; hidden ones too, lock files and temporary files not."""
        ...

    def folders(self, folder: str = "") -> list[str]:
        """List the names of a folder's direct sub-folders, sorted."""
        ...

    def move(self, source: str, target: str) -> None:
        """Move a file; a target that exists raises `VersionConflict`. Appends that race with it land in one of the two, whole."""
        ...

    def delete(self, path: str) -> bool:
        """Delete a file, or a folder with all that is in it; `False` where there was none."""
        ...

    def lock(self, name: str, *, timeout: timedelta | None = None) -> AbstractContextManager[None]:
        """Exclude every other holder of this name, in this process and in others, for a short section without model calls.

        Args:
            name: Any string.
            timeout: How long to wait; `None` = the workspace's own setting.
        """
        ...

    def acquire_lease(self, name: str, *, ttl: timedelta) -> Lease | None:
        """Claim a name until it is released or its time is over; `None` while somebody else's claim holds.

        A lease is a hint: what it guards still needs a lock or a version.
        """
        ...

    def renew_lease(self, lease: Lease, *, ttl: timedelta) -> bool:
        """Prolong a claim; `False` when it was lost."""
        ...

    def release_lease(self, lease: Lease) -> None:
        """Give a claim back; without effect when it was lost."""
        ...

    async def aread(self, path: str, *, start: int = 0, end: int | None = None) -> StoredFile | None: ...
    async def astat(self, path: str) -> FileInfo | None: ...
    async def aappend(self, path: str, data: bytes, *, is_whole_line: Callable[[bytes], bool] | None = None) -> int: ...
    async def areplace(self, path: str, data: bytes, *, expect: str | None = None, create: bool = False) -> str: ...
    async def afiles(self, folder: str = "", *, recursive: bool = True) -> list[FileInfo]: ...
    async def afolders(self, folder: str = "") -> list[str]: ...
    async def amove(self, source: str, target: str) -> None: ...
    async def adelete(self, path: str) -> bool: ...
    async def aacquire_lease(self, name: str, *, ttl: timedelta) -> Lease | None: ...
    async def arenew_lease(self, lease: Lease, *, ttl: timedelta) -> bool: ...
    async def arelease_lease(self, lease: Lease) -> None: ...


def read_text(workspace: Workspace, path: str) -> tuple[str, str] | None:
    """Read a text file; invalid UTF-8 becomes U+FFFD in view and stays as it is on disk.

    Returns:
        The text and its version; `None` where there is no such file.
    """
    stored = workspace.read(path)
    return None if stored is None else (stored.data.decode("utf-8", "replace"), stored.version)


def text_bytes(text: str) -> bytes:
    """Encode a text for a file; lone surrogates become U+FFFD, so that no answer of a model can fail a write."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode("utf-8")
