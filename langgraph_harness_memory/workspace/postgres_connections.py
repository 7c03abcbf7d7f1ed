"""Connections to Postgres and the two short drivers that play an operation over them, sync and async.

The one place that imports psycopg. Operations are generators (`postgres_sql.Work`): they yield queries and are sent
rows. `play` asks once; `run` asks again after a broken connection, which is right for what may be asked twice; `write`
looks first whether the write arrived.

    down       `Unreachable` at once, and nobody waits again until a look in the background finds it: a turn waits once
    cut off    `CutOff`: the connection broke under way, so that a commit may or may not have happened
    retried    deadlocks and serialization failures, which the server has undone by itself
"""

import asyncio
import contextlib
import logging
import os
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from langgraph_harness_memory.errors import LockTimeout, MissingExtra, WorkspaceError
from langgraph_harness_memory.outcome import finish_in_thread
from langgraph_harness_memory.workspace.postgres_play import aplay, play
from langgraph_harness_memory.workspace.postgres_schema import Migration, migrate
from langgraph_harness_memory.workspace.postgres_sql import Work, advisory_key

try:
    import psycopg
    import psycopg_pool
except ImportError as error:
    raise MissingExtra("a workspace on Postgres", "postgres") from error

T = TypeVar("T")

_Pool = psycopg_pool.ConnectionPool[psycopg.Connection[Any]]

logger = logging.getLogger(__name__)

REACH_TIMEOUT = 2.0
"""Seconds to wait for a connection before the server counts as down: a turn goes on without memory after it."""

PAUSE_AFTER_FAILURE = 1.0
"""Seconds in which operations fail at once after the server could not be reached."""

TRIES = 3
"""How often an operation is asked when connections break or the server chooses it as a deadlock's victim."""

NETWORK = {
    "connect_timeout": 3,
    "keepalives": 1,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
    "application_name": "harness-memory",
}
"""A peer that vanished without a word is noticed within some 15 seconds."""

FIRST_LOOK = 0.2
LONGEST_LOOK = 2.0
"""Seconds between two looks whether a server that went away is back: first and longest."""

POLL = 0.05
"""Seconds between two questions whether another replica is done; it happens once in the life of a schema."""

UNDONE = frozenset({"40001", "40P01"})
"""SQLSTATEs of transactions that the server has undone: serialization failure, deadlock."""

SHUTTING_DOWN = frozenset({"57P01", "57P02", "57P03"})
"""SQLSTATEs of a server that stops, crashed, or is not ready yet."""


class Unreachable(WorkspaceError):
    """Postgres cannot be reached; nothing was asked of it."""


class CutOff(WorkspaceError):
    """The connection to Postgres broke while an operation was under way; it may or may not have happened."""


