"""The workspace as tables of a PostgreSQL schema, for any number of replicas with no disk in common.

`postgres_sql` decides what is asked and `postgres_connections` asks it; here the two meet under the names of the
contract. Each operation is one statement or one transaction.

    down       an operation fails at once with `WorkspaceError`; the server is looked for in the background
    back       connections that broke are dropped and the operation is asked again
    cut off    a write whose commit got no answer is looked up by its token: it arrived, or it is written again

Locks are advisory, in a transaction of their own, on connections that operations never take, so that a locked section
can always go on. Leases are rows, timed by the server's clock.
"""

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any, TypeVar

from langgraph_harness_memory.events import Damaged, OnEvent
from langgraph_harness_memory.outcome import finish
from langgraph_harness_memory.workspace import FileInfo, Lease, StoredFile
from langgraph_harness_memory.workspace.paths import Parts, file_parts, folder_parts, joined
from langgraph_harness_memory.workspace.postgres_connections import Connections
from langgraph_harness_memory.workspace.postgres_play import checked_schema, split_schema
from langgraph_harness_memory.workspace.postgres_schema import MIGRATIONS
from langgraph_harness_memory.workspace.postgres_sql import FileQueries, Work, advisory_key

T = TypeVar("T")

LOCK_TIMEOUT = timedelta(seconds=5)
"""The default of `storage.lock_timeout`."""


