"""From candidates to hits, step by step.

    candidates by bm25 ─► score lines ─► smooth with neighbours ─► add the file ─► days and headings
                                                                                        │
                                  hits ◄─ cut off ◄─ fold near-duplicates ◄─ order ◄────┘

Pure: a back end brings candidates and counts, whatever it is. All figures of one tenant come from that tenant's lines.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from langgraph_harness_memory.index.dates import Period
from langgraph_harness_memory.index.hits import SearchHit
from langgraph_harness_memory.index.query import Choice, Query
from langgraph_harness_memory.index.text import terms_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranking:
    """Every knob of the ranking."""

    candidates: int = 200
    """Lines that bm25 proposes and the steps below order."""
    max_terms: int = 32
    """Terms that are searched for, the rarest first: a pasted page asks with its rarest words."""
    saturation: float = 1.0
    """bm25's k1: how much a second mention in one line adds."""
    length: float = 0.3
    """bm25's b: how much long lines pay. Lines of a log differ in length for no reason of topic."""
    neighbours: tuple[float, ...] = (0.3, 0.2, 0.1)
    """Part of the score of a line one, two, three lines away, under the same heading, that a line gains."""
    file: float = 0.5
    """Weight of the file's own bm25 score: a day that is about the topic lifts its lines."""
    file_saturation: float = 1.0
    """k1 of the file's score."""
    file_length: float = 0.5
    """b of the file's score."""
    heading: float = 0.5
    """What a human heading's line keeps of its score as a hit: it names a topic, the lines below say something."""
    day: float = 0.3
    """Part of the best score that a line of a day the query names gains."""
    cut_off: float = 0.0
    """Hits below this part of the best score are left out."""
    duplicate: float = 0.8
    """Terms that two lines share, as a part of all their terms, from which they count as the same fact."""
    folded: int = 40
    """Best lines among which duplicates are looked for."""


RANKING = Ranking()
"""The knobs as they were measured."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A line that may answer, as a back end found it."""

    key: int
    """The back end's own name for the row."""
    file: int
    """The back end's own name for its file."""
    path: str
    number: int
    text: str
    terms: str
    heading: str
    day: str
    source: str
    is_heading: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class FileSize:
    """How large a file is, in rows and terms."""

    lines: int
    terms: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Statistics:
    """What is counted over all lines of one tenant."""

    files: Mapping[int, FileSize]
    """Size of each file."""
    counts: Mapping[str, Mapping[int, int]]
    """For each term that was asked for: in how many lines of which file it stands. A term that stands nowhere is left out."""

    @property
    def lines(self) -> int:
        """Rows of all files."""
        return sum(size.lines for size in self.files.values())

    @property
    def terms(self) -> int:
        """Terms of all rows."""
        return sum(size.terms for size in self.files.values())


def choose(query: Query, statistics: Statistics, ranking: Ranking = RANKING) -> dict[str, float]:
    """Choose the terms to search for, and their weights.

    A word that the index knows as a whole is searched for as a whole; an identifier it does not know, by its parts.

    Returns:
        Weights by term, the rarest first; empty when no term stands in any line.
    """
    lines = statistics.lines
    chosen: dict[str, float] = {}
    for choice in query.choices:
        for term in _known(choice, statistics):
            count = sum(statistics.counts[term].values())
            chosen[term] = rarity(count, lines)
    rarest = sorted(chosen.items(), key=lambda pair: -pair[1])
    return dict(rarest[: ranking.max_terms])


def _known(choice: Choice, statistics: Statistics) -> list[str]:
    whole = [term for term in choice.whole if term in statistics.counts]
    return whole or [term for term in choice.parts if term in statistics.counts]


def rarity(count: int, of: int) -> float:
    """Return how much a term tells that stands in `count` of `of` lines (bm25's idf, never negative)."""
    return math.log(1 + (of - count + 0.5) / (count + 0.5))


def scores(
    candidates: Sequence[Candidate],
    weights: Mapping[str, float],
    statistics: Statistics,
    periods: Sequence[Period] = (),
    ranking: Ranking = RANKING,
) -> list[float]:
    """Score candidates; higher is better.

    Returns:
        One score a candidate, in their order.
    """
    own = _line_scores(candidates, weights, statistics, ranking)
    smoothed = _smoothed(candidates, own, ranking)
    of_file = _file_scores({c.file for c in candidates}, weights, statistics, ranking)
    total = [score + ranking.file * of_file[c.file] for c, score in zip(candidates, smoothed, strict=True)]
    return _with_days(candidates, total, periods, ranking)


