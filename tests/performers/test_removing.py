"""Lines are taken out of a file that others go on writing to."""

from pathlib import Path
from typing import Any

import pytest

from langgraph_harness_memory.performers import files
from langgraph_harness_memory.steps import Conflict, RemoveLines
from langgraph_harness_memory.workspace.local import LocalWorkspace

PATH = "memory/2026-04-12.md"
TEXT = "- one\n- two\n- three\n"


class Busy(LocalWorkspace):
    """A folder to whose log somebody appends, or which somebody edits, each time it was read."""

    changes: list[str]

    def read(self, path: str, **part: Any) -> Any:
        found = super().read(path, **part)
        if self.changes:
            change = self.changes.pop(0)
            if change.startswith("edit "):
                self.replace(path, change.removeprefix("edit ").encode())
            else:
                self.append(path, change.encode())
        return found


@pytest.fixture
def busy(tmp_path: Path) -> Busy:
    tree = Busy(tmp_path, fsync=False)
    tree.changes = []
    tree.replace(PATH, TEXT.encode())
    return tree


def removal(tree: Busy, *, text: str | None = TEXT) -> RemoveLines:
    found = LocalWorkspace.read(tree, PATH)
    assert found is not None
    return RemoveLines(tenant=None, path=PATH, numbers=frozenset({2}), expect=found.version, text=text)


def test_lines_go_however_often_something_is_appended_meanwhile(busy: Busy) -> None:
    """Every append between reading and replacing is kept."""
    step = removal(busy)
    busy.changes = [f"- new {n}\n" for n in range(30)]
    assert not isinstance(files.remove_lines(busy, step), Conflict)
    rest = "".join(f"- new {n}\n" for n in range(30))
    assert (busy.root / PATH).read_text() == f"- one\n- three\n{rest}"


@pytest.mark.parametrize(
    ("text", "change"),
    [(TEXT, "edit - zero\n- one\n- two\n- three\n"), (TEXT, "edit - one\n"), (None, "- new\n"), (TEXT[:-1], "- new\n")],
    ids=["edited above", "cut", "the text is not known", "the last line may have grown"],
)
def test_another_change_is_a_conflict(busy: Busy, text: str | None, change: str) -> None:
    """Line numbers would name other lines; nothing is removed."""
    step = removal(busy, text=text)
    busy.changes = [change]
    assert files.remove_lines(busy, step) == Conflict()
    assert "- one" in (busy.root / PATH).read_text()
    assert ("- two" in (busy.root / PATH).read_text()) == ("- two" in change or not change.startswith("edit"))


def test_a_file_that_never_rests_or_is_gone_is_a_conflict(busy: Busy, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many tries, then whoever asked decides."""
    monkeypatch.setattr(files, "REMOVALS", 3)
    step = removal(busy)
    busy.changes = [f"- new {n}\n" for n in range(3)]
    assert files.remove_lines(busy, step) == Conflict()
    busy.delete(PATH)
    assert files.remove_lines(busy, step) == Conflict()
