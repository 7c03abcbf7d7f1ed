"""One step at a time: the two functions that drivers call.

Only a model has a native async side. Everything else is a file or a lock, so its async twin is the sync function in a
thread whose outcome is waited for.
"""

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, Protocol

from langchain_core.messages import BaseMessage

from langgraph_harness_memory.clock import Clock
from langgraph_harness_memory.index.hits import Index
from langgraph_harness_memory.outcome import finish_in_thread
from langgraph_harness_memory.performers import files
from langgraph_harness_memory.performers.asking import Models, aask, ask, asked
from langgraph_harness_memory.performers.attempting import PROPAGATED
from langgraph_harness_memory.performers.background import Flush
from langgraph_harness_memory.performers.calling import IsOverflow, watch_tokens
from langgraph_harness_memory.performers.flushing import append_flushed
from langgraph_harness_memory.performers.telling import Teller
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.sessions.redacting import redact_messages
from langgraph_harness_memory.steps import (
    Answer,
    AppendFlushed,
    AppendSessionLog,
    AppendText,
    AskModel,
    Called,
    CallModel,
    DeleteFile,
    Failed,
    IndexFile,
    ListFiles,
    Logged,
    MoveFile,
    Notify,
    Now,
    Overflowed,
    QueueFlush,
    ReadLogged,
    ReadText,
    ReadUnflushed,
    RedactLogged,
    RemoveLines,
    Step,
    WriteEvicted,
    WriteText,
)
from langgraph_harness_memory.tenancy import ambient_run_id
from langgraph_harness_memory.workspace import Workspace, text_bytes

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

Call = Callable[[Sequence[BaseMessage]], Any]
"""Sends the agent's request with these messages."""


