"""What all tenants of one index share: the file, its repair, and what was last seen of the workspace.

Every operation goes through `run`: where SQLite says that the file is damaged, replaced or cannot be written, the index
is made anew, at the next place that works, in memory at last, and the operation runs once more. No turn fails for it.
"""

import logging
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from langgraph_harness_memory.errors import PathRefused, WorkspaceError
from langgraph_harness_memory.events import Damaged, OnEvent
from langgraph_harness_memory.index import lines
from langgraph_harness_memory.index.database import Database, Unusable, is_waiting
from langgraph_harness_memory.index.lines import Seen
from langgraph_harness_memory.index.place import owner_name, places
from langgraph_harness_memory.index.rank import Candidate, FileSize
from langgraph_harness_memory.index.refresh import compare, memory_files
from langgraph_harness_memory.index.rows import Marks, marks_of
from langgraph_harness_memory.workspace import FileInfo, Workspace

log = logging.getLogger(__name__)

T = TypeVar("T")

LOCK = "memory-index"
"""Name of the workspace's lock that writers of the index hold."""

FULL_CHECK_LINES = 50_000
"""Up to this many lines the rows are compared with the full-text entries when the index is opened (30 ms per 10 000);
above it only the pages are checked, and `reindex` without a limit does the rest."""

ATTEMPTS = 3
"""Times an operation runs: as it is, after a rebuild, and in memory."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """Of which files the stored rows are compared line by line."""

    paths: frozenset[str] | None
    """`None` = of all."""
    is_whole: bool
    """These are all files that the index has of the tenant."""


EVERYTHING = Share(paths=None, is_whole=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """What searches keep of one generation of a tenant's rows."""

    generation: int
    sizes: dict[int, FileSize]
    """How large each file is."""
    rows: dict[int, Candidate] = field(default_factory=dict)
    """Rows that were candidates before."""


class Tree:
    """What is remembered of one tenant's tree."""

    def __init__(self) -> None:
        self.seen: dict[str, Seen] | None = None
        self.facts: Facts | None = None
        self.lock = threading.RLock()


