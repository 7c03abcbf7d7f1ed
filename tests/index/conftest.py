"""A small memory on disk, and a way to open its index."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_harness_memory.index.sqlite import MemoryIndex


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    """A workspace with a curated memory and two daily logs."""
    root = tmp_path / "parent" / "ws"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Preferences\n\n- Likes tea with lemon\n- Uses PostgreSQL\n", encoding="utf-8")
    (root / "memory" / "2026-03-04.md").write_text("- Chose Alembic for database migration\n", encoding="utf-8")
    (root / "memory" / "2026-03-05.md").write_text("- Deployed the staging cluster\n", encoding="utf-8")
    return root


@pytest.fixture
def opened() -> Iterator[Callable[..., MemoryIndex]]:
    """Open indexes that are closed at the end of the test."""
    made: list[MemoryIndex] = []

    def open_index(*args: Any, **kwargs: Any) -> MemoryIndex:
        made.append(MemoryIndex(*args, **kwargs))
        return made[-1].open()

    yield open_index
    for index in made:
        index.close()
