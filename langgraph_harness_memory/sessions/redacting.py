"""Take what was said out of a session log, for good, when a person asks for it."""

from collections.abc import Iterable

from langgraph_harness_memory.errors import WorkspaceError
from langgraph_harness_memory.formats.session_redaction import redact_line
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.sessions.log import SessionLog


def redact_messages(sessions: SessionLog, thread: ThreadRef, positions: Iterable[int]) -> int:
    """Take the content out of messages of a thread's log; every other byte, and every position, stays.

    Checkpoints refer to these lines and show what is left of them. Forms that were made of a message (a summary, a
    shortened call) stand in the checkpoint file and stay.

    Args:
        sessions: The session log.
        thread: The conversation.
        positions: Log positions of the messages.

    Returns:
        How many were redacted; those that were before do not count.

    Raises:
        TenantMismatch: The thread belongs to another tenant.
        WorkspaceError: Its log is sealed, or could not be replaced.
    """
    with sessions.pool.writing(thread.thread_id) as (session,):
        session.log.check_owner(thread.tenant)
        session.log.whole()
        stored = sessions.workspace.read(session.log.path)
        if stored is None:
            return 0
        data = bytearray(stored.data)
        redacted = 0
        for entry, line in session.log.read(sorted(positions)):
            if line.sealed is not None:
                raise WorkspaceError(
                    f"{session.log.path} is sealed and cannot be redacted in part: delete the session instead"
                )
            stands = slice(entry.offset, entry.offset + entry.length)
            emptied = redact_line(bytes(data[stands]))
            if emptied is not None:
                data[stands] = emptied
                redacted += 1
        if redacted:
            sessions.workspace.replace(session.log.path, bytes(data), expect=stored.version)
        return redacted
