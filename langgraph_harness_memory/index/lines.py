"""One tenant's rows in the index file, written by what changed.

Each function takes an open transaction. A file's rows, its occurrences and the full-text entries change together or
not at all.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from langgraph_harness_memory.index.rank import FileSize
from langgraph_harness_memory.index.rows import Above, Marks, Row, changes, marks_of, occurrences, only_grew, rows_of
from langgraph_harness_memory.index.schema import drop_tenant, tenant_tables


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """When and as what a file was last read."""

    fingerprint: str = ""
    """What the workspace said of it; empty when its text was handed in."""
    checked: float = 0.0
    """Seconds since the epoch, by the clock that stamps files."""
    on_disk: bool = False
    """It is a file of the workspace: once it is gone there, its rows go too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownFile:
    """A file as the index has it."""

    id: int
    seen: "Seen"
    marks: Marks
    above: Above


def tenant_id(db: sqlite3.Connection, root: str) -> int | None:
    """Return the number of a tenant; `None` when nothing of it is indexed."""
    row = db.execute("SELECT id FROM tenant WHERE root = ?", (root,)).fetchone()
    return row[0] if row else None


def make_tenant(db: sqlite3.Connection, root: str) -> int:
    """Return the number of a tenant, making its tables where there are none."""
    found = tenant_id(db, root)
    if found is not None:
        return found
    made = db.execute("INSERT INTO tenant (root) VALUES (?)", (root,)).lastrowid
    assert made is not None
    for statement in tenant_tables(made):
        db.execute(statement)
    return made


def remove_tenant(db: sqlite3.Connection, tenant: int) -> None:
    """Remove every row of a tenant."""
    for statement in drop_tenant(tenant):
        db.execute(statement)


def tenants(db: sqlite3.Connection) -> dict[str, int]:
    """Return the numbers of all tenants by their root."""
    return dict(db.execute("SELECT root, id FROM tenant"))


def generation(db: sqlite3.Connection, tenant: int) -> int:
    """Return a number that changes with every change of a tenant's rows."""
    return int(db.execute("SELECT generation FROM tenant WHERE id = ?", (tenant,)).fetchone()[0])


def known_files(db: sqlite3.Connection, tenant: int) -> dict[str, Seen]:
    """Return when and as what each file of a tenant was last read, by path."""
    rows = db.execute("SELECT path, fingerprint, checked, on_disk FROM file WHERE tenant = ?", (tenant,))
    return {path: Seen(fingerprint=f, checked=checked, on_disk=bool(d)) for path, f, checked, d in rows}


def when_checked(db: sqlite3.Connection, tenant: int) -> list[tuple[str, float, int]]:
    """Return the path of each file of a tenant, when it was last read, and its lines."""
    return db.execute("SELECT path, checked, lines FROM file WHERE tenant = ?", (tenant,)).fetchall()


def write_file(
    db: sqlite3.Connection, tenant: int, path: str, data: bytes, *, seen: Seen, verify: bool = False
) -> bool:
    """Bring the rows of one file up to date, by the lines that changed.

    Args:
        db: A writing transaction.
        tenant: Whose file it is.
        path: Relative to the tenant's root.
        data: Its bytes.
        seen: When and as what it was read.
        verify: Compare every stored row, not only the hashes.

    Returns:
        Whether any row changed.
    """
    known = known_file(db, tenant, path)
    marks = marks_of(data)
    if known and known.marks == marks and not verify:
        _remember(db, known.id, seen)
        return False
    file = known.id if known else _make_file(db, tenant, path)
    if known and not verify and only_grew(data, known.marks):
        above = _append(db, tenant, path, data, known)
        changed = True
    else:
        rows, above = rows_of(path, _text(data))
        changed = _replace(db, tenant, file, rows)
    _remember(db, file, seen)
    db.execute(
        "UPDATE file SET size = ?, prefix = ?, whole = ?, number = ?, heading = ?, day = ?, source = ? WHERE id = ?",
        (marks.size, marks.prefix, marks.whole, above.number, above.heading, above.day, above.source, file),
    )
    if changed:
        _touch(db, tenant)
    return changed


def remove_file(db: sqlite3.Connection, tenant: int, path: str) -> bool:
    """Remove a file and its rows; `False` when there were none."""
    known = known_file(db, tenant, path)
    if known is None:
        return False
    _remove_rows(db, tenant, known.id, _stored_ids(db, known.id))
    db.execute("DELETE FROM file WHERE id = ?", (known.id,))
    _touch(db, tenant)
    return True


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _remember(db: sqlite3.Connection, file: int, seen: Seen) -> None:
    values = (seen.fingerprint, seen.checked, seen.on_disk, file)
    db.execute("UPDATE file SET fingerprint = ?, checked = ?, on_disk = ? WHERE id = ?", values)


def _touch(db: sqlite3.Connection, tenant: int) -> None:
    db.execute("UPDATE tenant SET generation = generation + 1 WHERE id = ?", (tenant,))


def known_file(db: sqlite3.Connection, tenant: int, path: str) -> KnownFile | None:
    """Return a file as the index has it; `None` where it has none of that path."""
    row = db.execute(
        "SELECT id, fingerprint, checked, on_disk, size, prefix, whole, number, heading, day, source"
        " FROM file WHERE tenant = ? AND path = ?",
        (tenant, path),
    ).fetchone()
    if row is None:
        return None
    file, fingerprint, checked, on_disk, size, prefix, whole, number, heading, day, source = row
    return KnownFile(
        id=file,
        seen=Seen(fingerprint=fingerprint, checked=checked, on_disk=bool(on_disk)),
        marks=Marks(size=size, prefix=prefix, whole=whole),
        above=Above(number=number, heading=heading, day=day, source=source),
    )


