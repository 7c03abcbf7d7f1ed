"""An index that was deleted, damaged, replaced or written by another version is made anew, and no search fails."""

import random
import shutil
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from langgraph_harness_memory.errors import LockTimeout
from langgraph_harness_memory.events import Damaged, Event
from langgraph_harness_memory.index import database, refresh
from langgraph_harness_memory.index.sqlite import MemoryIndex

Open = Callable[..., MemoryIndex]


def _is_right(index: MemoryIndex) -> bool:
    found = [(h.path, h.line_number) for q in ("lemon", "alembic", "staging") for h in index.search(q)]
    return found == [("MEMORY.md", 3), ("memory/2026-03-04.md", 1), ("memory/2026-03-05.md", 1)]


def _file(ws: Path) -> Path:
    return ws.parent / "memory_index.db"


def _zeros_in_the_middle(path: Path) -> None:
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 1024] = bytes(1024)
    path.write_bytes(bytes(data))


def _other_version(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = '999/unicode-99' WHERE key = 'stamp'")
    db.close()


def _without_tables(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE occurrence")
    db.close()


def _rows_that_lie(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE line SET terms = 'other words' WHERE id = 1")
    db.close()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "empty": lambda p: p.write_bytes(b""),
    "text": lambda p: p.write_text("no database", encoding="utf-8"),
    "long text": lambda p: p.write_text("no database " * 1000, encoding="utf-8"),
    "truncated": lambda p: p.write_bytes(p.read_bytes()[: p.stat().st_size // 2]),
    "odd size": lambda p: p.write_bytes(p.read_bytes()[:-100]),
    "zeros": _zeros_in_the_middle,
    "header": lambda p: p.write_bytes(b"\xff" * 100 + p.read_bytes()[100:]),
    "other version": _other_version,
    "lost table": _without_tables,
    "rows that lie": _rows_that_lie,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_while_closed(ws: Path, opened: Open, damage: Callable[[Path], object]) -> None:
    """The next open repairs whatever happened to the file."""
    opened(ws).close()
    damage(_file(ws))
    assert _is_right(opened(ws))


@pytest.mark.parametrize(
    "damage", [DAMAGE["deleted"], DAMAGE["text"], DAMAGE["long text"]], ids=["deleted", "text", "long"]
)
def test_replaced_while_open(ws: Path, opened: Open, damage: Callable[[Path], object]) -> None:
    """A file that is removed or replaced under an open index is noticed at the next search."""
    index = opened(ws)
    assert _is_right(index)
    old = _file(ws)
    aside = old.with_suffix(".new")
    aside.write_bytes(old.read_bytes())
    damage(aside)
    if aside.exists():
        aside.replace(old)
    else:
        old.unlink()
    assert _is_right(index)
    (ws / "MEMORY.md").write_text("- Likes matcha\n", encoding="utf-8")
    assert index.search("matcha")


@pytest.mark.parametrize("seed", range(12))
def test_bytes_changed_anywhere(ws: Path, opened: Open, seed: int) -> None:
    """Damage at any place gives a right answer after the next open."""
    knowledge = ws / "knowledge"
    knowledge.mkdir()
    lines = [f"- note {i} about {random.Random(i).randbytes(3).hex()}" for i in range(300)]
    (knowledge / "notes.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    opened(ws).close()
    data = bytearray(_file(ws).read_bytes())
    rng = random.Random(seed)
    for _ in range(3):
        at = rng.randrange(len(data) - 64)
        data[at : at + 64] = rng.randbytes(64)
    _file(ws).write_bytes(bytes(data))
    index = opened(ws)
    index.reindex()
    assert _is_right(index)
    for i in (0, 150, 299):
        assert index.search(lines[i].split()[-1])[0].line_number == i + 1


def test_damage_is_told(ws: Path, opened: Open, caplog: pytest.LogCaptureFixture) -> None:
    """A rebuild is a warning and an event that name the file."""
    opened(ws).close()
    _file(ws).write_text("no database " * 1000, encoding="utf-8")
    seen: list[Event] = []
    opened(ws, on_event=seen.append)
    assert "rebuilding the index" in caplog.text
    assert [type(event) for event in seen] == [Damaged]
    assert isinstance(seen[0], Damaged)
    assert seen[0].path == str(_file(ws))


def test_reindex_finds_rows_that_lie(ws: Path, opened: Open) -> None:
    """The maintenance tick's comparison repairs rows whose text is not the file's."""
    index = opened(ws)
    with sqlite3.connect(_file(ws)) as db:
        db.execute(
            "UPDATE line SET text = '- something else' WHERE file = (SELECT id FROM file WHERE path = 'MEMORY.md')"
        )
    db.close()
    index.reindex()
    assert index.search("lemon")[0].content == "- Likes tea with lemon"


def test_copied_without_its_journal(ws: Path, opened: Open) -> None:
    """A copy of the database file alone, made while it is open, is completed from the files."""
    index = opened(ws)
    index.search("lemon")
    copy = ws.parent / "copy"
    shutil.copytree(ws, copy / "ws")
    shutil.copy(_file(ws), copy / "memory_index.db")
    assert _is_right(opened(copy / "ws"))


def test_an_unreadable_file_is_not_an_empty_one(ws: Path, opened: Open, caplog: pytest.LogCaptureFixture) -> None:
    """Where a file cannot be read its rows stay, the others are found, and a warning names it."""
    index = opened(ws)
    (ws / "memory" / "2026-03-04.md").unlink()
    (ws / "memory" / "2026-03-04.md").mkdir()
    (ws / "MEMORY.md").write_text("- Likes matcha\n", encoding="utf-8")
    assert index.search("matcha")


def test_a_writer_that_holds_the_file(ws: Path, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers do not wait for a writer; a second writer gives up with an error that says so."""
    index = opened(ws)
    assert _is_right(index)
    index.close()
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    index = opened(ws)
    holder = sqlite3.connect(_file(ws), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        assert _is_right(index)
        with pytest.raises(LockTimeout, match="in use by another process"):
            index.index_text("notes.md", "- walrus\n")
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    index.index_text("notes.md", "- walrus\n")
    assert index.search("walrus")


def test_threads_share_an_index(ws: Path, opened: Open) -> None:
    """Searches and writes from many threads at once give right answers."""
    index = opened(ws)
    wrong: list[object] = []

    def work(number: int) -> None:
        try:
            for step in range(10):
                index.index_text(f"notes/{number}.md", f"- walrus {number} {step}\n")
                if not any(h.path == f"notes/{number}.md" for h in index.search(f"walrus {number}", 20)):
                    wrong.append((number, step))
        except Exception as error:  # noqa: BLE001  whatever a thread raises is the test's finding
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(index.search("walrus", 20)) == 6


def test_reindex_of_some_lines_takes_others_each_time(ws: Path, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit the rows of some files are compared, those first that were not for longest, until all were."""
    monkeypatch.setattr(refresh, "QUIET_SECONDS", -3600.0)  # the files are not of this very moment
    for n in range(5):
        (ws / "knowledge" / f"{n}.md").parent.mkdir(exist_ok=True)
        (ws / "knowledge" / f"{n}.md").write_text(f"- walrus {n}\n- narwhal {n}\n", encoding="utf-8")
    index = opened(ws)
    index.search("walrus")
    with sqlite3.connect(_file(ws)) as db:
        db.execute("UPDATE line SET text = '- a lie' WHERE text LIKE '- walrus%'")
    db.close()
    lies = []
    for _ in range(8):
        index.reindex(lines=2)
        lies.append(sum(hit.content == "- a lie" for hit in index.search("walrus", 20)))
    assert lies[0] > 0, "one call compares a share and not everything"
    assert lies == sorted(lies, reverse=True)
    assert lies[-1] == 0


def test_reindex_of_some_lines_reads_all_that_changed(ws: Path, opened: Open) -> None:
    """What changed or is gone is seen whatever the limit is, in every tenant."""
    bob = ws / "users" / "bob"
    (bob / "memory").mkdir(parents=True)
    (bob / "MEMORY.md").write_text("- Likes coffee\n", encoding="utf-8")
    index = MemoryIndex(ws, checks_files=False).open()
    assert index.for_tenant("bob").search("coffee")
    (bob / "MEMORY.md").write_text("- Likes cocoa\n", encoding="utf-8")
    (ws / "memory" / "2026-03-04.md").unlink()
    index.reindex(lines=0)
    assert index.for_tenant("bob").search("coffee") == []
    assert index.for_tenant("bob").search("cocoa")
    assert index.search("alembic") == []
    index.close()


def test_reindex_of_some_lines_checks_the_full_text_of_small_memories(ws: Path, opened: Open) -> None:
    """Where the limit covers a tenant, its full-text entries are compared with its rows too."""
    index = opened(ws)
    with sqlite3.connect(_file(ws)) as db:
        db.execute("INSERT INTO fts_1 (fts_1, rowid, terms) SELECT 'delete', id, terms FROM line WHERE id = 1")
    db.close()
    index.reindex(lines=10_000)
    assert _is_right(index)