class Flushes(Protocol):
    """Flushes a thread, now or soon."""

    def soon(self, entry: Flush, /) -> None:
        """Have it done in the background."""
        ...

    def now(self, entry: Flush, /) -> object:
        """Do it and wait."""
        ...

    def anow(self, entry: Flush, /) -> Awaitable[object]:
        """Do it and wait, on the event loop."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """What differs from one model call of an agent to the next."""

    model: "BaseChatModel | None" = None
    """The agent's own model, where it can be told."""
    call: Call | None = None
    """Calls it, for a sync run."""
    acall: Callable[[Sequence[BaseMessage]], Awaitable[Any]] | None = None
    """Calls it, for an async run."""
    run_id: str | None = None
    """The run whose turn it was, for what happens in the background; `None` = the one that is under way, if any."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Performer:
    """Does steps. Immutable: `for_caller` gives the one that serves a turn."""

    workspace: Workspace
    sessions: SessionLog
    index: Callable[[], Index]
    """Opens the index when it is first needed."""
    teller: Teller
    clock: Clock
    timezone: tzinfo | None
    models: Models
    flushes: Flushes
    is_overflow: IsOverflow
    eviction_path: str
    backups: int
    """Earlier versions of a replaced file that are kept."""
    screen_evicted: Callable[[str], str] | None = None
    """Takes out of an evicted text what may not reach the disk; `None` = it stays as it was."""
    caller: Caller = dataclasses.field(default_factory=Caller)

    def for_caller(self, caller: Caller) -> "Performer":
        """Return the performer of one model call of an agent."""
        return dataclasses.replace(self, caller=caller, models=dataclasses.replace(self.models, agent=caller.model))

    def perform(self, step: Step) -> Any:
        """Do one step and return its answer."""
        match step:
            case CallModel():
                return self._call(step)
            case Notify():
                return self.teller.tell(step.event)
        try:
            match step:
                case AskModel():
                    return self._told(step, lambda: ask(self._models(), step))
                case QueueFlush(wait=True):
                    self.flushes.now(self._flush(step))
                    return None
                case _:
                    return self._done(step, self._act(step))
        except PROPAGATED:
            raise
        except Exception as error:  # noqa: BLE001  every failure of a step is an answer to its rule
            return self._failed(step, error)

    async def aperform(self, step: Step) -> Any:
        """Do one step on the event loop and return its answer; the twin of `perform`."""
        match step:
            case CallModel():
                return await self._acall(step)
            case Notify():
                return self.teller.tell(step.event)
        try:
            match step:
                case AskModel():
                    return await self._atold(step, aask(self._models(), step))
                case QueueFlush(wait=True):
                    await self.flushes.anow(self._flush(step))
                    return None
                case QueueFlush() | Now():
                    return self._act(step)
                case _:
                    return self._done(step, await finish_in_thread(self._act, step))
        except PROPAGATED:
            raise
        except Exception as error:  # noqa: BLE001  every failure of a step is an answer to its rule
            return self._failed(step, error)

    def _models(self) -> Models:
        """Return the models with the turn in their metadata, so that a trace leads from the one to the other."""
        run_id = self._run_id()
        if run_id is None:
            return self.models
        metadata = {**self.models.metadata, "harness_memory_turn_run_id": run_id}
        return dataclasses.replace(self.models, metadata=metadata)

    def _run_id(self) -> str | None:
        return self.caller.run_id or ambient_run_id()

    def _told(self, step: AskModel, ask_it: Callable[[], Answer]) -> Answer:
        """Ask, and tell what it cost whether or not it went well."""
        begun = self.clock.monotonic()
        answer = None
        try:
            answer = ask_it()
            return answer
        finally:
            self.teller.tell(asked(step, answer, seconds=self.clock.monotonic() - begun, run_id=self._run_id()))

    async def _atold(self, step: AskModel, asking: Awaitable[Answer]) -> Answer:
        """Twin of `_told`."""
        begun = self.clock.monotonic()
        answer = None
        try:
            answer = await asking
            return answer
        finally:
            self.teller.tell(asked(step, answer, seconds=self.clock.monotonic() - begun, run_id=self._run_id()))

    def _call(self, step: CallModel) -> Called | Overflowed:
        if self.caller.call is None:
            raise TypeError("a rule asked for the agent's call outside a turn")
        with watch_tokens() as tokens:
            try:
                return Called(result=self.caller.call(step.messages))
            except Exception as error:
                if not self._may_recover(error, token_left=tokens.seen):
                    raise
                return Overflowed(error=error)

    async def _acall(self, step: CallModel) -> Called | Overflowed:
        if self.caller.acall is None:
            raise TypeError("a rule asked for the agent's call outside a turn")
        with watch_tokens() as tokens:
            try:
                return Called(result=await self.caller.acall(step.messages))
            except Exception as error:
                if not self._may_recover(error, token_left=tokens.seen):
                    raise
                return Overflowed(error=error)

    def _may_recover(self, error: Exception, *, token_left: bool) -> bool:
        """Tell an overflow of which nobody has seen anything from every other error."""
        return not token_left and not isinstance(error, PROPAGATED) and self.is_overflow(error)

    def _flush(self, step: QueueFlush) -> Flush:
        return Flush(thread=step.thread, model=self.caller.model, everything=step.everything, run_id=self._run_id())

    def _act(self, step: Step) -> Any:
        """Do a step that is a file, a lock or the clock."""
        match step:
            case Now():
                return self.clock.now().astimezone(self.timezone)
            case AppendSessionLog():
                return Logged(positions=self.sessions.append(step.thread, step.messages))
            case QueueFlush():
                self.flushes.soon(self._flush(step))
                return None
            case ReadUnflushed():
                self.sessions.check_tenant(step.thread)
                return tuple(self.sessions.unflushed(step.thread.thread_id))
            case ReadLogged():
                self.sessions.check_tenant(step.thread)
                logged = self.sessions.read(step.thread.thread_id, start=step.start)
                return tuple(message for message in logged if message.position < step.end)
            case RedactLogged():
                return redact_messages(self.sessions, step.thread, step.positions)
            case AppendFlushed():
                return append_flushed(self.workspace, self.sessions, step, timezone=self.timezone)
            case WriteEvicted():
                return self._evict(step)
            case _:
                return self._act_on_files(step)

    def _act_on_files(self, step: Step) -> Any:
        """Do a step on the text files of its tenant."""
        match step:
            case ReadText():
                return files.read(self._files(step.tenant), step.path)
            case WriteText():
                return files.write(self._files(step.tenant), step, now=self.clock.now(), backups=self.backups)
            case RemoveLines():
                return files.remove_lines(self._files(step.tenant), step)
            case AppendText():
                self._files(step.tenant).append(step.path, text_bytes(step.text))
                return None
            case ListFiles():
                return tuple(info.path for info in self._files(step.tenant).files(step.folder))
            case MoveFile():
                return self._files(step.tenant).move(step.source, step.target)
            case DeleteFile():
                self._files(step.tenant).delete(step.path)
                return None
            case IndexFile():
                return self._index_file(step)
        raise TypeError(f"{type(step).__name__} is no step of a file")

    def _files(self, tenant: str | None) -> Workspace:
        return files.of_tenant(self.workspace, tenant)

    def _evict(self, step: WriteEvicted) -> str:
        text = step.text if self.screen_evicted is None else self.screen_evicted(step.text)
        return files.write_evicted(self.workspace, dataclasses.replace(step, text=text), folder=self.eviction_path)

    def _index_file(self, step: IndexFile) -> None:
        found = files.read(self._files(step.tenant), step.path)
        index = self.index().for_tenant(step.tenant)
        index.index_text(step.path, "" if found is None else found.text, purge=step.purge)

    def _done(self, step: Step, answer: Any) -> Any:
        self.teller.works(WHAT.get(type(step), type(step).__name__))
        return answer

    def _failed(self, step: Step, error: Exception) -> Failed:
        if type(step) in WHAT:
            thread = getattr(step, "thread", None)
            tenant = thread.tenant if thread else getattr(step, "tenant", None)
            self.teller.degraded(WHAT[type(step)], error, thread_id=thread.thread_id if thread else None, tenant=tenant)
        return Failed(error=error)


WHAT: Mapping[type[Any], str] = {
    AppendSessionLog: "the session log",
    ReadUnflushed: "the session log",
    ReadLogged: "the session log",
    RedactLogged: "the session log",
    AppendFlushed: "the daily log",
    WriteEvicted: "an evicted result",
    ReadText: "a memory file",
    WriteText: "a memory file",
    RemoveLines: "a memory file",
    AppendText: "a memory file",
    ListFiles: "a memory file",
    MoveFile: "a memory file",
    DeleteFile: "a memory file",
    IndexFile: "the index",
    QueueFlush: "the flush queue",
}
"""What a failing step means to a person. A model's failure is told by the rule that asked it."""
