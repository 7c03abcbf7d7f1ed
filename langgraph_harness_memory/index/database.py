"""The index file: its connections, transactions, place and repair.

Nothing exists in it alone, so any doubt ends in a rebuild: a damaged, truncated, foreign-version or replaced file is
removed and made anew, and where no file can be written the index lives in memory.

    read()   a connection of the pool, one consistent view; readers never wait for the writer (WAL)
    write()  BEGIN IMMEDIATE, so that two writers queue instead of failing half-way, inside the workspace's own lock,
             since SQLite before 3.51.3 may lose pages when two connections write and checkpoint at once

A connection belongs to the process that opened it: after a fork the child opens its own.
"""

import logging
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from pathlib import Path

from langgraph_harness_memory.errors import LockTimeout, WorkspaceError
from langgraph_harness_memory.index.schema import APPLICATION, STAMP, TABLES

log = logging.getLogger(__name__)

BUSY_SECONDS = 5.0
"""How long a writer waits for another one; the same as the workspace's locks by default."""

PAGE_CACHE_KIB = 16_384
"""Pages that a connection keeps; 16 MiB hold the full-text tables of some 50 000 lines."""

IN_MEMORY = ":memory:"

_WAITED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


class Unusable(Exception):
    """The index file cannot be used as it is."""


class Database:
    """One index file, or the memory of this process in its place.

    Args:
        path: The file; `None` = in memory.
        owner: Name of the workspace that it indexes.
        lock: Makes the lock that writers of every process share.
    """

    def __init__(self, path: Path | None, *, owner: str, lock: Callable[[], AbstractContextManager[None]]) -> None:
        self.path = path
        self._owner = owner
        self._lock = lock
        self._idle: list[sqlite3.Connection] = []
        self._guard = threading.RLock()
        self._writing = threading.RLock()
        self._pid = os.getpid()
        self._left_open = weakref.finalize(self, _close_own, self._idle, self._pid)
        self._abandoned: list[sqlite3.Connection] = []
        self._identity: tuple[int, int] | None = None
        self.epoch = 0
        """Raised whenever the content may be another one: what was remembered of it is void."""

    @property
    def is_in_memory(self) -> bool:
        """Say whether there is no file."""
        return self.path is None

    def prepare(self) -> None:
        """Make the tables, or check that they are ours and of this version.

        Raises:
            Unusable: They are not; `rebuild` makes them anew.
            sqlite3.Error: The file cannot be opened or is damaged.
        """
        with self.write() as db:
            if not _has_tables(db):
                _create(db, self._owner)
            elif _meta(db, "stamp") != STAMP:
                raise Unusable(f"it was written by another version ({_meta(db, 'stamp')!r})")
            elif _meta(db, "owner") != self._owner:
                raise Unusable(f"it belongs to the workspace {_meta(db, 'owner')!r}")

    def rebuild(self, reason: str) -> None:
        """Remove the file and make an empty one."""
        log.warning("rebuilding the index %s: %s", self.path or "in memory", reason)
        with self._writing, self._excluded(), self._guard:
            self._forget()
            if self.path is not None:
                remove(self.path)
        self.prepare()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Give one consistent view of the index."""
        with self._borrowed() as db:
            db.execute("BEGIN")
            try:
                yield db
            finally:
                with suppress(sqlite3.Error):
                    db.execute("ROLLBACK")

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Give the one writing transaction; an error undoes it."""
        with self._writing, self._excluded(), self._borrowed() as db:
            _begin(db)
            try:
                yield db
            except BaseException:
                with suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    def scrub(self) -> None:
        """Rewrite the file so that no deleted byte is left in it or in its journal.

        Raises:
            LockTimeout: A reader kept the journal in use for too long.
        """
        with self._writing, self._excluded(), self._borrowed() as db:
            try:
                # FTS5 keeps a deleted row's words in their segment until it is merged.
                made = "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE %fts5%'"
                for (table,) in db.execute(made).fetchall():
                    db.execute(f'INSERT INTO "{table}"("{table}") VALUES (\'optimize\')')
                db.execute("VACUUM")
                (is_busy, *_) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            except sqlite3.OperationalError as error:
                raise _told(error) from error
        if is_busy and self.path is not None:
            raise LockTimeout(f"a reader keeps {str(self.path)!r} open: what was deleted may still lie in its journal")

    def close(self) -> None:
        """Close the connections that nobody uses."""
        with self._guard:
            self._follow_fork()
            for db in self._idle:
                db.close()
            self._idle.clear()

    def _excluded(self) -> AbstractContextManager[None]:
        return _held(self._lock) if self.path else nullcontext()

    def _forget(self) -> None:
        self._follow_fork()
        for db in self._idle:
            with suppress(sqlite3.Error):
                db.close()
        self._idle.clear()
        self._identity = None
        self.epoch += 1

    def _follow_fork(self) -> None:
        """Leave connections of the parent process alone: to close them here would drop its locks."""
        if self._pid != os.getpid():
            self._abandoned += self._idle
            self._idle = []
            self._pid = os.getpid()
            self._left_open.detach()
            self._left_open = weakref.finalize(self, _close_own, self._idle, self._pid)
            self.epoch += 1

    @contextmanager
    def _borrowed(self) -> Iterator[sqlite3.Connection]:
        if self.path is None:
            with self._guard:
                yield self._memory()
            return
        with self._guard:
            self._follow_fork()
            self._check_identity()
            db = self._idle.pop() if self._idle else None
            epoch = self.epoch
        db = db or self._open(self.path)
        try:
            yield db
        except sqlite3.DatabaseError:
            db.close()
            raise
        finally:
            with self._guard:
                if epoch == self.epoch and self._pid == os.getpid() and _is_open(db):
                    self._idle.append(db)
                else:
                    db.close()

    def _memory(self) -> sqlite3.Connection:
        self._follow_fork()
        if not self._idle:
            self._idle.append(_connect(IN_MEMORY))
            _create(self._idle[0], self._owner)
        return self._idle[0]

    def _open(self, path: Path) -> sqlite3.Connection:
        db = _connect(str(path))
        if self._identity is None:
            self._identity = _identity(path)
        return db

    def _check_identity(self) -> None:
        """Notice that the file at our path is another one than the one that is open."""
        assert self.path is not None
        if self._identity is not None and _identity(self.path) != self._identity:
            log.warning("the index %s was replaced or removed; it is opened anew", self.path)
            self._forget()


