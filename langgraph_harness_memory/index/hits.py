"""What a search gives back, whatever the back end."""

from dataclasses import dataclass
from datetime import date as Day  # noqa: N812  the field below is called `date`
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchHit:
    """One line that answers a query."""

    path: str
    """Relative to the tenant's root, so that it can be given to `memory_get` as it is."""
    line_number: int
    """From 1."""
    content: str
    """The line as it stands in the file, without its newline."""
    rank: float
    """Smaller is better, as in FTS5."""
    date: Day | None = None
    """The day the line belongs to: its daily log's, or the one its heading names."""
    heading: str = ""
    """The nearest heading above the line."""
    source: str = ""
    """Where its block says it comes from (`user`, `assistant`, `tool:<name>`); empty where nothing is said."""


class Index(Protocol):
    """What every back end of the index can do, for one tenant. Each method has an `a…` twin."""

    def search(
        self, query: str, limit: int = 10, since: Day | None = None, until: Day | None = None
    ) -> list[SearchHit]:
        """Find the lines that answer a query, best first; any string is a valid query."""
        ...

    def index_text(self, path: str, text: str, *, purge: bool = False) -> None:
        """Bring the rows of one file up to date with its text, by the lines that changed; an empty text removes them.

        With `purge` no byte of rows that are gone stays in the back end's store.
        """
        ...

    def reindex(self, *, lines: int | None = None) -> None:
        """Compare the files with the index and rebuild what differs.

        Files that changed are always read. Stored rows are compared line by line: of every file without `lines`, else of
        about so many lines, other ones at the next call.
        """
        ...

    def for_tenant(self, tenant: str | None) -> "Index":
        """Return the same index seen by another tenant; it shares the connection."""
        ...

    async def asearch(
        self, query: str, limit: int = 10, since: Day | None = None, until: Day | None = None
    ) -> list[SearchHit]: ...
    async def aindex_text(self, path: str, text: str, *, purge: bool = False) -> None: ...
    async def areindex(self, *, lines: int | None = None) -> None: ...
