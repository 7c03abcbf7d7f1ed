"""`MemoryIndex`: any line of a memory, found again in milliseconds, without a model.

    with MemoryIndex("workspace").open() as index:
        for hit in index.search("What did we decide about the database?", 5):
            print(f"{hit.path}#{hit.line_number}", hit.content)

The index is a cache of the workspace's text: delete its file at any time. It sees a hand edit at the next search.
"""

import logging
import sqlite3
from dataclasses import dataclass, replace
from datetime import date, tzinfo
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from langchain_core.embeddings import Embeddings

from langgraph_harness_memory.clock import Clock, SystemClock
from langgraph_harness_memory.events import OnEvent
from langgraph_harness_memory.identifiers import tenant_root
from langgraph_harness_memory.index import answers, lines
from langgraph_harness_memory.index.database import Database, Unusable
from langgraph_harness_memory.index.engine import Engine, Facts
from langgraph_harness_memory.index.hits import SearchHit
from langgraph_harness_memory.index.knobs import RANKING, Ranking
from langgraph_harness_memory.index.lines import Seen
from langgraph_harness_memory.index.rank import Candidate
from langgraph_harness_memory.index.rows import is_indexed, is_never_indexed
from langgraph_harness_memory.index.search_steps import Asked, ByMeaning, find_steps
from langgraph_harness_memory.index.vectors import Vectors
from langgraph_harness_memory.outcome import finish_in_thread
from langgraph_harness_memory.workspace import Workspace, text_bytes
from langgraph_harness_memory.workspace.local import LocalWorkspace

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Settings:
    """What every tenant's view shares beside the engine."""

    clock: Clock
    zone: tzinfo | None
    ranking: Ranking
    checks_files: bool
    vectors: Vectors | None