def _close_own(connections: list[sqlite3.Connection], pid: int) -> None:
    """Close what an index that nobody closed left open: since Python 3.13 SQLite warns of it."""
    if pid == os.getpid():
        for db in connections:
            with suppress(sqlite3.Error):
                db.close()


def _connect(path: str) -> sqlite3.Connection:
    if path != IN_MEMORY:
        _make(path)
    db = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    try:
        db.execute("PRAGMA secure_delete = ON")
        db.execute(f"PRAGMA cache_size = -{PAGE_CACHE_KIB}")
        db.execute("PRAGMA temp_store = MEMORY")
        if path != IN_MEMORY:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        db.close()
        raise
    return db


def _make(path: str) -> None:
    """Create the file readable by its owner alone, whatever the umask; SQLite gives its journal the same mode."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _begin(db: sqlite3.Connection) -> None:
    try:
        db.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        raise _told(error) from error


def _told(error: sqlite3.OperationalError) -> Exception:
    if is_waiting(error):
        return LockTimeout(f"the index is in use by another process for more than {BUSY_SECONDS:g} s")
    return error


def is_waiting(error: sqlite3.Error) -> bool:
    """Say whether an error only means that somebody else holds the file."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _WAITED


def _has_tables(db: sqlite3.Connection) -> bool:
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (objects,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if objects and application != APPLICATION:
        raise Unusable("it holds tables that are not of this package")
    return bool(objects)


def _create(db: sqlite3.Connection, owner: str) -> None:
    for statement in TABLES:
        db.execute(statement)
    db.execute("INSERT INTO meta VALUES ('stamp', ?), ('owner', ?)", (STAMP, owner))
    db.execute(f"PRAGMA application_id = {APPLICATION}")


def _meta(db: sqlite3.Connection, key: str) -> str | None:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return row[0] if row else None


def _is_open(db: sqlite3.Connection) -> bool:
    try:
        return not db.in_transaction
    except sqlite3.ProgrammingError:
        return False


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def _held(lock: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Hold the writers' lock; where the workspace cannot make one, SQLite's own must do."""
    with ExitStack() as stack:
        try:
            stack.enter_context(lock())
        except LockTimeout:
            raise
        except WorkspaceError:
            log.debug("no lock of the workspace for its index", exc_info=True)
        yield


def remove(path: Path) -> None:
    """Remove an index file, its journal first: an old journal beside a new file would be replayed into it."""
    for suffix in ("-wal", "-shm", "-journal", ""):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def owner_of(path: Path) -> str | None:
    """Return the name of the workspace that an index file belongs to.

    Returns:
        `None` where there is no readable index of ours: no file, an empty or damaged one.

    Raises:
        Unusable: A sound SQLite file that is not ours, or no file at all but a folder, stands there.
    """
    if not path.exists():
        return None
    if not path.is_file():
        raise Unusable("it is no file")
    try:
        with closing(sqlite3.connect(f"file:{_escaped(path)}?mode=ro", uri=True, timeout=BUSY_SECONDS)) as db:
            return _meta(db, "owner") if _has_tables(db) else None
    except sqlite3.DatabaseError:
        return None


def _escaped(path: Path) -> str:
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
