"""The workspace in any LangGraph `BaseStore`, which is what a hosted platform gives.

A file is one item: what it holds up to `TAIL` bytes, readable in the platform's own viewer; what a log has more lies in
part items that are written once.

    (*namespace, "%files", folder, …)   name ─► {size, version, parts, tail}
    (*namespace, "%parts", content)     00000000 ─► {data}
    (*namespace, "%leases")             name ─► {owner, since, seconds}

A store has neither compare-and-swap nor locks nor transactions. So this back end promises less than the others: **one
writing process per namespace**. Within the process everything holds; between processes the last writer of a file wins
and a lease is a hint. Durability is the store's own.
"""

import secrets
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import AbstractContextManager, asynccontextmanager
from datetime import timedelta
from typing import Any, TypeVar, cast

from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from langgraph_harness_memory.clock import Clock, SystemClock
from langgraph_harness_memory.errors import PathRefused, UnreadableFile, VersionConflict, WorkspaceError
from langgraph_harness_memory.events import Damaged, OnEvent
from langgraph_harness_memory.identifiers import file_stem
from langgraph_harness_memory.outcome import finish
from langgraph_harness_memory.workspace import FileInfo, Lease, StoredFile
from langgraph_harness_memory.workspace.leases import Claim, holds, made
from langgraph_harness_memory.workspace.paths import Parts, file_parts, folder_parts, joined
from langgraph_harness_memory.workspace.store_items import (
    Head,
    bytes_of,
    head_of,
    head_value,
    info_of,
    label,
    plain,
    value_of,
)
from langgraph_harness_memory.workspace.thread_locks import ThreadLocks

T = TypeVar("T")

Work = Generator[list[Any], list[Any], T]
"""An operation: yields store operations, is sent their results, returns a `T`."""

TAIL = 65_536
"""Bytes of a file that stand in its item; a log's append rewrites no more than these."""

PAGE = 500
"""Items per page of a listing."""

LOCK_TIMEOUT = timedelta(seconds=5)
"""The default of `storage.lock_timeout`."""


