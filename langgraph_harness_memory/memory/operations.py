"""Each operation on its own, for notebooks, jobs and the command line. The sync ones also work inside a running loop."""

import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage

from langgraph_harness_memory.config import CompactionConfig, ConsolidationConfig
from langgraph_harness_memory.conversation.turn import compact_now
from langgraph_harness_memory.curation.consolidation import ConsolidationReport
from langgraph_harness_memory.curation.finding import Target
from langgraph_harness_memory.curation.flush import FlushReport
from langgraph_harness_memory.curation.forgetting import ForgetReport, forget
from langgraph_harness_memory.curation.restoring import Restored, restore, versions
from langgraph_harness_memory.curation.review import Accepted, accept, reject
from langgraph_harness_memory.curation.saving import Saved, save
from langgraph_harness_memory.errors import WorkspaceError
from langgraph_harness_memory.formats.memory_md import Version
from langgraph_harness_memory.identifiers import ThreadRef, tenant_root
from langgraph_harness_memory.maintenance.report import TickInput, TickReport
from langgraph_harness_memory.maintenance.tasks import consolidate_now
from langgraph_harness_memory.memory.health import Health, look
from langgraph_harness_memory.memory.parts import Parts
from langgraph_harness_memory.outcome import finish_in_thread
from langgraph_harness_memory.performers import Caller, Flush
from langgraph_harness_memory.sessions.log import ANY, AnyTenant
from langgraph_harness_memory.steps import Failed, Steps, adrive, append_session_log, drive
from langgraph_harness_memory.tenancy import DEFAULT_THREAD
from langgraph_harness_memory.turns import Agent, Turns

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class DeletedUser:
    """What was deleted of a user."""

    threads: tuple[str, ...]
    """Conversations, with their logs, checkpoints, marks and evicted results."""
    files: int
    """Files of the user's memory, backups included."""


