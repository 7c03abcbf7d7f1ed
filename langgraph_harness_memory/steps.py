"""The vocabulary between rules and those who act.

`conversation` and `curation` hold every rule and do no I/O. A rule is a generator: it yields a step, gets the step's
answer back and goes on, so that it reads top to bottom like plain code.

    rule (generator) ── AskModel(…) ──────► performer: model, disk, clock, events
         ▲                                      │
         └────── Answer(…) or Failed(…) ────────┘

`drive` and `adrive` run the same generator, sync and async. A step that fails is answered with `Failed`, so that every
failure point of a rule can be reached by a test that answers by hand. Cancellation and interrupts are never answers:
they unwind the generator.
"""

from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, TypeVar

from langchain_core.messages import BaseMessage

from langgraph_harness_memory.events import Event
from langgraph_harness_memory.identifiers import ThreadRef

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed:
    """A step could not be done; nothing was half done by it."""

    error: Exception

    @property
    def reason(self) -> str:
        """One line for events and logs."""
        return f"{type(self.error).__name__}: {self.error}"[:500]


@dataclass(frozen=True, kw_only=True, slots=True)
class AskModel:
    """Ask a curating or summarising model. Answered with `Answer` or `Failed`."""

    purpose: Literal["summary", "flush", "consolidation"]
    messages: Sequence[BaseMessage]
    timeout: timedelta
    by_rules: bool = False
    """Ask the model-free extractor instead of the model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a model said."""

    text: str
    """Its text, content blocks joined, reasoning left out."""
    truncated: bool = False
    """It stopped at its length limit."""
    has_tool_calls: bool = False
    """It called a tool, which nobody offered."""
    total_tokens: int | None = None
    """The provider's own count of the call; `None` where it gives none."""
    by_rules: bool = False
    """The model-free extractor said it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallModel:
    """Send the agent's own request. Answered with `Called`, or with `Overflowed` before the first token left; other errors raise."""

    messages: Sequence[BaseMessage]


