"""From candidates to the best lines, step by step.

    candidates by bm25 ─► score lines ─► smooth with neighbours ─► add the file ─► add the days asked for
                                                                                        │
                           best lines ◄─ cut off ◄─ fold near-duplicates ◄─ order ◄─────┘

Pure: a back end brings candidates and counts, whatever it is. All figures of one tenant come from that tenant's lines.
"""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from heapq import nlargest
from typing import NamedTuple

from langgraph_harness_memory.index.dates import Period
from langgraph_harness_memory.index.hits import SearchHit
from langgraph_harness_memory.index.knobs import RANKING, Ranking
from langgraph_harness_memory.index.query import Choice, Query
from langgraph_harness_memory.index.text import terms_of

_LINE_BITS = 40
"""Bits for a line's number when a place is written as one integer; no file has a billion lines, nor a section next to it."""


LENGTH = " "
"""Where `counted` says how long a line is; no term is a blank."""

COUNTED_LINES = 8_192
"""Lines whose counts are remembered (12 MB): a memory of this size is searched in half the time."""


class Candidate(NamedTuple):
    """A line that may answer, as a back end found it.

    A named tuple, not a dataclass: a search makes hundreds of them, and this takes a fifth of the time.
    """

    key: int
    """The back end's own name for the row."""
    file: int
    """The back end's own name for its file."""
    path: str
    """Its file, relative to the tenant's root; may be empty until `Complete` is answered."""
    number: int
    """Its line, from 1."""
    text: str
    """The line as it stands in the file; may be empty until `Complete` is answered."""
    terms: str
    """Its terms, joined by blanks."""
    heading: str
    """The nearest heading above."""
    day: str
    """ISO day; empty = none."""
    source: str
    """Where its block says it comes from."""
    is_heading: bool
    """It is a person's heading."""


class Scored(NamedTuple):
    """A line and how well it answers."""

    candidate: Candidate
    score: float
    """Higher is better."""