class Operations:
    """What a memory can be asked to do by hand."""

    _parts: Parts
    _turns: Turns

    def _do(self, rule: Steps[T | Failed]) -> T:
        return _must(drive(rule, self._parts.performer().perform))

    async def _ado(self, rule: Steps[T | Failed]) -> T:
        return _must(await adrive(rule, self._parts.performer().aperform))

    # -- conversations

    def compact(
        self, messages: Sequence[BaseMessage], *, thread_id: str = DEFAULT_THREAD, user_id: str | None = None
    ) -> list[BaseMessage]:
        """Fold the older part of a conversation into a summary now, whatever the triggers say.

        Args:
            messages: Oldest first; one without an id is given one.
            thread_id: Whose session log takes the raw messages.
            user_id: Whose memory it feeds; `None` = the shared root.

        Returns:
            The summary and what stays; the same messages where nothing could be folded.
        """
        thread = ThreadRef(thread_id=thread_id, tenant=user_id)
        return self._turns.run(self._compact_rule(thread, messages), self._caller())

    async def acompact(
        self, messages: Sequence[BaseMessage], *, thread_id: str = DEFAULT_THREAD, user_id: str | None = None
    ) -> list[BaseMessage]:
        """Twin of `compact`."""
        thread = ThreadRef(thread_id=thread_id, tenant=user_id)
        return await self._turns.arun(self._compact_rule(thread, messages), self._caller())

    def _compact_rule(self, thread: ThreadRef, messages: Sequence[BaseMessage]) -> Steps[list[BaseMessage]]:
        named = [_named(message) for message in messages]
        turn = self._turns.turn(thread, Agent(model=self._caller().model), named)
        if turn.compaction is None:
            turn = replace(turn, compaction=CompactionConfig())
        prepared = yield from compact_now(turn)
        return prepared.view

    def _caller(self) -> Caller:
        return Caller(model=self._parts.speaker())

    def flush(
        self, messages: Sequence[BaseMessage] = (), thread_id: str = DEFAULT_THREAD, *, user_id: str | None = None
    ) -> FlushReport:
        """Write the facts of what is new in a conversation to the daily log, and wait for it.

        Args:
            messages: What to log first; none = what the session log already holds.
            thread_id: The conversation.
            user_id: Whose memory; `None` = the shared root.
        """
        thread = ThreadRef(thread_id=thread_id, tenant=user_id)
        self._do(append_session_log(thread, [_named(message) for message in messages]))
        return self._parts.now(Flush(thread=thread, model=None))

    async def aflush(
        self, messages: Sequence[BaseMessage] = (), thread_id: str = DEFAULT_THREAD, *, user_id: str | None = None
    ) -> FlushReport:
        """Twin of `flush`."""
        thread = ThreadRef(thread_id=thread_id, tenant=user_id)
        await self._ado(append_session_log(thread, [_named(message) for message in messages]))
        return await self._parts.anow(Flush(thread=thread, model=None))

    # -- the curated memory

    def consolidate(self, *, user_id: str | None = None) -> ConsolidationReport:
        """Merge what is new in the daily logs into `MEMORY.md` now."""
        return self._do(consolidate_now(self._parts.upkeep, user_id, self._consolidation()))

    async def aconsolidate(self, *, user_id: str | None = None) -> ConsolidationReport:
        """Twin of `consolidate`."""
        return await self._ado(consolidate_now(self._parts.upkeep, user_id, self._consolidation()))

    def _consolidation(self) -> ConsolidationConfig:
        return self._parts.config.consolidation or ConsolidationConfig()

    def request_consolidation(self, *, user_id: str | None = None) -> None:
        """Ask for a consolidation in the background, when the least gap allows it. It outlives this process."""
        self._do(self._parts.request(user_id))
        self._parts.scheduler.wake()

    async def arequest_consolidation(self, *, user_id: str | None = None) -> None:
        """Twin of `request_consolidation`."""
        await self._ado(self._parts.request(user_id))
        self._parts.scheduler.wake()

    def save(self, text: str, *, thread_id: str = DEFAULT_THREAD, user_id: str | None = None) -> Saved:
        """Append a text to today's log at once."""
        return self._do(self._save_rule(text, thread_id, user_id))

    async def asave(self, text: str, *, thread_id: str = DEFAULT_THREAD, user_id: str | None = None) -> Saved:
        """Twin of `save`."""
        return await self._ado(self._save_rule(text, thread_id, user_id))

    def _save_rule(self, text: str, thread_id: str, user_id: str | None) -> Steps[Saved | Failed]:
        thread = ThreadRef(thread_id=thread_id, tenant=user_id)
        return save(thread, text, screening=self._parts.screening, key=secrets.token_hex(16))

    def forget(
        self,
        query: str | None = None,
        *,
        path: str | None = None,
        lines: tuple[int, int] | None = None,
        user_id: str | None = None,
        backups: bool = False,
        sessions: bool = False,
    ) -> ForgetReport:
        """Forget what a query or some lines of a file say: both layers, archive, index, and for good.

        Args:
            query: Every line that holds all words of this.
            path: `MEMORY.md`, a daily log or an archived one, in the place of a query.
            lines: First and last line in `path`, from 1.
            user_id: Whose memory; `None` = the shared root.
            backups: Also in earlier versions of `MEMORY.md`.
            sessions: Also redact the messages that it came from.
        """
        target = Target(query=query, path=path, lines=lines)
        return self._do(forget(user_id, target, key=secrets.token_hex(16), backups=backups, sessions=sessions))

    async def aforget(
        self,
        query: str | None = None,
        *,
        path: str | None = None,
        lines: tuple[int, int] | None = None,
        user_id: str | None = None,
        backups: bool = False,
        sessions: bool = False,
    ) -> ForgetReport:
        """Twin of `forget`."""
        target = Target(query=query, path=path, lines=lines)
        return await self._ado(forget(user_id, target, key=secrets.token_hex(16), backups=backups, sessions=sessions))

    def versions(self, *, user_id: str | None = None) -> tuple[Version, ...]:
        """Return the earlier versions of `MEMORY.md`, newest first."""
        return self._do(versions(user_id))

    async def aversions(self, *, user_id: str | None = None) -> tuple[Version, ...]:
        """Twin of `versions`."""
        return await self._ado(versions(user_id))

    def restore(self, version: str | None = None, *, user_id: str | None = None) -> Restored:
        """Make an earlier version of `MEMORY.md` the memory, without what was forgotten since.

        Args:
            version: A name that `versions` gives; `None` = the newest.
            user_id: Whose memory; `None` = the shared root.
        """
        return self._do(_restore_rule(version, user_id))

    async def arestore(self, version: str | None = None, *, user_id: str | None = None) -> Restored:
        """Twin of `restore`."""
        return await self._ado(_restore_rule(version, user_id))

    def accept(self, *, user_id: str | None = None) -> Accepted:
        """Make the proposal of a consolidation, as it now reads, the memory (`privacy.review`)."""
        return self._do(accept(user_id, screening=self._parts.screening))

    async def aaccept(self, *, user_id: str | None = None) -> Accepted:
        """Twin of `accept`."""
        return await self._ado(accept(user_id, screening=self._parts.screening))

    def reject(self, *, user_id: str | None = None) -> None:
        """Drop the proposal of a consolidation; its lines are not proposed again."""
        self._do(reject(user_id))

    async def areject(self, *, user_id: str | None = None) -> None:
        """Twin of `reject`."""
        await self._ado(reject(user_id))

    def delete_user(self, user_id: str) -> DeletedUser:
        """Delete everything of a user: conversations, checkpoints, memory, backups, index rows and their bytes."""
        return _delete_user(self._parts, user_id)

    async def adelete_user(self, user_id: str) -> DeletedUser:
        """Twin of `delete_user`."""
        return await finish_in_thread(_delete_user, self._parts, user_id)

    # -- looking after it all

    def health(self) -> Health:
        """Return how the memory is doing; what is wrong is in the answer, nothing raises."""
        return look(self._parts)

    async def ahealth(self) -> Health:
        """Twin of `health`."""
        return await finish_in_thread(look, self._parts)

    def maintain(self, *, user_id: str | AnyTenant | None = ANY, force: bool = True) -> TickReport:
        """Run one tick of maintenance now.

        Args:
            user_id: Look after this tenant alone, `None` = the shared root alone; left out = all.
            force: Whether or not it is due. A tick that is under way is respected either way, another process's and
                that of this process's own scheduler.

        Returns:
            What was done; `ran` is `False` and `skipped` says why where nothing was.
        """
        report: Any = self._parts.graph().invoke(_asked(user_id, force=force))
        done: TickReport = report
        return done

    async def amaintain(self, *, user_id: str | AnyTenant | None = ANY, force: bool = True) -> TickReport:
        """Twin of `maintain`."""
        report: Any = await self._parts.graph().ainvoke(_asked(user_id, force=force))
        done: TickReport = report
        return done


