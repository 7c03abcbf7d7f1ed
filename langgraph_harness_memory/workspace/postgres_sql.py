"""What the Postgres workspace asks of its database; pure, no connection.

Each operation is a generator that yields queries and is sent their rows, so that the sync and the async workspace run
the same text. A file is a row of `files` and the bytes of its appends are rows of `chunks`:

    files   path ─► content (a number that no other content ever had), size, whether its last line is whole
    chunks  (content, start) ─► data

A version is `content:size`: a content only grows, and whatever shortens or rewrites it gets a new number.
"""

import hashlib
from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from langgraph_harness_memory.errors import PathRefused, VersionConflict, WorkspaceError
from langgraph_harness_memory.workspace import FileInfo, StoredFile

T = TypeVar("T")

Rows = list[tuple[Any, ...]]

CHUNK = 1_048_576
"""Bytes per row of a file that is written at once: a read of a part fetches few more than it asks for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """One statement with its named values."""

    text: str
    values: dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Begin:
    """From here on everything is one transaction, committed when the operation returns and undone when it raises."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    """The transaction ends here; what follows stands alone until another begins."""


Work = Generator[Query | Begin | Commit, Rows, T]
"""An operation: yields queries, is sent their rows, returns a `T`."""


def advisory_key(schema: str, name: str) -> int:
    """Return the 64-bit number that stands for a lock's name in this schema."""
    digest = hashlib.sha256(f"{schema}\0{name}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def version_of(content: int, size: int) -> str:
    """Return the version of a file; see the module."""
    return f"{content}:{size}"


def below(folder: str) -> dict[str, str]:
    """Return the bounds of every path below a folder; the column sorts by bytes, and `0` follows `/`."""
    return {"low": f"{folder}/" if folder else "", "high": f"{folder}0" if folder else "\U0010ffff"}


@dataclass(frozen=True, kw_only=True, slots=True)
class FileQueries:
    """The operations of a workspace in one schema.

    Args of all operations: `path` is checked and counts from the schema's root; `token` names one write, so that a
    write whose commit was cut off can be found again.
    """

    schema: str
    """A checked identifier."""

    def read(self, path: str, start: int, end: int | None) -> Work[StoredFile | None]:
        """Read `[start, end)` of a file."""
        rows = yield self._query(
            """
            SELECT f.content, f.size, c.start, c.data
            FROM {s}.files f
            LEFT JOIN {s}.chunks c ON c.content = f.content AND c.start < %(end)s AND c.start >= COALESCE(
                (SELECT max(b.start) FROM {s}.chunks b WHERE b.content = f.content AND b.start <= %(start)s), 0)
            WHERE f.path = %(path)s
            ORDER BY c.start
            """,
            path=path,
            start=start,
            end=2**62 if end is None else end,
        )
        if not rows:
            return None
        content, size = rows[0][:2]
        found = [(row[2], row[3]) for row in rows if row[2] is not None]
        first = found[0][0] if found else 0
        data = b"".join(piece for _, piece in found)
        return StoredFile(
            data=data[max(0, start - first) : None if end is None else max(0, end - first)],
            version=version_of(content, size),
        )

    def info(self, path: str) -> Work[FileInfo | None]:
        """Describe a file."""
        rows = yield self._query(
            "SELECT path, content, size, extract(epoch FROM modified)::float8 FROM {s}.files WHERE path = %(path)s",
            path=path,
        )
        return _info(rows[0], 0) if rows else None

    def listed(self, folder: str, root: str, *, recursive: bool) -> Work[list[FileInfo]]:
        """Describe the files of a folder, sorted; paths are relative to `root`."""
        direct = "" if recursive else "AND strpos(substr(path, %(from)s), '/') = 0"
        rows = yield self._query(
            f"""
            SELECT path, content, size, extract(epoch FROM modified)::float8 FROM {{s}}.files
            WHERE path >= %(low)s AND path < %(high)s {direct} ORDER BY path
            """,
            **below(folder),
            **({} if recursive else {"from": len(folder) + 2 if folder else 1}),
        )
        return [_info(row, len(root) + 1 if root else 0) for row in rows]

    def folders(self, folder: str) -> Work[list[str]]:
        """Name the direct sub-folders of a folder, by jumping from one to the next in the index."""
        rows = yield self._query(
            """
            WITH RECURSIVE found(name) AS (
                (SELECT split_part(substr(path, %(from)s), '/', 1) FROM {s}.files
                 WHERE path >= %(low)s AND path < %(high)s AND strpos(substr(path, %(from)s), '/') > 0
                 ORDER BY path LIMIT 1)
                UNION ALL
                SELECT (SELECT split_part(substr(path, %(from)s), '/', 1) FROM {s}.files
                        WHERE path >= %(low)s || found.name || '0' AND path < %(high)s
                          AND strpos(substr(path, %(from)s), '/') > 0
                        ORDER BY path LIMIT 1)
                FROM found WHERE found.name IS NOT NULL
            )
            SELECT name FROM found WHERE name IS NOT NULL
            """,
            **below(folder),
            **{"from": len(folder) + 2 if folder else 1},
        )
        return sorted(row[0] for row in rows)

    def append(
        self, path: str, data: bytes, token: str, *, is_whole_line: Callable[[bytes], bool] | None
    ) -> Work[tuple[int, tuple[str, int] | None]]:
        """Append in one statement; a file whose last line is not whole is mended first.

        Returns:
            The offset of `data`, and where a fragment went and how long it was, if one was moved aside.
        """
        rows = yield self._append_query(path, data, token)
        if rows:
            return rows[0][0], None
        yield Begin()
        yield from self._check_place(path)
        rows = yield self._query(
            "SELECT content, size, ends_whole FROM {s}.files WHERE path = %(path)s FOR UPDATE", path=path
        )
        torn: tuple[str, int] | None = None
        if rows and not rows[0][2]:
            torn = yield from self._mend(path, rows[0][0], rows[0][1], token, is_whole_line)
        rows = yield self._append_query(path, data, token)
        if not rows:
            raise WorkspaceError(f"{path!r} could not be appended to: it changed at every try")
        return rows[0][0], torn

    def appended(self, path: str, token: str) -> Work[tuple[int, tuple[str, int] | None] | None]:
        """Find an append by its token; `None` where it never arrived. Waits for one that is still under way."""
        yield Begin()
        rows = yield self._query("SELECT content FROM {s}.files WHERE path = %(path)s FOR UPDATE", path=path)
        if not rows:
            return None
        rows = yield self._query(
            """
            SELECT start FROM (SELECT start, token FROM {s}.chunks WHERE content = %(content)s ORDER BY start DESC LIMIT 1000) t
            WHERE token = %(token)s ORDER BY start LIMIT 1
            """,
            content=rows[0][0],
            token=token,
        )
        return (rows[0][0], None) if rows else None

    def replace(self, path: str, data: bytes, token: str, *, expect: str | None, create: bool) -> Work[str]:
        """Replace a file if it is at a version."""
        yield Begin()
        rows = yield self._query("SELECT content, size FROM {s}.files WHERE path = %(path)s FOR UPDATE", path=path)
        if rows and create:
            raise VersionConflict(f"{path!r} exists already")
        if not rows and expect is not None:
            raise VersionConflict(f"{path!r} was deleted since it was read: read it again")
        if rows and expect is not None and version_of(*rows[0]) != expect:
            raise VersionConflict(f"{path!r} changed since it was read: read it again")
        if not rows:
            yield from self._check_place(path)
        return (yield from self._rewrite(path, data, token, old=rows[0][0] if rows else None, create=create))

    def replaced(self, path: str, token: str) -> Work[str | None]:
        """Find a replace by its token; `None` where it never arrived or was replaced since."""
        rows = yield self._query(
            "SELECT content, size FROM {s}.files WHERE path = %(path)s AND token = %(token)s FOR UPDATE",
            path=path,
            token=token,
        )
        return version_of(*rows[0]) if rows else None

    def move(self, source: str, target: str) -> Work[None]:
        """Move a file to a name that is free."""
        yield Begin()
        yield from self._check_place(target)
        rows = yield self._query(
            """
            UPDATE {s}.files SET path = %(target)s WHERE path = %(source)s
            AND NOT EXISTS (SELECT 1 FROM {s}.files WHERE path = %(target)s) RETURNING content
            """,
            source=source,
            target=target,
        )
        if rows:
            return
        rows = yield self._query("SELECT 1 FROM {s}.files WHERE path = %(target)s", target=target)
        if rows:
            raise VersionConflict(f"{target!r} exists already; {source!r} was not moved")
        raise WorkspaceError(f"{source!r} cannot be moved: there is no such file")

    def delete(self, path: str) -> Work[bool]:
        """Delete a file, or everything below a folder, and its bytes."""
        yield Begin()
        rows = yield self._query(
            """
            SELECT content FROM {s}.files
            WHERE path = %(path)s OR (path >= %(low)s AND path < %(high)s) ORDER BY path FOR UPDATE
            """,
            path=path,
            **below(path),
        )
        contents = [row[0] for row in rows]
        if not contents:
            return False
        yield self._query("DELETE FROM {s}.chunks WHERE content = ANY(%(contents)s) RETURNING 1", contents=contents)
        yield self._query("DELETE FROM {s}.files WHERE content = ANY(%(contents)s) RETURNING 1", contents=contents)
        return True

    # -- leases: one clock decides, the server's ------------------------------------------------------------------

    def acquire_lease(self, name: str, owner: str, ttl: timedelta) -> Work[bool]:
        """Claim a name unless a claim on it holds."""
        rows = yield self._query(
            """
            INSERT INTO {s}.leases AS l (name, owner, until)
            VALUES (%(name)s, %(owner)s, clock_timestamp() + %(ttl)s)
            ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = clock_timestamp() + %(ttl)s
            WHERE l.until <= clock_timestamp() RETURNING 1
            """,
            name=name,
            owner=owner,
            ttl=ttl,
        )
        return bool(rows)

    def renew_lease(self, name: str, owner: str, ttl: timedelta) -> Work[bool]:
        """Prolong a claim that is still this owner's, also one whose time is over and that nobody took."""
        rows = yield self._query(
            "UPDATE {s}.leases SET until = clock_timestamp() + %(ttl)s WHERE name = %(name)s AND owner = %(owner)s RETURNING 1",
            name=name,
            owner=owner,
            ttl=ttl,
        )
        return bool(rows)

    def release_lease(self, name: str, owner: str) -> Work[None]:
        """Give a claim back, and forget claims that ended long ago."""
        yield self._query(
            """
            DELETE FROM {s}.leases
            WHERE (name = %(name)s AND owner = %(owner)s) OR until < clock_timestamp() - interval '7 days' RETURNING 1
            """,
            name=name,
            owner=owner,
        )

    # -- below: parts of the above ----------------------------------------------------------------------------------

    def _query(self, text: str, **values: Any) -> Query:
        return Query(text=text.format(s=self.schema), values=values)

    def _append_query(self, path: str, data: bytes, token: str) -> Query:
        """Make room in the file's row and insert the bytes, in one statement; no row comes back where that is not allowed."""
        return self._query(
            """
            WITH room AS (
                INSERT INTO {s}.files AS f (path, content, size, ends_whole, token)
                SELECT %(path)s, nextval('{s}.contents'), %(size)s, %(whole)s, %(token)s
                WHERE NOT EXISTS (SELECT 1 FROM {s}.files WHERE path = ANY(%(above)s))
                  AND NOT EXISTS (SELECT 1 FROM {s}.files WHERE path >= %(low)s AND path < %(high)s)
                ON CONFLICT (path) DO UPDATE SET size = f.size + excluded.size, token = excluded.token,
                    ends_whole = CASE WHEN excluded.size = 0 THEN f.ends_whole ELSE excluded.ends_whole END,
                    modified = clock_timestamp()
                WHERE f.ends_whole
                RETURNING content, size
            ), bytes AS (
                INSERT INTO {s}.chunks (content, start, data, token)
                SELECT content, size - %(size)s, %(data)s, %(token)s FROM room WHERE %(size)s > 0
            )
            SELECT size - %(size)s FROM room
            """,
            path=path,
            size=len(data),
            whole=not data or data.endswith(b"\n"),
            token=token,
            data=data,
            above=_above(path),
            **below(path),
        )

    def _check_place(self, path: str) -> Work[None]:
        rows = yield self._query(
            """
            SELECT path FROM {s}.files WHERE path = ANY(%(above)s) OR (path >= %(low)s AND path < %(high)s) LIMIT 1
            """,
            above=_above(path),
            **below(path),
        )
        if rows and rows[0][0].startswith(f"{path}/"):
            raise PathRefused(f"{path!r} is a folder")
        if rows:
            raise PathRefused(f"{path!r} cannot be written: {rows[0][0]!r} is a file")

    def _mend(
        self, path: str, content: int, size: int, token: str, is_whole_line: Callable[[bytes], bool] | None
    ) -> Work[tuple[str, int] | None]:
        """End the last line of a locked file, or move it aside if it is torn."""
        stored = yield from self.read(path, 0, None)
        data = b"" if stored is None else stored.data
        begin = data.rfind(b"\n") + 1
        if is_whole_line is None or is_whole_line(data[begin:]):
            yield self._query(
                "INSERT INTO {s}.chunks (content, start, data, token) VALUES (%(content)s, %(size)s, %(newline)s, %(token)s) RETURNING 1",
                content=content,
                size=size,
                newline=b"\n",
                token="",
            )
            yield self._query(
                "UPDATE {s}.files SET size = size + 1, ends_whole = true WHERE content = %(content)s RETURNING 1",
                content=content,
            )
            return None
        aside = yield from self._free_name(f"{path}.torn-")
        yield from self._rewrite(aside, data[begin:], token, old=None, create=True)
        yield from self._rewrite(path, data[:begin], token, old=content, create=False)
        return aside, len(data) - begin

    def _free_name(self, stem: str) -> Work[str]:
        rows = yield self._query(
            "SELECT path FROM {s}.files WHERE path >= %(low)s AND path < %(high)s", low=stem, high=f"{stem}:"
        )
        taken = {row[0] for row in rows}
        return next(f"{stem}{n}" for n in range(1, len(taken) + 2) if f"{stem}{n}" not in taken)

    def _rewrite(self, path: str, data: bytes, token: str, *, old: int | None, create: bool) -> Work[str]:
        """Give a file new content; its row is locked (`old` is its content) or is made here."""
        if old is None:
            old = yield from self._claim_row(path, token, create=create)
        yield self._query("DELETE FROM {s}.chunks WHERE content = %(old)s RETURNING 1", old=old)
        rows = yield self._query(
            """
            UPDATE {s}.files SET content = nextval('{s}.contents'), size = %(size)s, ends_whole = %(whole)s,
                token = %(token)s, modified = clock_timestamp()
            WHERE path = %(path)s RETURNING content
            """,
            path=path,
            size=len(data),
            whole=not data or data.endswith(b"\n"),
            token=token,
        )
        content = rows[0][0]
        for start in range(0, len(data), CHUNK):
            yield self._query(
                "INSERT INTO {s}.chunks (content, start, data, token) VALUES (%(content)s, %(start)s, %(data)s, %(token)s) RETURNING 1",
                content=content,
                start=start,
                data=data[start : start + CHUNK],
                token=token,
            )
        return version_of(content, len(data))

    def _claim_row(self, path: str, token: str, *, create: bool) -> Work[int]:
        """Make a file's row, or lock the one that somebody made meanwhile, and return its content."""
        rows = yield self._query(
            f"""
            INSERT INTO {{s}}.files (path, content, size, ends_whole, token)
            VALUES (%(path)s, nextval('{{s}}.contents'), 0, true, %(token)s)
            ON CONFLICT (path) DO {"NOTHING" if create else "UPDATE SET token = excluded.token"} RETURNING content
            """,
            path=path,
            token=token,
        )
        if not rows:
            raise VersionConflict(f"{path!r} exists already")
        return int(rows[0][0])


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


def _info(row: tuple[Any, ...], cut: int) -> FileInfo:
    path, content, size, modified = row
    return FileInfo(path=path[cut:], size=size, modified=modified, fingerprint=version_of(content, size))
