"""How the index behaves as a memory grows: building, asking, adding, beside plain FTS5 and bm25s in the same run.

    python -m benchmarks search-scale [--lines 5900 50000 200000] [--questions 60]

Memories are generated: words drawn by Zipf's law into daily logs of 500 lines. "FTS5 OR" asks for every word of the question,
"FTS5 without stop words" for those that tell; both with Porter stemming and the best ten by bm25. "ours" is the whole search
without the check for hand edits, which is timed by itself. Targets: building at least half as fast as FTS5 or 25,000 lines a
second; at 200,000 lines the whole search at most 1.3 × FTS5 without stop words; ten lines added to a day of 10,000 within 10 ms.
"""

import argparse
import gc
import random
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from benchmarks.outcome import Outcome, Target, table
from langgraph_harness_memory.index.sqlite import MemoryIndex
from langgraph_harness_memory.index.stems import stem
from langgraph_harness_memory.index.stopwords import WORDS

LINES_A_DAY = 500
VOCABULARY = 30_000
ASKING = ["What did the user say about", "When was", "How do we", "Which of the", "Who told me that", "Where is the"]
SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]


@dataclass(frozen=True, kw_only=True)
class Memory:
    """A generated memory on disk and what is asked of it."""

    root: Path
    lines: int
    questions: list[str]


def generate(root: Path, lines: int, questions: int, *, seed: int = 7) -> Memory:
    """Write a memory of so many lines."""
    rng = random.Random(seed)
    words = sorted({"".join(rng.choices(SYLLABLES, k=rng.randint(2, 4))) for _ in range(VOCABULARY)})
    rng.shuffle(words)
    common = ["the", "a", "to", "and", "of", "in", "is", "was", "with", "for", "on", "we", "that", "it", "user"]
    heavy = [1 / (rank + 3) for rank in range(len(words))]
    drawn = iter(rng.choices(words, heavy, k=lines * 9 + questions * 4))
    small = iter(rng.choices(common, k=lines * 5))
    folder = root / "memory"
    folder.mkdir(parents=True)
    day = date(2020, 1, 1)
    for start in range(0, lines, LINES_A_DAY):
        count = min(LINES_A_DAY, lines - start)
        text = "".join(f"- {_sentence(rng, drawn, small)}\n" for _ in range(count))
        (folder / f"{day}.md").write_text(text, encoding="utf-8")
        day += timedelta(days=1)
    asked = [
        f"{rng.choice(ASKING)} {' '.join(next(drawn) for _ in range(rng.randint(2, 4)))}?" for _ in range(questions)
    ]
    return Memory(root=root, lines=lines, questions=asked)


def _sentence(rng: random.Random, drawn: Iterator[str], small: Iterator[str]) -> str:
    words = [next(drawn) for _ in range(rng.randint(6, 9))] + [next(small) for _ in range(rng.randint(3, 5))]
    rng.shuffle(words)
    return " ".join(words).capitalize()


class Fts5:
    """One row a line, Porter stemming, the best ten by bm25."""

    def __init__(self, memory: Memory, place: Path) -> None:
        self.db = sqlite3.connect(place)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA cache_size = -16384")
        columns = "content, path UNINDEXED, number UNINDEXED, tokenize='porter unicode61'"
        self.db.execute(f"CREATE VIRTUAL TABLE line USING fts5({columns})")
        for file in sorted(memory.root.glob("memory/*.md")):
            rows = enumerate(file.read_text(encoding="utf-8").split("\n"), 1)
            self.db.executemany("INSERT INTO line VALUES (?,?,?)", ((t, file.name, n) for n, t in rows if t.strip()))
        self.db.commit()

    def search(self, query: str, *, stop: frozenset[str] = frozenset()) -> list[Any]:
        words = list(dict.fromkeys(re.findall(r"\w+", query.lower())))
        kept = [word for word in words if stem(word) not in stop] or words
        match = " OR ".join(f'"{word}"' for word in kept)
        sql = "SELECT path, number FROM line WHERE line MATCH ? ORDER BY rank LIMIT 10"
        return self.db.execute(sql, (match,)).fetchall()