class StoreWorkspace:
    """A workspace in a LangGraph store; implements `Workspace` with the weaker guarantees that the module states.

    Args:
        store: The store.
        namespace: Where in the store; one namespace is one workspace.
        lock_timeout: How long an operation waits for another thread before it raises `LockTimeout`.
        clock: Tells the time for modification times and leases.
        on_event: Hears of a torn line that was moved aside (`Damaged`).
    """

    def __init__(
        self,
        store: BaseStore,
        namespace: tuple[str, ...] = ("harness_memory",),
        *,
        lock_timeout: timedelta = LOCK_TIMEOUT,
        clock: Clock | None = None,
        on_event: OnEvent | None = None,
    ) -> None:
        self.store = store
        self.namespace = tuple(namespace)
        self._clock = clock or SystemClock()
        self._timeout = lock_timeout
        self._on_event = on_event
        self._base: Parts = ()
        self._locks = ThreadLocks()

    @property
    def name(self) -> str:
        """The store's kind and the namespace."""
        return "/".join((f"{type(self.store).__name__}:{'.'.join(self.namespace)}", *self._base))

    def __repr__(self) -> str:
        return f"StoreWorkspace({self.name!r})"

    def under(self, folder: str) -> "StoreWorkspace":
        """Return the workspace rooted at a folder of this one."""
        parts = folder_parts(folder)
        if not parts:
            return self
        inner = object.__new__(type(self))
        inner.__dict__.update(self.__dict__)
        inner._base = (*self._base, *parts)
        return inner

    # -- reading ------------------------------------------------------------------------------------------------

    def read(self, path: str, *, start: int = 0, end: int | None = None) -> StoredFile | None:
        """Read a file's bytes; see `Workspace.read`."""
        return self._run(self._read(self._at(path), start, end))

    async def aread(self, path: str, *, start: int = 0, end: int | None = None) -> StoredFile | None:
        """Twin of `read`."""
        return await self._arun(self._read(self._at(path), start, end))

    def stat(self, path: str) -> FileInfo | None:
        """Describe a file without reading it; `None` where there is no such file."""
        return self._run(self._stat(self._at(path)))

    async def astat(self, path: str) -> FileInfo | None:
        """Twin of `stat`."""
        return await self._arun(self._stat(self._at(path)))

    def files(self, folder: str = "", *, recursive: bool = True) -> list[FileInfo]:
        """List the files of a folder, sorted by path."""
        return self._run(self._files((*self._base, *folder_parts(folder)), recursive=recursive))

    async def afiles(self, folder: str = "", *, recursive: bool = True) -> list[FileInfo]:
        """Twin of `files`."""
        return await self._arun(self._files((*self._base, *folder_parts(folder)), recursive=recursive))

    def folders(self, folder: str = "") -> list[str]:
        """List the names of a folder's direct sub-folders, sorted."""
        return self._run(self._folders((*self._base, *folder_parts(folder))))

    async def afolders(self, folder: str = "") -> list[str]:
        """Twin of `folders`."""
        return await self._arun(self._folders((*self._base, *folder_parts(folder))))

    # -- writing: under a lock of this process ------------------------------------------------------------------------

    def append(self, path: str, data: bytes, *, is_whole_line: Callable[[bytes], bool] | None = None) -> int:
        """Append to a file; see `Workspace.append`."""
        at = self._at(path)
        with self._writing(at):
            return self._run(self._append(at, data, is_whole_line))

    async def aappend(self, path: str, data: bytes, *, is_whole_line: Callable[[bytes], bool] | None = None) -> int:
        """Twin of `append`; when cancelled, the outcome is waited for first."""
        at = self._at(path)
        async with self._awriting(at):
            return await finish(self._arun(self._append(at, data, is_whole_line)))

    def replace(self, path: str, data: bytes, *, expect: str | None = None, create: bool = False) -> str:
        """Replace a file's content; see `Workspace.replace`."""
        at = self._at(path)
        with self._writing(at):
            return self._run(self._replace(at, data, expect=expect, create=create))

    async def areplace(self, path: str, data: bytes, *, expect: str | None = None, create: bool = False) -> str:
        """Twin of `replace`; when cancelled, the outcome is waited for first."""
        at = self._at(path)
        async with self._awriting(at):
            return await finish(self._arun(self._replace(at, data, expect=expect, create=create)))

    def move(self, source: str, target: str) -> None:
        """Move a file to a name that is free; see `Workspace.move`."""
        old, new = self._at(source), self._at(target)
        with self._writing(old, new):
            self._run(self._move(old, new))

    async def amove(self, source: str, target: str) -> None:
        """Twin of `move`; when cancelled, the outcome is waited for first."""
        old, new = self._at(source), self._at(target)
        async with self._awriting(old, new):
            await finish(self._arun(self._move(old, new)))

    def delete(self, path: str) -> bool:
        """Delete a file, or a folder with all that is in it; `False` where there was none."""
        at = self._at(path)
        with self._writing(at):
            return self._run(self._delete(at))

    async def adelete(self, path: str) -> bool:
        """Twin of `delete`; when cancelled, the outcome is waited for first."""
        at = self._at(path)
        async with self._awriting(at):
            return await finish(self._arun(self._delete(at)))

    # -- locks and leases -----------------------------------------------------------------------------------------------

    def lock(self, name: str, *, timeout: timedelta | None = None) -> AbstractContextManager[None]:
        """Exclude the other threads of this process that hold this name; not reentrant, and unknown to other processes."""
        key = f"name:{joined(self._base)}\0{name}"
        return self._locks.hold([key], self._timeout if timeout is None else timeout, what=repr(name))

    def acquire_lease(self, name: str, *, ttl: timedelta) -> Lease | None:
        """Claim a name; between processes the last of two that claim at once has it, and the other learns so at renewal."""
        lease = Lease(name=name, owner=secrets.token_hex(16))
        with self._claiming(name):
            return lease if self._run(self._claim(lease, ttl)) else None

    async def aacquire_lease(self, name: str, *, ttl: timedelta) -> Lease | None:
        """Twin of `acquire_lease`."""
        lease = Lease(name=name, owner=secrets.token_hex(16))
        async with self._aclaiming(name):
            return lease if await self._arun(self._claim(lease, ttl)) else None

    def renew_lease(self, lease: Lease, *, ttl: timedelta) -> bool:
        """Prolong a claim; `False` when it was lost."""
        with self._claiming(lease.name):
            return self._run(self._renew(lease, ttl))

    async def arenew_lease(self, lease: Lease, *, ttl: timedelta) -> bool:
        """Twin of `renew_lease`."""
        async with self._aclaiming(lease.name):
            return await self._arun(self._renew(lease, ttl))

    def release_lease(self, lease: Lease) -> None:
        """Give a claim back; without effect when it was lost."""
        with self._claiming(lease.name):
            self._run(self._release(lease))

    async def arelease_lease(self, lease: Lease) -> None:
        """Twin of `release_lease`."""
        async with self._aclaiming(lease.name):
            await self._arun(self._release(lease))

    # -- below: the operations ---------------------------------------------------------------------------------------------

    def _read(self, at: Parts, start: int, end: int | None) -> Work[StoredFile | None]:
        head = yield from self._head(at)
        if head is None:
            return None
        stop = head.size if end is None else min(end, head.size)
        pieces: list[bytes] = []
        wanted: list[tuple[int, int]] = []
        offset = 0
        for number, size in enumerate(head.parts):
            if offset < stop and offset + size > start:
                wanted.append((number, offset))
            offset += size
        found = yield [GetOp(self._parts_of(head.content), f"{number:08d}") for number, _ in wanted]
        for (number, _), item in zip(wanted, found, strict=True):
            if item is None:
                raise UnreadableFile(f"{joined(at)!r} in {self.name!r} lacks its part {number}")
            pieces.append(bytes_of(item.value))
        first = wanted[0][1] if wanted else offset
        data = b"".join([*pieces, head.tail if offset < stop or not wanted else b""])
        return StoredFile(data=data[max(0, start - first) : max(0, stop - first)], version=head.version)

    def _stat(self, at: Parts) -> Work[FileInfo | None]:
        head = yield from self._head(at)
        return None if head is None else info_of(joined(at[len(self._base) :]), head)

    def _files(self, folder: Parts, *, recursive: bool) -> Work[list[FileInfo]]:
        found = yield from self._items(folder, recursive=recursive)
        infos = [info_of(joined(path[len(self._base) :]), head) for path, head in found]
        return sorted(infos, key=lambda info: info.path)

    def _folders(self, folder: Parts) -> Work[list[str]]:
        prefix = self._files_of(folder)
        spaces: list[tuple[str, ...]] = []
        while True:
            condition = MatchCondition("prefix", prefix)
            (page,) = yield [ListNamespacesOp((condition,), max_depth=len(prefix) + 1, limit=PAGE, offset=len(spaces))]
            spaces += page
            if len(page) < PAGE:
                break
        inner = sorted({space for space in spaces if len(space) > len(prefix)})
        # A store may list namespaces that hold nothing any more.
        filled = yield [SearchOp(space, limit=1) for space in inner]
        return sorted(plain(space[-1]) for space, items in zip(inner, filled, strict=True) if items)

    def _append(self, at: Parts, data: bytes, is_whole_line: Callable[[bytes], bool] | None) -> Work[int]:
        head = yield from self._head(at)
        if head is None:
            yield from self._check_place(at)
            head = self._new()
        elif head.tail and not head.tail.endswith(b"\n"):
            head = yield from self._mended(at, head, is_whole_line)
        offset = head.size
        if data or not offset:
            yield from self._save(at, head, head.tail + data)
        return offset

    def _mended(self, at: Parts, head: Head, is_whole_line: Callable[[bytes], bool] | None) -> Work[Head]:
        stored = yield from self._read(at, 0, None)
        data = b"" if stored is None else stored.data
        begin = data.rfind(b"\n") + 1
        if is_whole_line is None or is_whole_line(data[begin:]):
            return self._changed(head, head.tail + b"\n")
        number = 1
        while True:
            aside = (*at[:-1], f"{at[-1]}.torn-{number}")
            taken = yield from self._head(aside)
            if taken is None:
                break
            number += 1
        yield from self._save(aside, self._new(), data[begin:])
        if self._on_event is not None:
            reason = f"its last line was torn; {len(data) - begin} bytes were moved to {joined(aside)}"
            self._on_event(Damaged(path=joined(at), reason=reason))
        yield from self._rewrite(at, head, data[:begin])
        mended = yield from self._head(at)
        return mended or self._new()

    def _replace(self, at: Parts, data: bytes, *, expect: str | None, create: bool) -> Work[str]:
        head = yield from self._head(at)
        if head is not None and create:
            raise VersionConflict(f"{joined(at)!r} exists already")
        if head is None and expect is not None:
            raise VersionConflict(f"{joined(at)!r} was deleted since it was read: read it again")
        if head is not None and expect is not None and head.version != expect:
            raise VersionConflict(f"{joined(at)!r} changed since it was read: read it again")
        if head is None:
            yield from self._check_place(at)
        return (yield from self._rewrite(at, head, data))

    def _rewrite(self, at: Parts, old: Head | None, data: bytes) -> Work[str]:
        version = yield from self._save(at, self._new(), data)
        if old is not None:
            yield self._without_parts(old)
        return version

    def _save(self, at: Parts, head: Head, tail: bytes) -> Work[str]:
        """Write a file's item with a new tail; what is too long for it goes to parts first."""
        parts = list(head.parts)
        written: list[Any] = []
        while len(tail) > TAIL:
            piece, tail = tail[:TAIL], tail[TAIL:]
            written.append(PutOp(self._parts_of(head.content), f"{len(parts):08d}", value_of(piece), index=False))
            parts.append(len(piece))
        if written:
            yield written
        changed = self._changed(head, tail, parts=tuple(parts))
        yield [PutOp(self._files_of(at[:-1]), at[-1], head_value(changed), index=False)]
        return changed.version

    def _move(self, old: Parts, new: Parts) -> Work[None]:
        head = yield from self._head(old)
        if head is None:
            raise WorkspaceError(f"{joined(old)!r} cannot be moved: there is no such file")
        taken = yield from self._head(new)
        if taken is not None:
            raise VersionConflict(f"{joined(new)!r} exists already; {joined(old)!r} was not moved")
        yield from self._check_place(new)
        yield [PutOp(self._files_of(new[:-1]), new[-1], head_value(head), index=False)]
        yield [PutOp(self._files_of(old[:-1]), old[-1], None)]

    def _delete(self, at: Parts) -> Work[bool]:
        head = yield from self._head(at)
        found = [] if head is None else [(at, head)]
        found += yield from self._items(at, recursive=True)
        for path, each in found:
            yield [PutOp(self._files_of(path[:-1]), path[-1], None), *self._without_parts(each)]
        return bool(found)

    def _check_place(self, at: Parts) -> Work[None]:
        above = [at[:n] for n in range(1, len(at))]
        *heads, inside = yield [
            *(GetOp(self._files_of(path[:-1]), path[-1]) for path in above),
            SearchOp(self._files_of(at), limit=1),
        ]
        if inside:
            raise PathRefused(f"{joined(at)!r} is a folder")
        for path, item in zip(above, heads, strict=True):
            if item is not None:
                raise PathRefused(f"{joined(at)!r} cannot be written: {joined(path)!r} is a file")

    def _claim(self, lease: Lease, ttl: timedelta) -> Work[bool]:
        claim = yield from self._claim_of(lease.name)
        if claim is not None and holds(claim, self._wall()):
            return False
        yield [self._put_claim(lease, ttl)]
        return True

    def _renew(self, lease: Lease, ttl: timedelta) -> Work[bool]:
        claim = yield from self._claim_of(lease.name)
        if claim is None or claim.owner != lease.owner:
            return False
        yield [self._put_claim(lease, ttl)]
        return True

    def _release(self, lease: Lease) -> Work[None]:
        claim = yield from self._claim_of(lease.name)
        if claim is not None and claim.owner == lease.owner:
            yield [PutOp(self._leases(), self._lease_key(lease.name), None)]

    def _claim_of(self, name: str) -> Work[Claim | None]:
        (item,) = yield [GetOp(self._leases(), self._lease_key(name))]
        if item is None:
            return None
        found = item.value
        return Claim(owner=found["owner"], since=found["since"], seconds=found["seconds"])

    def _put_claim(self, lease: Lease, ttl: timedelta) -> PutOp:
        claim = made(lease.owner, now=self._wall(), ttl=ttl)
        value = {"owner": claim.owner, "since": claim.since, "seconds": claim.seconds}
        return PutOp(self._leases(), self._lease_key(lease.name), value, index=False)

    # -- below: items --------------------------------------------------------------------------------------------------------

    def _head(self, at: Parts) -> Work[Head | None]:
        (item,) = yield [GetOp(self._files_of(at[:-1]), at[-1])]
        return None if item is None else head_of(item)

    def _items(self, folder: Parts, *, recursive: bool) -> Work[list[tuple[Parts, Head]]]:
        prefix = self._files_of(folder)
        found: list[tuple[Parts, Head]] = []
        offset = 0
        while True:
            (page,) = yield [SearchOp(prefix, limit=PAGE, offset=offset)]
            offset += len(page)
            for item in page:
                space = tuple(item.namespace)
                if recursive or len(space) == len(prefix):
                    inner = tuple(plain(part) for part in space[len(prefix) :])
                    found.append(((*folder, *inner, item.key), head_of(item)))
            if len(page) < PAGE:
                return found

    def _files_of(self, folder: Parts) -> tuple[str, ...]:
        return (*self.namespace, "%files", *(label(part) for part in folder))

    def _parts_of(self, content: str) -> tuple[str, ...]:
        return (*self.namespace, "%parts", content)

    def _leases(self) -> tuple[str, ...]:
        return (*self.namespace, "%leases")

    def _lease_key(self, name: str) -> str:
        return file_stem(f"{joined(self._base)}\0{name}")

    def _without_parts(self, head: Head) -> list[Any]:
        return [PutOp(self._parts_of(head.content), f"{n:08d}", None) for n in range(len(head.parts))]

    def _new(self) -> Head:
        return Head(content=secrets.token_hex(8), version="", parts=(), tail=b"", modified=0.0)

    def _changed(self, head: Head, tail: bytes, *, parts: tuple[int, ...] | None = None) -> Head:
        return Head(
            content=head.content,
            version=secrets.token_hex(8),
            parts=head.parts if parts is None else parts,
            tail=tail,
            modified=self._wall(),
        )

    def _at(self, path: str) -> Parts:
        return (*self._base, *file_parts(path))

    def _wall(self) -> float:
        return self._clock.now().timestamp()

    # -- below: who runs the operations ------------------------------------------------------------------------------------------

    def _run(self, work: Work[T]) -> T:
        results: list[Any] | None = None
        while True:
            try:
                step = next(work) if results is None else work.send(results)
            except StopIteration as end:
                return cast("T", end.value)
            results = self.store.batch(step) if step else []

    async def _arun(self, work: Work[T]) -> T:
        results: list[Any] | None = None
        while True:
            try:
                step = next(work) if results is None else work.send(results)
            except StopIteration as end:
                return cast("T", end.value)
            results = await self.store.abatch(step) if step else []

    def _writing(self, *paths: Parts) -> AbstractContextManager[None]:
        return self._locks.hold([f"path:{joined(p)}" for p in paths], self._timeout, what=joined(paths[0]))

    @asynccontextmanager
    async def _awriting(self, *paths: Parts) -> AsyncIterator[None]:
        async with self._locks.ahold([f"path:{joined(p)}" for p in paths], self._timeout, what=joined(paths[0])):
            yield

    def _claiming(self, name: str) -> AbstractContextManager[None]:
        return self._locks.hold([f"lease:{self._lease_key(name)}"], self._timeout, what=repr(name))

    @asynccontextmanager
    async def _aclaiming(self, name: str) -> AsyncIterator[None]:
        async with self._locks.ahold([f"lease:{self._lease_key(name)}"], self._timeout, what=repr(name)):
            yield
