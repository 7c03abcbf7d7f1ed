"""A world that answers the steps of rules by hand: files, sessions, marks and models in memory, any step made to fail."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from langgraph_harness_memory.config import ConsolidationConfig, FlushConfig
from langgraph_harness_memory.curation import requests
from langgraph_harness_memory.curation.consolidation import consolidate
from langgraph_harness_memory.curation.finding import Target
from langgraph_harness_memory.curation.flush import flush
from langgraph_harness_memory.curation.forgetting import forget
from langgraph_harness_memory.curation.screening import Screening
from langgraph_harness_memory.formats import daily_log
from langgraph_harness_memory.identifiers import ThreadRef, content_hash
from langgraph_harness_memory.index.sqlite import MemoryIndex
from langgraph_harness_memory.performers import FlushQueue, Models, Performer, Teller
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.steps import (
    AlreadyFlushed,
    Answer,
    Appended,
    AppendFlushed,
    AppendText,
    AskModel,
    Conflict,
    DeleteFile,
    Failed,
    IndexFile,
    ListFiles,
    LoggedMessage,
    MoveFile,
    Notify,
    Now,
    ReadLogged,
    ReadText,
    ReadUnflushed,
    RedactLogged,
    RemoveLines,
    TextFile,
    WriteText,
    drive,
)
from langgraph_harness_memory.testing import FrozenClock
from langgraph_harness_memory.workspace import text_bytes
from langgraph_harness_memory.workspace.local import LocalWorkspace

THREAD = ThreadRef(thread_id="t1")


class Crash(BaseException):
    """The process died here."""


@dataclass
class World:
    """Answers steps as the performers promise to; every file is bytes, versions are hashes of them."""

    zone: str = "UTC"
    at: datetime = datetime(2026, 4, 12, 9, 30, tzinfo=UTC)
    files: dict[tuple[str | None, str], bytes] = field(default_factory=dict)
    logs: dict[str, list[LoggedMessage]] = field(default_factory=dict)
    marks: dict[str, set[int]] = field(default_factory=dict)
    model: Callable[[dict], str | Answer | Exception] = lambda request: "NO_REPLY"
    events: list = field(default_factory=list)
    indexed: dict[tuple[str | None, str], bytes] = field(default_factory=dict)
    asked: list[dict] = field(default_factory=list)
    steps: list = field(default_factory=list)
    before: Callable[[object], None] = lambda step: None
    fail_at: int | None = None
    crash_at: int | None = None
    crash_after: int | None = None

    def say(self, *messages: BaseMessage, thread: str = "t1", namespace: str = "") -> None:
        log = self.logs.setdefault(thread, [])
        for message in messages:
            log.append(LoggedMessage(position=len(log), message=message, logged_at=self.at, namespace=namespace))

    def hear(self, *texts: str, thread: str = "t1") -> None:
        """Log a user's messages, each answered with `Noted.`"""
        for text in texts:
            self.say(HumanMessage(text), AIMessage("Noted."), thread=thread)

    def put(self, path: str, text: str | bytes, tenant: str | None = None) -> None:
        self.files[tenant, path] = text if isinstance(text, bytes) else text.encode()

    def text(self, path: str, tenant: str | None = None) -> str | None:
        data = self.files.get((tenant, path))
        return None if data is None else data.decode("utf-8", "replace")

    def run(self, rule):
        return drive(rule, self.perform)

    def perform(self, step):
        number = len(self.steps)
        self.steps.append(step)
        self.before(step)
        if number == self.crash_at:
            raise Crash
        if number == self.fail_at and not isinstance(step, Notify | Now):
            return Failed(error=OSError("no space left on device"))
        answer = self._answer(step)
        if number == self.crash_after:
            raise Crash
        return answer

    def _answer(self, step):
        match step:
            case Now():
                return self.at.astimezone(ZoneInfo(self.zone))
            case Notify():
                self.events.append(step.event)
            case AskModel():
                return self._ask(step)
            case ReadUnflushed():
                marked = self.marks.get(step.thread.thread_id, set())
                return tuple(m for m in self.logs.get(step.thread.thread_id, []) if m.position not in marked)
            case ReadLogged():
                return tuple(self.logs.get(step.thread.thread_id, [])[step.start : step.end])
            case RedactLogged():
                log = self.logs[step.thread.thread_id]
                for position in step.positions:
                    old = log[position]
                    log[position] = LoggedMessage(
                        position=position,
                        message=old.message.model_copy(update={"content": "[redacted]"}),
                        logged_at=old.logged_at,
                    )
                return len(step.positions)
            case AppendFlushed():
                return self._append_flushed(step)
            case IndexFile():
                data = self.files.get((step.tenant, step.path))
                self.indexed.pop((step.tenant, step.path), None)
                if data is not None:
                    self.indexed[step.tenant, step.path] = data
            case _:
                return self._file(step)
        return None

    def _ask(self, step):
        fields = requests.material(step.messages)
        self.asked.append(fields)
        answer = self.model(fields)
        if isinstance(answer, Exception):
            return Failed(error=answer)
        return answer if isinstance(answer, Answer) else Answer(text=answer)

    def _append_flushed(self, step):
        thread = step.thread.thread_id
        marked = self.marks.setdefault(thread, set())
        wanted = set(step.positions)
        if wanted & marked:
            return AlreadyFlushed()
        for (tenant, path), data in self.files.items():
            if tenant == step.thread.tenant and daily_log.day_of(path):
                standing = daily_log.covered(data.decode("utf-8", "replace"), thread) & wanted
                if standing:
                    marked |= standing
                    return Appended(path=path) if standing == wanted else AlreadyFlushed()
        path = daily_log.log_path(step.day)
        if step.text is not None:
            self._append(step.thread.tenant, path, step.text)
            if self.crash_after == len(self.steps) - 1.5:
                raise Crash
        marked |= wanted
        return Appended(path=None if step.text is None else path)

    def _append(self, tenant, path, text):
        old = self.files.get((tenant, path), b"")
        glue = b"" if not old or old.endswith(b"\n") else b"\n"
        self.files[tenant, path] = old + glue + text_bytes(text)

    def _file(self, step):
        match step:
            case ReadText():
                data = self.files.get((step.tenant, step.path))
                return (
                    data and TextFile(text=data.decode("utf-8", "replace"), version=content_hash(data))
                    if data
                    else (TextFile(text="", version=content_hash(b"")) if data is not None else None)
                )
            case WriteText():
                return self._replace(step.tenant, step.path, text_bytes(step.text), step.expect, backup=step.backup)
            case RemoveLines():
                data = daily_log.without_lines(self.files[step.tenant, step.path], step.numbers)
                return self._replace(step.tenant, step.path, data, step.expect, backup=False)
            case AppendText():
                return self._append(step.tenant, step.path, step.text)
            case ListFiles():
                return tuple(
                    sorted(p for t, p in self.files if t == step.tenant and p.startswith(step.folder.rstrip("/") + "/"))
                )
            case MoveFile():
                if (step.tenant, step.target) in self.files:
                    return Failed(error=FileExistsError(step.target))
                self.files[step.tenant, step.target] = self.files.pop((step.tenant, step.source))
                return None
            case DeleteFile():
                self.files.pop((step.tenant, step.path), None)
                return None
        raise AssertionError(f"nobody answers {step}")

    def _replace(self, tenant, path, data, expect, *, backup):
        old = self.files.get((tenant, path))
        if (None if old is None else content_hash(old)) != expect:
            return Conflict()
        if backup and old is not None:
            name = f"MEMORY-{self.at.astimezone(UTC):%Y%m%dT%H%M%S%f}Z-{content_hash(old)[:8]}.md"
            self.files[tenant, f"memory/.backups/{name}"] = old
        self.files[tenant, path] = data
        return content_hash(data)

    def later(self, **span) -> None:
        self.at += timedelta(**span)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def thread() -> ThreadRef:
    return THREAD


