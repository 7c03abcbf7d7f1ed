"""`PostgresMemoryIndex`: the lines of a workspace on Postgres, in the same database, for every replica.

The same query analysis and ranking as the SQLite index, over a tsvector under GIN that names the tenant beside the terms. A search looks
first, in one query, whether a file's stored version is another than the indexed one, and reads those files again: the index
cannot fall behind the files, whoever wrote them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, tzinfo
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from langgraph_harness_memory.clock import Clock, SystemClock
from langgraph_harness_memory.identifiers import tenant_root
from langgraph_harness_memory.index.hits import SearchHit
from langgraph_harness_memory.index.postgres_rows import IndexQueries
from langgraph_harness_memory.index.postgres_schema import index_of_lines
from langgraph_harness_memory.index.rank import RANKING, FileSize, Ranking
from langgraph_harness_memory.index.rows import is_never_indexed
from langgraph_harness_memory.index.search_steps import Asked, find_steps
from langgraph_harness_memory.workspace import text_bytes
from langgraph_harness_memory.workspace.postgres import PostgresWorkspace
from langgraph_harness_memory.workspace.postgres_schema import MIGRATIONS
from langgraph_harness_memory.workspace.postgres_sql import Work

T = TypeVar("T")

NEEDS = (*MIGRATIONS, index_of_lines)
"""Migrations of the workspace and of the index in it."""


@dataclass(kw_only=True, eq=False)
class _Remembered:
    """File sizes by tenant's root and generation, so that an unchanged memory is not measured again."""

    sizes: dict[str, tuple[tuple[int, int], Mapping[int, FileSize]]] = field(default_factory=dict)


