"""The session log: every raw message of every thread, once, on disk before it can leave the state.

    append(thread, messages) ──► lock the session ► what is new? ► one durable append ──► positions

Whoever comes first writes a message: the nodes and the middleware, before the model is called and before a step's
messages are shown, and the checkpointer. The others find it there by its id and the hash of its content. A message that
the application edits is a new version under the same id; forms that we made (summary, truncated, evicted) never stand
in the log.
"""

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from langchain_core.messages import BaseMessage, RemoveMessage
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_harness_memory.clock import Clock, SystemClock
from langgraph_harness_memory.errors import UnreadableFile
from langgraph_harness_memory.events import Damaged, Deleted, OnEvent
from langgraph_harness_memory.formats.forms import form_of
from langgraph_harness_memory.formats.marks import Marks
from langgraph_harness_memory.formats.messages import message_from, message_json, redacted, without_parts
from langgraph_harness_memory.formats.session_log import MessageLine, hash_of
from langgraph_harness_memory.identifiers import ThreadRef, file_stem
from langgraph_harness_memory.outcome import finish_in_thread
from langgraph_harness_memory.sessions import evicted, exports
from langgraph_harness_memory.sessions.marking import marks_of, write_marks
from langgraph_harness_memory.sessions.pool import Session, SessionPool
from langgraph_harness_memory.sessions.recall import recall
from langgraph_harness_memory.sessions.thread_log import Entry, NewMessage, ThreadLog
from langgraph_harness_memory.sessions.values import ANY, AnyTenant, SessionHit, SessionInfo
from langgraph_harness_memory.steps import LoggedMessage
from langgraph_harness_memory.workspace import Workspace

__all__ = ["ANY", "AnyTenant", "SessionHit", "SessionInfo", "SessionLog"]


