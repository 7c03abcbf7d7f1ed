"""One HTML page that shows a memory: days, MEMORY.md and its versions, daily logs, a search box, sessions as charts.

Self-contained: it loads nothing, its own policy forbids it to, and all that was said stands in it as data, never as markup.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Any

from langchain_core.messages import BaseMessage

from langgraph_harness_memory.cli.console import plain
from langgraph_harness_memory.formats import changes, daily_log, memory_md
from langgraph_harness_memory.formats.forms import form_of
from langgraph_harness_memory.workspace import Workspace, read_text

_MAX_POINTS = 400
"""Points of a chart; more would not be seen apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A thread's state at one checkpoint."""

    at: str
    """ISO moment."""
    messages: int
    tokens: int
    """Estimated tokens of the messages."""
    plain_tokens: int
    """… of everything that was said up to then."""
    compacted: bool
    """A summary took the place of older messages here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionView:
    """A thread."""

    thread_id: str
    messages: int
    unflushed: int
    first_at: datetime | None
    last_at: datetime | None
    points: tuple[Point, ...]


def page(root: Workspace, sessions: Sequence[SessionView], *, name: str, user: str | None, written_at: datetime) -> str:
    """Write the page.

    Args:
        root: The tenant's tree.
        sessions: Its threads.
        name: What to call the workspace.
        user: Whose memory it is; `None` = the shared one.
        written_at: The moment that the page shows.
    """
    data = {
        "workspace": name,
        "user": user,
        "written_at": written_at,
        "memory": _memory(root),
        "logs": _logs(root),
        "lines": _lines(root),
        "sessions": list(sessions),
    }
    template = files("langgraph_harness_memory.cli").joinpath("view.html").read_text(encoding="utf-8")
    text = json.dumps(plain(data), ensure_ascii=False, separators=(",", ":"))
    # In a script element only these three can end or change what is data.
    safe = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return template.replace("__DATA__", safe)


def points(
    checkpoints: Iterable[tuple[str, Sequence[BaseMessage]]], count: Callable[[BaseMessage], int]
) -> tuple[Point, ...]:
    """Measure a thread at each of its checkpoints.

    Args:
        checkpoints: Moment and messages of each, oldest first.
        count: Counts the tokens of a message.

    Returns:
        One point for each checkpoint at which the messages changed, thinned out evenly where there are very many.
    """
    out: list[Point] = []
    weights: dict[str, int] = {}
    summaries: set[str] = set()
    for at, messages in checkpoints:
        for message in messages:
            if form_of(message) is None:
                weights.setdefault(str(message.id), count(message))
        made = {str(m.content) for m in messages if form_of(m) == "summary"}
        point = Point(
            at=at,
            messages=len(messages),
            tokens=sum(count(m) for m in messages),
            plain_tokens=sum(weights.values()),
            compacted=bool(made - summaries),
        )
        summaries |= made
        if not out or (out[-1].messages, out[-1].tokens) != (point.messages, point.tokens):
            out.append(point)
    if len(out) <= _MAX_POINTS:
        return tuple(out)
    step = len(out) / _MAX_POINTS
    kept = {int(n * step) for n in range(_MAX_POINTS)} | {len(out) - 1}
    return tuple(p for at, p in enumerate(out) if at in kept or p.compacted)


def _memory(root: Workspace) -> dict[str, Any]:
    now = read_text(root, "MEMORY.md")
    history = read_text(root, changes.PATH)
    versions = memory_md.versions(info.path for info in root.files(memory_md.BACKUPS))
    return {
        "text": now[0] if now else "",
        "versions": [{"at": v.at, "text": _text(root, v.path)} for v in versions],
        "changes": list(changes.parse(history[0])) if history else [],
    }


def _logs(root: Workspace) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for info in root.files("memory"):
        day = daily_log.day_of(info.path)
        if day is None:
            continue
        text = _text(root, info.path)
        facts = sum(1 for _ in daily_log.lines(text))
        out.append({"path": info.path, "day": day, "facts": facts, "text": text})
    return sorted(out, key=lambda log: str(log["day"]), reverse=True)


def _lines(root: Workspace) -> list[dict[str, Any]]:
    paths = ["MEMORY.md", *[i.path for folder in ("memory", "knowledge") for i in root.files(folder)]]
    return [
        {"path": path, "line_number": line.number, "content": line.content, "date": daily_log.day_of(path)}
        for path in paths
        if path == "MEMORY.md" or daily_log.day_of(path) is not None or path.startswith("knowledge/")
        for line in daily_log.lines(_text(root, path))
    ]


def _text(root: Workspace, path: str) -> str:
    read = read_text(root, path)
    return read[0] if read else ""
