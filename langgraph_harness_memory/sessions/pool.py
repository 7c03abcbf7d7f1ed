"""Which sessions are open in this process, and who may touch one.

    with pool.session("t1") as session:      threads of this process, one after the other
    with pool.writing("t1") as session:      also other processes; what others wrote is known first

Locks are never held across a `yield` to a caller's code. A forked child starts with an empty pool: locks that its
parent's other threads held would never be released in it.
"""

import os
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol

from langgraph_harness_memory.events import Damaged, OnEvent
from langgraph_harness_memory.formats import checkpoint_log, marks, session_log
from langgraph_harness_memory.identifiers import file_stem
from langgraph_harness_memory.sessions.checkpoint_file import CheckpointFile
from langgraph_harness_memory.sessions.fair_lock import FairLock
from langgraph_harness_memory.sessions.thread_log import ThreadLog
from langgraph_harness_memory.sessions.turnstile import Ticket, Turnstile
from langgraph_harness_memory.workspace import Workspace

LOCKS = 256
"""Locks that all sessions of a workspace share: few enough to leave no litter, enough that two rarely meet."""

OPEN_SESSIONS = 128
"""Sessions kept open; the one that was used longest ago is forgotten first, and read again when it is asked for."""


@dataclass(eq=False)
class Session:
    """One thread as this process knows it."""

    thread_id: str
    stem: str
    log: ThreadLog
    checkpoints: CheckpointFile
    lock: FairLock = field(default_factory=FairLock)
    turnstile: Turnstile = field(default_factory=Turnstile)
    cached: dict[int, Any] = field(default_factory=dict)
    """What each checkpointer keeps with the session, by the `id` of its serializer."""


class SessionPool:
    """The open sessions of one workspace."""

    def __init__(
        self, workspace: Workspace, *, folder: str, sealer: SerializerProtocol | None, on_event: OnEvent | None
    ) -> None:
        self.workspace = workspace
        self.folder = folder
        self._sealer = sealer
        self._on_event = on_event
        self._start_anew()

    def _start_anew(self) -> None:
        self._process = os.getpid()
        self._guard = threading.Lock()
        self._open: OrderedDict[str, Session] = OrderedDict()

    @contextmanager
    def session(self, thread_id: str) -> Iterator[Session]:
        """Have a session for reading; its log is not refreshed yet."""
        session = self._get(thread_id)
        with session.lock:
            yield session

    @contextmanager
    def writing(self, *thread_ids: str) -> Iterator[list[Session]]:
        """Have sessions for writing, refreshed, with every other process kept out."""
        stems = [file_stem(thread_id) for thread_id in thread_ids]
        sessions = [self._get(thread_id) for thread_id in thread_ids]
        with ExitStack() as stack:
            for _, session in sorted(zip(stems, sessions, strict=True), key=lambda pair: pair[0]):
                stack.enter_context(session.lock)
            for number in sorted({zlib.crc32(stem.encode()) % LOCKS for stem in stems}):
                stack.enter_context(self.workspace.lock(f"sessions-{number:02x}"))
            for session in sessions:
                session.log.refresh()
                session.checkpoints.refresh()
            yield sessions

    def log_path(self, stem: str) -> str:
        """Return the path of a session's log."""
        return self._path(stem + session_log.ENDING)

    def checkpoint_path(self, stem: str) -> str:
        """Return the path of a session's checkpoints."""
        return self._path(stem + checkpoint_log.ENDING)

    def marks_path(self, stem: str) -> str:
        """Return the path of a session's marks."""
        return self._path(stem + marks.ENDING)

    def _path(self, name: str) -> str:
        return f"{self.folder}/{name}" if self.folder else name

    def stems(self) -> tuple[list[str], list[str]]:
        """List the stems of the sessions that have a log, and of those that have checkpoints; each sorted."""
        logs, checkpoints = [], []
        for file in self.workspace.files(self.folder, recursive=False):
            name = file.path.rsplit("/", 1)[-1]
            if name.endswith(session_log.ENDING):
                logs.append(name.removesuffix(session_log.ENDING))
            elif name.endswith(checkpoint_log.ENDING):
                checkpoints.append(name.removesuffix(checkpoint_log.ENDING))
        return logs, checkpoints

    def thread_id_of(self, stem: str) -> str | None:
        """Return the id that an escaped stem stands for, as the session's files say; `None` where none of them does."""
        session = self._opened(stem, stem)
        start = session.log.start()
        named = (start.thread_id if start is not None else None, session.checkpoints.thread_id())
        return next((thread_id for thread_id in named if thread_id is not None and file_stem(thread_id) == stem), None)

    def join(self, thread_id: str) -> Ticket:
        """Take the next place among what is stored in a thread."""
        return self._get(thread_id).turnstile.join()

    def forget(self, thread_id: str) -> None:
        """Drop what is known of a session."""
        with self._guard:
            self._open.pop(file_stem(thread_id), None)

    def tell(self, event: Any) -> None:
        """Tell an event, if anybody listens."""
        if self._on_event is not None:
            self._on_event(event)

    def tell_damage(self, session: Session, reason: str) -> None:
        """Tell that a session's log is damaged."""
        self.tell(Damaged(thread_id=session.thread_id, path=session.log.path, reason=reason))

    def _get(self, thread_id: str) -> Session:
        if self._process != os.getpid():
            self._start_anew()
        stem = file_stem(thread_id)
        with self._guard:
            session = self._open.get(stem)
            if session is None:
                session = self._open[stem] = self._opened(thread_id, stem)
            self._open.move_to_end(stem)
            while len(self._open) > OPEN_SESSIONS:
                self._open.popitem(last=False)
            return session

    def _opened(self, thread_id: str, stem: str) -> Session:
        def report(path: str, reason: str) -> None:
            self.tell(Damaged(thread_id=thread_id, path=path, reason=reason))

        log = ThreadLog(self.workspace, self.log_path(stem), thread_id, sealer=self._sealer, report=report)
        file = CheckpointFile(self.workspace, self.checkpoint_path(stem), sealer=self._sealer, report=report)
        return Session(thread_id=thread_id, stem=stem, log=log, checkpoints=file)
