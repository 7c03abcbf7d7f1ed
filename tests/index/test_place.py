"""Where the index of a workspace lies."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from langgraph_harness_memory.index.place import places
from langgraph_harness_memory.index.sqlite import MemoryIndex
from langgraph_harness_memory.workspace.local import LocalWorkspace

Open = Callable[..., MemoryIndex]


def _workspace(root: Path, line: str) -> Path:
    root.mkdir(parents=True)
    (root / "MEMORY.md").write_text(f"- {line}\n", encoding="utf-8")
    return root


def test_beside_the_workspace(ws: Path, opened: Open) -> None:
    """The first workspace under a parent uses `memory_index.db` there, readable by its owner alone."""
    index = opened(ws)
    assert index.path == ws.parent / "memory_index.db"
    assert index.path.stat().st_mode & 0o777 == 0o600


def test_two_workspaces_under_one_parent(tmp_path: Path, opened: Open) -> None:
    """A second workspace has a file of its own, and neither finds the other's lines, in whatever order they open."""
    one, two = _workspace(tmp_path / "one", "alpaca"), _workspace(tmp_path / "two", "buffalo")
    first, second = opened(one), opened(two)
    assert first.path == tmp_path / "memory_index.db"
    assert second.path == tmp_path / "two.memory_index.db"
    assert first.search("buffalo") == second.search("alpaca") == []
    first.close()
    second.close()
    again, other = opened(two), opened(one)
    assert (again.path, other.path) == (second.path or tmp_path / "two.memory_index.db", tmp_path / "memory_index.db")
    assert [h.content for h in again.search("buffalo")] == ["- buffalo"]


def test_moving_the_parent_keeps_the_index(ws: Path, opened: Open, caplog: pytest.LogCaptureFixture) -> None:
    """An index belongs to the folder's name, so that moving the parent moves both."""
    opened(ws).close()
    moved = ws.parent.rename(ws.parent.parent / "elsewhere") / ws.name
    assert opened(moved).path == moved.parent / "memory_index.db"
    assert "rebuilding" not in caplog.text


def test_a_workspace_that_is_gone_frees_the_name(tmp_path: Path, opened: Open) -> None:
    """The index of a deleted workspace is taken over, and nothing of it is found."""
    gone = _workspace(tmp_path / "gone", "secretword")
    opened(gone).close()
    (gone / "MEMORY.md").unlink()
    for lock in sorted(gone.rglob("*"), reverse=True):
        lock.rmdir() if lock.is_dir() else lock.unlink()
    gone.rmdir()
    index = opened(_workspace(tmp_path / "new", "walrus"))
    assert index.path == tmp_path / "memory_index.db"
    assert index.search("secretword") == []
    assert index.search("walrus")


def test_somebody_else_s_database_is_left_alone(ws: Path, opened: Open) -> None:
    """A SQLite file of another program at our path is not touched."""
    foreign = ws.parent / "memory_index.db"
    with sqlite3.connect(foreign) as db:
        db.execute("CREATE TABLE theirs (x)")
        db.execute("INSERT INTO theirs VALUES (42)")
    db.close()
    index = opened(ws)
    assert index.path == ws.parent / "ws.memory_index.db"
    assert index.search("lemon")
    with sqlite3.connect(foreign) as db:
        assert db.execute("SELECT x FROM theirs").fetchone() == (42,)
    db.close()


def test_a_folder_at_the_path(ws: Path, opened: Open) -> None:
    """A folder of that name is left alone."""
    (ws.parent / "memory_index.db").mkdir()
    index = opened(ws)
    assert index.path == ws.parent / "ws.memory_index.db"
    assert index.search("lemon")


def test_a_path_of_the_user_s(ws: Path, tmp_path: Path, opened: Open) -> None:
    """`path` is taken, with the folders it needs."""
    index = opened(ws, path=tmp_path / "deep" / "er" / "index.db")
    assert index.path == tmp_path / "deep" / "er" / "index.db"
    assert index.search("lemon")


def test_inside_where_the_parent_cannot_be_written(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a writable parent the index lies inside the workspace."""
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != ws.parent)  # the tests may run as root
    assert list(places(LocalWorkspace(ws), None)) == [ws / "memory_index.db"]


def test_in_memory_where_nothing_can_be_written(
    ws: Path, opened: Open, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Where no file can be made the index is kept in memory, with a warning, and still sees hand edits."""
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    index = opened(ws, path=tmp_path / "file" / "index.db")
    assert index.path is None
    assert "kept in memory" in caplog.text
    assert index.search("lemon")[0].line_number == 3
    (ws / "MEMORY.md").write_text("- Likes matcha\n", encoding="utf-8")
    assert index.search("lemon") == []
    assert index.search("matcha")


def test_a_workspace_that_is_not_there_yet(tmp_path: Path, opened: Open) -> None:
    """An index of an empty or missing workspace finds nothing, and then what is written."""
    index = opened(tmp_path / "later")
    assert index.search("anything") == []
    (tmp_path / "later").mkdir(exist_ok=True)
    (tmp_path / "later" / "MEMORY.md").write_text("- anything\n", encoding="utf-8")
    assert index.search("anything")