class MemoryIndex:
    """The lines of a workspace's memory, searchable; one object is one tenant's view.

    Args:
        workspace: The workspace, or its folder.
        path: The index file; `None` = beside the workspace, inside it where the parent cannot be written, in memory
            where nothing can be or the workspace is no folder of this machine.
        clock: Tells what "last week" in a query is counted from.
        zone: Whose calendar that is; `None` = the machine's own.
        embeddings: Also compare by meaning with this model; `None` = by words alone, which needs no model. Needs the extra
            `vectors`. New lines are embedded at the next search.
        ranking: The knobs of the ranking.
        checks_files: Look for hand edits before each search. Without it the index knows what it was told.
        on_event: Hears of a damaged index or file (`Damaged`).
    """

    def __init__(
        self,
        workspace: Workspace | Path | str,
        *,
        path: Path | str | None = None,
        clock: Clock | None = None,
        zone: tzinfo | None = None,
        embeddings: Embeddings | None = None,
        ranking: Ranking = RANKING,
        checks_files: bool = True,
        on_event: OnEvent | None = None,
    ) -> None:
        tree: Workspace = LocalWorkspace(workspace) if isinstance(workspace, Path | str) else workspace
        self._engine = Engine(tree, path=Path(path) if path is not None else None, on_event=on_event)
        self._settings = _Settings(
            clock=clock or SystemClock(),
            zone=zone,
            ranking=ranking,
            checks_files=checks_files,
            vectors=None if embeddings is None else Vectors(embeddings),
        )
        self._root = ""

    def __repr__(self) -> str:
        return f"MemoryIndex({self._engine.workspace.name!r}, tenant_root={self._root or '.'!r})"

    @property
    def workspace(self) -> Workspace:
        """The whole workspace, whoever's view this is."""
        return self._engine.workspace

    @property
    def path(self) -> Path | None:
        """The index file; `None` while closed, and when the index lives in memory."""
        return self._engine.path

    def open(self) -> "MemoryIndex":
        """Open the index, bring it up to date with the files, and return it; without effect when it is open."""
        self._engine.run(lambda database: self._engine.refresh(database, self._root))
        return self

    def close(self) -> None:
        """Close the index file; a later search opens it again."""
        self._engine.close()

    def __enter__(self) -> "MemoryIndex":
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def for_tenant(self, tenant: str | None) -> "MemoryIndex":
        """Return the same index seen by another tenant; `None` = the shared root."""
        root = tenant_root(tenant).as_posix()
        return self._at("" if root == "." else root)

    def _at(self, root: str) -> "MemoryIndex":
        view = object.__new__(MemoryIndex)
        view._engine, view._settings, view._root = self._engine, self._settings, root
        return view

    def search(
        self, query: str, limit: int = 10, since: date | None = None, until: date | None = None
    ) -> list[SearchHit]:
        """Find the lines that answer a query.

        Args:
            query: Any string: a question, words, an identifier, a path, one character of a script without spaces.
            limit: Hits wanted at most.
            since: First day; lines of no day are left out too. `None` = no bound.
            until: Last day, included; lines of no day are left out too. `None` = no bound.

        Returns:
            Best first; lines that say the same as a better one come last.
        """
        today = self._settings.clock.now().astimezone(self._settings.zone).date()
        asked = Asked(query=query, limit=limit, since=since, until=until, today=today)
        return self._engine.run(lambda database: self._found(database, asked))

    def _found(self, database: Database, asked: Asked) -> list[SearchHit]:
        if self._settings.checks_files or self._engine.tree_of(self._root).seen is None:
            self._engine.refresh(database, self._root)
        vector = self._vector(database, asked.query)
        asked = replace(asked, by_meaning=vector is not None)
        with database.read() as db:
            tenant = lines.tenant_id(db, self._root)
            if tenant is None or asked.limit < 1:
                return []
            facts = self._engine.facts(db, self._root, tenant)
            searching = find_steps(asked, facts.sizes, self._settings.ranking)
            answer: Any = None
            try:
                while True:
                    request = searching.send(answer)
                    if isinstance(request, ByMeaning):
                        answer = self._alike(db, tenant, facts, request, vector)
                    else:
                        answer = answers.answer(db, tenant, request, facts.rows)
            except StopIteration as end:
                found: list[SearchHit] = end.value
                return found

    def _vector(self, database: Database, query: str) -> Any | None:
        """Return the query's vector, with every line embedded; `None` without embeddings, or where the model fails."""
        vectors = self._settings.vectors
        if vectors is None or not query.strip():
            return None
        with database.read() as db:
            tenant = lines.tenant_id(db, self._root)
        if tenant is None:
            return None
        try:
            vectors.update(database, tenant)
            return vectors.query(query)
        except (sqlite3.Error, Unusable):
            raise
        except Exception as error:  # noqa: BLE001  a user's embedding model may raise anything, and words are enough
            log.warning("searching by words alone: the embedding model failed: %s", error)
            return None

    def _alike(
        self, db: sqlite3.Connection, tenant: int, facts: Facts, request: ByMeaning, vector: Any
    ) -> list[tuple[Candidate, float]]:
        vectors = self._settings.vectors
        assert vectors is not None
        also = [candidate.key for candidate in request.also]
        found = vectors.similar(db, tenant, facts.generation, vector, limit=request.limit, also=also)
        rows = answers.rows_of_keys(db, list(found), facts.rows)
        return [(row, found[row.key]) for row in rows]

    def index_text(self, path: str, text: str, *, purge: bool = False) -> None:
        """Bring the rows of one file up to date with its text, by the lines that changed.

        Args:
            path: The file, relative to the tenant's root. Hidden files and other tenants' have no rows.
            text: Its whole text; an empty one removes the rows.
            purge: Leave no byte of rows that are gone in the index file.
        """
        self._engine.run(lambda database: self._indexed(database, path, text))
        if purge:
            self._engine.run(Database.scrub)

    def _indexed(self, database: Database, path: str, text: str) -> None:
        if is_never_indexed(path):
            return
        data = text_bytes(text)
        on_disk = is_indexed(path) and self._engine.workspace_of(self._root).stat(path) is not None
        seen = Seen(on_disk=on_disk)
        with database.write() as db:
            if data:
                lines.write_file(db, lines.make_tenant(db, self._root), path, data, seen=seen)
            elif (tenant := lines.tenant_id(db, self._root)) is not None:
                lines.remove_file(db, tenant, path)
        self._engine.remember(self._root, path, seen)

    def reindex(self, *, lines: int | None = None) -> None:
        """Compare the files with the index and rebuild what differs.

        The view of the shared root does so for every tenant and drops tenants whose folder is gone.

        Args:
            lines: Compare the stored rows of about so many lines with their files, those first that were not compared for
                longest, and read other files only where they changed since, so that a tick of maintenance does not cut a
                million lines into words again. `None` = compare all rows of all files.
        """
        self._engine.run(lambda database: self._reindexed(database, lines))

    def _reindexed(self, database: Database, lines: int | None) -> None:
        roots = [self._root] if self._root else self._engine.roots(database)
        shares = self._engine.shares(database, roots, lines)
        for root in roots:
            self._engine.reindex(database, root, shares[root])

    def purge(self, *, tenant: str | None) -> None:
        """Remove every row of a tenant, and every byte of them from the index file.

        Args:
            tenant: Whose rows; `None` = the shared root's. Files that are still there are indexed again.
        """
        self.for_tenant(tenant)._purge()

    def _purge(self) -> None:
        self._engine.run(self._purged)
        self._engine.run(Database.scrub)

    def _purged(self, database: Database) -> None:
        with database.write() as db:
            tenant = lines.tenant_id(db, self._root)
            if tenant is not None:
                lines.remove_tenant(db, tenant)
        self._engine.forget(self._root)

    async def aopen(self) -> "MemoryIndex":
        return await finish_in_thread(self.open)

    async def aclose(self) -> None:
        await finish_in_thread(self.close)

    async def asearch(
        self, query: str, limit: int = 10, since: date | None = None, until: date | None = None
    ) -> list[SearchHit]:
        return await finish_in_thread(self.search, query, limit, since, until)

    async def aindex_text(self, path: str, text: str, *, purge: bool = False) -> None:
        await finish_in_thread(self.index_text, path, text, purge=purge)

    async def areindex(self, *, lines: int | None = None) -> None:
        await finish_in_thread(partial(self.reindex, lines=lines))

    async def apurge(self, *, tenant: str | None) -> None:
        await finish_in_thread(self.purge, tenant=tenant)

    async def __aenter__(self) -> "MemoryIndex":
        return await self.aopen()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
