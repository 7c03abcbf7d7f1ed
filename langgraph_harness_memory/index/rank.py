"""How well each candidate answers, step by step; `order` puts them in order.

    candidates by bm25 ─► score lines ─► smooth with neighbours ─► add the file ─► add the days asked for
                                                                                        │
                           best lines ◄─ cut off ◄─ fold near-duplicates ◄─ order ◄─────┘

Pure: a back end brings candidates and counts, whatever it is. All figures of one tenant come from that tenant's lines.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from heapq import nlargest
from typing import NamedTuple

from langgraph_harness_memory.index.dates import Period
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


__all__ = [
    "RANKING",
    "Candidate",
    "FileSize",
    "Ranking",
    "Statistics",
    "choose",
    "counted",
    "essential",
    "rarity",
    "scores",
]