@dataclass(frozen=True, kw_only=True, slots=True)
class Called:
    """The agent's model answered."""

    result: Any
    """What the caller's model function returned, untouched."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Overflowed:
    """The provider refused the request for its length."""

    error: Exception


@dataclass(frozen=True, kw_only=True, slots=True)
class AppendSessionLog:
    """Write raw messages to the session log; known ones are skipped. Answered with `Logged` or `Failed`."""

    thread: ThreadRef
    messages: Sequence[BaseMessage]


@dataclass(frozen=True, kw_only=True, slots=True)
class Logged:
    """Where messages stand in the session log."""

    positions: dict[str, int]
    """Log position by message id; forms of ours have none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueFlush:
    """Have everything of a thread that is logged and unmarked flushed soon. Answered with `None` or `Failed`."""

    thread: ThreadRef
    wait: bool = False
    """Wait until it is done (`mode="inline"`)."""
    everything: bool = True
    """Do not wait for `min_new_tokens`: what is new is about to be folded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggedMessage:
    """A message of the session log."""

    position: int
    """Its place in the log, from 0; never reused."""
    message: BaseMessage
    logged_at: datetime
    """When it was written, aware, UTC."""
    namespace: str = ""
    """The sub-graph that it was said in; empty for the agent itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadUnflushed:
    """Read what of a thread is logged and not marked as flushed. Answered with a tuple of `LoggedMessage`, oldest first, or `Failed`."""

    thread: ThreadRef


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadLogged:
    """Read a stretch of a thread's session log, flushed or not. Answered with a tuple of `LoggedMessage`, oldest first, or `Failed`."""

    thread: ThreadRef
    start: int
    """First log position."""
    end: int
    """Log position after the last."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RedactLogged:
    """Take the content out of messages of a session log, for good. Answered with how many were redacted, or `Failed`."""

    thread: ThreadRef
    positions: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class AppendFlushed:
    """Append a block to today's log and mark its positions, in one critical section. Answered with `Appended`, `AlreadyFlushed` or `Failed`.

    With no text the positions are marked alone. A block whose range already stands in a log (a crash fell between block
    and mark) is marked and not written again.
    """

    thread: ThreadRef
    positions: tuple[int, ...]
    day: str
    """`YYYY-MM-DD` in the configured zone."""
    text: str | None
    """The rendered block with its heading; `None` = nothing was worth writing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Appended:
    """A block was written, or there was none to write, and its positions are marked."""

    path: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class AlreadyFlushed:
    """Another flush marked some of these positions first; nothing was written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteEvicted:
    """Put a text into an eviction file of a thread. Answered with its workspace-relative path, or `Failed`."""

    thread: ThreadRef
    name: str
    """What it is (a tool's or message's name), for the file name."""
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadText:
    """Read a text file of the tenant's memory. Answered with `TextFile`, `None` where there is none, or `Failed`."""

    tenant: str | None
    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TextFile:
    """A text and the version it was read at."""

    text: str
    version: str


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteText:
    """Replace a text file of the tenant's memory if it is still at a version. Answered with the new version (`str`), `Conflict` or `Failed`."""

    tenant: str | None
    path: str
    text: str
    expect: str | None
    """The version that was read; `None` = there was no file."""
    backup: bool = False
    """Keep the replaced version under `memory/.backups/`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Conflict:
    """The file changed since it was read; the newer version stands."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoveLines:
    """Remove lines of a tenant's file, byte for byte, if it is still at a version. Answered with the new version, `Conflict` or `Failed`."""

    tenant: str | None
    path: str
    numbers: frozenset[int]
    """Line numbers, from 1."""
    expect: str
    """The version that was read."""
    text: str | None = None
    """The text that was read: where it still stands at the top and more was appended since, its lines are still the same.
    `None` = any change is a conflict."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AppendText:
    """Append to a text file of the tenant's memory. Answered with `None` or `Failed`."""

    tenant: str | None
    path: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ListFiles:
    """List a folder of the tenant's memory, below it too. Answered with a tuple of relative paths, sorted, or `Failed`."""

    tenant: str | None
    folder: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MoveFile:
    """Move a file of the tenant's memory. Answered with `None` or `Failed`."""

    tenant: str | None
    source: str
    target: str


@dataclass(frozen=True, kw_only=True, slots=True)
class DeleteFile:
    """Delete a file of the tenant's memory. Answered with `None` or `Failed`."""

    tenant: str | None
    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexFile:
    """Bring the index up to date with one file. Answered with `None` or `Failed`."""

    tenant: str | None
    path: str
    purge: bool = False
    """Also remove the bytes of rows that are gone from the index's file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Notify:
    """Tell what happened. Answered with `None`; it cannot fail."""

    event: Event


@dataclass(frozen=True, kw_only=True, slots=True)
class Now:
    """Ask for the time. Answered with an aware `datetime` in the configured zone."""


Step = (
    AskModel
    | CallModel
    | AppendSessionLog
    | QueueFlush
    | ReadUnflushed
    | ReadLogged
    | RedactLogged
    | AppendFlushed
    | WriteEvicted
    | ReadText
    | WriteText
    | RemoveLines
    | AppendText
    | ListFiles
    | MoveFile
    | DeleteFile
    | IndexFile
    | Notify
    | Now
)

Steps = Generator[Step, Any, T]
"""A rule: yields steps, is sent their answers, returns a `T`."""


def ask_model(step: AskModel) -> Steps[Answer | Failed]:
    """Ask a model from within a rule."""
    return (yield step)


def call_model(messages: Sequence[BaseMessage]) -> Steps[Called | Overflowed]:
    """Send the agent's request from within a rule."""
    return (yield CallModel(messages=messages))


def append_session_log(thread: ThreadRef, messages: Sequence[BaseMessage]) -> Steps[Logged | Failed]:
    """Log raw messages from within a rule."""
    return (yield AppendSessionLog(thread=thread, messages=messages))


