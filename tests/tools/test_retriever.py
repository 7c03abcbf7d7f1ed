"""The index as a LangChain retriever."""

from pathlib import Path

import pytest

from langgraph_harness_memory.identifiers import tenant_root
from langgraph_harness_memory.index.sqlite import MemoryIndex
from langgraph_harness_memory.retriever import MemoryIndexRetriever


@pytest.fixture
def retriever(tmp_path: Path) -> MemoryIndexRetriever:
    root = tmp_path / "ws"
    for folder, line in (
        ("memory", "- Chose Alembic for migration"),
        (f"{tenant_root('bob')}/memory", "- Bob likes migration"),
    ):
        (root / folder).mkdir(parents=True)
        (root / folder / "2026-03-04.md").write_text(f"## Morning\n{line}\n", encoding="utf-8")
    return MemoryIndexRetriever(index=MemoryIndex(root), k=2)


def test_documents_say_where_they_stand(retriever: MemoryIndexRetriever) -> None:
    """A document carries path, line, rank, day and heading."""
    (document,) = retriever.invoke("migration")
    assert document.page_content == "- Chose Alembic for migration"
    assert document.id == "memory/2026-03-04.md#2"
    assert document.metadata["date"] == "2026-03-04"
    assert document.metadata["heading"] == "Morning"
    assert document.metadata["rank"] < 0


@pytest.mark.asyncio
async def test_tenant_of_the_run(retriever: MemoryIndexRetriever) -> None:
    """A run's user decides whose memory is searched, sync and async."""
    config = {"configurable": {"user_id": "bob"}}
    assert retriever.invoke("migration", config)[0].page_content == "- Bob likes migration"  # type: ignore[arg-type]  # a plain config
    assert (await retriever.ainvoke("migration", config))[0].page_content == "- Bob likes migration"  # type: ignore[arg-type]  # same
    assert retriever.invoke("migration", {"configurable": {"user_id": "eve"}}) == []


def test_k_is_at_least_one(retriever: MemoryIndexRetriever) -> None:
    """A retriever of nothing is refused where it is made."""
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        MemoryIndexRetriever(index=retriever.index, k=0)
