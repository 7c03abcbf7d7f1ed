"""The marks of a session on disk."""

from langgraph_harness_memory.errors import UnreadableFile
from langgraph_harness_memory.formats import marks as marks_format
from langgraph_harness_memory.formats.marks import Marks
from langgraph_harness_memory.sessions.pool import Session, SessionPool


def marks_of(pool: SessionPool, session: Session) -> Marks:
    """Read which positions of a session are flushed.

    Raises:
        UnreadableFile: The file is not what it should be; taken for none, everything would be flushed again.
    """
    path = pool.marks_path(session.stem)
    stored = pool.workspace.read(path)
    if stored is None:
        return Marks()
    try:
        marks, log_begun = marks_format.parse(stored.data)
    except ValueError as error:
        raise UnreadableFile(f"{path}: {error}; move it away to have the session flushed again") from error
    start = session.log.start()
    # Marks of a log that was removed by hand say nothing about the one that took its place.
    is_of_this_log = start is None or log_begun is None or log_begun == start.begun_at.isoformat()
    return marks if is_of_this_log else Marks()


def write_marks(pool: SessionPool, session: Session, marks: Marks) -> None:
    """Replace the marks of a session, durably; it is held for writing."""
    start = session.log.start()
    data = marks_format.render(marks, log_begun=None if start is None else start.begun_at.isoformat())
    pool.workspace.replace(pool.marks_path(session.stem), data)
