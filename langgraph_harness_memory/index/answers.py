"""One tenant's rows in the index file, read for a search: the answers to `search_steps`."""

import sqlite3
from collections.abc import Iterable
from datetime import date
from typing import Any, assert_never

from langgraph_harness_memory.index.rank import Candidate
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

_COLUMNS = "l.id, l.file, '', l.number, '', l.terms, l.heading, l.day, l.source, l.is_heading"
"""Of a candidate; path and text are read for the few that become hits, which halves the time of a search."""


def _counts(db: sqlite3.Connection, tenant: int, terms: Iterable[str]) -> dict[str, dict[int, int]]:
    """Return in how many lines of which file each term stands; terms that stand nowhere are left out."""
    found: dict[str, dict[int, int]] = {}
    for term in terms:
        of_term = dict(db.execute("SELECT file, lines FROM occurrence WHERE tenant = ? AND term = ?", (tenant, term)))
        if of_term:
            found[term] = of_term
    return found


MOST_REMEMBERED = 20_000
"""Rows that are kept in memory between searches (8 MB); above it all are dropped and read again as they are needed."""


def answer(
    db: sqlite3.Connection, tenant: int, request: Request, remembered: dict[int, Candidate] | None = None
) -> Any:
    """Answer one request of a search, in one tenant's rows.

    Args:
        db: An open transaction.
        tenant: Whose rows.
        request: What is asked.
        remembered: Rows that earlier searches read, good for the generation that this transaction sees; is added to.
    """
    match request:
        case Counts(terms=terms):
            return _counts(db, tenant, terms)
        case ByTerms():
            return _by_terms(db, tenant, request, {} if remembered is None else remembered)
        case OfDays(first=first, last=last, limit=limit):
            return _select(db, "l.day BETWEEN ? AND ?", (tenant, *_span(first, last)), limit)
        case Literally():
            return _literally(db, tenant, request)
        case Vocabulary():
            sql = "SELECT term, sum(lines) FROM occurrence WHERE tenant = ? GROUP BY term"
            return dict(db.execute(sql, (tenant,)))
        case ByMeaning():
            return []  # answered by who has the vectors
        case Complete(found=found):
            sql = "SELECT f.path, l.text FROM line l JOIN file f ON f.id = l.file WHERE l.id = ?"
            return [_completed(c, *db.execute(sql, (c.key,)).fetchone()) for c in found]
        case _:
            assert_never(request)


def _completed(candidate: Candidate, path: str, text: str) -> Candidate:
    return candidate._replace(path=path, text=text)


def _by_terms(
    db: sqlite3.Connection, tenant: int, request: ByTerms, remembered: dict[int, Candidate]
) -> list[Candidate]:
    match = " OR ".join('"' + term.replace('"', '""') + '"' for term in request.essential)
    values: tuple[object, ...] = (match,)
    if request.since is None and request.until is None:
        sql = f"SELECT rowid FROM fts_{tenant} WHERE fts_{tenant} MATCH ?"
    else:
        sql = (
            f"SELECT d.id FROM fts_{tenant} CROSS JOIN line d ON d.id = fts_{tenant}.rowid"
            f" WHERE fts_{tenant} MATCH ? AND d.day BETWEEN ? AND ?"
        )
        values += _span(request.since, request.until)
    every = sum(map(request.counts.__getitem__, request.essential)) <= request.limit
    order = "" if every else "ORDER BY rank"  # so few lines are all ranked later on
    keys = [key for (key,) in db.execute(f"{sql} {order} LIMIT ?", (*values, request.limit))]
    return rows_of_keys(db, keys, remembered)


def rows_of_keys(db: sqlite3.Connection, keys: list[int], remembered: dict[int, Candidate]) -> list[Candidate]:
    """Return rows by their keys, in the order given; what is read is remembered."""
    unknown = [key for key in keys if key not in remembered]
    if len(remembered) + len(unknown) > MOST_REMEMBERED:
        remembered.clear()
        unknown = keys
    if unknown:
        rows = db.execute(
            f"SELECT {_COLUMNS} FROM line l WHERE l.id IN (SELECT value FROM json_each(?))", (str(unknown),)
        )
        remembered.update((row[0], Candidate._make(row)) for row in rows)
    return [remembered[key] for key in keys]


def _literally(db: sqlite3.Connection, tenant: int, request: Literally) -> list[Candidate]:
    where = " OR ".join("instr(l.text, ?)" for _ in request.texts)
    values: tuple[object, ...] = (tenant, *request.texts)
    if request.since is None and request.until is None:
        return _select(db, f"({where})", values, request.limit)
    return _select(
        db, f"({where}) AND l.day BETWEEN ? AND ?", (*values, *_span(request.since, request.until)), request.limit
    )


def _select(db: sqlite3.Connection, where: str, values: tuple[object, ...], limit: int) -> list[Candidate]:
    """Return lines of a tenant that meet a condition, newest day first."""
    sql = f"SELECT {_COLUMNS} FROM line l WHERE l.tenant = ? AND {where} ORDER BY l.day DESC, l.id LIMIT ?"
    return list(map(Candidate._make, db.execute(sql, (*values, limit))))


def _span(since: date | None, until: date | None) -> tuple[str, str]:
    return (since or date.min).isoformat(), (until or date.max).isoformat()