def queue_flush(thread: ThreadRef, *, wait: bool = False, everything: bool = True) -> Steps[Failed | None]:
    """Ask for a flush from within a rule."""
    return (yield QueueFlush(thread=thread, wait=wait, everything=everything))


def read_unflushed(thread: ThreadRef) -> Steps[tuple[LoggedMessage, ...] | Failed]:
    """Read what is not flushed yet from within a rule."""
    return (yield ReadUnflushed(thread=thread))


def read_logged(thread: ThreadRef, start: int, end: int) -> Steps[tuple[LoggedMessage, ...] | Failed]:
    """Read a stretch of a session log from within a rule."""
    return (yield ReadLogged(thread=thread, start=start, end=end))


def redact_logged(thread: ThreadRef, positions: tuple[int, ...]) -> Steps[int | Failed]:
    """Redact messages of a session log from within a rule."""
    return (yield RedactLogged(thread=thread, positions=positions))


def append_flushed(step: AppendFlushed) -> Steps[Appended | AlreadyFlushed | Failed]:
    """Write a flushed block from within a rule."""
    return (yield step)


def write_evicted(thread: ThreadRef, name: str, text: str) -> Steps[str | Failed]:
    """Put a text into an eviction file from within a rule."""
    return (yield WriteEvicted(thread=thread, name=name, text=text))


def read_text(tenant: str | None, path: str) -> Steps[TextFile | Failed | None]:
    """Read a text file from within a rule."""
    return (yield ReadText(tenant=tenant, path=path))


def write_text(step: WriteText) -> Steps[str | Conflict | Failed]:
    """Replace a text file from within a rule."""
    return (yield step)


def remove_lines(step: RemoveLines) -> Steps[str | Conflict | Failed]:
    """Remove lines of a file from within a rule."""
    return (yield step)


def append_text(tenant: str | None, path: str, text: str) -> Steps[Failed | None]:
    """Append to a text file from within a rule."""
    return (yield AppendText(tenant=tenant, path=path, text=text))


def list_files(tenant: str | None, folder: str) -> Steps[tuple[str, ...] | Failed]:
    """List a folder from within a rule."""
    return (yield ListFiles(tenant=tenant, folder=folder))


def move_file(tenant: str | None, source: str, target: str) -> Steps[Failed | None]:
    """Move a file from within a rule."""
    return (yield MoveFile(tenant=tenant, source=source, target=target))


def delete_file(tenant: str | None, path: str) -> Steps[Failed | None]:
    """Delete a file from within a rule."""
    return (yield DeleteFile(tenant=tenant, path=path))


def index_file(tenant: str | None, path: str, *, purge: bool = False) -> Steps[Failed | None]:
    """Bring the index up to date with a file from within a rule."""
    return (yield IndexFile(tenant=tenant, path=path, purge=purge))


def notify(event: Event) -> Steps[None]:
    """Tell what happened from within a rule."""
    yield Notify(event=event)


def now() -> Steps[datetime]:
    """Ask for the time from within a rule."""
    return (yield Now())


def drive(rule: Steps[T], perform: Callable[[Step], Any]) -> T:
    """Run a rule to its end.

    Args:
        rule: A fresh generator.
        perform: Does one step and returns its answer. What it raises unwinds the rule.

    Returns:
        What the rule returns.
    """
    answer: Any = None
    try:
        while True:
            answer = perform(rule.send(answer))
    except StopIteration as end:
        return end.value
    finally:
        rule.close()


async def adrive(rule: Steps[T], perform: Callable[[Step], Awaitable[Any]]) -> T:
    """Run a rule to its end on the event loop; the twin of `drive`."""
    answer: Any = None
    try:
        while True:
            answer = await perform(rule.send(answer))
    except StopIteration as end:
        return end.value
    finally:
        rule.close()