class FileSize(NamedTuple):
    """How large a file is."""

    lines: int
    """Rows."""
    terms: int
    """Terms of all rows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Statistics:
    """What is counted over all lines of one tenant."""

    files: Mapping[int, FileSize]
    """Size of each file."""
    counts: Mapping[str, Mapping[int, int]]
    """For each term that was asked for: in how many lines of which file it stands. A term that stands nowhere is left out."""
    lines: int = field(init=False)
    """Rows of all files."""
    terms: int = field(init=False)
    """Terms of all rows."""

    def __post_init__(self) -> None:
        sizes = self.files.values()
        object.__setattr__(self, "lines", sum(size.lines for size in sizes))
        object.__setattr__(self, "terms", sum(size.terms for size in sizes))


def choose(query: Query, statistics: Statistics, ranking: Ranking = RANKING) -> dict[str, float]:
    """Choose the terms to search for, and their weights.

    A word that the index knows as a whole is searched for as a whole; an identifier it does not know, by its parts.

    Returns:
        Weights by term, the rarest first; empty when no term stands in any line.
    """
    chosen: dict[str, float] = {}
    for choice in query.choices:
        for term in _known(choice, statistics):
            chosen[term] = rarity(sum(statistics.counts[term].values()), statistics.lines)
    rarest = sorted(chosen.items(), key=lambda pair: -pair[1])
    return dict(rarest[: ranking.max_terms])


def _known(choice: Choice, statistics: Statistics) -> list[str]:
    whole = [term for term in choice.whole if term in statistics.counts]
    return whole or [term for term in choice.parts if term in statistics.counts]


def essential(weights: Mapping[str, float], statistics: Statistics, ranking: Ranking = RANKING) -> list[str]:
    """Choose the rarest terms that bring enough lines: a line of the other, common terms alone is none of the best."""
    enough = max(ranking.enough, ranking.enough_part * statistics.lines)
    chosen: list[str] = []
    brought = 0
    for term in weights:
        if brought >= enough:
            break
        chosen.append(term)
        brought += sum(statistics.counts[term].values())
    return chosen


def rarity(count: int, of: int) -> float:
    """Return how much a term tells that stands in `count` of `of` lines (bm25's idf, never negative)."""
    return math.log(1 + (of - count + 0.5) / (count + 0.5)) if count <= of else 0.0


def scores(
    candidates: Sequence[Candidate],
    weights: Mapping[str, float],
    statistics: Statistics,
    periods: Sequence[Period] = (),
    ranking: Ranking = RANKING,
) -> list[float]:
    """Score candidates.

    Args:
        candidates: Lines in any order.
        weights: The terms that were chosen.
        statistics: Counts over all lines of the tenant.
        periods: Days that the query names.
        ranking: The knobs.

    Returns:
        One score a candidate, in their order; higher is better.
    """
    own = _line_scores(candidates, weights, statistics, ranking)
    total = _smoothed(candidates, own, ranking)
    if ranking.file:
        of_file = _file_scores({c.file for c in candidates}, weights, statistics, ranking)
        total = [score + of_file[c.file] for c, score in zip(candidates, total, strict=True)]
    return _with_days(candidates, total, periods, ranking) if periods else total


def _line_scores(
    candidates: Sequence[Candidate], weights: Mapping[str, float], statistics: Statistics, ranking: Ranking
) -> list[float]:
    """bm25 of the line alone, less the more of the query it leaves out; terms of its heading count in part."""
    k1, power = ranking.saturation, ranking.coverage
    fixed = k1 * (1 - ranking.length)
    by_length = k1 * ranking.length * statistics.lines / max(statistics.terms, 1)
    lines = [counted(c.terms) for c in candidates]
    own, found = [0.0] * len(lines), [0.0] * len(lines)
    for term, weight in weights.items():
        most = weight * (k1 + 1)
        for i, line in enumerate(lines):
            count = line.get(term)
            if count:
                own[i] += most * count / (count + fixed + by_length * line[LENGTH])
                found[i] += weight
    above = {heading: _asked_in(heading, weights, ranking.heading_terms) for heading in {c.heading for c in candidates}}
    if any(above.values()):
        for i, candidate in enumerate(candidates):
            own[i] += sum(weight for term, weight in above[candidate.heading] if term not in lines[i])
    everything = sum(weights.values()) or 1.0
    parts = {part: (part / everything) ** power for part in set(found)}
    return [
        score * parts[part] * (ranking.heading if c.is_heading else ranking.tool if c.source[:5] == "tool:" else 1.0)
        for c, score, part in zip(candidates, own, found, strict=True)
    ]


@lru_cache(maxsize=COUNTED_LINES)
def counted(terms: str) -> dict[str, int]:
    """Count a line's terms; under `LENGTH` stands how many there are. The answer is shared: it must not be changed."""
    found: dict[str, int] = {}
    split = terms.split()
    for term in split:
        found[term] = found.get(term, 0) + 1
    found[LENGTH] = len(split)
    return found


def _asked_in(heading: str, weights: Mapping[str, float], part: float) -> list[tuple[str, float]]:
    """Return what a heading holds of the query, and what each term of it is worth to the lines below."""
    terms = set(terms_of(heading)) if heading else set()
    return [(term, part * weight) for term, weight in weights.items() if term in terms]


def _smoothed(candidates: Sequence[Candidate], own: Sequence[float], ranking: Ranking) -> list[float]:
    """Let the best lines give a part of their score to those around them: the answer often stands beside the question's words."""
    sections: dict[tuple[int, str], int] = {}
    places = [(sections.setdefault((c.file, c.heading), len(sections)) << _LINE_BITS) + c.number for c in candidates]
    line_at = dict(zip(places, range(len(places)), strict=True)).get
    around = [(distance, part) for distance, part in enumerate(ranking.from_above, 1)]
    around += [(-distance, part) for distance, part in enumerate(ranking.from_below, 1)]
    total = list(own)
    for i in nlargest(ranking.givers, range(len(own)), key=own.__getitem__):
        for distance, part in around:
            j = line_at(places[i] + distance)
            if j is not None:
                total[j] += part * own[i]
    return total


def _file_scores(
    files: set[int], weights: Mapping[str, float], statistics: Statistics, ranking: Ranking
) -> dict[int, float]:
    """bm25 of whole files: a day that is about the topic lifts its lines."""
    k1, gain = ranking.file_saturation, ranking.file_saturation + 1
    fixed = k1 * (1 - ranking.file_length)
    by_length = k1 * ranking.file_length * len(statistics.files) / max(statistics.terms, 1)
    norms = {file: fixed + by_length * statistics.files[file].terms for file in files}
    out = dict.fromkeys(files, 0.0)
    for term in weights:
        counts = statistics.counts[term]
        weight = ranking.file * gain * rarity(len(counts), len(statistics.files))
        for file in files & counts.keys():
            count = counts[file]
            out[file] += weight * count / (count + norms[file])
    return out


def _with_days(
    candidates: Sequence[Candidate], total: list[float], periods: Sequence[Period], ranking: Ranking
) -> list[float]:
    days = {c.day for c in candidates if c.day}
    meant = {day for day in days if any(p.holds(date.fromisoformat(day)) for p in periods)}
    gain = ranking.day * max(total, default=0.0) if any(total) else 1.0
    return [score + gain if c.day in meant else score for c, score in zip(candidates, total, strict=True)]


def mixed(
    candidates: Sequence[Candidate], total: Sequence[float], alike: Sequence[tuple[Candidate, float]], ranking: Ranking
) -> tuple[list[Candidate], list[float]]:
    """Add how alike lines are in meaning to what their words are worth: a weighted sum, each side as a part of its best.

    Args:
        candidates: Lines that hold words of the query.
        total: Their scores.
        alike: Lines and their cosines, these among them.
        ranking: The knobs.

    Returns:
        All lines and their mixed scores.
    """
    if not alike:
        return list(candidates), list(total)
    best_words = max(total, default=0.0) or 1.0
    cosines = {candidate.key: cosine for candidate, cosine in alike}
    low, high = min(cosines.values()), max(cosines.values())
    span = (high - low) or 1.0
    words = {c.key: score / best_words for c, score in zip(candidates, total, strict=True)}
    lines = {c.key: c for c in [*(candidate for candidate, _ in alike), *candidates]}
    return list(lines.values()), [
        words.get(key, 0.0) + ranking.meaning * (cosines.get(key, low) - low) / span for key in lines
    ]


def best(
    candidates: Sequence[Candidate],
    total: Sequence[float],
    limit: int,
    weights: Mapping[str, float],
    ranking: Ranking = RANKING,
) -> list[Scored]:
    """Order candidates, cut off what is far behind the best, fold what says the same.

    Args:
        candidates: The lines.
        total: Their scores.
        limit: Lines wanted.
        weights: The terms that were chosen. With one or none nothing is cut off: every line that holds it is an answer.
        ranking: The knobs.

    Returns:
        Best first; of equal scores the newest day first. Lines that say what a better one says already come last.
    """
    if not candidates or limit < 1:
        return []
    order = sorted(range(len(candidates)), key=total.__getitem__, reverse=True)
    least = total[order[0]] * ranking.cut_off if len(weights) > 1 else -math.inf
    kept = [i for i in _ties_settled(candidates, total, order, 4 * limit) if total[i] >= least]
    return [Scored(candidates[i], total[i]) for i in _folded(candidates, kept, limit, ranking)]


def _ties_settled(candidates: Sequence[Candidate], total: Sequence[float], order: list[int], limit: int) -> list[int]:
    """Order equal scores among the first so that the same lines always come in the same order."""
    first = order[:limit]
    first.sort(key=lambda i: (candidates[i].file, candidates[i].number))
    first.sort(key=lambda i: candidates[i].day, reverse=True)
    first.sort(key=total.__getitem__, reverse=True)
    return first + order[limit:]


def _folded(candidates: Sequence[Candidate], order: list[int], limit: int, ranking: Ranking) -> list[int]:
    """Move lines that say what a better one says already behind the others."""
    first: list[int] = []
    again: list[int] = []
    seen: list[Set[str]] = []
    for i in order:
        terms = counted(candidates[i].terms).keys()
        if any(_says_the_same(terms, other, ranking.duplicate) for other in seen):
            again.append(i)
            continue
        first.append(i)
        seen.append(terms)
        if len(first) == limit:
            break
    return (first + again)[:limit]


def _says_the_same(terms: Set[str], other: Set[str], share: float) -> bool:
    few, many = sorted((len(terms), len(other)))
    return few >= share * many and len(terms & other) >= share * (few + many) / (1 + share)


def hit(candidate: Candidate, score: float) -> SearchHit:
    """Tell a line as a hit."""
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
    "Scored",
    "Statistics",
    "best",
    "choose",
    "essential",
    "hit",
    "mixed",
    "rarity",
    "scores",
]
