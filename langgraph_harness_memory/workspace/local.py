"""The workspace as a folder of this machine.

    read, stat, list            no lock: a replaced file is old or new, never half
    append, replace, move, …    one of 256 path locks ─► `files` does it
    lock(name)                  a lock of its own, for a section of several operations

Path locks lie inside one operation and named locks around several, and a named section takes path locks but never the
other way round, so that they cannot wait for each other in a circle. Tenants' workspaces (`under`) share the locks of
the whole tree.
"""

import contextlib
import logging
import secrets
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

from langgraph_harness_memory.clock import Clock, SystemClock
from langgraph_harness_memory.errors import VersionConflict, WorkspaceError
from langgraph_harness_memory.events import Damaged, OnEvent
from langgraph_harness_memory.identifiers import content_hash, file_stem
from langgraph_harness_memory.outcome import finish_in_thread
from langgraph_harness_memory.workspace import FileInfo, Lease, StoredFile
from langgraph_harness_memory.workspace.files import PART_VERSION, SYSTEM, Files, SystemCalls
from langgraph_harness_memory.workspace.leases import Claim, clamped, holds, made, parse_claim, render_claim
from langgraph_harness_memory.workspace.locks import FileLocks
from langgraph_harness_memory.workspace.mounts import file_system, is_remote
from langgraph_harness_memory.workspace.paths import LOCK_FOLDER, Parts, file_parts, folder_parts, joined

logger = logging.getLogger(__name__)

PATH_LOCKS = 256
"""Lock files that all paths share: few enough to leave no litter, enough that two sessions rarely meet (a shared one
costs the other an append, 0.2 ms)."""

LOCK_TIMEOUT = timedelta(seconds=5)
"""The default of `storage.lock_timeout`."""


