"""Meaning beside words: optional, incremental, and never a reason to fail."""

from collections.abc import Callable
from pathlib import Path

import pytest
from langchain_core.embeddings import Embeddings

from langgraph_harness_memory.index.sqlite import MemoryIndex

MEANINGS = [{"car", "volvo", "automobile", "vehicle"}, {"tea", "drink", "beverage"}, {"alembic", "migration", "schema"}]


class Synonyms(Embeddings):
    """A model that knows three topics."""

    def __init__(self) -> None:
        self.embedded: list[str] = []
        self.fails = False

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.fails:
            raise ConnectionError("no embedding server")
        self.embedded += texts
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        if self.fails:
            raise ConnectionError("no embedding server")
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        words = set(text.lower().split())
        return [float(len(words & topic)) for topic in MEANINGS] + [0.1]


def test_a_line_without_the_words_is_found(ws: Path, opened: Callable[..., MemoryIndex]) -> None:
    """A question in other words finds the line that means the same; without the model it does not."""
    (ws / "MEMORY.md").write_text("- drives an old volvo\n- likes tea\n- sings in a choir\n", encoding="utf-8")
    assert opened(ws, path=ws / "a.db").search("which automobile") == []
    assert (
        opened(ws, path=ws / "b.db", embeddings=Synonyms()).search("which automobile")[0].content
        == "- drives an old volvo"
    )


def test_words_still_count(ws: Path, opened: Callable[..., MemoryIndex]) -> None:
    """An exact word comes before a line that only means alike."""
    (ws / "MEMORY.md").write_text("- the volvo is blue\n- the automobile is red\n", encoding="utf-8")
    assert opened(ws, embeddings=Synonyms()).search("automobile")[0].content == "- the automobile is red"


def test_each_line_is_embedded_once(ws: Path, opened: Callable[..., MemoryIndex]) -> None:
    """A change embeds the new lines alone, also after the index was closed."""
    model = Synonyms()
    index = opened(ws, embeddings=model)
    index.search("tea")
    before = len(model.embedded)
    with (ws / "memory" / "2026-03-04.md").open("a", encoding="utf-8") as log:
        log.write("- a new beverage\n")
    assert any("beverage" in hit.content for hit in index.search("tea", 10))
    assert model.embedded[before:] == ["- a new beverage"]
    index.close()
    again = Synonyms()
    opened(ws, embeddings=again).search("tea")
    assert again.embedded == []


def test_a_model_that_fails(ws: Path, opened: Callable[..., MemoryIndex], caplog: pytest.LogCaptureFixture) -> None:
    """Where the model fails the words alone answer, with a warning."""
    model = Synonyms()
    model.fails = True
    index = opened(ws, embeddings=model)
    assert index.search("lemon")[0].line_number == 3
    assert "searching by words alone" in caplog.text
    model.fails = False
    assert index.search("beverage", 5)


def test_vectors_of_tenants_do_not_meet(ws: Path, opened: Callable[..., MemoryIndex]) -> None:
    """A tenant finds lines by meaning among its own alone, and forgotten lines have no vector."""
    index = opened(ws, embeddings=Synonyms())
    bob = index.for_tenant("bob")
    bob.index_text("MEMORY.md", "- owns a volvo\n")
    assert [hit.content for hit in bob.search("automobile")] == ["- owns a volvo"]
    assert all("volvo" not in hit.content for hit in index.search("automobile"))
    bob.index_text("MEMORY.md", "- owns a bike\n")
    assert all("volvo" not in hit.content for hit in bob.search("automobile"))
