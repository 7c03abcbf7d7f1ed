"""One search as a generator: what it asks of the rows, whatever back end holds them.

    query ─► terms ─► Counts ─► choice of terms ─► ByTerms ─► scores ─► hits
                         │            │
                         │            └─ none known: Vocabulary ─► terms that were probably meant
                         └─ the tenant's own, never another's
    no terms at all, or still nothing: Literally, the lines that hold the query character by character

A back end answers each request with rows of one tenant; the query analysis and the ranking are the same for all.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from langgraph_harness_memory.index.hits import SearchHit
from langgraph_harness_memory.index.order import best, hit, mixed
from langgraph_harness_memory.index.query import Query, analyse
from langgraph_harness_memory.index.rank import (
    Candidate,
    FileSize,
    Ranking,
    Statistics,
    choose,
    essential,
    rarity,
    scores,
)
from langgraph_harness_memory.index.typos import nearest

MIN_LITERAL = 3
"""Characters from which a word that no line holds is looked for inside words: one digit would be inside many."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """Say in how many lines of which file each term stands: `dict[str, dict[int, int]]`, unknown terms left out."""

    terms: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ByTerms:
    """Give the lines that hold any of these terms and are best by bm25: `list[Candidate]`."""

    weights: Mapping[str, float]
    """How much each term tells, the rarest first."""
    essential: Sequence[str]
    """The terms of which a line must hold one; the others order them. Bounds of days ask for any term."""
    counts: Mapping[str, int]
    """In how many lines each stands."""
    mean: float
    """Terms of a line, on average."""
    limit: int
    since: date | None
    until: date | None


@dataclass(frozen=True, kw_only=True, slots=True)
class OfDays:
    """Give lines of a stretch of days, newest first: `list[Candidate]`."""

    first: date
    last: date
    limit: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Literally:
    """Give lines that hold one of these texts character by character, newest day first: `list[Candidate]`."""

    texts: tuple[str, ...]
    limit: int
    since: date | None
    until: date | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Vocabulary:
    """Say which terms there are and in how many lines they stand: `dict[str, int]`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ByMeaning:
    """Give the lines that mean most alike, and say how alike the candidates are: `list[tuple[Candidate, float]]`."""

    limit: int
    also: tuple[Candidate, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Complete:
    """Give these lines with path and text, which a back end may leave out of candidates: `list[Candidate]`, same order."""

    found: tuple[Candidate, ...]


Request = Counts | ByTerms | OfDays | Literally | Vocabulary | ByMeaning | Complete

Searching = Generator[Request, Any, list[SearchHit]]
"""A search: yields requests, is sent their answers, returns hits, best first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What somebody searches for."""

    query: str
    limit: int
    since: date | None = None
    """Lines of earlier days, and of no day, are left out; `None` = no bound."""
    until: date | None = None
    """Lines of later days, and of no day, are left out; `None` = no bound."""
    today: date
    """What "yesterday" is counted from."""
    by_meaning: bool = False
    """The back end has vectors of the lines and of the query."""


def find_steps(asked: Asked, sizes: Mapping[int, FileSize], ranking: Ranking) -> Searching:
    """Search one tenant's rows.

    Args:
        asked: The query and its bounds.
        sizes: How large each of the tenant's files is.
        ranking: The knobs.
    """
    query = analyse(asked.query, asked.today)
    statistics = Statistics(files=sizes, counts=(yield Counts(terms=tuple(query.terms))) if query.terms else {})
    weights = choose(query, statistics, ranking)
    if not weights and query.choices:
        statistics = Statistics(files=sizes, counts=(yield from _probably_meant(query)))
        weights = {term: rarity(sum(c.values()), statistics.lines) for term, c in statistics.counts.items()}
    found: Sequence[Candidate] = yield from _candidates(asked, query, weights, statistics, ranking)
    if not found and (not query.choices or len(query.literal) >= MIN_LITERAL):
        texts = tuple(dict.fromkeys(filter(None, (query.literal, query.literal.lower()))))
        if texts:
            found = yield Literally(texts=texts, limit=asked.limit, since=asked.since, until=asked.until)
    total = scores(found, weights, statistics, query.periods, ranking)
    if asked.by_meaning and not (asked.since or asked.until):
        alike = yield ByMeaning(limit=ranking.by_meaning, also=tuple(found))
        found, total = mixed(found, total, alike, ranking)
    scored = best(found, total, asked.limit, {} if query.asks_for_days_alone else weights, ranking)
    shown = (yield Complete(found=tuple(s.candidate for s in scored))) if scored else []
    return [hit(candidate, s.score) for candidate, s in zip(shown, scored, strict=True)]


def _candidates(
    asked: Asked, query: Query, weights: Mapping[str, float], statistics: Statistics, ranking: Ranking
) -> Generator[Request, Any, list[Candidate]]:
    limit = max(ranking.candidates, 2 * asked.limit)
    found: dict[int, Candidate] = {}
    if weights:
        by_terms = yield ByTerms(
            weights=weights,
            essential=list(weights) if asked.since or asked.until else essential(weights, statistics, ranking),
            counts={term: sum(statistics.counts[term].values()) for term in weights},
            mean=statistics.terms / max(statistics.lines, 1) or 1.0,
            limit=limit,
            since=asked.since,
            until=asked.until,
        )
        found = {candidate.key: candidate for candidate in by_terms}
    if query.asks_for_days_alone:
        for period in query.periods:
            first, last = max(period.first, asked.since or date.min), min(period.last, asked.until or date.max)
            of_days = yield OfDays(first=first, last=last, limit=limit)
            found |= {candidate.key: candidate for candidate in of_days}
    return list(found.values())


def _probably_meant(query: Query) -> Generator[Request, Any, dict[str, dict[int, int]]]:
    terms = list(dict.fromkeys(t for choice in query.choices for t in choice.whole))
    words: Mapping[str, int] = (yield Vocabulary()) if any(len(term) > 3 for term in terms) else {}
    meant = tuple(dict.fromkeys(other for term in terms for other in nearest(term, words)))
    counts: dict[str, dict[int, int]] = (yield Counts(terms=meant)) if meant else {}
    return counts
