"""One tenant's rows in Postgres: written by what changed, read for a search; pure, no connection.

Each function is a generator of queries (`workspace.postgres_sql.Work`). A tenant's row is locked while its lines are
written, so that two replicas that notice the same change write it once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, assert_never

from langgraph_harness_memory.index.postgres_schema import STAMP
from langgraph_harness_memory.index.rank import Candidate, FileSize
from langgraph_harness_memory.index.rows import (
    Above,
    Marks,
    Row,
    changes,
    is_indexed,
    marks_of,
    occurrences,
    only_grew,
    rows_of,
)
from langgraph_harness_memory.index.search_steps import (
    ByMeaning,
    ByTerms,
    Complete,
    Counts,
    Literally,
    OfDays,
    Request,
    Vocabulary,
)
from langgraph_harness_memory.workspace.postgres_sql import Begin, Commit, FileQueries, Query, Rows, Work

LEXEME_BYTES = 400_000
"""Bytes of one line's lexemes; a tsvector holds a megabyte, and no longer line says anything that its beginning does not."""

_COLUMNS = "l.id, l.file, '', l.number, '', l.terms, l.heading, l.day, '', l.is_heading"
"""A candidate without what only a hit needs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tenant:
    """A tenant of the index."""

    id: int
    generation: int
    """Changes with every change of its rows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Known:
    id: int
    fingerprint: str
    marks: Marks
    above: Above


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexQueries:
    """The operations of an index in one schema, for one tenant's root (`""` = the shared one)."""

    schema: str
    """A checked, quoted identifier."""
    root: str

    # -- what is there ------------------------------------------------------------------------------------------------

    def tenant(self) -> Work[Tenant]:
        """Find the tenant, or make it; one that was indexed by another version is emptied."""
        rows = yield self._query(
            "SELECT id, generation, stamp FROM {s}.index_tenants WHERE root = %(root)s", root=self.root
        )
        if rows and rows[0][2] == STAMP:
            return Tenant(id=rows[0][0], generation=rows[0][1])
        yield Begin()
        yield self._query(
            "DELETE FROM {s}.index_tenants WHERE root = %(root)s AND stamp <> %(stamp)s", root=self.root, stamp=STAMP
        )
        yield self._query(
            "INSERT INTO {s}.index_tenants (root, stamp) VALUES (%(root)s, %(stamp)s) ON CONFLICT (root) DO NOTHING",
            root=self.root,
            stamp=STAMP,
        )
        yield Commit()
        rows = yield self._query("SELECT id, generation FROM {s}.index_tenants WHERE root = %(root)s", root=self.root)
        return Tenant(id=rows[0][0], generation=rows[0][1])

    def stale(self, tenant: int, *, all_files: bool = False) -> Work[list[str]]:
        """List the files, relative to the root, whose rows are not of the version that is stored, and those that are gone.

        Args:
            tenant: Whose.
            all_files: Every file that is or was there.
        """
        at = f"{self.root}/" if self.root else ""
        rows = yield self._query(
            f"""
            SELECT substr(f.path, %(from)s) FROM {{s}}.files f
            LEFT JOIN {{s}}.index_files i ON i.tenant = %(tenant)s AND i.path = substr(f.path, %(from)s)
            WHERE (f.path = %(curated)s OR (f.path >= %(memory)s || '/' AND f.path < %(memory)s || '0')
                   OR (f.path >= %(knowledge)s || '/' AND f.path < %(knowledge)s || '0'))
              AND ({"true" if all_files else "i.id IS NULL OR i.fingerprint <> f.content || ':' || f.size"})
            UNION
            SELECT i.path FROM {{s}}.index_files i
            WHERE i.tenant = %(tenant)s AND i.stored
              AND NOT EXISTS (SELECT 1 FROM {{s}}.files f WHERE f.path = %(at)s || i.path)
            """,
            tenant=tenant,
            at=at,
            curated=f"{at}MEMORY.md",
            memory=f"{at}memory",
            knowledge=f"{at}knowledge",
            **{"from": len(at) + 1},
        )
        return sorted(row[0] for row in rows if is_indexed(row[0]))

    def drawn(self, tenant: int, limit: int) -> Work[list[str]]:
        """Draw files of about so many lines in all; the last one may exceed them."""
        rows = yield self._query(
            """
            SELECT path FROM (
                SELECT path, sum(lines) OVER (ORDER BY draw, id) - lines AS before FROM (
                    SELECT id, path, lines, random() AS draw FROM {s}.index_files
                    WHERE tenant = %(tenant)s AND stored
                ) AS drawn
            ) AS summed WHERE before < %(limit)s
            """,
            tenant=tenant,
            limit=limit,
        )
        return [row[0] for row in rows]

    def sizes(self, tenant: int) -> Work[dict[int, FileSize]]:
        """Say how large each file is."""
        rows = yield self._query(
            "SELECT id, lines, terms FROM {s}.index_files WHERE tenant = %(tenant)s AND lines > 0", tenant=tenant
        )
        return {file: FileSize(lines, terms) for file, lines, terms in rows}

    def roots(self) -> Work[list[str]]:
        """List the roots that have rows."""
        rows = yield self._query("SELECT root FROM {s}.index_tenants ORDER BY root")
        return [row[0] for row in rows]

    # -- writing ----------------------------------------------------------------------------------------------------------

    def read_again(self, tenant: int, path: str, *, verify: bool = False) -> Work[None]:
        """Bring a file's rows up to date with the file itself, as it is at this moment.

        Args:
            tenant: Whose.
            path: Relative to the root.
            verify: Compare every row, whatever the fingerprint and hashes say.
        """
        yield Begin()
        yield from self._lock(tenant)
        known = yield from self._known(tenant, path)
        files = FileQueries(schema=self.schema)
        stored = yield from files.read(f"{self.root}/{path}" if self.root else path, 0, None)
        if stored is None:
            if known is not None:
                yield from self._remove_file(tenant, known.id)
        elif known is None or known.fingerprint != stored.version or verify:
            yield from self._write(tenant, path, stored.data, known, fingerprint=stored.version, verify=verify)
        yield Commit()

    def write_text(self, tenant: int, path: str, data: bytes) -> Work[None]:
        """Bring a file's rows up to date with a text that was handed in; no text removes them."""
        yield Begin()
        yield from self._lock(tenant)
        known = yield from self._known(tenant, path)
        if data:
            yield from self._write(tenant, path, data, known, fingerprint="", verify=False)
        elif known is not None:
            yield from self._remove_file(tenant, known.id)
        yield Commit()

    def remove_tenant(self) -> Work[None]:
        """Remove every row of this tenant."""
        yield Begin()
        yield self._query(
            "DELETE FROM {s}.index_files WHERE tenant IN (SELECT id FROM {s}.index_tenants WHERE root = %(root)s)",
            root=self.root,
        )
        yield self._query("DELETE FROM {s}.index_tenants WHERE root = %(root)s", root=self.root)

    def vacuums(self) -> list[str]:
        """Return the statements that take deleted rows out of the pages of the index and of the files."""
        tables = ("index_lines", "index_files", "index_occurrences", "chunks")
        return [f"VACUUM {self.schema}.{table}" for table in tables]

    def ask(self, statement: str) -> Work[None]:
        """Ask one statement as it is."""
        yield Query(text=statement, values={})

    def _write(
        self, tenant: int, path: str, data: bytes, known: _Known | None, *, fingerprint: str, verify: bool
    ) -> Work[None]:
        marks = marks_of(data)
        if known is not None and known.marks == marks and not verify:
            yield self._query(
                "UPDATE {s}.index_files SET fingerprint = %(fingerprint)s, stored = %(stored)s WHERE id = %(file)s",
                fingerprint=fingerprint,
                stored=bool(fingerprint),
                file=known.id,
            )
            return
        file = known.id if known is not None else (yield from self._make_file(tenant, path))
        if known is not None and not verify and only_grew(data, known.marks):
            rows, above = rows_of(path, data[known.marks.size :].decode("utf-8", "replace"), known.above)
            yield from self._remove_rows(tenant, file, "number > %(number)s", number=known.above.number)
            yield from self._add_rows(tenant, file, rows)
        else:
            rows, above = rows_of(path, data.decode("utf-8", "replace"))
            yield from self._replace_rows(tenant, file, rows)
        yield self._query(
            """
            UPDATE {s}.index_files SET fingerprint = %(fingerprint)s, stored = %(stored)s, size = %(size)s, prefix = %(prefix)s,
                whole = %(whole)s, number = %(number)s, heading = %(heading)s, day = %(day)s, source = %(source)s,
                lines = (SELECT count(*) FROM {s}.index_lines WHERE file = %(file)s),
                terms = (SELECT coalesce(sum(length), 0) FROM {s}.index_lines WHERE file = %(file)s)
            WHERE id = %(file)s
            """,
            fingerprint=fingerprint,
            stored=bool(fingerprint),
            size=marks.size,
            prefix=marks.prefix,
            whole=marks.whole,
            number=above.number,
            heading=_storable(above.heading),
            day=above.day,
            source=_storable(above.source),
            file=file,
        )
        yield from self._touch(tenant)

    def _replace_rows(self, tenant: int, file: int, rows: list[Row]) -> Work[None]:
        """Write the rows that differ; those below a change only take their new number."""
        found = yield self._query(
            "SELECT id, number, text, terms, heading, day, source, is_heading FROM {s}.index_lines WHERE file = %(file)s ORDER BY number, id",
            file=file,
        )
        after = [_storable_row(row) for row in rows]
        change = changes([Row(*row[1:]) for row in found], after)
        ids = [row[0] for row in found]
        if change.removed:
            yield from self._remove_rows(
                tenant, file, "id = ANY(%(ids)s)", ids=[ids[place] for place in change.removed]
            )
        if change.shift and change.shifted_from < len(ids):
            yield self._query(
                "UPDATE {s}.index_lines SET number = number + %(shift)s WHERE id = ANY(%(ids)s)",
                shift=change.shift,
                ids=ids[change.shifted_from :],
            )
        yield from self._add_rows(tenant, file, change.added)

    def _add_rows(self, tenant: int, file: int, rows: Sequence[Row]) -> Work[None]:
        if not rows:
            return
        kept = [_storable_row(row) for row in rows]
        yield self._query(
            """
            INSERT INTO {s}.index_lines (tenant, file, number, text, terms, length, heading, day, source, is_heading, lexemes)
            SELECT %(tenant)s, %(file)s, r.number, r.text, r.terms, r.length, r.heading, r.day, r.source, r.is_heading,
                array_to_tsvector(array_append(string_to_array(r.lexemes, ' '), %(name)s))
            FROM unnest(%(numbers)s::integer[], %(texts)s::text[], %(terms)s::text[], %(lengths)s::integer[], %(headings)s::text[],
                %(days)s::text[], %(sources)s::text[], %(marks)s::boolean[], %(lexemes)s::text[])
                AS r (number, text, terms, length, heading, day, source, is_heading, lexemes)
            """,
            tenant=tenant,
            file=file,
            name=_tenant_lexeme(tenant),
            numbers=[row.number for row in kept],
            texts=[row.text for row in kept],
            terms=[row.terms for row in kept],
            lengths=[row.terms.count(" ") + 1 if row.terms else 0 for row in kept],
            headings=[row.heading for row in kept],
            days=[row.day for row in kept],
            sources=[row.source for row in kept],
            marks=[row.is_heading for row in kept],
            lexemes=[_lexemes(row.terms) for row in kept],
        )
        yield from self._count(tenant, file, occurrences(row.terms for row in kept))

    def _remove_rows(self, tenant: int, file: int, where: str, **values: Any) -> Work[None]:
        rows = yield self._query(
            f"DELETE FROM {{s}}.index_lines WHERE file = %(file)s AND {where} RETURNING terms", file=file, **values
        )
        gone = occurrences(row[0] for row in rows)
        yield from self._count(tenant, file, Counter({term: -count for term, count in gone.items()}))

    def _count(self, tenant: int, file: int, counts: Counter[str]) -> Work[None]:
        if not counts:
            return
        ordered = sorted(counts.items())
        yield self._query(
            """
            INSERT INTO {s}.index_occurrences AS o (tenant, term, file, lines)
            SELECT %(tenant)s, c.term, %(file)s, c.lines FROM unnest(%(terms)s::text[], %(lines)s::integer[]) AS c (term, lines)
            ON CONFLICT (tenant, term, file) DO UPDATE SET lines = o.lines + excluded.lines
            """,
            tenant=tenant,
            file=file,
            terms=[term for term, _ in ordered],
            lines=[count for _, count in ordered],
        )
        if any(count < 0 for _, count in ordered):
            yield self._query("DELETE FROM {s}.index_occurrences WHERE file = %(file)s AND lines <= 0", file=file)

    def _remove_file(self, tenant: int, file: int) -> Work[None]:
        yield self._query("DELETE FROM {s}.index_files WHERE id = %(file)s", file=file)
        yield from self._touch(tenant)

    def _make_file(self, tenant: int, path: str) -> Work[int]:
        rows = yield self._query(
            "INSERT INTO {s}.index_files (tenant, path) VALUES (%(tenant)s, %(path)s) RETURNING id",
            tenant=tenant,
            path=path,
        )
        return int(rows[0][0])

    def _known(self, tenant: int, path: str) -> Work[_Known | None]:
        rows = yield self._query(
            """
            SELECT id, fingerprint, size, prefix, whole, number, heading, day, source FROM {s}.index_files
            WHERE tenant = %(tenant)s AND path = %(path)s
            """,
            tenant=tenant,
            path=path,
        )
        if not rows:
            return None
        file, fingerprint, size, prefix, whole, number, heading, day, source = rows[0]
        return _Known(
            id=file,
            fingerprint=fingerprint,
            marks=Marks(size=size, prefix=prefix, whole=whole),
            above=Above(number=number, heading=heading, day=day, source=source),
        )

    def _lock(self, tenant: int) -> Work[None]:
        yield self._query("SELECT 1 FROM {s}.index_tenants WHERE id = %(tenant)s FOR UPDATE", tenant=tenant)

    def _touch(self, tenant: int) -> Work[None]:
        yield self._query(
            "UPDATE {s}.index_tenants SET generation = generation + 1 WHERE id = %(tenant)s", tenant=tenant
        )

    # -- answers to a search ------------------------------------------------------------------------------------------------

    def answer(self, tenant: int, request: Request) -> Work[Any]:
        """Answer one request of a search."""
        match request:
            case Counts():
                return (yield from self._counts(tenant, request))
            case ByTerms():
                return (yield from self._by_terms(tenant, request))
            case OfDays():
                return (yield from self._of_days(tenant, request))
            case Literally():
                return (yield from self._literally(tenant, request))
            case ByMeaning():
                return []  # only asked of an index with embeddings
            case Vocabulary():
                rows = yield self._query(
                    "SELECT term, sum(lines)::integer FROM {s}.index_occurrences WHERE tenant = %(tenant)s GROUP BY term",
                    tenant=tenant,
                )
                return dict(rows)
            case Complete():
                return (yield from self._complete(request))
            case _:
                assert_never(request)

    def _complete(self, request: Complete) -> Work[list[Candidate]]:
        rows = yield self._query(
            """
            SELECT l.id, f.path, l.text, l.source FROM {s}.index_lines l JOIN {s}.index_files f ON f.id = l.file
            WHERE l.id = ANY(%(keys)s)
            """,
            keys=[candidate.key for candidate in request.found],
        )
        shown = {key: {"path": path, "text": text, "source": source} for key, path, text, source in rows}
        return [candidate._replace(**shown[candidate.key]) for candidate in request.found]

    def _counts(self, tenant: int, request: Counts) -> Work[dict[str, dict[int, int]]]:
        rows = yield self._query(
            "SELECT term, file, lines FROM {s}.index_occurrences WHERE tenant = %(tenant)s AND term = ANY(%(terms)s)",
            tenant=tenant,
            terms=list(request.terms),
        )
        found: dict[str, dict[int, int]] = {}
        for term, file, lines in rows:
            found.setdefault(term, {})[file] = lines
        return found

    def _by_terms(self, tenant: int, request: ByTerms) -> Work[list[Candidate]]:
        """Order the lines that hold an essential term by bm25 with every term counted once; the ranking counts exactly."""
        gains = " + ".join(
            f"CASE WHEN l.lexemes @@ %(q{n})s::tsquery THEN %(w{n})s::float8 ELSE 0 END"
            for n in range(len(request.weights))
        )
        rows = yield self._query(
            f"""
            SELECT {_COLUMNS} FROM {{s}}.index_lines l
            WHERE l.lexemes @@ %(query)s::tsquery AND l.tenant = %(tenant)s {_within(request.since, request.until)}
            ORDER BY ({gains}) / (1 + 0.3 * l.length / %(mean)s::float8) DESC, l.id LIMIT %(limit)s
            """,
            query=f"{_quoted(_tenant_lexeme(tenant))} & ({' | '.join(map(_quoted, request.essential))})",
            tenant=tenant,
            mean=request.mean,
            limit=request.limit,
            **{f"q{n}": _quoted(term) for n, term in enumerate(request.weights)},
            **{f"w{n}": weight for n, weight in enumerate(request.weights.values())},
            **_span(request.since, request.until),
        )
        return _found(rows)

    def _of_days(self, tenant: int, request: OfDays) -> Work[list[Candidate]]:
        rows = yield self._query(
            f"""
            SELECT {_COLUMNS} FROM {{s}}.index_lines l
            WHERE l.tenant = %(tenant)s {_within(request.first, request.last)} ORDER BY l.day DESC, l.id LIMIT %(limit)s
            """,
            tenant=tenant,
            limit=request.limit,
            **_span(request.first, request.last),
        )
        return _found(rows)

    def _literally(self, tenant: int, request: Literally) -> Work[list[Candidate]]:
        rows = yield self._query(
            f"""
            SELECT {_COLUMNS} FROM {{s}}.index_lines l
            WHERE l.tenant = %(tenant)s AND EXISTS (SELECT 1 FROM unnest(%(texts)s::text[]) t WHERE strpos(l.text, t) > 0)
            {_within(request.since, request.until)} ORDER BY l.day DESC, l.id LIMIT %(limit)s
            """,
            tenant=tenant,
            texts=[_storable(text) for text in request.texts],
            limit=request.limit,
            **_span(request.since, request.until),
        )
        return _found(rows)

    def _query(self, text: str, **values: Any) -> Query:
        return Query(text=text.format(s=self.schema), values=values)