class Bm25s:
    """The library, English stop words, no stemming, in memory."""

    def __init__(self, memory: Memory) -> None:
        import bm25s

        self._bm25s = bm25s
        files = sorted(memory.root.glob("memory/*.md"))
        texts = [line for file in files for line in file.read_text(encoding="utf-8").split("\n") if line.strip()]
        self.index = bm25s.BM25()
        self.index.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)

    def search(self, query: str) -> Any:
        tokens = self._bm25s.tokenize([query], stopwords="en", show_progress=False)
        return self.index.retrieve(tokens, k=10, show_progress=False)


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Call once; return the result and the seconds."""
    gc.collect()
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def percentiles(call: Callable[[str], Any], questions: list[str]) -> tuple[float, float]:
    """Return p50 and p95 in milliseconds, after a first round that fills the caches."""
    seen: list[float] = []
    for question in [*questions, *questions]:
        start = time.perf_counter()
        call(question)
        seen.append((time.perf_counter() - start) * 1e3)
    warm = sorted(seen[len(questions) :])
    return warm[len(warm) // 2], warm[int(len(warm) * 0.95)]


def measure(lines: int, questions: int, folder: Path) -> dict[str, Any]:
    """Build and ask all contenders over one memory."""
    memory = generate(folder / "ws", lines, questions)
    fts, fts_build = timed(lambda: Fts5(memory, folder / "fts5.db"))
    quick, build = timed(lambda: MemoryIndex(memory.root, checks_files=False).open())
    bm25s, bm25s_build = timed(lambda: Bm25s(memory))
    watching = MemoryIndex(memory.root).open()
    found: dict[str, Any] = {
        "lines": lines,
        "build": {"ours": lines / build, "FTS5": lines / fts_build, "bm25s": lines / bm25s_build},
        "ask": {
            "ours": percentiles(lambda q: quick.search(q, 10), memory.questions),
            "ours, with the check": percentiles(lambda q: watching.search(q, 10), memory.questions),
            "FTS5 without stop words": percentiles(lambda q: fts.search(q, stop=WORDS["en"]), memory.questions),
            "FTS5 OR": percentiles(fts.search, memory.questions),
            "bm25s": percentiles(bm25s.search, memory.questions),
        },
    }
    quick.close()
    watching.close()
    fts.db.close()
    return found


def adding(folder: Path, sizes: tuple[int, ...]) -> dict[int, float]:
    """Return milliseconds (the best of seven) to add ten lines to a day that holds so many."""
    out: dict[int, float] = {}
    for size in sizes:
        memory = generate(folder / f"add{size}" / "ws", size, 1)
        merged = memory.root / "memory" / "2030-01-01.md"
        parts = sorted((memory.root / "memory").glob("2020*.md")) + sorted(
            (memory.root / "memory").glob("202[1-9]*.md")
        )
        text = "".join(part.read_text(encoding="utf-8") for part in parts)
        for part in parts:
            part.unlink()
        merged.write_text(text, encoding="utf-8")
        with MemoryIndex(memory.root, checks_files=False) as index:
            seen: list[float] = []
            for step in range(7):
                text += "".join(f"- a new line {step} {n} about walrus number {n}\n" for n in range(10))
                seen.append(timed(lambda text=text: index.index_text("memory/2030-01-01.md", text))[1] * 1e3)  # type: ignore[misc]
            assert len(index.search("walrus", 100)) == 70
        out[size] = min(seen)
    return out


def main(argv: list[str]) -> Outcome:
    """Run it."""
    parser = argparse.ArgumentParser(prog="search-scale", description=__doc__)
    parser.add_argument("--lines", type=int, nargs="+", default=[5_900, 50_000, 200_000])
    parser.add_argument("--questions", type=int, default=60)
    asked = parser.parse_args(argv)
    folder = Path(tempfile.mkdtemp(prefix="search-scale-"))
    try:
        runs = [measure(lines, asked.questions, folder / str(lines)) for lines in asked.lines]
        added = adding(folder, (1_000, 10_000, 50_000))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _print(runs, added)
    return Outcome(figures={"runs": runs, "adding": added}, targets=_targets(runs, added))


def _print(runs: list[dict[str, Any]], added: dict[int, float]) -> None:
    names = list(runs[0]["build"])
    print("lines built a second")
    print(table(["lines", *names], [[r["lines"], *(round(r["build"][n]) for n in names)] for r in runs]))
    print("\nms to answer a question, p50 / p95")
    asking = list(runs[0]["ask"])
    cells = [[r["lines"], *("{:.1f} / {:.1f}".format(*r["ask"][n]) for n in asking)] for r in runs]
    print(table(["lines", *asking], cells))
    print("\nms to add ten lines to a day of so many")
    print(table([str(size) for size in added], [[f"{ms:.1f}" for ms in added.values()]]))
    print()


def _targets(runs: list[dict[str, Any]], added: dict[int, float]) -> list[Target]:
    targets = []
    for run in runs:
        ours, plain = run["build"]["ours"], run["build"]["FTS5"]
        seen = f"{ours:,.0f} lines/s, FTS5 {plain:,.0f}"
        targets.append(
            Target(
                text=f"build of {run['lines']:,} lines at least half as fast as FTS5, or 25,000 lines/s",
                seen=seen,
                met=ours >= plain / 2 or ours >= 25_000,
            )
        )
    large = max(runs, key=lambda run: run["lines"])
    for place, name in enumerate(("p50", "p95")):
        ours, plain = large["ask"]["ours"][place], large["ask"]["FTS5 without stop words"][place]
        targets.append(
            Target(
                text=f"{name} at {large['lines']:,} lines at most 1.3 × FTS5 without stop words",
                seen=f"{ours:.1f} ms, FTS5 {plain:.1f} ms",
                met=ours <= 1.3 * plain,
            )
        )
    worst = max(added.values())
    targets.append(
        Target(text="ten lines added to a day of any size within 10 ms", seen=f"{worst:.1f} ms", met=worst <= 10)
    )
    return targets
