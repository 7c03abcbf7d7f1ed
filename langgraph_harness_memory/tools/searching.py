"""`memory_search` and `session_search`."""

import re
from collections.abc import Callable

from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field

from langgraph_harness_memory.index.hits import Index, SearchHit
from langgraph_harness_memory.outcome import finish_in_thread
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.sessions.values import SessionHit
from langgraph_harness_memory.tools.calling import LINE_CHARS, PAGE_CHARS, ROOM, bounded, build, clipped, day, tenant

_WORD = re.compile(r"\w{2,}")

OpenIndex = Callable[[], Index]
"""Gives the index, opening it at the first call."""


class SearchArgs(BaseModel):
    """Arguments of `memory_search`."""

    query: str = Field(description="Question, words or an identifier")
    max_results: int = 10
    since: str = Field(default="", description="First day, YYYY-MM-DD")
    until: str = Field(default="", description="Last day, YYYY-MM-DD")


class SessionSearchArgs(BaseModel):
    """Arguments of `session_search`."""

    query: str
    max_results: int = 10


def memory_search_tool(index: OpenIndex, *, page_chars: int = PAGE_CHARS) -> BaseTool:
    """Build `memory_search`.

    Args:
        index: Gives the index of the whole workspace; each call looks at its tenant's part.
        page_chars: Characters of one answer at most.
    """

    def search(query: str, max_results: int = 10, since: str = "", until: str = "") -> str:
        first, last = day("since", since), day("until", until)
        hits = index().for_tenant(tenant()).search(query, bounded(max_results), first, last)
        return _told_hits(query, hits, page_chars)

    async def asearch(query: str, max_results: int = 10, since: str = "", until: str = "") -> str:
        first, last = day("since", since), day("until", until)
        opened = await finish_in_thread(index)
        hits = await opened.for_tenant(tenant()).asearch(query, bounded(max_results), first, last)
        return _told_hits(query, hits, page_chars)

    about = "Search long-term memory. Gives lines as path#line with their day; read around one with memory_get."
    return build("memory_search", about, SearchArgs, search, asearch)


def session_search_tool(sessions: SessionLog, *, page_chars: int = PAGE_CHARS) -> BaseTool:
    """Build `session_search`.

    Args:
        sessions: The logs of all threads; each call finds its tenant's messages alone.
        page_chars: Characters of one answer at most.
    """

    def search(query: str, max_results: int = 10) -> str:
        return _told_messages(query, sessions.search(query, bounded(max_results), tenant=tenant()), page_chars)

    async def asearch(query: str, max_results: int = 10) -> str:
        return _told_messages(query, await sessions.asearch(query, bounded(max_results), tenant=tenant()), page_chars)

    about = "Search what was said in earlier sessions and in folded parts of this one."
    return build("session_search", about, SessionSearchArgs, search, asearch)


def _told_hits(query: str, hits: list[SearchHit], page_chars: int) -> str:
    if not hits:
        return f"No memory matches {clipped(query, 100)!r}. Try other or fewer words."
    return _listed([f"{_cited(hit)}\n{_excerpt(hit.content, query)}" for hit in hits], page_chars)


def _cited(hit: SearchHit) -> str:
    said = [f"{hit.path}#{hit.line_number}"]
    said += [hit.date.isoformat()] if hit.date else []
    said += [clipped(hit.heading, 100)] if hit.heading and hit.heading not in said else []
    said += [f"from {hit.source}"] if hit.source and f"from {hit.source}" not in hit.heading else []
    return " · ".join(said)


def _told_messages(query: str, hits: list[SessionHit], page_chars: int) -> str:
    if not hits:
        return f"No earlier message matches {clipped(query, 100)!r}. Try other or fewer words."
    return _listed(
        [
            f"thread {clipped(hit.thread_id, 100)} · message {hit.position} · {hit.role}"
            f" · {hit.said_at:%Y-%m-%d %H:%M} UTC\n{clipped(hit.snippet, LINE_CHARS)}"
            for hit in hits
        ],
        page_chars,
    )


def _listed(entries: list[str], page_chars: int) -> str:
    shown: list[str] = []
    left = page_chars - ROOM
    for entry in entries:
        left -= len(entry) + 2
        if left < 0:
            shown.append(f"({len(entries) - len(shown)} more left out: ask more exactly.)")
            break
        shown.append(entry)
    return "\n\n".join(shown)


def _excerpt(line: str, query: str) -> str:
    """Cut a long line around the first word of the query that stands in it."""
    if len(line) <= LINE_CHARS:
        return line
    lowered = line.lower()
    places = [lowered.find(word) for word in _WORD.findall(query.lower())[:50]]
    start = max(min((place for place in places if place >= 0), default=0) - LINE_CHARS // 4, 0)
    end = start + LINE_CHARS
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''} ({len(line)} characters)"