def _asked(user_id: str | AnyTenant | None, *, force: bool) -> TickInput:
    return {"force": force} if isinstance(user_id, AnyTenant) else {"force": force, "user_id": user_id}


def _restore_rule(version: str | None, user_id: str | None) -> Steps[Restored | Failed]:
    if version is None:
        known = yield from versions(user_id)
        if isinstance(known, Failed):
            return known
        if not known:
            return Failed(error=WorkspaceError("there is no earlier version of MEMORY.md to restore"))
        version = known[0].name
    return (yield from restore(user_id, version))


def _delete_user(parts: Parts, user_id: str) -> DeletedUser:
    parts.settle()
    threads = tuple(info.thread_id for info in parts.sessions.threads(tenant=user_id))
    for thread_id in threads:
        parts.checkpointer().delete_thread(thread_id)
        parts.sessions.delete(thread_id)
    root = str(tenant_root(user_id))
    files = len(parts.workspace.files(root))
    parts.workspace.delete(root)
    index = parts.index().for_tenant(user_id)
    index.reindex()
    index.index_text("MEMORY.md", "", purge=True)
    return DeletedUser(threads=threads, files=files)


def _named(message: BaseMessage) -> BaseMessage:
    return message if message.id is not None else message.model_copy(update={"id": str(uuid.uuid4())})


def _must(answer: T | Failed) -> T:
    if isinstance(answer, Failed):
        raise answer.error
    return answer