def _make_file(db: sqlite3.Connection, tenant: int, path: str) -> int:
    made = db.execute(
        "INSERT INTO file (tenant, path, fingerprint, checked, on_disk, size, prefix, whole,"
        " number, heading, day, source, lines, terms) VALUES (?, ?, '', 0, 0, 0, '', '', 0, '', '', '', 0, 0)",
        (tenant, path),
    ).lastrowid
    assert made is not None
    return made


def _append(db: sqlite3.Connection, tenant: int, path: str, data: bytes, known: KnownFile) -> Above:
    """Write what a file gained; a last line without its newline may have grown and is written again."""
    torn = db.execute("SELECT id FROM line WHERE file = ? AND number > ?", (known.id, known.above.number))
    _remove_rows(db, tenant, known.id, [row[0] for row in torn])
    rows, above = rows_of(path, _text(data[known.marks.size :]), known.above)
    _add_rows(db, tenant, known.id, rows)
    return above


def _replace(db: sqlite3.Connection, tenant: int, file: int, rows: list[Row]) -> bool:
    stored = db.execute(
        "SELECT id, number, text, terms, heading, day, source, is_heading FROM line WHERE file = ? ORDER BY number, id",
        (file,),
    ).fetchall()
    ids = [row[0] for row in stored]
    before = [_row(*row[1:]) for row in stored]
    if before == rows:
        return False
    change = changes(before, rows)
    _remove_rows(db, tenant, file, [ids[place] for place in change.removed])
    if change.shift:
        moved = [(change.shift, ids[place]) for place in range(change.shifted_from, len(ids))]
        db.executemany("UPDATE line SET number = number + ? WHERE id = ?", moved)
    _add_rows(db, tenant, file, change.added)
    return True


def _row(number: int, text: str, terms: str, *above: str | int) -> Row:
    heading, day, source, is_heading = above
    return Row(number, text, terms, str(heading), str(day), str(source), bool(is_heading))


def _stored_ids(db: sqlite3.Connection, file: int) -> list[int]:
    return [row[0] for row in db.execute("SELECT id FROM line WHERE file = ?", (file,))]


def _add_rows(db: sqlite3.Connection, tenant: int, file: int, rows: Sequence[Row]) -> None:
    if not rows:
        return
    (last,) = db.execute("SELECT coalesce(max(id), 0) FROM line").fetchone()
    db.executemany(
        "INSERT INTO line VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (i, tenant, file, r.number, r.text, r.terms, r.heading, r.day, r.source, r.is_heading)
            for i, r in enumerate(rows, last + 1)
        ),
    )
    db.executemany(
        f"INSERT INTO fts_{tenant} (rowid, terms) VALUES (?, ?)", ((i, r.terms) for i, r in enumerate(rows, last + 1))
    )
    _count(db, tenant, file, [row.terms for row in rows], sign=1)


def _remove_rows(db: sqlite3.Connection, tenant: int, file: int, ids: Sequence[int]) -> None:
    if not ids:
        return
    terms = [db.execute("SELECT terms FROM line WHERE id = ?", (i,)).fetchone()[0] for i in ids]
    db.executemany(
        f"INSERT INTO fts_{tenant} (fts_{tenant}, rowid, terms) VALUES ('delete', ?, ?)", zip(ids, terms, strict=True)
    )
    db.executemany("DELETE FROM line WHERE id = ?", ((i,) for i in ids))
    db.executemany("DELETE FROM vector WHERE line = ?", ((i,) for i in ids))
    _count(db, tenant, file, terms, sign=-1)


def _count(db: sqlite3.Connection, tenant: int, file: int, terms: Sequence[str], *, sign: int) -> None:
    """Keep in how many lines each term stands, and how large the file is."""
    counted = sorted(occurrences(terms).items())
    db.executemany(
        "INSERT INTO occurrence VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET lines = lines + excluded.lines",
        ((tenant, term, file, sign * count) for term, count in counted),
    )
    if sign < 0:
        db.executemany(
            "DELETE FROM occurrence WHERE tenant = ? AND term = ? AND file = ? AND lines <= 0",
            ((tenant, term, file) for term, _ in counted),
        )
    length = sum(t.count(" ") + 1 for t in terms if t)
    db.execute(
        "UPDATE file SET lines = lines + ?, terms = terms + ? WHERE id = ?", (sign * len(terms), sign * length, file)
    )


def file_sizes(db: sqlite3.Connection, tenant: int) -> dict[int, FileSize]:
    """Return how large each file of a tenant is."""
    rows = db.execute("SELECT id, lines, terms FROM file WHERE tenant = ? AND lines > 0", (tenant,))
    return {file: FileSize(lines, terms) for file, lines, terms in rows}


def check_full_text(db: sqlite3.Connection, tenant: int) -> None:
    """Compare the full-text entries of a tenant with its rows.

    Raises:
        sqlite3.DatabaseError: They differ.
    """
    db.execute(f"INSERT INTO fts_{tenant} (fts_{tenant}, rank) VALUES ('integrity-check', 1)")