class LocalWorkspace:
    """A workspace in a folder; implements `Workspace`.

    Args:
        root: The folder; the first write creates it.
        fsync: Wait for the disk at each write. `False` keeps every acknowledged write through a killed process and
            loses the last seconds in a power cut.
        lock_timeout: How long an operation waits for another process before it raises `LockTimeout`.
        clock: Tells the time for leases and the age of temporary files.
        on_event: Hears of a torn line that was moved aside (`Damaged`).
        system_calls: Stands in for `os` in tests of faults.
    """

    def __init__(
        self,
        root: Path | str,
        *,
        fsync: bool = True,
        lock_timeout: timedelta = LOCK_TIMEOUT,
        clock: Clock | None = None,
        on_event: OnEvent | None = None,
        system_calls: SystemCalls = SYSTEM,
    ) -> None:
        self.root = Path(root).expanduser().absolute()
        self._clock = clock or SystemClock()
        self._files = Files(top=self.root, fsync=fsync, calls=system_calls, wall=self._wall)
        self._locks = FileLocks(files=self._files)
        self._timeout = lock_timeout
        self._on_event = on_event
        self._base: Parts = ()
        self._is_checked = threading.Event()

    @property
    def name(self) -> str:
        """The folder."""
        return str(self.root)

    def __repr__(self) -> str:
        return f"LocalWorkspace({str(self.root)!r})"

    def under(self, folder: str) -> "LocalWorkspace":
        """Return the workspace rooted at a folder of this one; it shares the locks of the whole tree."""
        parts = folder_parts(folder)
        if not parts:
            return self
        inner = object.__new__(type(self))
        inner.__dict__.update(self.__dict__)
        inner.root = self.root.joinpath(*parts)
        inner._base = (*self._base, *parts)
        return inner

    # -- reading ------------------------------------------------------------------------------------------------

    def read(self, path: str, *, start: int = 0, end: int | None = None) -> StoredFile | None:
        """Read a file's bytes; see `Workspace.read`. The version of a part is a fingerprint, weaker than a whole file's."""
        found = self._files.read(self._parts(path), base=len(self._base), start=start, end=end)
        if found is None:
            return None
        data, fingerprint = found
        whole = start == 0 and end is None
        return StoredFile(data=data, version=content_hash(data) if whole else PART_VERSION + fingerprint)

    def stat(self, path: str) -> FileInfo | None:
        """Describe a file without reading it; `None` where there is no such file."""
        return self._files.info(self._parts(path), base=len(self._base))

    def files(self, folder: str = "", *, recursive: bool = True) -> list[FileInfo]:
        """List the files of a folder, sorted by path; lock files and temporary files are left out."""
        parts = (*self._base, *folder_parts(folder))
        found = self._files.listed(parts, base=len(self._base), recursive=recursive, skip=LOCK_FOLDER)
        return sorted(found, key=lambda info: info.path)

    def folders(self, folder: str = "") -> list[str]:
        """List the names of a folder's direct sub-folders, sorted."""
        parts = (*self._base, *folder_parts(folder))
        names = self._files.folder_names(parts, base=len(self._base))
        return [name for name in names if (*parts, name) != LOCK_FOLDER]

    # -- writing ------------------------------------------------------------------------------------------------

    def append(self, path: str, data: bytes, *, is_whole_line: Callable[[bytes], bool] | None = None) -> int:
        """Append to a file, durably; see `Workspace.append`."""
        parts = self._parts(path)
        with self._path_locks(parts):
            offset, torn = self._files.append(parts, data, base=len(self._base), is_whole_line=is_whole_line)
        if torn is not None and self._on_event is not None:
            reason = f"its last line was torn; {torn.size} bytes were moved to {torn.path}"
            self._on_event(Damaged(path=joined(parts), reason=reason))
        return offset

    def replace(self, path: str, data: bytes, *, expect: str | None = None, create: bool = False) -> str:
        """Replace a file's content, atomically and durably; see `Workspace.replace`."""
        parts = self._parts(path)
        with self._path_locks(parts):
            return self._files.replace(parts, data, base=len(self._base), expect=expect, create=create)

    def move(self, source: str, target: str) -> None:
        """Move a file to a name that is free; see `Workspace.move`."""
        old, new = self._parts(source), self._parts(target)
        if old == new:
            raise VersionConflict(f"{source!r} cannot be moved onto itself")
        with self._path_locks(old, new):
            self._files.move(old, new, base=len(self._base))

    def delete(self, path: str) -> bool:
        """Delete a file, or a folder with all that is in it; `False` where there was none."""
        parts = self._parts(path)
        if LOCK_FOLDER[: len(parts)] == parts:
            return self._delete_around_locks(parts)
        with self._path_locks(parts):
            return self._files.remove(parts, base=len(self._base))

    # -- locks and leases -----------------------------------------------------------------------------------------

    def lock(self, name: str, *, timeout: timedelta | None = None) -> AbstractContextManager[None]:
        """Exclude every other holder of this name; not reentrant. See `Workspace.lock`."""
        stem = f"{self._claim_stem(name)}.lock"
        return self._locks.hold(stem, self._timeout if timeout is None else timeout, what=f"{name!r}")

    def acquire_lease(self, name: str, *, ttl: timedelta) -> Lease | None:
        """Claim a name until it is released or its time is over; `None` while somebody else's claim holds."""
        with self._claims(name) as path:
            now, claim = self._wall(), self._claim(path)
            if claim is not None and holds(claim, now):
                if clamped(claim, now) != claim:
                    self._files.replace(path, render_claim(clamped(claim, now)), base=0)
                return None
            owner = secrets.token_hex(16)
            self._files.replace(path, render_claim(made(owner, now=now, ttl=ttl)), base=0)
            return Lease(name=name, owner=owner)

    def renew_lease(self, lease: Lease, *, ttl: timedelta) -> bool:
        """Prolong a claim; `False` when it was lost."""
        with self._claims(lease.name) as path:
            claim = self._claim(path)
            if claim is None or claim.owner != lease.owner:
                return False
            self._files.replace(path, render_claim(made(lease.owner, now=self._wall(), ttl=ttl)), base=0)
            return True

    def release_lease(self, lease: Lease) -> None:
        """Give a claim back; without effect when it was lost."""
        with self._claims(lease.name) as path:
            claim = self._claim(path)
            if claim is not None and claim.owner == lease.owner:
                self._files.remove(path, base=0)

    # -- the same without blocking the event loop --------------------------------------------------------------------

    async def aread(self, path: str, *, start: int = 0, end: int | None = None) -> StoredFile | None:
        """Twin of `read`."""
        return await finish_in_thread(self.read, path, start=start, end=end)

    async def astat(self, path: str) -> FileInfo | None:
        """Twin of `stat`."""
        return await finish_in_thread(self.stat, path)

    async def aappend(self, path: str, data: bytes, *, is_whole_line: Callable[[bytes], bool] | None = None) -> int:
        """Twin of `append`; when cancelled, the outcome is waited for first."""
        return await finish_in_thread(self.append, path, data, is_whole_line=is_whole_line)

    async def areplace(self, path: str, data: bytes, *, expect: str | None = None, create: bool = False) -> str:
        """Twin of `replace`; when cancelled, the outcome is waited for first."""
        return await finish_in_thread(self.replace, path, data, expect=expect, create=create)

    async def afiles(self, folder: str = "", *, recursive: bool = True) -> list[FileInfo]:
        """Twin of `files`."""
        return await finish_in_thread(self.files, folder, recursive=recursive)

    async def afolders(self, folder: str = "") -> list[str]:
        """Twin of `folders`."""
        return await finish_in_thread(self.folders, folder)

    async def amove(self, source: str, target: str) -> None:
        """Twin of `move`."""
        await finish_in_thread(self.move, source, target)

    async def adelete(self, path: str) -> bool:
        """Twin of `delete`."""
        return await finish_in_thread(self.delete, path)

    async def aacquire_lease(self, name: str, *, ttl: timedelta) -> Lease | None:
        """Twin of `acquire_lease`."""
        return await finish_in_thread(self.acquire_lease, name, ttl=ttl)

    async def arenew_lease(self, lease: Lease, *, ttl: timedelta) -> bool:
        """Twin of `renew_lease`."""
        return await finish_in_thread(self.renew_lease, lease, ttl=ttl)

    async def arelease_lease(self, lease: Lease) -> None:
        """Twin of `release_lease`."""
        await finish_in_thread(self.release_lease, lease)

    # -- below: names ------------------------------------------------------------------------------------------------

    def _parts(self, path: str) -> Parts:
        return (*self._base, *file_parts(path))

    def _wall(self) -> float:
        return self._clock.now().timestamp()

    @contextmanager
    def _path_locks(self, *paths: Parts) -> Iterator[None]:
        self._begin_once()
        numbers = sorted({zlib.crc32(joined(parts).encode()) % PATH_LOCKS for parts in paths})
        with ExitStack() as stack:
            for number in numbers:
                stack.enter_context(self._locks.hold(f"path-{number:02x}", self._timeout, what=joined(paths[0])))
            yield

    def _begin_once(self) -> None:
        """With the first write of this process: tidy old locks away, and say that locks and syncs may be others' promise."""
        if self._is_checked.is_set():
            return
        self._is_checked.set()
        with contextlib.suppress(WorkspaceError, OSError):
            self._locks.tidy()
        kind = file_system(self.root)
        if is_remote(kind):
            logger.warning(
                "%s lies on %s: locks and fsync may not hold there; prefer a local disk or Postgres", self.root, kind
            )

    def _claim_stem(self, name: str) -> str:
        """Name a lock of this folder; a tenant's folder is hashed, so that no user's id outlives the user's files."""
        return file_stem(f"{content_hash(joined(self._base).encode())}-{name}" if self._base else name)

    @contextmanager
    def _claims(self, name: str) -> Iterator[Parts]:
        stem = self._claim_stem(name)
        with self._locks.hold(f"{stem}.lease-lock", self._timeout, what=f"the lease {name!r}"):
            yield (*LOCK_FOLDER, f"{stem}.lease")

    def _claim(self, path: Parts) -> Claim | None:
        found = self._files.read(path, base=0)
        return None if found is None else parse_claim(found[0])

    def _delete_around_locks(self, parts: Parts) -> bool:
        """Delete the folder that holds the locks without pulling them from under their holders."""
        gone = False
        for info in self.files(joined(parts[len(self._base) :])):
            gone = self.delete(info.path) or gone
        for name in self.folders(joined(parts[len(self._base) :])):
            gone = self.delete(joined((*parts[len(self._base) :], name))) or gone
        return gone