class SessionLog:
    """The logs of all threads of a workspace.

    Args:
        workspace: The root of the workspace; logs lie in its `sessions/`.
        clock: Dates the lines.
        redact: Takes secrets out of every text before it is written; what is read back holds the placeholders. `None`
            keeps messages as they were.
        on_event: Hears of damage that was met and of sessions that were deleted.
        sealer: A serializer that encrypts; messages then stand sealed in the log. `None` = as plain JSON.
        folder: Where the files of sessions lie, workspace-relative; empty = in the workspace's root.
        evicted_folder: Where evicted results lie, workspace-relative.
        new_id: Gives an id to a message that has none.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        clock: Clock | None = None,
        redact: Callable[[str], str] | None = None,
        on_event: OnEvent | None = None,
        sealer: SerializerProtocol | None = None,
        folder: str = "sessions",
        evicted_folder: str = "large_tool_results",
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        self.workspace = workspace
        self.clock = clock or SystemClock()
        self.redact = redact
        self.pool = SessionPool(workspace, folder=folder, sealer=sealer, on_event=on_event)
        # Strict: a class that is not on langgraph's list of safe ones comes back as its plain data.
        self._serde = JsonPlusSerializer(allowed_msgpack_modules=None)
        self._evicted_folder = evicted_folder
        self._new_id = new_id

    def path_of(self, thread_id: str) -> str:
        """Return the workspace-relative path of a thread's log."""
        return self.pool.log_path(file_stem(thread_id))

    # -- writing ------------------------------------------------------------------------------------------------

    def append(self, thread: ThreadRef, messages: Iterable[BaseMessage]) -> dict[str, int]:
        """Log messages that are not there yet, durably.

        Args:
            thread: The conversation; its tenant becomes the owner of a new log.
            messages: In the order in which they were said. One without an id is given one; forms of ours and removals
                are left out.

        Returns:
            Log position by message id, also of those that were there.

        Raises:
            TenantMismatch: The thread belongs to another tenant.
            WorkspaceError: The disk refused; nothing was written, and trying again is safe.
        """
        new = [self._new(message, thread.namespace) for message in messages if _is_said(message)]
        with self.pool.writing(thread.thread_id) as (session,):
            session.log.check_owner(thread.tenant)
            if new:
                session.log.begin(thread.tenant, self.clock.now(), is_tentative=False)
            entries = self.place(session.log, new)
        return {e.key.message_id: e.key.position for e in entries if e.key.message_id is not None}

    def place(self, log: ThreadLog, new: Sequence[NewMessage]) -> list[Entry]:
        """Log what is not there yet; the session is held for writing and its log begun. Returns every entry.

        A message without an id is told apart from an equal one by nothing, and is always logged.
        """
        log.whole()
        salted = [self._salted(message, log.salt()) for message in new]
        missing: dict[tuple[object, str], NewMessage] = {}
        keys = [(i if m.message_id is None else m.message_id, m.content_hash) for i, m in enumerate(salted)]
        for key, message in zip(keys, salted, strict=True):
            if message.message_id is None or log.find(message.message_id, message.content_hash) is None:
                missing.setdefault(key, message)
        added = log.append(list(missing.values()), log.owner()[0], self.clock.now()) if missing else []
        placed = dict(zip(missing, added, strict=True))
        return [placed.get(k) or log.entry(m.message_id, m.content_hash) for k, m in zip(keys, salted, strict=True)]

    def _new(self, message: BaseMessage, namespace: str) -> NewMessage:
        if message.id is None:
            message.id = self._new_id()
        return self.written(without_parts(message), namespace)

    def written(self, message: BaseMessage, namespace: str) -> NewMessage:
        """Return a message as it will stand in the log."""
        message_id = message.id
        record = message_json(message, self._serde)
        if self.redact is not None:
            record = redacted(record, self.redact)
        return NewMessage(message_id=message_id, content_hash=hash_of(record), record=record, namespace=namespace)

    def _salted(self, message: NewMessage, salt: bytes) -> NewMessage:
        if not salt:
            return message
        return replace(message, content_hash=hash_of(message.record, salt=salt))

    # -- reading ------------------------------------------------------------------------------------------------

    def read(self, thread_id: str, *, start: int = 0, namespace: str | None = None) -> list[LoggedMessage]:
        """Read a thread's messages as they were, oldest first.

        Args:
            thread_id: The thread.
            start: First position.
            namespace: The sub-graph; empty = the agent itself, `None` = all.
        """
        with self.pool.session(thread_id) as session:
            session.log.refresh()
            session.log.back_to(start)
            return self._read(session.log, [p for p in session.log.entries if p >= start], namespace)

    def tail(self, thread_id: str, count: int) -> list[LoggedMessage]:
        """Read a thread's last messages, oldest first; costs what they cost, however long the log."""
        with self.pool.session(thread_id) as session:
            session.log.refresh()
            first = max(0, session.log.next_position() - count)
            session.log.back_to(first)
            return self._read(session.log, [p for p in session.log.entries if p >= first], None)

    def _read(self, log: ThreadLog, positions: list[int], namespace: str | None) -> list[LoggedMessage]:
        found = []
        for _, line in log.read(sorted(positions)):
            if namespace is None or line.namespace == namespace:
                message = self._message(log, line)
                if message is not None:
                    found.append(message)
        return found

    def _message(self, log: ThreadLog, line: MessageLine) -> LoggedMessage | None:
        try:
            message = message_from(log.body(line), self._serde, message_id=line.message_id)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            self.pool.tell(Damaged(thread_id=log.thread_id, path=log.path, reason=f"message {line.position}: {error}"))
            return None
        return LoggedMessage(
            position=line.position, message=message, logged_at=line.logged_at, namespace=line.namespace
        )

    def tenant(self, thread_id: str) -> str | None:
        """Return whose thread it is; `None` for the shared root, and for a thread that nobody began."""
        with self.pool.session(thread_id) as session:
            session.log.refresh()
            return session.log.owner()[0]

    def check_tenant(self, thread: ThreadRef) -> None:
        """Refuse a run of another tenant than the owner before anything is read or written.

        Raises:
            TenantMismatch: The thread belongs to another tenant.
        """
        with self.pool.session(thread.thread_id) as session:
            session.log.refresh()
            session.log.check_owner(thread.tenant)

    # -- marks --------------------------------------------------------------------------------------------------

    def flushed(self, thread_id: str) -> Marks:
        """Return which positions are flushed."""
        with self.pool.session(thread_id) as session:
            session.log.refresh()
            return marks_of(self.pool, session)

    def unflushed(self, thread_id: str) -> list[LoggedMessage]:
        """Read what is logged and not marked as flushed, oldest first."""
        with self.pool.session(thread_id) as session:
            session.log.refresh()
            marks = marks_of(self.pool, session)
            # Marks nearly always reach from the first message on; then only what follows them is read.
            first = marks.ranges[0][1] + 1 if marks.ranges and marks.ranges[0][0] == 0 else 0
            session.log.back_to(first)
            return self._read(session.log, [p for p in session.log.entries if p >= first and p not in marks], None)

    def mark_flushed(self, thread: ThreadRef, positions: Iterable[int]) -> None:
        """Mark positions as flushed, durably.

        Raises:
            TenantMismatch: The thread belongs to another tenant.
        """
        with self.pool.writing(thread.thread_id) as (session,):
            session.log.check_owner(thread.tenant)
            write_marks(self.pool, session, marks_of(self.pool, session).including(positions))

    # -- all sessions -------------------------------------------------------------------------------------------

    def threads(self, *, tenant: str | AnyTenant | None = ANY) -> list[SessionInfo]:
        """List sessions, the one with the newest message first.

        Args:
            tenant: Whose; `None` = the shared root's, `ANY` = all.
        """
        found = [info for thread_id in self.thread_ids() if (info := self.info(thread_id)) is not None]
        return sorted(
            (i for i in found if isinstance(tenant, AnyTenant) or i.tenant == tenant),
            key=lambda i: i.last_at,
            reverse=True,
        )

    def thread_ids(self) -> list[str]:
        """Return the ids of all threads that have a log."""
        ids = (self._thread_id(stem) for stem in self.pool.stems()[0])
        return [thread_id for thread_id in ids if thread_id is not None]

    def _thread_id(self, stem: str) -> str | None:
        """Return the id that a stem stands for; only a plain stem tells it by itself."""
        if file_stem(stem) == stem:
            return stem
        return self.pool.thread_id_of(stem)

    def info(self, thread_id: str) -> SessionInfo | None:
        """Describe one session; `None` where there is no log."""
        with self.pool.session(thread_id) as session:
            log = session.log
            log.refresh()
            if not log.exists():
                return None
            count = log.next_position()
            start = log.start()
            last = [line for _, line in log.read([count - 1])] if count else []
            begun = start.begun_at if start is not None else (last[0].logged_at if last else self.clock.now())
            try:
                marked = marks_of(self.pool, session).below(count)
            except UnreadableFile as error:
                self.pool.tell(Damaged(thread_id=thread_id, path=self.pool.marks_path(session.stem), reason=str(error)))
                marked = 0
            files = (self.workspace.stat(path) for path in (log.path, self.pool.checkpoint_path(session.stem)))
            return SessionInfo(
                thread_id=thread_id,
                tenant=log.owner()[0],
                messages=count,
                unflushed=count - marked,
                first_at=begun,
                last_at=last[0].logged_at if last else begun,
                size=sum(file.size for file in files if file is not None),
                path=log.path,
            )

    def search(self, query: str, limit: int = 10, *, tenant: str | AnyTenant | None) -> list[SessionHit]:
        """Find messages of earlier sessions, best first.

        Args:
            query: Any string; words in any script, compared without case and accents.
            limit: At most so many hits.
            tenant: Whose sessions; `None` = the shared root's.
        """
        threads = [info.thread_id for info in self.threads(tenant=tenant)] if query and limit > 0 else []
        return recall(self.pool, threads, query, limit)

    def _said(self, thread_id: str) -> list[LoggedMessage]:
        return exports.newest_versions(self.read(thread_id))

    # -- moving and removing ------------------------------------------------------------------------------------

    def delete(self, thread_id: str) -> bool:
        """Delete a session without flushing it: log, checkpoints, marks, and evicted files that no other one names.

        Returns:
            Whether there was anything.
        """
        with self.pool.writing(thread_id) as (session,):
            evicted.release(self.pool, session.stem, folder=self._evicted_folder)
            paths = (
                self.pool.checkpoint_path(session.stem),
                self.pool.marks_path(session.stem),
                self.pool.log_path(session.stem),
            )
            was_there = [self.workspace.delete(path) for path in paths]
            self.pool.forget(thread_id)
            session.cached.clear()
            session.log.refresh()
        return any(was_there)

    def prune(self, before: datetime, *, only_flushed: bool = True) -> list[SessionInfo]:
        """Delete the sessions whose last message is older than a moment.

        A session that somebody holds a lease on (`session/<stem>`) is left for the next time.

        Args:
            before: The moment, aware.
            only_flushed: Leave sessions with messages that no mark covers; `False` where nothing is flushed at all.

        Returns:
            What was deleted; each is told as `Deleted` too.
        """
        gone = []
        for info in self.threads():
            if info.last_at >= before or (only_flushed and info.unflushed):
                continue
            if self._delete_unused(info, before):
                gone.append(info)
        return gone

    def _delete_unused(self, info: SessionInfo, before: datetime) -> bool:
        lease = self.workspace.acquire_lease(f"session/{file_stem(info.thread_id)}", ttl=evicted.LEASE)
        if lease is None:
            return False
        try:
            now = self.info(info.thread_id)
            if now is None or now.last_at >= before or self.has_open_writes(info.thread_id):
                return False
            self.delete(info.thread_id)
        finally:
            self.workspace.release_lease(lease)
        reason = f"its last message is of {info.last_at:%Y-%m-%d}"
        self.pool.tell(Deleted(thread_id=info.thread_id, tenant=info.tenant, path=info.path, reason=reason))
        return True

    def has_open_writes(self, thread_id: str) -> bool:
        """Say whether the last checkpoint of a thread has writes that no step has taken up, such as an interrupt."""
        with self.pool.session(thread_id) as session:
            file = session.checkpoints
            file.refresh()
            newest = file.latest("")
            return newest is not None and bool(file.writes("", newest.key.checkpoint_id))

    def copy(self, source: str, target: str) -> dict[int, int]:
        """Copy a thread's log and marks to another thread, after what that one holds.

        Returns:
            Position in the target by position in the source.

        Raises:
            TenantMismatch: The target belongs to another tenant.
        """
        if source == target:
            return {}
        with self.pool.writing(source, target) as (origin, copy):
            return self.copy_held(origin, copy)

    def copy_held(self, origin: Session, copy: Session) -> dict[int, int]:
        """Copy between two sessions that are held for writing; see `copy`."""
        if not origin.log.exists():
            return {}
        owner, is_settled = origin.log.owner()
        copy.log.check_owner(owner)
        copy.log.begin(owner, self.clock.now(), is_tentative=not is_settled)
        origin.log.whole()
        lines = [line for _, line in origin.log.read(sorted(origin.log.entries))]
        new = [
            NewMessage(
                message_id=line.message_id,
                content_hash=line.content_hash,
                record=origin.log.body(line),
                namespace=line.namespace,
                logged_at=line.logged_at,
            )
            for line in lines
        ]
        placed = self.place(copy.log, new)
        moved = {line.position: entry.key.position for line, entry in zip(lines, placed, strict=True)}
        marks = marks_of(self.pool, origin)
        marked = [there for here, there in moved.items() if here in marks]
        if marked:
            write_marks(self.pool, copy, marks_of(self.pool, copy).including(marked))
        return moved

    def export_openai(self, thread_id: str) -> str:
        """Return a thread as one line of OpenAI chat JSONL; empty where there is nothing."""
        return exports.openai_jsonl([logged.message for logged in self._said(thread_id)])

    def export_langchain(self, thread_id: str) -> str:
        """Return a thread's messages as LangChain dumps them: one JSON list."""
        return exports.langchain_dump([logged.message for logged in self._said(thread_id)])

    # -- the same without blocking the event loop -----------------------------------------------------------------

    async def aappend(self, thread: ThreadRef, messages: Iterable[BaseMessage]) -> dict[str, int]:
        """Twin of `append`; when cancelled, the outcome is waited for first."""
        return await finish_in_thread(self.append, thread, list(messages))

    async def aread(self, thread_id: str, *, start: int = 0, namespace: str | None = None) -> list[LoggedMessage]:
        """Twin of `read`."""
        return await finish_in_thread(self.read, thread_id, start=start, namespace=namespace)

    async def atail(self, thread_id: str, count: int) -> list[LoggedMessage]:
        """Twin of `tail`."""
        return await finish_in_thread(self.tail, thread_id, count)

    async def atenant(self, thread_id: str) -> str | None:
        """Twin of `tenant`."""
        return await finish_in_thread(self.tenant, thread_id)

    async def acheck_tenant(self, thread: ThreadRef) -> None:
        """Twin of `check_tenant`."""
        await finish_in_thread(self.check_tenant, thread)

    async def aflushed(self, thread_id: str) -> Marks:
        """Twin of `flushed`."""
        return await finish_in_thread(self.flushed, thread_id)

    async def aunflushed(self, thread_id: str) -> list[LoggedMessage]:
        """Twin of `unflushed`."""
        return await finish_in_thread(self.unflushed, thread_id)

    async def amark_flushed(self, thread: ThreadRef, positions: Iterable[int]) -> None:
        """Twin of `mark_flushed`; when cancelled, the outcome is waited for first."""
        await finish_in_thread(self.mark_flushed, thread, tuple(positions))

    async def athreads(self, *, tenant: str | AnyTenant | None = ANY) -> list[SessionInfo]:
        """Twin of `threads`."""
        return await finish_in_thread(self.threads, tenant=tenant)

    async def ainfo(self, thread_id: str) -> SessionInfo | None:
        """Twin of `info`."""
        return await finish_in_thread(self.info, thread_id)

    async def asearch(self, query: str, limit: int = 10, *, tenant: str | AnyTenant | None) -> list[SessionHit]:
        """Twin of `search`."""
        return await finish_in_thread(self.search, query, limit, tenant=tenant)

    async def adelete(self, thread_id: str) -> bool:
        """Twin of `delete`; when cancelled, the outcome is waited for first."""
        return await finish_in_thread(self.delete, thread_id)

    async def aprune(self, before: datetime, *, only_flushed: bool = True) -> list[SessionInfo]:
        """Twin of `prune`; when cancelled, the outcome is waited for first."""
        return await finish_in_thread(self.prune, before, only_flushed=only_flushed)

    async def acopy(self, source: str, target: str) -> dict[int, int]:
        """Twin of `copy`; when cancelled, the outcome is waited for first."""
        return await finish_in_thread(self.copy, source, target)

    async def aexport_openai(self, thread_id: str) -> str:
        """Twin of `export_openai`."""
        return await finish_in_thread(self.export_openai, thread_id)

    async def aexport_langchain(self, thread_id: str) -> str:
        """Twin of `export_langchain`."""
        return await finish_in_thread(self.export_langchain, thread_id)


def _is_said(message: BaseMessage) -> bool:
    return not isinstance(message, RemoveMessage) and form_of(message) is None