class PostgresMemoryIndex:
    """The lines of a workspace on Postgres, searchable; one object is one tenant's view.

    Args:
        workspace: The workspace; its connections and schema are used.
        clock: Tells what "last week" in a query is counted from.
        zone: Whose calendar that is; `None` = the machine's own.
        ranking: The knobs of the ranking.
    """

    def __init__(
        self,
        workspace: PostgresWorkspace,
        *,
        clock: Clock | None = None,
        zone: tzinfo | None = None,
        ranking: Ranking = RANKING,
    ) -> None:
        self.workspace = workspace
        self._clock = clock or SystemClock()
        self._zone = zone
        self._ranking = ranking
        self._remembered = _Remembered()
        self._root = ""

    def __repr__(self) -> str:
        return f"PostgresMemoryIndex({self.workspace.name!r}, tenant_root={self._root or '.'!r})"

    def open(self) -> "PostgresMemoryIndex":
        """Make the tables, bring the rows up to date with the files, and return the index."""
        self._run(self._refreshed)
        return self

    async def aopen(self) -> "PostgresMemoryIndex":
        """Twin of `open`."""
        await self._arun(self._refreshed)
        return self

    def close(self) -> None:
        """Forget what was remembered; the connections belong to the workspace."""
        self._remembered.sizes.clear()

    async def aclose(self) -> None:
        """Twin of `close`."""
        self.close()

    def __enter__(self) -> "PostgresMemoryIndex":
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> "PostgresMemoryIndex":
        return await self.aopen()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def for_tenant(self, tenant: str | None) -> "PostgresMemoryIndex":
        """Return the same index seen by another tenant; `None` = the shared root."""
        root = tenant_root(tenant).as_posix()
        view = object.__new__(PostgresMemoryIndex)
        view.__dict__.update(self.__dict__)
        view._root = "" if root == "." else root
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
        asked = self._asked(query, limit, since, until)
        return self._run(lambda: self._found(asked))

    async def asearch(
        self, query: str, limit: int = 10, since: date | None = None, until: date | None = None
    ) -> list[SearchHit]:
        """Twin of `search`."""
        asked = self._asked(query, limit, since, until)
        return await self._arun(lambda: self._found(asked))

    def index_text(self, path: str, text: str, *, purge: bool = False) -> None:
        """Bring the rows of one file up to date with its text, by the lines that changed.

        Args:
            path: The file, relative to the tenant's root. Hidden files and other tenants' have no rows.
            text: Its whole text; an empty one removes the rows.
            purge: Also take what is gone out of the table's pages.
        """
        self._run(lambda: self._indexed(path, text))
        if purge:
            self._vacuum()

    async def aindex_text(self, path: str, text: str, *, purge: bool = False) -> None:
        """Twin of `index_text`."""
        await self._arun(lambda: self._indexed(path, text))
        if purge:
            await self._avacuum()

    def reindex(self, *, lines: int | None = None) -> None:
        """Compare the files with the index and rebuild what differs.

        The view of the shared root does so for every tenant and drops tenants whose folder is gone.

        Args:
            lines: Compare the stored rows of about so many lines of each tenant with their files, drawn anew at each call,
                and read other files only where they changed since. `None` = compare all rows of all files.
        """
        roots = [self._root]
        if not self._root:
            roots = self._roots(self._run(self._queries.roots), self.workspace.folders("users"))
        for root in roots:
            for path in self._run(partial(self._to_compare, root, lines)):
                self._run(partial(self._verified, root, path))

    async def areindex(self, *, lines: int | None = None) -> None:
        """Twin of `reindex`."""
        roots = [self._root]
        if not self._root:
            roots = self._roots(await self._arun(self._queries.roots), await self.workspace.afolders("users"))
        for root in roots:
            for path in await self._arun(partial(self._to_compare, root, lines)):
                await self._arun(partial(self._verified, root, path))

    def purge(self, *, tenant: str | None) -> None:
        """Remove every row of a tenant, and take them out of the tables' pages.

        Args:
            tenant: Whose rows; `None` = the shared root's. Files that are still there are indexed again.
        """
        view = self.for_tenant(tenant)
        self._run(view._queries.remove_tenant)
        self._vacuum()

    async def apurge(self, *, tenant: str | None) -> None:
        """Twin of `purge`."""
        view = self.for_tenant(tenant)
        await self._arun(view._queries.remove_tenant)
        await self._avacuum()

    # -- below: operations ---------------------------------------------------------------------------------------------

    @property
    def _queries(self) -> IndexQueries:
        return self._queries_of(self._root)

    def _queries_of(self, root: str) -> IndexQueries:
        return IndexQueries(schema=f'"{self.workspace.schema}"', root=root)

    def _asked(self, query: str, limit: int, since: date | None, until: date | None) -> Asked:
        today = self._clock.now().astimezone(self._zone).date()
        return Asked(query=query, limit=limit, since=since, until=until, today=today)

    def _refreshed(self) -> Work[int]:
        """Bring the tenant's rows up to date and return its number."""
        tenant = yield from self._queries.tenant()
        stale = yield from self._queries.stale(tenant.id)
        for path in stale:
            yield from self._queries.read_again(tenant.id, path)
        return tenant.id

    def _found(self, asked: Asked) -> Work[list[SearchHit]]:
        number = yield from self._refreshed()
        if asked.limit < 1:
            return []
        sizes = yield from self._sizes(number)
        searching = find_steps(asked, sizes, self._ranking)
        answer: Any = None
        while True:
            try:
                request = searching.send(answer)
            except StopIteration as end:
                found: list[SearchHit] = end.value
                return found
            answer = yield from self._queries.answer(number, request)

    def _sizes(self, number: int) -> Work[Mapping[int, FileSize]]:
        tenant = yield from self._queries.tenant()
        now = (tenant.id, tenant.generation)
        remembered = self._remembered.sizes.get(self._root)
        if remembered is None or remembered[0] != now:
            remembered = (now, (yield from self._queries.sizes(number)))
            self._remembered.sizes[self._root] = remembered
        return remembered[1]

    def _indexed(self, path: str, text: str) -> Work[None]:
        if is_never_indexed(path):
            return
        tenant = yield from self._queries.tenant()
        yield from self._queries.write_text(tenant.id, path, text_bytes(text))

    def _to_compare(self, root: str, lines: int | None) -> Work[list[str]]:
        """List the files whose rows are compared with them: all, or those that changed and some more."""
        queries = self._queries_of(root)
        tenant = yield from queries.tenant()
        changed = yield from queries.stale(tenant.id, all_files=lines is None)
        drawn = (yield from queries.drawn(tenant.id, lines)) if lines is not None else []
        return sorted({*changed, *drawn})

    def _verified(self, root: str, path: str) -> Work[None]:
        queries = self._queries_of(root)
        tenant = yield from queries.tenant()
        yield from queries.read_again(tenant.id, path, verify=True)

    @staticmethod
    def _roots(indexed: list[str], folders: list[str]) -> list[str]:
        return sorted({"", *indexed, *(f"users/{name}" for name in folders)})

    def _vacuum(self) -> None:
        for statement in self._queries.vacuums():
            self._run(partial(self._queries.ask, statement))

    async def _avacuum(self) -> None:
        for statement in self._queries.vacuums():
            await self._arun(partial(self._queries.ask, statement))

    def _run(self, work: Callable[[], Work[T]]) -> T:
        self.workspace.connections.require(NEEDS)
        return self.workspace.connections.run(work)

    async def _arun(self, work: Callable[[], Work[T]]) -> T:
        await self.workspace.connections.arequire(NEEDS)
        return await self.workspace.connections.arun(work)