def _within(since: date | None, until: date | None) -> str:
    return "" if since is None and until is None else "AND l.day BETWEEN %(since)s AND %(until)s"


def _span(since: date | None, until: date | None) -> Mapping[str, str]:
    if since is None and until is None:
        return {}
    return {"since": (since or date.min).isoformat(), "until": (until or date.max).isoformat()}


def _found(rows: Rows) -> list[Candidate]:
    return list(map(Candidate._make, rows))


def _tenant_lexeme(tenant: int) -> str:
    """Name a tenant by a lexeme that no term can be, since no term holds a blank."""
    return f" {tenant}"


def _quoted(lexeme: str) -> str:
    """Write a lexeme as a tsquery takes it, whatever characters it holds."""
    doubled = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"


def _lexemes(terms: str) -> str:
    """Return the terms that fit into a tsvector."""
    if len(terms) * 4 <= LEXEME_BYTES:
        return terms
    kept = terms.encode()[:LEXEME_BYTES].decode("utf-8", "ignore")
    return kept.rsplit(" ", 1)[0]


def _storable(text: str) -> str:
    """Put a mark in the place of NUL, which Postgres' text cannot hold."""
    return text.replace("\0", "\ufffd")


def _storable_row(row: Row) -> Row:
    return Row(
        row.number,
        _storable(row.text),
        _storable(row.terms),
        _storable(row.heading),
        row.day,
        _storable(row.source),
        row.is_heading,
    )