@pytest.fixture
def crash() -> type[Crash]:
    return Crash


@pytest.fixture
def new_world() -> type[World]:
    return World


class SaysWhat(BaseChatModel):
    """A model that answers a request's material by a function."""

    answer: Callable[[dict], str]

    @property
    def _llm_type(self) -> str:
        return "says-what"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        text = self.answer(requests.material(messages))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


class Disk:
    """The same rules over the real parts: a folder, session logs, the SQLite index and a model.

    A new one over the same folder is a new process: it knows what is on disk and nothing else.
    """

    def __init__(self, root, *, model, clock=None, zone="UTC", screening=None) -> None:
        self.root = root
        self.clock = clock or FrozenClock("2026-04-12T09:30:00+00:00")
        self.events = []
        self.screening = screening or Screening()
        self.workspace = LocalWorkspace(root, fsync=False, clock=self.clock)
        self.sessions = SessionLog(self.workspace, clock=self.clock)
        self.index = MemoryIndex(self.workspace, path=root.parent / "index.db", clock=self.clock)
        self.performer = Performer(
            workspace=self.workspace,
            sessions=self.sessions,
            index=lambda: self.index,
            teller=Teller(self.events.append),
            clock=self.clock,
            timezone=ZoneInfo(zone),
            models=Models(curates=SaysWhat(answer=model)),
            flushes=FlushQueue(),
            is_overflow=lambda error: False,
            eviction_path="large_tool_results",
            backups=20,
        )
        self.perform = self.performer.perform

    def run(self, rule):
        return drive(rule, self.perform)

    def say(self, *messages, thread="t1", tenant=None):
        return self.sessions.append(ThreadRef(thread_id=thread, tenant=tenant), messages)

    def flush(self, thread="t1", *, tenant=None, everything=True, **settings):
        ref = ThreadRef(thread_id=thread, tenant=tenant)
        rule = flush(
            ref,
            settings=FlushConfig(**{"min_new_tokens": 0, **settings}),
            screening=self.screening,
            everything=everything,
        )
        return self.run(rule)

    def consolidate(self, *, tenant=None, **settings):
        return self.run(consolidate(tenant, settings=ConsolidationConfig(**settings), screening=self.screening))

    def forget(self, *, tenant=None, backups=True, sessions=False, **target):
        return self.run(forget(tenant, Target(**target), key="ab" * 16, backups=backups, sessions=sessions))

    def text(self, path):
        file = self.root / path
        return file.read_text() if file.exists() else None

    def logs(self):
        """Give path and text of every daily log, archived ones too."""
        paths = [*self.root.glob("memory/*.md"), *self.root.glob("memory/archive/*.md")]
        found = [(str(path.relative_to(self.root)), path) for path in sorted(paths)]
        return [(name, path.read_text()) for name, path in found if daily_log.day_of(name)]

    def bytes_of(self, *, sessions=False):
        """Give every byte on disk, the index and its log included."""
        files = [path for path in self.root.parent.rglob("*") if path.is_file()]
        return b"\n".join(
            p.read_bytes() for p in files if sessions or "sessions" not in p.relative_to(self.root.parent).parts
        )


@pytest.fixture
def disk(tmp_path) -> Callable[..., Disk]:
    """Open a folder as a process does; every call with the same folder is the next process."""
    opened = []

    def open_disk(**parts):
        one = Disk(tmp_path / "workspace", **parts)
        opened.append(one)
        return one

    (tmp_path / "workspace").mkdir()
    yield open_disk
    for one in opened:
        one.index.close()


@pytest.fixture
def disk_class() -> type[Disk]:
    """For tests that open folders of their own."""
    return Disk