def _line_scores(
    candidates: Sequence[Candidate], weights: Mapping[str, float], statistics: Statistics, ranking: Ranking
) -> list[float]:
    mean = statistics.terms / max(statistics.lines, 1) or 1.0
    k1, b = ranking.saturation, ranking.length
    out: list[float] = []
    for candidate in candidates:
        terms = candidate.terms.split(" ")
        length = k1 * (1 - b + b * len(terms) / mean)
        score = 0.0
        for term, weight in weights.items():
            count = terms.count(term)
            if count:
                score += weight * count * (k1 + 1) / (count + length)
        out.append(score * ranking.heading if candidate.is_heading else score)
    return out


def _smoothed(candidates: Sequence[Candidate], own: Sequence[float], ranking: Ranking) -> list[float]:
    place = {(c.file, c.number): i for i, c in enumerate(candidates)}
    out = list(own)
    for i, candidate in enumerate(candidates):
        for distance, weight in enumerate(ranking.neighbours, 1):
            for number in (candidate.number - distance, candidate.number + distance):
                j = place.get((candidate.file, number))
                if j is not None and candidates[j].heading == candidate.heading:
                    out[i] += weight * own[j]
    return out


def _file_scores(
    files: set[int], weights: Mapping[str, float], statistics: Statistics, ranking: Ranking
) -> dict[int, float]:
    mean = statistics.terms / max(len(statistics.files), 1) or 1.0
    k1, b = ranking.file_saturation, ranking.file_length
    out = dict.fromkeys(files, 0.0)
    for term in weights:
        counts = statistics.counts[term]
        weight = rarity(len(counts), len(statistics.files))
        for file in files & counts.keys():
            count = counts[file]
            length = k1 * (1 - b + b * statistics.files[file].terms / mean)
            out[file] += weight * count * (k1 + 1) / (count + length)
    return out


def _with_days(
    candidates: Sequence[Candidate], total: list[float], periods: Sequence[Period], ranking: Ranking
) -> list[float]:
    if not periods or not total:
        return total
    gain = ranking.day * max(total)
    return [
        score + gain if c.day and any(p.holds(date.fromisoformat(c.day)) for p in periods) else score
        for c, score in zip(candidates, total, strict=True)
    ]


def hits(
    candidates: Sequence[Candidate], total: Sequence[float], limit: int, ranking: Ranking = RANKING
) -> list[SearchHit]:
    """Order candidates, fold what says the same, cut off what is far behind the best.

    Args:
        candidates: The lines.
        total: Their scores.
        limit: Hits wanted.
        ranking: The knobs.

    Returns:
        Best first; of equal scores the newest day first, then by path and line.
    """
    if not candidates or limit < 1:
        return []
    order = sorted(range(len(candidates)), key=lambda i: (candidates[i].path, candidates[i].number))
    order.sort(key=lambda i: candidates[i].day, reverse=True)
    order.sort(key=lambda i: -total[i])
    least = total[order[0]] * ranking.cut_off
    kept = [i for i in order if total[i] >= least]
    return [_hit(candidates[i], total[i]) for i in _folded(candidates, kept, ranking)[:limit]]


def _folded(candidates: Sequence[Candidate], order: list[int], ranking: Ranking) -> list[int]:
    """Move lines that say what a better one says already behind the others."""
    first: list[int] = []
    again: list[int] = []
    seen: list[frozenset[str]] = []
    for i in order[: ranking.folded]:
        terms = frozenset(candidates[i].terms.split(" "))
        if any(len(terms & other) >= ranking.duplicate * len(terms | other) for other in seen):
            again.append(i)
        else:
            first.append(i)
            seen.append(terms)
    return [*first, *order[ranking.folded :], *again] if again else order


def _hit(candidate: Candidate, score: float) -> SearchHit:
    return SearchHit(
        path=candidate.path,
        line_number=candidate.number,
        content=candidate.text,
        rank=-score,
        date=date.fromisoformat(candidate.day) if candidate.day else None,
        heading=candidate.heading,
        source=candidate.source,
    )


__all__ = [
    "RANKING",
    "Candidate",
    "FileSize",
    "Ranking",
    "Statistics",
    "choose",
    "hits",
    "rarity",
    "scores",
    "terms_of",
]
