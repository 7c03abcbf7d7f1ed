"""Optional meaning beside the words: any LangChain `Embeddings`, mixed into the lexical score.

Each row's vector lies in the index file under a hash of its text and the model's name, so that a line is embedded once. All
vectors of a tenant are compared with the query's at once (numpy): with tens of thousands of lines this takes a few
milliseconds, and no extension has to be loaded. Where the embedding model fails, the search goes on with words alone.
"""

import logging
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.embeddings import Embeddings

from langgraph_harness_memory.errors import MissingExtra
from langgraph_harness_memory.identifiers import content_hash
from langgraph_harness_memory.index.database import Database

log = logging.getLogger(__name__)

BATCH = 256
"""Lines that the embedding model is given at once."""

MAX_CHARACTERS = 2_000
"""Characters of a line that are embedded; small models read some 256 tokens."""


@dataclass(frozen=True, slots=True)
class _Matrix:
    """All vectors of a tenant at one generation."""

    generation: int
    keys: list[int]
    values: Any
    """A numpy array, a unit vector a row."""


class Vectors:
    """The vectors of one index.

    Args:
        embeddings: The model.

    Raises:
        MissingExtra: numpy is not installed.
    """

    def __init__(self, embeddings: Embeddings) -> None:
        try:
            import numpy as np  # noqa: PLC0415  an extra
        except ImportError as error:
            raise MissingExtra("an index with embeddings", "vectors") from error
        self._np = np
        self._embeddings = embeddings
        self._model = type(embeddings).__name__ + str(getattr(embeddings, "model", ""))
        self._matrices: dict[int, _Matrix] = {}

    def update(self, database: Database, root_tenant: int) -> None:
        """Embed the lines of a tenant that have no vector yet; a failure leaves them for the next search."""
        while True:
            with database.read() as db:
                missing = db.execute(
                    "SELECT l.id, l.text FROM line l LEFT JOIN vector v ON v.line = l.id"
                    " WHERE l.tenant = ? AND v.line IS NULL AND l.terms <> '' LIMIT ?",
                    (root_tenant, BATCH),
                ).fetchall()
            if not missing:
                return
            self._write(database, root_tenant, missing)

    def _write(self, database: Database, tenant: int, rows: Sequence[tuple[int, str]]) -> None:
        hashes = {key: content_hash(f"{self._model}\n{text}".encode()) for key, text in rows}
        made = self._units(self._embeddings.embed_documents([text[:MAX_CHARACTERS] for _, text in rows]))
        with database.write() as db:
            db.executemany(
                "INSERT OR REPLACE INTO vector (line, tenant, hash, value)"
                " SELECT id, tenant, ?, ? FROM line WHERE id = ? AND tenant = ? AND text = ?",
                [
                    (hashes[key], value.tobytes(), key, tenant, text)
                    for (key, text), value in zip(rows, made, strict=True)
                ],
            )

    def query(self, text: str) -> Any:
        """Return the query's unit vector."""
        return self._units([self._embeddings.embed_query(text[:MAX_CHARACTERS])])[0]

    def similar(
        self, db: sqlite3.Connection, tenant: int, generation: int, vector: Any, *, limit: int, also: Iterable[int]
    ) -> dict[int, float]:
        """Return the lines that mean most alike, and how alike those asked for are.

        Args:
            db: An open transaction.
            tenant: Whose lines.
            generation: The generation that this transaction sees.
            vector: What `query` gave.
            limit: Lines to find.
            also: Lines whose likeness is asked for besides.

        Returns:
            Cosine by the row's key.
        """
        matrix = self._matrix(db, tenant, generation)
        if not matrix.keys:
            return {}
        likeness = matrix.values @ vector
        place = {key: i for i, key in enumerate(matrix.keys)}
        first = self._np.argsort(-likeness)[:limit]
        found = {matrix.keys[int(i)]: float(likeness[i]) for i in first}
        return found | {key: float(likeness[place[key]]) for key in also if key in place}

    def _matrix(self, db: sqlite3.Connection, tenant: int, generation: int) -> _Matrix:
        known = self._matrices.get(tenant)
        (count,) = db.execute("SELECT count(*) FROM vector WHERE tenant = ?", (tenant,)).fetchone()
        if known is None or known.generation != generation or len(known.keys) != count:
            rows = db.execute("SELECT line, value FROM vector WHERE tenant = ?", (tenant,)).fetchall()
            width = len(rows[0][1]) if rows else 0
            rows = [row for row in rows if len(row[1]) == width]
            values = self._np.frombuffer(b"".join(row[1] for row in rows), dtype=self._np.float32)
            known = _Matrix(generation, [row[0] for row in rows], values.reshape(len(rows), -1) if rows else values)
            self._matrices[tenant] = known
        return known

    def _units(self, vectors: Sequence[Sequence[float]]) -> Any:
        values = self._np.asarray(vectors, dtype=self._np.float32)
        lengths = self._np.linalg.norm(values, axis=1, keepdims=True)
        return values / self._np.where(lengths == 0, 1, lengths)
