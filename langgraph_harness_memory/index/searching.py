"""One search in one tenant's rows: from the query's text to hits.

query ─► terms ─► counts ─► choice of terms ─► candidates ─► scores ─► hits
                     │            │
                     │            └─ none known: terms that were probably meant
                     └─ the tenant's own, never another's
no terms at all, or still nothing: lines that hold the query character by character
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from langgraph_harness_memory.index import lines
from langgraph_harness_memory.index.hits import SearchHit
from langgraph_harness_memory.index.query import Query, analyse
from langgraph_harness_memory.index.rank import Candidate, FileSize, Ranking, Statistics, choose, hits, rarity, scores
from langgraph_harness_memory.index.typos import nearest

MIN_LITERAL = 3
"""Characters from which a word that no line holds is looked for inside words: one digit would be inside many."""


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


def find(
    db: sqlite3.Connection, tenant: int, asked: Asked, sizes: Mapping[int, FileSize], ranking: Ranking
) -> list[SearchHit]:
    """Search one tenant's rows.

    Args:
        db: An open transaction.
        tenant: Whose rows.
        asked: The query and its bounds.
        sizes: How large each of the tenant's files is.
        ranking: The knobs.

    Returns:
        Best first.
    """
    query = analyse(asked.query, asked.today)
    statistics = Statistics(files=sizes, counts=lines.counts(db, tenant, query.terms))
    weights = choose(query, statistics, ranking)
    if not weights and query.choices:
        statistics = Statistics(files=sizes, counts=_probably_meant(db, tenant, query))
        weights = {term: rarity(sum(c.values()), statistics.lines) for term, c in statistics.counts.items()}
    found = _candidates(db, tenant, asked, query, weights, ranking=ranking)
    if not found and (not query.choices or len(query.literal) >= MIN_LITERAL):
        literals = (query.literal, query.literal.lower())
        found = lines.lines_with(db, tenant, literals, asked.limit, since=asked.since, until=asked.until)
    total = scores(found, weights, statistics, query.periods, ranking)
    return hits(found, total, asked.limit, ranking)


def _candidates(
    db: sqlite3.Connection, tenant: int, asked: Asked, query: Query, weights: Mapping[str, float], *, ranking: Ranking
) -> list[Candidate]:
    limit = max(ranking.candidates, 2 * asked.limit)
    found: dict[int, Candidate] = {}
    if weights:
        by_terms = lines.candidates(db, tenant, weights, limit, since=asked.since, until=asked.until)
        found = {candidate.key: candidate for candidate in by_terms}
    if query.asks_for_days_alone:
        for period in query.periods:
            first, last = max(period.first, asked.since or date.min), min(period.last, asked.until or date.max)
            found |= {c.key: c for c in lines.lines_of_days(db, tenant, first, last, limit)}
    return list(found.values())


def _probably_meant(db: sqlite3.Connection, tenant: int, query: Query) -> dict[str, dict[int, int]]:
    terms = list(dict.fromkeys(t for choice in query.choices for t in choice.whole))
    words = lines.vocabulary(db, tenant, "") if any(len(term) > 3 for term in terms) else {}
    meant = dict.fromkeys(other for term in terms for other in nearest(term, words))
    return lines.counts(db, tenant, meant)