class _Queue:
    """The threads of this process that want one advisory lock: only the first spends a connection on waiting."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


@dataclass(kw_only=True, eq=False)
class _LoopPool:
    """The connections of one event loop."""

    loop: asyncio.AbstractEventLoop
    pool: "psycopg_pool.AsyncConnectionPool[psycopg.AsyncConnection[Any]]"
    opened: "weakref.WeakSet[psycopg.AsyncConnection[Any]]"


class _PreparedPool(psycopg_pool.ConnectionPool["psycopg.Connection[Any]"]):
    """A pool that has what its connections need prepared before it hands one out."""

    before: Callable[[], None]

    def getconn(self, timeout: float | None = None) -> "psycopg.Connection[Any]":
        """Give a connection; see `psycopg_pool`."""
        self.before()
        return super().getconn(timeout)


@dataclass(kw_only=True, eq=False)
class Connections:
    """All connections of one process to one schema."""

    conninfo: str
    """A libpq connection string or URL, password included."""
    schema: str
    """A checked identifier."""
    largest: int = 10
    """Connections for operations, per process and per event loop; as many again for locks."""
    _pools: "dict[str, _Pool]" = field(default_factory=dict)
    _loops: dict[int, _LoopPool] = field(default_factory=dict)
    _inherited: list[Any] = field(default_factory=list)
    _prepared: set[str] = field(default_factory=set)
    _queues: "weakref.WeakValueDictionary[int, _Queue]" = field(default_factory=weakref.WeakValueDictionary)
    _guard: threading.RLock = field(default_factory=threading.RLock)
    _pid: int = field(default_factory=os.getpid)
    _wait_until: float = 0.0
    _down_since: float | None = None
    _busy: int = 0

    @property
    def shown(self) -> str:
        """The server, user and database for messages, without the password."""
        parts = psycopg.conninfo.conninfo_to_dict(self.conninfo)
        user = f"{parts['user']}@" if parts.get("user") else ""
        port = f":{parts['port']}" if parts.get("port") else ""
        return f"postgresql://{user}{parts.get('host') or 'localhost'}{port}/{parts.get('dbname') or ''}"

    # -- asking -----------------------------------------------------------------------------------------------------

    def run(self, work: Callable[[], Work[T]]) -> T:
        """Play an operation, again where the connection breaks: only for what may happen twice."""
        for attempt in range(TRIES):
            try:
                return self.play(work)
            except CutOff:
                if attempt == TRIES - 1:
                    raise
                self._drop_broken()
        raise AssertionError("the last try returns or raises")

    async def arun(self, work: Callable[[], Work[T]]) -> T:
        """Twin of `run`."""
        for attempt in range(TRIES):
            try:
                return await self.aplay(work)
            except CutOff:
                if attempt == TRIES - 1:
                    raise
                await self._adrop_broken()
        raise AssertionError("the last try returns or raises")

    def write(self, work: Callable[[], Work[T]], arrived: Callable[[], Work[T | None]]) -> T:
        """Play a write once; where it was cut off, look whether it arrived before it is played again.

        Args:
            work: The write.
            arrived: Finds the write's result; `None` = it never arrived.
        """
        try:
            return self.play(work)
        except CutOff:
            self._drop_broken()
        found = self.run(arrived)
        return self.run(work) if found is None else found

    async def awrite(self, work: Callable[[], Work[T]], arrived: Callable[[], Work[T | None]]) -> T:
        """Twin of `write`."""
        try:
            return await self.aplay(work)
        except CutOff:
            await self._adrop_broken()
        found = await self.arun(arrived)
        return await self.arun(work) if found is None else found

    def play(self, work: Callable[[], Work[T]]) -> T:
        """Play an operation once over a connection of the pool."""
        for attempt in range(TRIES):
            try:
                with self._connection("operations") as connection:
                    return play(work(), connection)
            except psycopg.Error as error:
                if error.sqlstate not in UNDONE or attempt == TRIES - 1:
                    raise self._told(error) from error
        raise AssertionError("the last try returns or raises")

    async def aplay(self, work: Callable[[], Work[T]]) -> T:
        """Twin of `play`."""
        for attempt in range(TRIES):
            try:
                async with self._aconnection() as connection:
                    return await aplay(work(), connection)
            except psycopg.Error as error:
                if error.sqlstate not in UNDONE or attempt == TRIES - 1:
                    raise self._told(error) from error
        raise AssertionError("the last try returns or raises")

    # -- schema --------------------------------------------------------------------------------------------------------

    def require(self, migrations: Sequence[Migration]) -> None:
        """Bring the schema up to what a back end needs, once per process; replicas that start together agree."""
        self._leave_parent()
        names = {migration.__name__ for migration in migrations}
        if names <= self._prepared:
            return
        self._check_up()
        with self._guard:
            try:
                with psycopg.connect(self.conninfo, **_network(self.conninfo)) as connection:
                    play(migrate(self.schema, migrations), connection)
            except psycopg.Error as error:
                raise self._told(error, connecting=True) from error
            self._prepared |= names

    async def arequire(self, migrations: Sequence[Migration]) -> None:
        """Twin of `require`."""
        if self._pid == os.getpid() and {m.__name__ for m in migrations} <= self._prepared:
            return
        await finish_in_thread(self.require, migrations)

    # -- locks ----------------------------------------------------------------------------------------------------------

    @contextmanager
    def hold(self, name: str, timeout: timedelta, *, what: str) -> Iterator[None]:
        """Hold an advisory lock of this schema for a section.

        The lock belongs to a transaction of its own, which poolers between us and the server keep on one connection.

        Raises:
            LockTimeout: Somebody else held it all the time.
        """
        key = advisory_key(self.schema, name)
        deadline = time.monotonic() + timeout.total_seconds()
        late = LockTimeout(
            f"{what} in {self.shown} was locked by another process or thread for {timeout.total_seconds():g} s"
        )
        with self._guard:
            queue = self._queues.setdefault(key, _Queue())
        mine = queue.lock
        if not mine.acquire(timeout=max(0.0, timeout.total_seconds())):
            raise late
        try:
            pool = self._pool("locks")
            connection = self._take(pool, key, deadline, late)
            try:
                yield
            finally:
                self._give_back(pool, connection, what)
        finally:
            mine.release()

    def _take(self, pool: "_Pool", key: int, deadline: float, late: LockTimeout) -> "psycopg.Connection[Any]":
        """Take a connection and the lock on it, in one question; a stale connection of the pool is exchanged once."""
        for attempt in range(2):
            connection = self._taken(pool)
            wait = max(1, int((deadline - time.monotonic()) * 1000))
            question = (
                f"BEGIN; SET LOCAL lock_timeout = '{wait}ms'; SET LOCAL idle_in_transaction_session_timeout = 0;"
                f" SELECT pg_advisory_xact_lock({key})"
            )
            try:
                connection.execute(question.encode())
            except psycopg.errors.LockNotAvailable as error:
                connection.execute("ROLLBACK")
                pool.putconn(connection)
                raise late from error
            except psycopg.Error as error:
                pool.putconn(connection)
                if attempt or not connection.closed:
                    raise self._told(error) from error
                self.reach()
                pool.check()
            except BaseException:
                connection.close()
                pool.putconn(connection)
                raise
            else:
                return connection
        raise AssertionError("the last try returns or raises")

    def _give_back(self, pool: "_Pool", connection: "psycopg.Connection[Any]", what: str) -> None:
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error as error:
            # What the section did stands by its own versions; that the lock was lost under way is worth a line.
            logger.warning("the lock %s was lost before its section ended: %s", what, error)
        finally:
            pool.putconn(connection)

    # -- for others who bring their own queries -----------------------------------------------------------------------

    @contextmanager
    def alone(self, name: str, timeout: timedelta) -> "Iterator[psycopg.Connection[Any]]":
        """Give a connection of its own, on which unqualified names are those of this schema, to one replica at a time.

        Those who wait ask again and again instead of waiting in the server: `CREATE INDEX CONCURRENTLY`, for which
        this is, waits for every statement that was there before it, and would wait for them for ever.

        Args:
            name: What only one replica does.
            timeout: How long to wait.

        Raises:
            LockTimeout: Another replica was at it all the time.
        """
        key = advisory_key(self.schema, f"alone {name}")
        deadline = time.monotonic() + timeout.total_seconds()
        try:
            with psycopg.connect(self.conninfo, autocommit=True, **_network(self.conninfo)) as connection:
                self._enter_schema(connection)
                while connection.execute("SELECT pg_try_advisory_lock(%s)", [key]).fetchone() != (True,):
                    if time.monotonic() >= deadline:
                        raise LockTimeout(
                            f"{name} on {self.shown} was under way elsewhere for {timeout.total_seconds():g} s"
                        )
                    time.sleep(POLL)
                yield connection  # its end gives the lock back
        except psycopg.Error as error:
            raise self._told(error, connecting=True) from error

    def lent(self, purpose: str, before: Callable[[], None]) -> "_Pool":
        """Lend a pool to LangGraph's own Postgres classes, on which unqualified names are those of this schema.

        Args:
            purpose: Names the pool; the same one is lent again until it is closed.
            before: Is called before a connection is handed out; what it raises goes to who asked.
        """
        self._leave_parent()
        with self._guard:
            if purpose not in self._pools:
                pool = _PreparedPool(
                    self.conninfo,
                    kwargs={"autocommit": True, "prepare_threshold": 0, **_network(self.conninfo)},
                    name=f"harness-memory-{purpose}",
                    open=False,
                    configure=self._enter_schema,
                    check=psycopg_pool.ConnectionPool.check_connection,
                    **self._pool_settings(),
                )
                pool.before = before
                pool.open()
                self._pools[purpose] = pool
            return self._pools[purpose]

    def guarded(self, call: Callable[[], T]) -> T:
        """Call something that asks over a lent pool, again where its connection breaks: only for what may happen twice.

        Raises:
            Unreachable: The server is away.
            CutOff: Every connection broke.
            WorkspaceError: The server refused.
        """
        for attempt in range(TRIES):
            self._check_up()
            try:
                return call()
            except (psycopg_pool.PoolTimeout, psycopg_pool.PoolClosed) as error:
                raise self._unreachable(error) from error
            except psycopg.Error as error:
                told = self._told(error)
                again = isinstance(told, CutOff) or error.sqlstate in UNDONE
                if not again or attempt == TRIES - 1:
                    raise told from error
                self._drop_broken()
        raise AssertionError("the last try returns or raises")

    def _enter_schema(self, connection: "psycopg.Connection[Any]") -> None:
        connection.execute(f'SET search_path TO "{self.schema}"'.encode())

    # -- pools ------------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close every connection of this process, those of event loops that ended included."""
        with self._guard:
            pools, self._pools = self._pools, {}
            self._down_since = None
        for pool in pools.values():
            pool.close()
        self._end_dead_loops()

    async def aclose(self) -> None:
        """Close every connection of this event loop and of the sync methods."""
        mine = self._loops.pop(id(asyncio.get_running_loop()), None)
        if mine is not None:
            await mine.pool.close()
        await finish_in_thread(self.close)

    @contextmanager
    def _connection(self, purpose: str) -> "Iterator[psycopg.Connection[Any]]":
        pool = self._pool(purpose)
        connection = self._taken(pool)
        self._busy += 1
        try:
            yield connection
        finally:
            self._busy -= 1
            pool.putconn(connection)

    def _taken(self, pool: "_Pool") -> "psycopg.Connection[Any]":
        self._check_up()
        try:
            return pool.getconn()
        except (psycopg_pool.PoolTimeout, psycopg_pool.PoolClosed) as error:
            raise self._unreachable(error) from error

    @asynccontextmanager
    async def _aconnection(self) -> "AsyncIterator[psycopg.AsyncConnection[Any]]":
        pool = await self._apool()
        self._check_up()
        try:
            connection = await pool.getconn()
        except (psycopg_pool.PoolTimeout, psycopg_pool.PoolClosed) as error:
            raise self._unreachable(error) from error
        self._busy += 1
        try:
            yield connection
        finally:
            self._busy -= 1
            await pool.putconn(connection)

    def _pool(self, purpose: str) -> "_Pool":
        self._leave_parent()
        with self._guard:
            if purpose not in self._pools:
                pool = psycopg_pool.ConnectionPool(
                    self.conninfo,
                    kwargs={"autocommit": True, **_network(self.conninfo)},
                    name=f"harness-memory-{purpose}",
                    open=False,
                    **self._pool_settings(),
                )
                pool.open()
                self._pools[purpose] = pool
            return self._pools[purpose]

    async def _apool(self) -> "psycopg_pool.AsyncConnectionPool[psycopg.AsyncConnection[Any]]":
        self._leave_parent()
        loop = asyncio.get_running_loop()
        found = self._loops.get(id(loop))
        if found is None or found.loop is not loop:
            self._end_dead_loops()
            opened: weakref.WeakSet[psycopg.AsyncConnection[Any]] = weakref.WeakSet()

            async def remember(connection: "psycopg.AsyncConnection[Any]") -> None:
                opened.add(connection)

            pool = psycopg_pool.AsyncConnectionPool(
                self.conninfo,
                kwargs={"autocommit": True, **_network(self.conninfo)},
                name="harness-memory-async",
                open=False,
                configure=remember,
                **self._pool_settings(),
            )
            found = self._loops[id(loop)] = _LoopPool(loop=loop, pool=pool, opened=opened)
        if found.pool.closed:
            await found.pool.open()
        return found.pool

    def _pool_settings(self) -> dict[str, Any]:
        return {
            "min_size": 0,
            "max_size": self.largest,
            "timeout": REACH_TIMEOUT,
            "reconnect_timeout": REACH_TIMEOUT / 2,
            "max_idle": 120.0,
        }

    def _end_dead_loops(self) -> None:
        """Close the sockets of event loops that ended without `aclose`; nobody can await them any more."""
        for key, dead in list(self._loops.items()):
            if dead.loop.is_closed():
                del self._loops[key]
                for connection in list(dead.opened):
                    connection.pgconn.finish()

    def _drop_broken(self) -> None:
        self._check_up()
        self.reach()
        for pool in list(self._pools.values()):
            pool.check()

    async def _adrop_broken(self) -> None:
        self._check_up()
        await finish_in_thread(self.reach)
        await (await self._apool()).check()

    def _leave_parent(self) -> None:
        """In a forked child, leave the parent's connections alone and begin anew."""
        if self._pid == os.getpid():
            return
        self._inherited += [self._pools, self._loops]  # kept: ending them would speak on the parent's sockets
        self._pools, self._loops, self._busy, self._pid = {}, {}, 0, os.getpid()
        self._down_since = None
        self._guard, self._queues = threading.RLock(), weakref.WeakValueDictionary()

    # -- errors --------------------------------------------------------------------------------------------------------------

    def _check_up(self) -> None:
        if self._down_since is not None:
            gone = time.monotonic() - self._down_since
            raise Unreachable(
                f"{self.shown} cannot be reached for {gone:.0f} s now; it is tried again in the background"
            )
        if time.monotonic() < self._wait_until:
            raise Unreachable(f"{self.shown} could not be reached a moment ago: not tried again yet")

    def _unreachable(self, error: Exception) -> WorkspaceError:
        if self._busy >= self.largest:
            return Unreachable(f"all {self.largest} connections to {self.shown} are busy: raise max_connections")
        self._mark_down()
        return Unreachable(f"{self.shown} cannot be reached: {error}")

    def _mark_down(self) -> None:
        """Have nobody else wait for a server that is away: a server that was there is looked for in the background."""
        if not self._prepared:  # it never was: a wrong host or password is not asked for again and again
            self._wait_until = time.monotonic() + PAUSE_AFTER_FAILURE
            return
        with self._guard:
            if self._down_since is None:
                self._down_since = time.monotonic()
                look = threading.Thread(
                    target=_look_for, args=(weakref.ref(self),), daemon=True, name="harness-memory-postgres"
                )
                look.start()

    def reach(self) -> None:
        """Connect once, outside the pools.

        Raises:
            Unreachable: The server is away.
        """
        try:
            psycopg.connect(self.conninfo, **_network(self.conninfo)).close()
        except psycopg.OperationalError as error:
            raise self._unreachable(error) from error

    def _told(self, error: psycopg.Error, *, connecting: bool = False) -> WorkspaceError:
        """Turn what psycopg says into this package's errors, without the password."""
        text = " ".join(str(error).split()) or type(error).__name__
        if connecting and isinstance(error, psycopg.OperationalError):
            return self._unreachable(error)
        lost = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and error.sqlstate is None
        if lost or error.sqlstate in SHUTTING_DOWN:
            return CutOff(f"the connection to {self.shown} broke: {text}")
        return WorkspaceError(f"{self.shown} could not do what was asked: {text}")


def _look_for(connections: "weakref.ref[Connections]") -> None:
    """Look for a server that went away until it is back, without keeping anybody alive."""
    pause, wait = threading.Event(), FIRST_LOOK
    while True:
        pause.wait(wait)
        wait = min(LONGEST_LOOK, wait * 1.5)
        here = connections()
        if here is None or here._down_since is None or here._pid != os.getpid():
            return
        with contextlib.suppress(Unreachable):
            here.reach()
            here._down_since = None
            for pool in list(here._pools.values()):
                pool.check()
            return
        del here


def _network(conninfo: str) -> dict[str, Any]:
    """Return the network settings that the connection string leaves open."""
    said = psycopg.conninfo.conninfo_to_dict(conninfo)
    return {key: value for key, value in NETWORK.items() if key not in said}