class PostgresWorkspace:
    """A workspace in a schema of a PostgreSQL database; implements `Workspace`.

    The schema and its tables are made and migrated at the first use. The role needs no more than `CREATE` on the
    database, or on a schema that exists; no extension is asked for.

    Args:
        conninfo: A `postgresql://` URL or a libpq connection string.
        schema: Where the tables are; one schema is one workspace.
        max_connections: Connections for operations, per process (and per event loop); as many again for locks.
        lock_timeout: How long an operation waits for another process before it raises `LockTimeout`.
        on_event: Hears of a torn line that was moved aside (`Damaged`).
    """

    def __init__(
        self,
        conninfo: str,
        *,
        schema: str = "harness_memory",
        max_connections: int = 10,
        lock_timeout: timedelta = LOCK_TIMEOUT,
        on_event: OnEvent | None = None,
    ) -> None:
        self.schema = checked_schema(schema)
        self._sql = FileQueries(schema=f'"{self.schema}"')
        self.connections = Connections(conninfo=conninfo, schema=self.schema, largest=max_connections)
        self._timeout = lock_timeout
        self._on_event = on_event
        self._base: Parts = ()

    @classmethod
    def from_conn_string(cls, url: str, **settings: Any) -> "PostgresWorkspace":
        """Open a workspace by a URL, as LangGraph's own savers are opened.

        Args:
            url: `postgresql://user:password@host/database`; `?schema=name` names the schema.
            **settings: As for `PostgresWorkspace`.
        """
        conninfo, schema = split_schema(url)
        if schema is not None:
            settings.setdefault("schema", schema)
        return cls(conninfo, **settings)

    @property
    def name(self) -> str:
        """The URL without its password, with the schema."""
        return "/".join((f"{self.connections.shown}?schema={self.schema}", *self._base))

    def __repr__(self) -> str:
        return f"PostgresWorkspace({self.name!r})"

    def under(self, folder: str) -> "PostgresWorkspace":
        """Return the workspace rooted at a folder of this one; it shares the connections."""
        parts = folder_parts(folder)
        if not parts:
            return self
        inner = object.__new__(type(self))
        inner.__dict__.update(self.__dict__)
        inner._base = (*self._base, *parts)
        return inner

    def close(self) -> None:
        """Close every connection of this process; using the workspace opens new ones."""
        self.connections.close()

    async def aclose(self) -> None:
        """Close every connection of this event loop and of the sync methods."""
        await self.connections.aclose()

    def __enter__(self) -> "PostgresWorkspace":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> "PostgresWorkspace":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    # -- reading ------------------------------------------------------------------------------------------------

    def read(self, path: str, *, start: int = 0, end: int | None = None) -> StoredFile | None:
        """Read a file's bytes; see `Workspace.read`."""
        at = self._at(path)
        return self._run(lambda: self._sql.read(at, start, end))

    async def aread(self, path: str, *, start: int = 0, end: int | None = None) -> StoredFile | None:
        """Twin of `read`."""
        at = self._at(path)
        return await self._arun(lambda: self._sql.read(at, start, end))

    def stat(self, path: str) -> FileInfo | None:
        """Describe a file without reading it; `None` where there is no such file."""
        at = self._at(path)
        return self._shown(self._run(lambda: self._sql.info(at)))

    async def astat(self, path: str) -> FileInfo | None:
        """Twin of `stat`."""
        at = self._at(path)
        return self._shown(await self._arun(lambda: self._sql.info(at)))

    def files(self, folder: str = "", *, recursive: bool = True) -> list[FileInfo]:
        """List the files of a folder, sorted by path."""
        at = joined((*self._base, *folder_parts(folder)))
        return self._run(lambda: self._sql.listed(at, joined(self._base), recursive=recursive))

    async def afiles(self, folder: str = "", *, recursive: bool = True) -> list[FileInfo]:
        """Twin of `files`."""
        at = joined((*self._base, *folder_parts(folder)))
        return await self._arun(lambda: self._sql.listed(at, joined(self._base), recursive=recursive))

    def folders(self, folder: str = "") -> list[str]:
        """List the names of a folder's direct sub-folders, sorted."""
        at = joined((*self._base, *folder_parts(folder)))
        return self._run(lambda: self._sql.folders(at))

    async def afolders(self, folder: str = "") -> list[str]:
        """Twin of `folders`."""
        at = joined((*self._base, *folder_parts(folder)))
        return await self._arun(lambda: self._sql.folders(at))

    # -- writing ------------------------------------------------------------------------------------------------

    def append(self, path: str, data: bytes, *, is_whole_line: Callable[[bytes], bool] | None = None) -> int:
        """Append to a file, durably; see `Workspace.append`."""
        at, token = self._at(path), _token()
        offset, torn = self._write(
            lambda: self._sql.append(at, data, token, is_whole_line=is_whole_line),
            lambda: self._sql.appended(at, token),
        )
        self._tell_torn(path, torn)
        return offset

    async def aappend(self, path: str, data: bytes, *, is_whole_line: Callable[[bytes], bool] | None = None) -> int:
        """Twin of `append`; when cancelled, the outcome is waited for first."""
        at, token = self._at(path), _token()
        offset, torn = await self._awrite(
            lambda: self._sql.append(at, data, token, is_whole_line=is_whole_line),
            lambda: self._sql.appended(at, token),
        )
        self._tell_torn(path, torn)
        return offset

    def replace(self, path: str, data: bytes, *, expect: str | None = None, create: bool = False) -> str:
        """Replace a file's content, atomically and durably; see `Workspace.replace`."""
        at, token = self._at(path), _token()
        return self._write(
            lambda: self._sql.replace(at, data, token, expect=expect, create=create),
            lambda: self._sql.replaced(at, token),
        )

    async def areplace(self, path: str, data: bytes, *, expect: str | None = None, create: bool = False) -> str:
        """Twin of `replace`; when cancelled, the outcome is waited for first."""
        at, token = self._at(path), _token()
        return await self._awrite(
            lambda: self._sql.replace(at, data, token, expect=expect, create=create),
            lambda: self._sql.replaced(at, token),
        )

    def move(self, source: str, target: str) -> None:
        """Move a file to a name that is free; see `Workspace.move`."""
        old, new = self._at(source), self._at(target)
        self._write(lambda: self._sql.move(old, new), _never)

    async def amove(self, source: str, target: str) -> None:
        """Twin of `move`; when cancelled, the outcome is waited for first."""
        old, new = self._at(source), self._at(target)
        await self._awrite(lambda: self._sql.move(old, new), _never)

    def delete(self, path: str) -> bool:
        """Delete a file, or a folder with all that is in it; `False` where there was none."""
        at = self._at(path)
        return self._write(lambda: self._sql.delete(at), _never)

    async def adelete(self, path: str) -> bool:
        """Twin of `delete`; when cancelled, the outcome is waited for first."""
        at = self._at(path)
        return await self._awrite(lambda: self._sql.delete(at), _never)

    # -- locks and leases -----------------------------------------------------------------------------------------

    def lock(self, name: str, *, timeout: timedelta | None = None) -> AbstractContextManager[None]:
        """Exclude every other holder of this name; not reentrant. See `Workspace.lock`."""
        wait = self._timeout if timeout is None else timeout
        return self.connections.hold(self._scoped(name), wait, what=repr(name))

    def acquire_lease(self, name: str, *, ttl: timedelta) -> Lease | None:
        """Claim a name until it is released or its time is over; `None` while somebody else's claim holds."""
        lease = Lease(name=name, owner=_token())
        return lease if self._run(lambda: self._sql.acquire_lease(self._row(name), lease.owner, ttl)) else None

    async def aacquire_lease(self, name: str, *, ttl: timedelta) -> Lease | None:
        """Twin of `acquire_lease`."""
        lease = Lease(name=name, owner=_token())
        return lease if await self._arun(lambda: self._sql.acquire_lease(self._row(name), lease.owner, ttl)) else None

    def renew_lease(self, lease: Lease, *, ttl: timedelta) -> bool:
        """Prolong a claim; `False` when it was lost."""
        return self._run(lambda: self._sql.renew_lease(self._row(lease.name), lease.owner, ttl))

    async def arenew_lease(self, lease: Lease, *, ttl: timedelta) -> bool:
        """Twin of `renew_lease`."""
        return await self._arun(lambda: self._sql.renew_lease(self._row(lease.name), lease.owner, ttl))

    def release_lease(self, lease: Lease) -> None:
        """Give a claim back; without effect when it was lost."""
        self._run(lambda: self._sql.release_lease(self._row(lease.name), lease.owner))

    async def arelease_lease(self, lease: Lease) -> None:
        """Twin of `release_lease`."""
        await self._arun(lambda: self._sql.release_lease(self._row(lease.name), lease.owner))

    # -- below: who runs the queries --------------------------------------------------------------------------------

    def _run(self, work: Callable[[], Work[T]]) -> T:
        self.connections.require(MIGRATIONS)
        return self.connections.run(work)

    async def _arun(self, work: Callable[[], Work[T]]) -> T:
        await self.connections.arequire(MIGRATIONS)
        return await self.connections.arun(work)

    def _write(self, work: Callable[[], Work[T]], arrived: Callable[[], Work[T | None]]) -> T:
        self.connections.require(MIGRATIONS)
        return self.connections.write(work, arrived)

    async def _awrite(self, work: Callable[[], Work[T]], arrived: Callable[[], Work[T | None]]) -> T:
        """Write on the event loop; a caller that is cancelled waits for the outcome first."""
        await self.connections.arequire(MIGRATIONS)
        return await finish(self.connections.awrite(work, arrived))

    def _at(self, path: str) -> str:
        return joined((*self._base, *file_parts(path)))

    def _scoped(self, name: str) -> str:
        return f"{joined(self._base)}\0{name}"

    def _row(self, name: str) -> str:
        """Name a lease's row: any string, of this folder, as a number that Postgres can hold."""
        return f"{advisory_key(self.schema, self._scoped(name)):x}"

    def _shown(self, info: FileInfo | None) -> FileInfo | None:
        cut = len(joined(self._base)) + 1 if self._base else 0
        if info is None or not cut:
            return info
        return FileInfo(path=info.path[cut:], size=info.size, modified=info.modified, fingerprint=info.fingerprint)

    def _tell_torn(self, path: str, torn: tuple[str, int] | None) -> None:
        if torn is not None and self._on_event is not None:
            reason = f"its last line was torn; {torn[1]} bytes were moved to {torn[0]}"
            self._on_event(Damaged(path=path, reason=reason))


def _token() -> str:
    """Name one write or one claim."""
    return secrets.token_hex(16)


def _never() -> Work[None]:
    """Say that a write cannot be looked up; it is played again, which is harmless for it."""
    yield from ()
