"""From scored candidates to hits: meaning mixed in, order, cut-off, near-duplicates folded. Pure."""

import math
from collections.abc import Mapping, Sequence, Set
from datetime import date
from typing import NamedTuple

from langgraph_harness_memory.index.hits import SearchHit
from langgraph_harness_memory.index.knobs import RANKING, Ranking
from langgraph_harness_memory.index.rank import Candidate, counted


class Scored(NamedTuple):
    """A line and how well it answers."""

    candidate: Candidate
    score: float
    """Higher is better."""


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
