"""The index follows its files by what changed."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory.index import lines
from langgraph_harness_memory.index.refresh import compare
from langgraph_harness_memory.index.rows import Row, changes, marks_of, only_grew, rows_of
from langgraph_harness_memory.index.sqlite import MemoryIndex
from langgraph_harness_memory.workspace import FileInfo

Open = Callable[..., MemoryIndex]


def _ids(index: MemoryIndex) -> dict[str, int]:
    assert index.path is not None
    db = sqlite3.connect(index.path)
    try:
        return dict(db.execute("SELECT text, id FROM line"))
    finally:
        db.close()


def test_a_file_that_grew_keeps_its_rows(ws: Path, opened: Open) -> None:
    """Only the new lines are written."""
    index = opened(ws)
    before = _ids(index)
    with (ws / "memory" / "2026-03-04.md").open("a", encoding="utf-8") as log:
        log.write("- Prefers espresso\n")
    assert index.search("espresso")[0].line_number == 2
    after = _ids(index)
    assert {text: after[text] for text in before} == before


def test_a_line_inserted_on_top_keeps_the_rows_below(ws: Path, opened: Open) -> None:
    """Rows below a change only take their new number."""
    index = opened(ws)
    before = _ids(index)
    text = (ws / "MEMORY.md").read_text(encoding="utf-8")
    (ws / "MEMORY.md").write_text("- first of all\n" + text, encoding="utf-8")
    assert index.search("lemon")[0].line_number == 4
    assert {text: i for text, i in _ids(index).items() if text in before} == before


def test_the_same_size_and_time(ws: Path, opened: Open) -> None:
    """An edit right after a search that leaves size and time stamp as they were is seen all the same."""
    index = opened(ws)
    path = ws / "MEMORY.md"
    assert index.search("lemon")
    found = path.stat()
    with path.open("r+", encoding="utf-8") as file:
        file.write(path.read_text(encoding="utf-8").replace("lemon", "honey"))
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert index.search("honey")
    assert index.search("lemon") == []


def test_a_quiet_tree_is_not_written(ws: Path, opened: Open) -> None:
    """Searches of files that are older than two seconds write nothing to the index."""
    for path in ws.rglob("*.md"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    index = opened(ws)
    index.search("lemon")
    assert index.path is not None
    before = _state(index.path)
    for _ in range(3):
        index.search("lemon")
    assert _state(index.path) == before


def _state(path: Path) -> list[tuple[int, int]]:
    return [(f.stat().st_size, f.stat().st_mtime_ns) for f in (path, Path(f"{path}-wal")) if f.exists()]


def test_a_deleted_file_leaves_no_ghost(ws: Path, opened: Open) -> None:
    """A file that is deleted or archived by hand has no hits under its old path."""
    index = opened(ws)
    assert index.search("alembic")
    (ws / "memory" / "archive").mkdir()
    (ws / "memory" / "2026-03-04.md").rename(ws / "memory" / "archive" / "2026-03-04.md")
    assert [h.path for h in index.search("alembic")] == ["memory/archive/2026-03-04.md"]
    (ws / "memory" / "archive" / "2026-03-04.md").unlink()
    assert index.search("alembic") == []


def test_crlf_and_line_numbers(ws: Path, opened: Open) -> None:
    """Line 50 of 60 with Windows line ends is line 50, without its ending."""
    text = "\r\n".join(f"- walrus number {i}" if i == 50 else f"- seal {i}" for i in range(1, 61)) + "\r\n"
    (ws / "knowledge").mkdir()
    (ws / "knowledge" / "animals.md").write_bytes(text.encode())
    (hit,) = opened(ws).search("walrus")
    assert (hit.line_number, hit.content) == (50, "- walrus number 50")


def test_only_newlines_end_a_line(ws: Path, opened: Open) -> None:
    """Line separators of other kinds stand inside a line."""
    (ws / "MEMORY.md").write_bytes("- one\u2028two\x0cthree\u0085four\n- five\n".encode())
    assert opened(ws).search("five")[0].line_number == 2


def test_text_that_was_handed_in_survives_until_reindex(ws: Path, opened: Open) -> None:
    """Text without a file is found, and dropped when contents are compared."""
    index = opened(ws)
    index.index_text("memory/2026-04-01.md", "- a walrus\n")
    assert index.search("walrus")[0].path == "memory/2026-04-01.md"
    index.reindex()
    assert index.search("walrus") == []


def test_rows_know_their_heading_day_and_source() -> None:
    """A row carries what stands above it; our own headings are no rows."""
    text = (
        "- before\n"
        '## 2026-04-12 03:53 +08:00 · session t1 <!-- harness-memory {"v":1,"at":"2026-04-12T03:53:00+08:00",'
        '"session":"t1","messages":"0-5","from":["user","tool:web"],"size":7} -->\n'
        "- fact\n\n# Of a person\n- other\n"
    )
    rows, above = rows_of("memory/2026-04-12.md", text)
    assert [(r.number, r.text, r.source, r.is_heading) for r in rows] == [
        (1, "- before", "", False),
        (3, "- fact", "user, tool:web", False),
        (5, "# Of a person", "", True),
        (6, "- other", "", False),
    ]
    assert {r.day for r in rows} == {"2026-04-12"}
    assert above.number == 6
    assert rows_of("knowledge/x.md", "## On 8 May 2023\n- met\n")[0][1].day == "2023-05-08"


LINES = st.lists(st.sampled_from(["- a b", "- c d", "# h one", "", "- e", "text"]), max_size=12)


@given(LINES, LINES)
def test_changes_lead_from_one_text_to_the_other(old: list[str], new: list[str]) -> None:
    """Removing, shifting and adding what `changes` says gives exactly the rows of the new text."""
    before, _ = rows_of("MEMORY.md", "\n".join(old))
    after, _ = rows_of("MEMORY.md", "\n".join(new))
    change = changes(before, after)
    kept = [row for place, row in enumerate(before) if place not in change.removed]
    shifted = [
        Row(row.number + change.shift, row.text, row.terms, row.heading, row.day, row.source, row.is_heading)
        if before.index(row) >= change.shifted_from
        else row
        for row in kept
    ]
    assert sorted([*shifted, *change.added], key=lambda r: r.number) == after


@given(st.binary(max_size=60), st.binary(max_size=20))
def test_only_growth_is_growth(data: bytes, more: bytes) -> None:
    """A file with more bytes at its end grew; one whose complete lines differ did not."""
    marks = marks_of(data)
    assert only_grew(data + more, marks)
    if marks.size:
        assert not only_grew(bytes([data[0] ^ 1]) + data[1:] + more, marks)


@given(LINES, LINES)
def test_appended_rows_equal_a_fresh_reading(first: list[str], second: list[str]) -> None:
    """Reading a file in two parts gives the rows of reading it whole."""
    head, tail = "".join(f"{x}\n" for x in first), "\n".join(second)
    rows, above = rows_of("memory/2026-01-01.md", head)
    more, _ = rows_of("memory/2026-01-01.md", tail, above)
    assert [*rows, *more] == rows_of("memory/2026-01-01.md", head + tail)[0]


def test_a_file_touched_within_two_seconds_is_read_again() -> None:
    """A time stamp is trusted once the file has been quiet for two seconds."""
    info = FileInfo(path="MEMORY.md", size=1, modified=100.0, fingerprint="f")
    recent = lines.Seen(fingerprint="f", checked=101.5, on_disk=True)
    settled = lines.Seen(fingerprint="f", checked=102.5, on_disk=True)
    assert compare([info], {"MEMORY.md": recent}).changed == (info,)
    assert not compare([info], {"MEMORY.md": settled})
    assert compare([], {"MEMORY.md": settled}).gone == ("MEMORY.md",)


@pytest.mark.parametrize("purge", [True, False])
def test_what_is_purged_leaves_no_byte(ws: Path, opened: Open, *, purge: bool) -> None:
    """Neither the file nor its journal holds a word of a purged line; tenants' names go too."""
    index = opened(ws)
    index.search("lemon")
    bob = index.for_tenant("bob")
    for number in range(40):
        bob.index_text("MEMORY.md", f"- xylophone{number} quartz\n" * 30)
    bob.index_text("MEMORY.md", "", purge=purge)
    index.index_text("notes.md", "- zeppelinword\n")
    index.index_text("notes.md", "- other\n", purge=purge)
    assert index.path is not None
    kept = b"".join(p.read_bytes() for p in (index.path, Path(f"{index.path}-wal")) if p.exists())
    found = [word for word in (b"xylophone", b"quartz", b"zeppelinword") if word in kept]
    if purge:
        assert found == []
    index.purge(tenant="bob")
    kept = b"".join(p.read_bytes() for p in (index.path, Path(f"{index.path}-wal")) if p.exists())
    assert b"users/bob" not in kept


def test_statistics_of_tenants_do_not_meet(ws: Path, opened: Open) -> None:
    """A tenant's ranks are the same whatever other tenants have written."""
    index = opened(ws)
    alone = index.search("lemon tea database")
    for number in range(30):
        index.for_tenant(f"u{number}").index_text("MEMORY.md", "- lemon\n- tea\n- database\n" * 20)
    assert index.search("lemon tea database") == alone
