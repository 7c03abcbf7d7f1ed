"""Find what was said in sessions."""

from collections.abc import Iterable, Iterator

from langgraph_harness_memory.sessions import search
from langgraph_harness_memory.sessions.pool import SessionPool
from langgraph_harness_memory.sessions.values import SessionHit


def recall(pool: SessionPool, threads: Iterable[str], query: str, limit: int) -> list[SessionHit]:
    """Find the messages that answer a query, best first.

    Args:
        pool: The sessions.
        threads: Which of them to look through.
        query: Any string.
        limit: At most so many hits.
    """
    terms = search.terms_of(query)
    if not terms:
        return []
    ranking = search.Ranking(terms)
    for thread_id in threads:
        for position, text in _texts(pool, thread_id):
            ranking.add(thread_id, position, text)
    hits = (_hit(pool, found, rank, terms) for rank, found in ranking.best(limit))
    return [hit for hit in hits if hit is not None]


def _texts(pool: SessionPool, thread_id: str) -> Iterator[tuple[int, str]]:
    """Give the text of each message's newest version."""
    newest: dict[object, tuple[int, str]] = {}
    with pool.session(thread_id) as session:
        session.log.refresh()
        session.log.whole()
        for _, line in session.log.read(sorted(session.log.entries)):
            key = line.position if line.message_id is None else line.message_id
            newest[key] = (line.position, search.text_of(session.log.body(line)))
    yield from newest.values()


def _hit(pool: SessionPool, found: search.Found, rank: float, terms: tuple[str, ...]) -> SessionHit | None:
    with pool.session(found.thread_id) as session:
        for _, line in session.log.read([found.position]):
            body = session.log.body(line)
            return SessionHit(
                thread_id=found.thread_id,
                position=found.position,
                role=body["type"],
                snippet=search.snippet(search.text_of(body), terms),
                said_at=line.logged_at,
                rank=rank,
            )
    return None
