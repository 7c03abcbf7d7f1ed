"""What session logs do on every back end of a workspace: inherit `SessionContract` and say how to open a workspace.

    class TestMine(SessionContract):
        @pytest.fixture
        def workspace(self, tmp_path):
            return MyWorkspace(tmp_path)

Every test runs twice, through the sync methods and through their `a…` twins.
"""

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage

from langgraph_harness_memory.errors import TenantMismatch
from langgraph_harness_memory.formats.forms import marked
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.sessions.log import ANY, SessionLog
from langgraph_harness_memory.testing.clock import FrozenClock

ALICE = ThreadRef(thread_id="t1", tenant="alice")
BOB = ThreadRef(thread_id="t2", tenant="bob")

ODD_IDS = ["../x", "a/b", "..", "", "a\0b", "x" * 300, "CON", "A", "a", "a.log", "日本", "\ud800"]
"""Thread ids that are names like any other, each of a conversation of its own."""


class _Async:
    """A session log whose methods are called through their twins."""

    def __init__(self, log: SessionLog, runner: asyncio.Runner) -> None:
        self._log, self._runner = log, runner

    def __getattr__(self, name: str) -> Any:
        twin = getattr(self._log, f"a{name}", None)
        if twin is None:
            return getattr(self._log, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            async def run() -> Any:
                return await twin(*args, **kwargs)

            return self._runner.run(run())

        return call


class SessionContract:
    """The contract; see the module."""

    excludes_others = True
    """Two writers of one thread exclude each other, also between openings."""

    @pytest.fixture
    def workspace(self) -> Any:
        """Return an empty workspace."""
        raise NotImplementedError("say which back end is tested")

    def another(self, workspace: Any) -> Any:
        """Open the same storage a second time, as another process would."""
        return workspace

    @pytest.fixture
    def clock(self) -> FrozenClock:
        """Time that a test moves."""
        return FrozenClock()

    @pytest.fixture(params=["sync", "async"])
    def log(self, request: pytest.FixtureRequest, workspace: Any, clock: FrozenClock) -> Iterator[Any]:
        """The session log, sync and async."""
        sessions = SessionLog(workspace, clock=clock)
        if request.param == "sync":
            yield sessions
            return
        with asyncio.Runner() as runner:
            yield _Async(sessions, runner)
            close = getattr(workspace, "aclose", None)
            if close is not None:
                runner.run(close())

    def test_messages_come_back_as_they_were(self, log: Any) -> None:
        """Every kind of message, with calls, blocks, metadata and any text, is read back equal and in order."""
        said = [
            HumanMessage("hello \ud800 \0 \u2028 日本 🚀", id="1"),
            AIMessage(
                [{"type": "text", "text": "let me see"}],
                id="2",
                tool_calls=[{"name": "f", "args": {"x": [1]}, "id": "c"}],
            ),
            ToolMessage("x" * 50_000, tool_call_id="c", id="3", status="error", artifact={"a": 1}),
        ]
        assert log.append(ALICE, said) == {"1": 0, "2": 1, "3": 2}
        assert [each.message for each in log.read("t1")] == said

    def test_each_message_is_logged_once(self, log: Any) -> None:
        """Known messages are skipped, and their positions told."""
        log.append(ALICE, [HumanMessage("a", id="1")])
        assert log.append(ALICE, [HumanMessage("a", id="1"), AIMessage("b", id="2")]) == {"1": 0, "2": 1}
        assert len(log.read("t1")) == 2

    def test_edit_is_a_new_version(self, log: Any) -> None:
        """The same id with other content is kept beside the first."""
        log.append(ALICE, [HumanMessage("a", id="1")])
        log.append(ALICE, [HumanMessage("a, edited", id="1")])
        assert [each.message.content for each in log.read("t1")] == ["a", "a, edited"]

    def test_forms_and_removals_are_no_messages(self, log: Any) -> None:
        """What we made out of messages, and removals, never stand in the log."""
        form = HumanMessage("summary", id="1", additional_kwargs=marked("summary"))
        assert log.append(ALICE, [form, RemoveMessage(id="2"), HumanMessage("a", id="3")]) == {"3": 0}

    def test_positions_and_tail(self, log: Any) -> None:
        """A stretch and the tail are read by position."""
        log.append(ALICE, [HumanMessage(str(n), id=str(n)) for n in range(30)])
        assert [each.position for each in log.read("t1", start=27)] == [27, 28, 29]
        assert [each.message.content for each in log.tail("t1", 2)] == ["28", "29"]

    def test_another_opening_reads_it(self, log: Any, workspace: Any) -> None:
        """What one process logged another reads, and goes on behind it."""
        log.append(ALICE, [HumanMessage("a", id="1")])
        other = SessionLog(self.another(workspace))
        assert other.append(ALICE, [HumanMessage("b", id="2")]) == {"2": 1}
        assert [each.message.content for each in log.read("t1")] == ["a", "b"]

    def test_thread_belongs_to_who_began_it(self, log: Any) -> None:
        """Another tenant can neither write nor take over a thread."""
        log.append(ALICE, [HumanMessage("a", id="1")])
        with pytest.raises(TenantMismatch, match="t1"):
            log.append(ThreadRef(thread_id="t1", tenant="bob"), [HumanMessage("b", id="2")])
        assert log.tenant("t1") == "alice"
        assert len(log.read("t1")) == 1

    def test_threads_of_a_tenant(self, log: Any) -> None:
        """Sessions are listed and searched by tenant."""
        log.append(ALICE, [HumanMessage("the walrus sings", id="1")])
        log.append(BOB, [HumanMessage("the walrus sleeps", id="1"), AIMessage("yes", id="2")])
        assert {info.thread_id for info in log.threads(tenant=ANY)} == {"t1", "t2"}
        (info,) = log.threads(tenant="bob")
        assert (info.messages, info.unflushed, info.tenant) == (2, 2, "bob")
        assert [hit.thread_id for hit in log.search("walrus", tenant="alice")] == ["t1"]

    def test_marks(self, log: Any, workspace: Any) -> None:
        """Marked positions stay marked, for every opening."""
        log.append(ALICE, [HumanMessage(str(n), id=str(n)) for n in range(5)])
        log.mark_flushed(ALICE, [0, 1, 3])
        assert [each.position for each in log.unflushed("t1")] == [2, 4]
        assert [each.position for each in SessionLog(self.another(workspace)).unflushed("t1")] == [2, 4]

    def test_delete_leaves_nothing(self, log: Any, workspace: Any) -> None:
        """A deleted session has no file left."""
        log.append(ALICE, [HumanMessage("a", id="1")])
        log.mark_flushed(ALICE, [0])
        log.delete("t1")
        assert log.read("t1") == []
        assert [info.path for info in workspace.files("sessions") if "t1" in info.path] == []

    def test_copy(self, log: Any) -> None:
        """A copied session has the log and the marks of its source."""
        log.append(ALICE, [HumanMessage(str(n), id=str(n)) for n in range(3)])
        log.mark_flushed(ALICE, [0])
        log.copy("t1", "t9")
        assert [each.message.content for each in log.read("t9")] == ["0", "1", "2"]
        assert [each.position for each in log.unflushed("t9")] == [1, 2]

    def test_prune_spares_what_is_not_flushed(self, log: Any, clock: FrozenClock) -> None:
        """Old sessions go once everything in them is flushed."""
        log.append(ALICE, [HumanMessage("a", id="1")])
        log.append(BOB, [HumanMessage("b", id="1")])
        log.mark_flushed(ALICE, [0])
        clock.advance(timedelta(days=200))
        pruned = log.prune(clock.now() - timedelta(days=180))
        assert [info.thread_id for info in pruned] == ["t1"]
        assert [info.thread_id for info in log.threads()] == ["t2"]

    def test_any_id_names_a_thread(self, log: Any) -> None:
        """Ids are opaque: none meets another's log, and each is listed as it is."""
        for name in ODD_IDS:
            log.append(ThreadRef(thread_id=name), [HumanMessage(repr(name), id="1")])
        for name in ODD_IDS:
            assert [each.message.content for each in log.read(name)] == [repr(name)]
        assert len(log.threads()) == len(ODD_IDS)

    def test_torn_tail_is_mended(self, log: Any, workspace: Any) -> None:
        """A log whose last line was cut keeps what was whole and takes the next message."""
        log.append(ALICE, [HumanMessage("a", id="1"), HumanMessage("b", id="2")])
        path = log.path_of("t1")
        data = workspace.read(path).data
        workspace.replace(path, data[:-7])
        fresh = SessionLog(self.another(workspace))
        fresh.append(ALICE, [HumanMessage("c", id="3")])
        assert [each.message.content for each in fresh.read("t1")] == ["a", "c"]

    def test_exports_are_plain(self, log: Any) -> None:
        """A session leaves as OpenAI messages, one JSON document a line."""
        log.append(ALICE, [HumanMessage("a", id="1"), AIMessage("b", id="2")])
        exported = "".join(log.export_openai("t1"))
        assert '"a"' in exported
        assert all(json.loads(line) for line in exported.splitlines())

    def test_times_are_the_clocks(self, log: Any) -> None:
        """Messages carry when they were logged, aware, in UTC."""
        log.append(ALICE, [HumanMessage("a", id="1")])
        assert log.read("t1")[0].logged_at == datetime(2026, 1, 5, 9, 0, tzinfo=UTC)

    def test_two_writers_of_a_thread(self, workspace: Any) -> None:
        """Two openings that log at once lose and double nothing, and share the positions out."""
        if not self.excludes_others:
            pytest.skip("this back end promises one writer per namespace only")
        logs = [SessionLog(workspace), SessionLog(self.another(workspace))]

        def write(writer: int) -> None:
            for n in range(20):
                logs[writer].append(
                    ALICE, [HumanMessage(f"{writer}-{n}", id=f"{writer}-{n}"), HumanMessage("both", id="both")]
                )

        with ThreadPoolExecutor(2) as pool:
            for job in [pool.submit(write, writer) for writer in range(2)]:
                job.result()
        logged = SessionLog(self.another(workspace)).read("t1")
        assert [each.position for each in logged] == list(range(41))
        assert len({each.message.id for each in logged}) == 41
