"""A block in the daily log and its mark in the session, as one critical section.

    lock ► marked already? ► block already in a log? ► append ► mark

A crash between append and mark leaves a block whose heading carries its range; the next try finds it there, marks it
and writes nothing. The daily logs that can hold such a block are those since the oldest of its messages was logged.
"""

from collections.abc import Iterator
from datetime import date, timedelta, tzinfo

from langgraph_harness_memory.formats.daily_log import archive_path, covered, log_path
from langgraph_harness_memory.identifiers import file_stem
from langgraph_harness_memory.performers.files import of_tenant
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.steps import AlreadyFlushed, Appended, AppendFlushed, LoggedMessage
from langgraph_harness_memory.workspace import Workspace, read_text, text_bytes


def append_flushed(
    workspace: Workspace, sessions: SessionLog, step: AppendFlushed, *, timezone: tzinfo | None
) -> Appended | AlreadyFlushed:
    """Append a block to the day's log and mark its positions, unless that was done before.

    Args:
        workspace: The root, not the tenant's.
        sessions: Holds the marks.
        step: What to write.
        timezone: Whose calendar names daily logs; `None` = the machine's own.

    Returns:
        `AlreadyFlushed` when some of the positions were marked, or stood in a block, before; those are marked now.
    """
    thread_id = step.thread.thread_id
    files = of_tenant(workspace, step.thread.tenant)
    with workspace.lock(f"flush/{file_stem(thread_id)}"):
        wanted = frozenset(step.positions)
        unmarked = {logged.position: logged for logged in sessions.unflushed(thread_id) if logged.position in wanted}
        if len(unmarked) < len(wanted):
            return AlreadyFlushed()
        found, path = _standing(files, step, list(unmarked.values()), timezone=timezone)
        if found:
            sessions.mark_flushed(step.thread, tuple(sorted(found)))
            return Appended(path=path) if found == wanted else AlreadyFlushed()
        if step.text is not None:
            files.append(log_path(step.day), text_bytes(step.text))
        sessions.mark_flushed(step.thread, step.positions)
        return Appended(path=None if step.text is None else log_path(step.day))


def _standing(
    files: Workspace, step: AppendFlushed, logged: list[LoggedMessage], *, timezone: tzinfo | None
) -> tuple[frozenset[int], str | None]:
    """Find which of the positions stand in a block, and in which log."""
    wanted = frozenset(step.positions)
    for path in _logs(step.day, logged, timezone=timezone):
        text = read_text(files, path)
        found = covered(text[0], step.thread.thread_id) & wanted if text else frozenset[int]()
        if found:
            return found, path
    return frozenset(), None


def _logs(day: str, logged: list[LoggedMessage], *, timezone: tzinfo | None) -> Iterator[str]:
    """Give the logs that may hold a block of these messages, newest first.

    One day more at each end: the zone may have been another when the block was written, or the clock may have gone back.
    """
    days = [date.fromisoformat(day), *(message.logged_at.astimezone(timezone).date() for message in logged)]
    at = max(days) + timedelta(days=1)
    while at >= min(days) - timedelta(days=1):
        yield log_path(at.isoformat())
        yield archive_path(at.isoformat())
        at -= timedelta(days=1)