class Engine:
    """The index file of a workspace and what is known of it."""

    def __init__(self, workspace: Workspace, *, path: Path | None, on_event: OnEvent | None) -> None:
        self.workspace = workspace
        self._path = path
        self._on_event = on_event
        self._database: Database | None = None
        self._epoch = -1
        self._trees: dict[str, Tree] = {}
        self._opening = threading.RLock()
        self._told: set[tuple[str, str]] = set()

    @property
    def path(self) -> Path | None:
        """The index file; `None` while closed, and when the index lives in memory."""
        return self._database.path if self._database else None

    def open(self) -> Database:
        """Return the open database, opening it where it is not."""
        with self._opening:
            if self._database is None:
                self._database = self._first_usable()
                self._forget_trees()
            return self._database

    def close(self) -> None:
        """Close every connection; the next operation opens the index again."""
        with self._opening:
            if self._database is not None:
                self._database.close()
            self._database = None

    def run(self, operation: Callable[[Database], T]) -> T:
        """Do something with the index, repairing it where that is needed."""
        for attempt in range(1, ATTEMPTS + 1):
            database = self.open()
            if database.epoch != self._epoch:
                self._forget_trees()
            try:
                return operation(database)
            except (sqlite3.DatabaseError, Unusable) as error:
                if isinstance(error, sqlite3.Error) and is_waiting(error):
                    raise
                if attempt == ATTEMPTS:
                    raise
                self._repair(database, error, in_memory=attempt == ATTEMPTS - 1)
        raise AssertionError("unreachable")

    def tree_of(self, root: str) -> Tree:
        """Return what is remembered of a tenant's tree."""
        return self._trees.setdefault(root, Tree())

    def workspace_of(self, root: str) -> Workspace:
        """Return a tenant's part of the workspace."""
        return self.workspace.under(root) if root else self.workspace

    def refresh(self, database: Database, root: str) -> None:
        """See hand edits: read again what changed since it was last read.

        Where the tree cannot be listed, or another process writes for too long, the index answers with what it has.
        """
        tree = self.tree_of(root)
        with tree.lock:
            if tree.seen is None:
                tree.seen = self._known(database, root)
            checked = time.time()  # compared with time stamps that the file system made, so no injected clock
            try:
                stale = compare(self.listing(root), tree.seen)
                changed = self._truly_changed(database, root, stale.changed, checked)
                if changed or stale.gone:
                    self.read_again(database, root, changed, stale.gone, checked=checked)
            except WorkspaceError as error:
                self._tell(root or "the workspace", f"the index may be behind the files: {error}")

    def _truly_changed(
        self, database: Database, root: str, suspects: tuple[FileInfo, ...], checked: float
    ) -> list[str]:
        """Leave out files that only may have changed and did not, without waiting for a writer."""
        tree, workspace = self.tree_of(root), self.workspace_of(root)
        changed: list[str] = []
        with database.read() as db:
            tenant = lines.tenant_id(db, root)
            for info in suspects:
                known = None if tenant is None else lines.known_file(db, tenant, info.path)
                if known is None or known.marks != _marks(workspace, info.path):
                    changed.append(info.path)
                elif tree.seen is not None:
                    tree.seen[info.path] = Seen(fingerprint=info.fingerprint, checked=checked, on_disk=True)
        return changed

    def read_again(
        self,
        database: Database,
        root: str,
        changed: Iterable[str],
        gone: Iterable[str],
        *,
        checked: float,
        verify: bool = False,
    ) -> None:
        """Bring rows up to date with the files themselves, in one transaction."""
        tree, workspace = self.tree_of(root), self.workspace_of(root)
        news: dict[str, Seen | None] = {}
        with database.write() as db:
            tenant = lines.make_tenant(db, root)
            for path in (*changed, *gone):
                news[path] = self._read_one(db, tenant, workspace, path, checked=checked, verify=verify)
        for path, seen in news.items():
            if seen is None:
                (tree.seen or {}).pop(path, None)
            elif tree.seen is not None:
                tree.seen[path] = seen

    def _read_one(
        self, db: sqlite3.Connection, tenant: int, workspace: Workspace, path: str, *, checked: float, verify: bool
    ) -> Seen | None:
        try:
            info = workspace.stat(path)  # before the text: a change in between is noticed next time
            stored = workspace.read(path) if info else None
        except PathRefused:
            info = stored = None  # a folder, a link or a device stands where the file was
        except WorkspaceError as error:
            self._tell(path, str(error))
            return Seen(checked=checked, on_disk=True)
        if info is None or stored is None:
            lines.remove_file(db, tenant, path)
            return None
        seen = Seen(fingerprint=info.fingerprint, checked=checked, on_disk=True)
        lines.write_file(db, tenant, path, stored.data, seen=seen, verify=verify)
        return seen

    def remember(self, root: str, path: str, seen: Seen) -> None:
        """Note when and as what a file was read."""
        tree = self.tree_of(root)
        with tree.lock:
            if tree.seen is not None:
                tree.seen[path] = seen

    def forget(self, root: str) -> None:
        """Drop what is remembered of a tenant's tree."""
        self._trees.pop(root, None)

    def shares(self, database: Database, roots: Iterable[str], limit: int | None) -> dict[str, Share]:
        """Choose whose rows are compared line by line, those first that were not for longest.

        Args:
            database: The open index.
            roots: The tenants.
            limit: Lines in all; the last file may exceed them. `None` = all.
        """
        if limit is None:
            return dict.fromkeys(roots, EVERYTHING)
        files: list[tuple[float, str, str, int]] = []
        with database.read() as db:
            for root in roots:
                tenant = lines.tenant_id(db, root)
                if tenant is not None:
                    files += [(when, root, path, size) for path, when, size in lines.when_checked(db, tenant)]
        chosen: dict[str, set[str]] = {}
        rest = limit
        for _, root, path, size in sorted(files):
            if rest <= 0:
                break
            chosen.setdefault(root, set()).add(path)
            rest -= size
        held = Counter(root for _, root, _, _ in files)
        return {
            root: Share(paths=frozenset(chosen.get(root, ())), is_whole=len(chosen.get(root, ())) == held[root])
            for root in roots
        }

    def reindex(self, database: Database, root: str, share: Share) -> None:
        """Compare the files of a tenant with the index: those that changed, and the stored rows of a share of them.

        The full-text entries are compared with the rows where the share is everything, since they can only be as a whole.
        """
        checked = time.time()
        if share.is_whole:
            self._check_full_text(database, root)
        present = self.listing(root)
        with database.read() as db:
            tenant = lines.tenant_id(db, root)
            known = {} if tenant is None else lines.known_files(db, tenant)
        stale = compare(present, known)
        here = {info.path for info in present}
        rows = [path for path in sorted(here) if share.paths is None or path in share.paths]
        changed = sorted({info.path for info in stale.changed}.difference(rows))
        gone = sorted(known.keys() - here)
        if changed or gone:
            self.read_again(database, root, changed, gone, checked=checked)
        if rows:
            self.read_again(database, root, rows, (), checked=checked, verify=True)
        if tenant is not None and not present:
            self._drop_if_empty(database, root, tenant)

    def _drop_if_empty(self, database: Database, root: str, tenant: int) -> None:
        """Keep not even the folder's name of a tenant that has no files any more."""
        with database.write() as db:
            if not lines.known_files(db, tenant):
                lines.remove_tenant(db, tenant)
                self.forget(root)

    def _check_full_text(self, database: Database, root: str) -> None:
        with database.write() as db:
            tenant = lines.tenant_id(db, root)
            if tenant is not None:
                lines.check_full_text(db, tenant)

    def roots(self, database: Database) -> list[str]:
        """List the roots of all tenants that have a folder or rows, the shared one first."""
        with database.read() as db:
            indexed = lines.tenants(db).keys()
        folders = {f"users/{name}" for name in self.workspace.folders("users")}
        return sorted({"", *indexed, *folders})

    def listing(self, root: str) -> list[FileInfo]:
        """List the files of a tenant that are indexed."""
        return memory_files(self.workspace_of(root))

    def facts(self, db: sqlite3.Connection, root: str, tenant: int) -> Facts:
        """Return what is kept between searches; read anew after a change."""
        tree = self.tree_of(root)
        now = lines.generation(db, tenant)
        facts = tree.facts
        if facts is None or facts.generation != now:
            facts = tree.facts = Facts(generation=now, sizes=lines.file_sizes(db, tenant))
        return facts

    def check(self, database: Database) -> None:
        """Look for damage that would give wrong answers.

        Raises:
            Unusable: There is some.
            sqlite3.DatabaseError: SQLite noticed by itself.
        """
        with database.write() as db:
            (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise Unusable(verdict)
            (rows,) = db.execute("SELECT count(*) FROM line").fetchone()
            if rows <= FULL_CHECK_LINES:
                for tenant in lines.tenants(db).values():
                    lines.check_full_text(db, tenant)

    def _known(self, database: Database, root: str) -> dict[str, Seen]:
        with database.read() as db:
            tenant = lines.tenant_id(db, root)
            return {} if tenant is None else lines.known_files(db, tenant)

    def _forget_trees(self) -> None:
        self._trees = {}
        self._epoch = self._database.epoch if self._database else -1

    def _first_usable(self) -> Database:
        for path in places(self.workspace, self._path):
            database = self._prepared(path)
            if database is not None:
                return database
        return self._in_memory()

    def _in_memory(self) -> Database:
        if self._path is not None or self.workspace_is_local():
            log.warning("no place for an index file of %s: it is kept in memory", self.workspace.name)
        return Database(None, owner=owner_name(self.workspace), lock=self._lock)

    def workspace_is_local(self) -> bool:
        """Say whether an index file was to be expected."""
        return any(True for _ in places(self.workspace, self._path))

    def _prepared(self, path: Path) -> Database | None:
        """Open an index file, made anew where it is damaged; `None` where no file can be."""
        database = Database(path, owner=owner_name(self.workspace), lock=self._lock)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                database.prepare()
                self.check(database)
            except (sqlite3.DatabaseError, Unusable) as error:
                if isinstance(error, sqlite3.Error) and is_waiting(error):
                    raise
                self._tell(str(path), str(error))
                database.rebuild(str(error))
        except (sqlite3.Error, OSError) as error:
            log.debug("no index at %s: %s", path, error)
            database.close()
            return None
        return database

    def _repair(self, database: Database, error: Exception, *, in_memory: bool) -> None:
        with self._opening:
            if self._database is not database:
                return
            self._tell(str(database.path or "the index in memory"), str(error))
            database.close()
            self._database = None
            if in_memory:
                self._database = self._in_memory()
                self._forget_trees()
                return
            if database.path is not None:
                self._make_anew(database, str(error))

    def _make_anew(self, database: Database, reason: str) -> None:
        try:
            database.rebuild(reason)
        except (sqlite3.Error, OSError) as error:
            log.warning("the index %s cannot be made anew: %s", database.path, error)

    def _lock(self) -> AbstractContextManager[None]:
        return self.workspace.lock(LOCK)

    def _tell(self, path: str, reason: str) -> None:
        """Warn once for each file and reason."""
        if (path, reason) in self._told:
            return
        self._told.add((path, reason))
        log.warning("%s: %s", path, reason)
        if self._on_event is not None:
            self._on_event(Damaged(path=path, reason=reason))


def _marks(workspace: Workspace, path: str) -> Marks | None:
    """Measure a file; `None` where it cannot be read, which is told when it is read for its lines."""
    try:
        stored = workspace.read(path)
    except (PathRefused, WorkspaceError):
        return None
    return None if stored is None else marks_of(stored.data)
