"""The SQLite index keeps the contract of every back end, in a file and in memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_harness_memory.index.sqlite import MemoryIndex
from langgraph_harness_memory.testing.index_contract import IndexContract
from langgraph_harness_memory.workspace.local import LocalWorkspace


class TestInAFile(IndexContract):
    """Beside the workspace."""

    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[MemoryIndex]:
        index = MemoryIndex(LocalWorkspace(tmp_path / "ws"))
        yield index
        index.close()

    def index_workspace(self, index: Any) -> Any:
        return index.workspace


class TestInMemory(IndexContract):
    """A workspace that is no folder has its index in memory."""

    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[MemoryIndex]:
        index = MemoryIndex(_Elsewhere(LocalWorkspace(tmp_path / "ws")))  # type: ignore[arg-type]  # forwards everything
        yield index
        assert index.path is None
        index.close()

    def index_workspace(self, index: Any) -> Any:
        return index.workspace


class _Elsewhere:
    """A workspace that does not say where its folder is, as one in a database does not."""

    def __init__(self, inner: LocalWorkspace) -> None:
        self._inner = inner
        self.name = "elsewhere"

    def under(self, folder: str) -> Any:
        return self if folder in {"", "."} else _Elsewhere(self._inner.under(folder))

    def __getattr__(self, name: str) -> Any:
        if name == "root":
            raise AttributeError(name)
        return getattr(self._inner, name)
