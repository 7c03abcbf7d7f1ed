"""Rules of the session log one by one: reading, listing, searching, deleting, exporting, and who waits for whom."""

import asyncio
import gc
import json
import math
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_harness_memory.errors import TenantMismatch, UnreadableFile, WorkspaceError
from langgraph_harness_memory.events import Damaged, Deleted, Event
from langgraph_harness_memory.formats import checkpoint_log, records, session_log
from langgraph_harness_memory.formats.forms import marked
from langgraph_harness_memory.formats.marks import Marks
from langgraph_harness_memory.identifiers import ThreadRef, file_stem
from langgraph_harness_memory.sessions import coming_ids, exports, pool, search
from langgraph_harness_memory.sessions.collecting import CollectionPause
from langgraph_harness_memory.sessions.coming_ids import ComingIds
from langgraph_harness_memory.sessions.fair_lock import FairLock
from langgraph_harness_memory.sessions.log import ANY, SessionHit, SessionInfo, SessionLog
from langgraph_harness_memory.sessions.redacting import redact_messages
from langgraph_harness_memory.sessions.saver import SessionSaver
from langgraph_harness_memory.sessions.search import Ranking, folded, snippet, terms_of, text_of
from langgraph_harness_memory.sessions.turnstile import Turnstile
from langgraph_harness_memory.steps import LoggedMessage
from langgraph_harness_memory.testing.clock import FrozenClock
from langgraph_harness_memory.workspace.local import LocalWorkspace
from tests.sessions.conftest import THREAD
from tests.sessions.test_lines_on_disk import SEALER

AT = datetime(2026, 1, 31, 9, tzinfo=UTC)
ALICE = ThreadRef(thread_id="a1", tenant="alice")
SUB = ThreadRef(thread_id="t1", namespace="sub")


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(AT)


@pytest.fixture
def log(tmp_path: Path, clock: FrozenClock, events: list[Event]) -> SessionLog:
    workspace = LocalWorkspace(tmp_path, fsync=False, clock=clock)
    return SessionLog(workspace, clock=clock, on_event=events.append, new_id=iter("xyz").__next__)


def told(text: str, message_id: str | None = None) -> HumanMessage:
    return HumanMessage(text, id=message_id or text)


def rewritten(path: Path, number: int, **changes: Any) -> None:
    """Write a line of a file anew, with other fields and its right checksum; `None` takes one out."""
    data = path.read_bytes().splitlines(keepends=True)
    record = {key: value for key, value in json.loads(data[number]).items() if key != "c"} | changes
    data[number] = records.render({key: value for key, value in record.items() if value is not None})
    path.write_bytes(b"".join(data))


# -- appending and reading --------------------------------------------------------------------------------------------


def test_a_message_is_read_with_its_place_time_and_namespace(log: SessionLog, clock: FrozenClock) -> None:
    """From a position on, from the end, of one namespace or of all."""
    log.append(THREAD, [told("a"), told("b")])
    clock.advance(timedelta(hours=1))
    log.append(SUB, [told("c")])
    log.append(THREAD, [told("d")])
    later = AT + timedelta(hours=1)
    whole = [
        LoggedMessage(position=0, message=told("a"), logged_at=AT, namespace=""),
        LoggedMessage(position=1, message=told("b"), logged_at=AT, namespace=""),
        LoggedMessage(position=2, message=told("c"), logged_at=later, namespace="sub"),
        LoggedMessage(position=3, message=told("d"), logged_at=later, namespace=""),
    ]
    for reader in (log, SessionLog(log.workspace)):
        assert reader.read("t1") == whole
        assert reader.read("t1", start=2) == whole[2:]
        assert reader.read("t1", namespace="") == [*whole[:2], whole[3]]
        assert reader.read("t1", namespace="sub", start=1) == [whole[2]]
        assert reader.read("t1", start=9) == []
        assert [reader.tail("t1", count) for count in (0, 1, 3, 9)] == [[], whole[3:], whole[1:], whole]
    log.mark_flushed(THREAD, [0, 2])
    assert log.unflushed("t1") == [whole[1], whole[3]]
    log.mark_flushed(THREAD, [1])
    assert log.unflushed("t1") == whole[3:]
    log.mark_flushed(THREAD, [3])
    assert log.unflushed("t1") == []


def test_marks_that_do_not_begin_at_the_first_message_hide_none(log: SessionLog) -> None:
    """What stands before them is unflushed still."""
    log.append(THREAD, [told(text) for text in "abcd"])
    log.mark_flushed(THREAD, [1, 2])
    assert [entry.position for entry in SessionLog(log.workspace).unflushed("t1")] == [0, 3]


def test_messages_without_ids_are_given_some_and_never_taken_for_one_another(log: SessionLog) -> None:
    """Equal ones too; the objects hold their ids then."""
    twins = [HumanMessage("same"), HumanMessage("same")]
    assert log.append(THREAD, twins) == {"x": 0, "y": 1}
    assert [message.id for message in twins] == ["x", "y"]
    assert log.append(THREAD, twins) == {"x": 0, "y": 1}
    assert log.append(THREAD, [told("a", "m"), told("a", "m"), told("b", "m")]) == {"m": 3}
    assert [entry.message.text for entry in log.read("t1")] == ["same", "same", "a", "b"]


def test_a_message_that_cannot_be_built_is_told_and_left_out(
    log: SessionLog, tmp_path: Path, events: list[Event]
) -> None:
    """The others are read."""
    log.append(THREAD, [told("a"), told("b")])
    path = tmp_path / "sessions" / "t1.log.jsonl"
    rewritten(path, 1, message={"type": "hologram"})
    assert [entry.message.text for entry in log.read("t1")] == ["b"]
    reason = "message 0: 'hologram' is no type of message"
    assert events == [Damaged(thread_id="t1", path="sessions/t1.log.jsonl", reason=reason)]


def test_the_async_twins_pass_on_all_that_they_were_given(log: SessionLog) -> None:
    """Where to begin, which namespace, whose, how many, and what may go."""

    async def all_of_them() -> None:
        assert await log.aappend(ALICE, [told("plum a"), told("plum b"), told("plum c")]) == {
            "plum a": 0,
            "plum b": 1,
            "plum c": 2,
        }
        await log.aappend(SUB, [told("plum d")])
        await log.aappend(THREAD, [told("e")])
        assert [entry.position for entry in await log.aread("a1", start=1)] == [1, 2]
        assert [entry.position for entry in await log.aread("t1", namespace="")] == [1]
        assert [entry.position for entry in await log.atail("a1", 1)] == [2]
        assert [info.thread_id for info in await log.athreads(tenant="alice")] == ["a1"]
        assert [info.thread_id for info in await log.athreads(tenant=None)] == ["t1"]
        assert len(await log.athreads()) == 2
        assert [hit.thread_id for hit in await log.asearch("plum", 2, tenant="alice")] == ["a1", "a1"]
        assert await log.asearch("plum", tenant=ANY) == log.search("plum", tenant=ANY)
        await log.amark_flushed(ALICE, [0, 2])
        assert (await log.aflushed("a1")).ranges == ((0, 0), (2, 2))
        assert [entry.position for entry in await log.aunflushed("a1")] == [1]
        assert await log.atenant("a1") == "alice"
        with pytest.raises(TenantMismatch, match="belongs to tenant 'alice'"):
            await log.acheck_tenant(ThreadRef(thread_id="a1", tenant="bob"))
        assert await log.aexport_openai("a1") == log.export_openai("a1") != ""
        assert await log.aexport_langchain("a1") == log.export_langchain("a1") != "[]"
        assert await log.ainfo("a1") == log.info("a1")
        assert await log.acopy("a1", "a2") == {0: 0, 1: 1, 2: 2}
        assert await log.aprune(AT + timedelta(days=1)) == []
        gone = await log.aprune(AT + timedelta(days=1), only_flushed=False)
        assert sorted(info.thread_id for info in gone) == ["a1", "a2", "t1"]
        assert await log.adelete("a1") is False

    asyncio.run(all_of_them())


def test_a_copy_keeps_whose_words_they_were_and_when(log: SessionLog, clock: FrozenClock) -> None:
    """Namespace, time and id; owner and marks go along, whether or not it is settled whose it is."""
    log.append(ALICE, [told("a")])
    log.append(ThreadRef(thread_id="a1", tenant="alice", namespace="sub"), [told("b")])
    log.mark_flushed(ALICE, [1])
    clock.advance(timedelta(days=1))
    assert log.copy("a1", "a2") == {0: 0, 1: 1}
    assert log.copy("a1", "a2") == {0: 0, 1: 1}
    assert log.read("a2") == log.read("a1")
    assert (log.tenant("a2"), log.flushed("a2")) == ("alice", Marks(((1, 1),)))
    guess = SessionSaver.over(log)
    checkpoint: Any = {
        "v": 4,
        "id": "1",
        "ts": "",
        "channel_values": {"m": [told("x")]},
        "channel_versions": {"m": 1},
        "versions_seen": {},
    }
    guess.put({"configurable": {"thread_id": "g1", "checkpoint_ns": ""}}, checkpoint, {}, {})
    log.copy("g1", "g2")
    log.append(ThreadRef(thread_id="g2", tenant="bob"), [told("mine now")])
    assert (log.tenant("g1"), log.tenant("g2")) == (None, "bob")
    assert log.flushed("g2") == Marks()


# -- marks ------------------------------------------------------------------------------------------------------------


def test_marks_belong_to_the_log_that_they_were_made_for(log: SessionLog, tmp_path: Path, events: list[Event]) -> None:
    """Those of another one say nothing, unless one of the two does not know when it began."""
    log.append(THREAD, [told("a"), told("b")])
    log.mark_flushed(THREAD, [0])
    path = tmp_path / "sessions" / "t1.marks.json"
    assert json.loads(path.read_bytes()) == {"v": 1, "log": AT.isoformat(), "flushed": [[0, 0]]}
    for begun, marks in [("2020-01-01T00:00:00+00:00", Marks()), (None, Marks(((0, 0),)))]:
        path.write_text(json.dumps({"v": 1, "log": begun, "flushed": [[0, 0]]}))
        assert log.flushed("t1") == marks
    lines = (tmp_path / "sessions" / "t1.log.jsonl").read_bytes()
    (tmp_path / "sessions" / "t1.log.jsonl").write_bytes(b"#" + lines[1:])
    path.write_text(json.dumps({"v": 1, "log": "whenever", "flushed": [[0, 0]]}))
    assert SessionLog(log.workspace).flushed("t1") == Marks(((0, 0),))
    SessionLog(log.workspace).mark_flushed(THREAD, [1])
    assert json.loads(path.read_bytes()) == {"v": 1, "log": None, "flushed": [[0, 1]]}
    path.write_text("{}")
    with pytest.raises(UnreadableFile) as refused:
        log.flushed("t1")
    reason = "sessions/t1.marks.json: not a file of marks: 'flushed'"
    assert str(refused.value) == f"{reason}; move it away to have the session flushed again"
    info = log.info("t1")
    assert info is not None
    assert info.unflushed == 2
    told_of = [event for event in events if isinstance(event, Damaged) and "marks" in event.path]
    assert told_of == [Damaged(thread_id="t1", path="sessions/t1.marks.json", reason=str(refused.value))]


# -- all sessions -----------------------------------------------------------------------------------------------------


def test_a_session_is_described(log: SessionLog, clock: FrozenClock, tmp_path: Path) -> None:
    """Its counts, times, size and place; there is none without a log."""
    assert log.info("a1") is None
    log.append(ALICE, [told("a"), told("b")])
    clock.advance(timedelta(hours=1))
    log.append(ALICE, [told("c")])
    log.mark_flushed(ALICE, [0, 1, 7])
    (tmp_path / "sessions" / "a1.jsonl").write_bytes(b"x" * 100)
    path = tmp_path / "sessions" / "a1.log.jsonl"
    expected = SessionInfo(
        thread_id="a1",
        tenant="alice",
        messages=3,
        unflushed=1,
        first_at=AT,
        last_at=AT + timedelta(hours=1),
        size=path.stat().st_size + 100,
        path="sessions/a1.log.jsonl",
    )
    assert log.info("a1") == expected
    assert log.threads() == log.threads(tenant=ANY) == log.threads(tenant="alice") == [expected]
    assert log.threads(tenant="bob") == log.threads(tenant=None) == []
    path.write_bytes(b"#" + path.read_bytes()[1:])
    info = SessionLog(log.workspace).info("a1")
    assert info is not None
    assert (info.first_at, info.last_at, info.messages) == (expected.last_at, expected.last_at, 3)


def test_a_session_of_which_nothing_is_said_yet(log: SessionLog, tmp_path: Path) -> None:
    """Has the times of its beginning; one that is all damage those of the look at it."""
    (tmp_path / "sessions").mkdir()
    path = tmp_path / "sessions" / "t1.log.jsonl"
    begun = AT - timedelta(days=1)
    path.write_bytes(session_log.render_start(session_log.SessionStart(thread_id="t1", tenant=None, begun_at=begun)))
    info = log.info("t1")
    assert info is not None
    assert (info.messages, info.unflushed, info.first_at, info.last_at) == (0, 0, begun, begun)
    path.write_bytes(b"oops\n")
    info = log.info("t1")
    assert info is not None
    assert (info.messages, info.first_at, info.last_at) == (0, AT, AT)


def test_threads_are_listed_by_the_names_that_their_files_say(log: SessionLog, tmp_path: Path) -> None:
    """A plain name is its file's; another one stands in the first line of its log or of its checkpoints."""
    for name in ("plain", "a/b", "Ä"):
        log.append(ThreadRef(thread_id=name), [told("x")])
    assert sorted(log.thread_ids()) == ["a/b", "plain", "Ä"]
    path = tmp_path / log.path_of("a/b")
    path.write_bytes(b"#" + path.read_bytes()[1:])
    assert sorted(SessionLog(log.workspace).thread_ids()) == ["plain", "Ä"]
    saved = path.with_name(path.name.replace(".log.jsonl", ".jsonl"))
    saved.write_bytes(checkpoint_log.render_start("a/b", AT))
    assert sorted(SessionLog(log.workspace).thread_ids()) == ["a/b", "plain", "Ä"]
    saved.write_bytes(checkpoint_log.render_start("something else", AT))
    assert sorted(SessionLog(log.workspace).thread_ids()) == ["plain", "Ä"]
    assert log.pool.stems() == (
        sorted(file_stem(name) for name in ("plain", "a/b", "Ä")),
        [file_stem("a/b")],
    )


@pytest.mark.parametrize(("folder", "prefix"), [("sessions", "sessions/"), ("", ""), ("deep/er", "deep/er/")])
def test_the_files_of_a_session(tmp_path: Path, folder: str, prefix: str) -> None:
    """Lie in the folder of the sessions; without one, in the root."""
    log = SessionLog(LocalWorkspace(tmp_path, fsync=False), folder=folder)
    assert log.path_of("t1") == log.pool.log_path("t1") == f"{prefix}t1.log.jsonl"
    assert log.pool.checkpoint_path("t1") == f"{prefix}t1.jsonl"
    assert log.pool.marks_path("t1") == f"{prefix}t1.marks.json"
    log.append(THREAD, [told("x")])
    assert log.pool.stems() == (["t1"], [])


def test_the_session_that_was_used_longest_ago_is_forgotten_first(
    log: SessionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And read again when it is asked for."""
    monkeypatch.setattr(pool, "OPEN_SESSIONS", 2)
    kept = {}
    for name in ("a", "b", "a", "c"):
        with log.pool.session(name) as session:
            kept[name] = session
    with log.pool.session("a") as session:
        assert session is kept["a"]
    with log.pool.session("b") as session:
        assert session is not kept["b"]
        assert (session.thread_id, session.stem) == ("b", "b")
    log.pool.forget("a")
    with log.pool.session("a") as session:
        assert session is not kept["a"]
    log.pool.forget("never opened")


def test_several_sessions_are_held_in_the_order_in_which_they_were_asked_for(log: SessionLog) -> None:
    """Two of one stem share a lock; the other direction waits for nobody."""
    with log.pool.writing("b", "a") as sessions:
        assert [session.thread_id for session in sessions] == ["b", "a"]
    with log.pool.writing("a", "b") as sessions:
        assert [session.thread_id for session in sessions] == ["a", "b"]


# -- deleting ---------------------------------------------------------------------------------------------------------


def test_deleting_a_session_takes_all_its_files(log: SessionLog, tmp_path: Path) -> None:
    """And says whether there was anything."""
    log.append(THREAD, [told("a")])
    log.mark_flushed(THREAD, [0])
    (tmp_path / "sessions" / "t1.jsonl").write_bytes(b"")
    log.append(ALICE, [told("a")])
    assert log.delete("t1") is True
    assert [path.name for path in (tmp_path / "sessions").iterdir()] == ["a1.log.jsonl"]
    assert log.delete("t1") is False
    assert log.read("t1") == []
    assert log.append(THREAD, [told("b")]) == {"b": 0}
    (tmp_path / "sessions" / "t2.marks.json").write_bytes(b"{}")
    assert log.delete("t2") is True


@pytest.mark.parametrize(
    ("age", "flushed", "only_flushed", "is_gone"),
    [
        (timedelta(0), True, True, False),
        (timedelta(seconds=1), True, True, True),
        (timedelta(seconds=1), False, True, False),
        (timedelta(seconds=1), False, False, True),
        (timedelta(0), False, False, False),
    ],
)
def test_a_session_is_pruned_by_its_last_message(
    log: SessionLog, events: list[Event], age: timedelta, flushed: bool, only_flushed: bool, is_gone: bool
) -> None:
    """Older than the moment, and flushed unless nothing ever is; it is told."""
    log.append(ALICE, [told("a")])
    if flushed:
        log.mark_flushed(ALICE, [0])
    info = log.info("a1")
    gone = log.prune(AT + age, only_flushed=only_flushed)
    assert gone == ([info] if is_gone else [])
    reason = "its last message is of 2026-01-31"
    expected = Deleted(thread_id="a1", tenant="alice", path="sessions/a1.log.jsonl", reason=reason)
    assert events == ([expected] if is_gone else [])
    lease = log.workspace.acquire_lease("session/a1", ttl=timedelta(minutes=1))
    assert lease is not None


def test_by_default_only_flushed_sessions_are_pruned_and_the_others_are_looked_at(log: SessionLog) -> None:
    """One that stays does not keep the next ones."""
    for name in ("a", "b", "c", "d"):
        log.append(ThreadRef(thread_id=name), [told("x")])
        if name in "bd":
            log.mark_flushed(ThreadRef(thread_id=name), [0])
    assert sorted(info.thread_id for info in log.prune(AT + timedelta(days=1))) == ["b", "d"]
    assert log.thread_ids() == ["a", "c"]


def placeholder(path: str, message_id: str = "r") -> ToolMessage:
    return ToolMessage(f"see {path}.", tool_call_id="c", id=message_id, additional_kwargs=marked("evicted", path=path))


def test_evicted_results_live_as_long_as_a_session_names_them(log: SessionLog) -> None:
    """A session's own that nobody else names go; those of a session that is gone go with the last that names them."""
    saver, workspace = SessionSaver.over(log), log.workspace
    mine, shared, theirs, gone = (f"large_tool_results/{name}" for name in ("t1/own.txt", "t1/bothX", "t2/a.txt", "t0/b.txt"))  # fmt: skip
    for path in (mine, shared, theirs, gone):
        workspace.append(path, b"x\n")

    def put(thread: str, *paths: str) -> None:
        messages = [placeholder(path, f"r{n}") for n, path in enumerate(paths)]
        config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        checkpoint: Any = {
            "v": 4,
            "id": "1",
            "ts": "",
            "channel_values": {"m": messages},
            "channel_versions": {"m": 1},
            "versions_seen": {},
        }
        saver.put(config, checkpoint, {}, {})

    def left() -> list[str]:
        return sorted(file.path for file in workspace.files("large_tool_results"))

    put("t1", mine, shared, theirs, gone)
    put("t2", shared, theirs)
    log.append(ThreadRef(thread_id="t2"), [told("hello")])
    log.delete("t1")
    assert left() == sorted([shared, theirs])
    put("t3", theirs)
    log.delete("t3")
    assert left() == sorted([shared, theirs])
    log.append(ThreadRef(thread_id="t4"), [told(f"I read {shared} once")])
    log.delete("t2")
    assert left() == [shared]
    log.delete("t4")
    assert left() == []


# -- searching --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "plain"),
    [("ABC", "abc"), ("Café", "cafe"), ("ＡＢＣ１", "abc1"), ("Straße", "strasse"), ("각", "각"), ("", ""), ("İ", "i")],
)
def test_case_accents_and_width_do_not_count(text: str, plain: str) -> None:
    """Korean syllables stay whole."""
    assert folded(text) == plain


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("Hello, WORLD hello", ("hello", "world")),
        ("C++ c# f", ("c++", "c#", "f")),
        ("node.js POL-358", ("node", "js", "pol", "358")),
        ("读", ("读",)),
        ("阅读", ("阅读",)),
        ("成語しり", ("成語", "語し", "しり")),
        ("a成語b", ("a", "成語", "b")),
        ("\U0001f680", ("\U0001f680",)),
        ("!?", ()),
        (" ".join(f"w{n}" for n in range(70)), tuple(f"w{n}" for n in range(64))),
    ],
)
def test_the_words_of_a_query(query: str, terms: tuple[str, ...]) -> None:
    """Each once, in order, at most sixty-four; scripts without spaces in pairs."""
    assert terms_of(query) == terms


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ({"content": "a"}, "a"),
        ({"content": "a", "name": "session_search"}, ""),
        ({"content": "a", "name": "memory_search"}, ""),
        ({"content": "a", "name": "memory_get"}, ""),
        ({"content": "a", "name": "other"}, "a"),
        ({"content": ["a", {"type": "text", "text": "b"}, {"text": 5}, {"type": "image"}, 7]}, "a\nb"),
        ({"content": {"text": "a"}}, ""),
        ({}, ""),
    ],
)
def test_what_a_message_says_as_text(record: dict[str, Any], text: str) -> None:
    """Nothing, for results of our own search."""
    assert text_of(record) == text


@pytest.mark.parametrize(
    ("term", "text", "count"),
    [
        ("deploy", "deploy deployed Deployment redeploy", 3),
        ("dep", "dep deploy depth dep.", 2),
        ("c", "c c++ c# cc", 1),
        ("c++", "c++ c+ c++x c+++", 2),
        ("成語", "成語成語", 2),
        ("js", "node.js jsx _js", 2),
        ("a", "a成 成a b", 2),
        ("alembic", "使用Alembic迁移 alembics", 2),
        ("迁移", "使用Alembic迁移", 1),
        ("\U0001f680", "\U0001f680\U0001f680", 2),
    ],
)
def test_how_often_a_text_holds_a_word(term: str, text: str, count: int) -> None:
    """Longer words count from four letters on; signs behind a name make it another one."""
    ranking = Ranking((term, "absent"))
    ranking.add("t", 0, text)
    assert [found.counts for _, found in ranking.best(5)] == [{term: count}]


def test_messages_are_ranked_by_bm25() -> None:
    """Rare words and short messages count for more; of equal ones the later comes first."""
    ranking = Ranking(("apple", "pear"))
    texts = ["apple", "apple pear", "apple " + "x" * 60, "nothing", "apple"]
    for position, text in enumerate(texts):
        ranking.add("t", position, text)
    best = ranking.best(10)
    assert [found.position for _, found in best] == [1, 4, 0, 2]
    average = sum(map(len, texts)) / 5

    def score(length: int, *counted: tuple[int, int]) -> float:
        damping = 1.2 * (0.4 + 0.6 * length / average)
        return -sum(math.log(1 + (5 - n + 0.5) / (n + 0.5)) * c * 2.2 / (c + damping) for n, c in counted)

    expected = [score(10, (4, 1), (1, 1)), score(5, (4, 1)), score(5, (4, 1)), score(66, (4, 1))]
    assert [rank for rank, _ in best] == pytest.approx(expected)
    assert ranking.best(2) == best[:2]
    assert Ranking(("apple",)).best(3) == []
    mixed = Ranking(terms_of("Alembic迁移"))
    mixed.add("t", 3, "我们使用Alembic迁移数据库")
    assert [found.counts for _, found in mixed.best(1)] == [{"alembic": 1, "迁移": 1}]
    longest = Ranking(("deploy", "deployment"))
    longest.add("t", 7, "deployment deploys")
    assert [found.counts for _, found in longest.best(1)] == [{"deployment": 1, "deploy": 1}]


W = search.SNIPPET


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("a needle\n in  hay", "a needle in hay"),
        ("x" * (W - 7) + " needle", "x" * (W - 7) + " needle"),
        ("no such word", "no such word"),
        ("y" * (W + 1), "y" * W + "…"),
        ("a" * 100 + " needle " + "b" * 300, "…" + "a" * 39 + " needle " + "b" * 193 + "…"),
        ("a" * 300 + " needle", "…" + "a" * 233 + " needle"),
        ("é" * 100 + " needle " + "b" * 300, "…" + "é" * 39 + " needle " + "b" * 193 + "…"),
        ("ﬀ" * 100 + " needle " + "b" * 300, "…" + "ﬀ" * 39 + " needle " + "b" * 193 + "…"),
        ("needle " + "c" * 300 + " needle needle", "…" + "c" * 226 + " needle needle"),
        ("needle " + "c" * 300 + " needle " + "d" * 300, "needle " + "c" * 233 + "…"),
        # Two thirds of a snippet count as one place.
        (
            "needle " + "c" * 300 + " needle " + "d" * 151 + " needle" + "e" * 300,
            "…" + "c" * 39 + " needle " + "d" * 151 + " needle" + "e" * 35 + "…",
        ),
        (
            "needle " + "c" * 300 + " needle " + "d" * 152 + " needle" + "e" * 300,
            "needle " + "c" * 233 + "…",
        ),
    ],
)
def test_a_snippet_shows_the_densest_place(text: str, cut: str) -> None:
    """The first of equal ones, a bit of what stands before it, and where it was cut."""
    assert snippet(text, ("needle",)) == cut


def test_a_hit_says_where_when_and_who(log: SessionLog, clock: FrozenClock) -> None:
    """The newest version of a message alone; ten by default, of every session that was asked for."""
    log.append(ALICE, [told("a plum", "m"), AIMessage("plum jam", id="n")])
    clock.advance(timedelta(hours=1))
    log.append(ALICE, [told("a pear", "m")])
    log.append(THREAD, [SystemMessage("plum tree", id="s")])
    hits = log.search("plum", tenant="alice")
    assert hits == [
        SessionHit(thread_id="a1", position=1, role="ai", snippet="plum jam", said_at=AT, rank=hits[0].rank)
    ]
    assert [hit.position for hit in log.search("pear", tenant="alice")] == [2]
    assert sorted(hit.thread_id for hit in log.search("plum", tenant=ANY)) == ["a1", "t1"]
    assert [hit.role for hit in log.search("plum", tenant=None)] == ["system"]
    assert log.search("plum", 0, tenant=ANY) == log.search("", tenant=ANY) == log.search("!", tenant=ANY) == []
    log.append(THREAD, [told(f"plum {n}") for n in range(12)])
    assert [len(log.search("plum", *limit, tenant=None)) for limit in ([], [1], [11])] == [10, 1, 11]


# -- exports and redaction --------------------------------------------------------------------------------------------


def test_the_newest_version_stands_where_the_first_was_said() -> None:
    """Messages without an id are all different."""
    entries = [
        LoggedMessage(position=n, message=HumanMessage(text, id=name), logged_at=AT, namespace="")
        for n, (text, name) in enumerate([("a", "m"), ("b", None), ("b", None), ("c", "m")])
    ]
    assert exports.newest_versions(entries) == [entries[3], entries[1], entries[2]]
    assert exports.newest_versions([]) == []
    assert exports.openai_jsonl([]) == ""
    (line,) = json.loads(exports.openai_jsonl([told("a")]))["messages"]
    assert (line["role"], line["content"]) == ("user", "a")
    assert exports.openai_jsonl([told("é")]).endswith("}]}\n")


def test_redacted_messages_are_counted_and_keep_their_places(log: SessionLog, tmp_path: Path) -> None:
    """Each once; positions that are not there, and messages that said nothing, do not count."""
    assert redact_messages(log, THREAD, [0]) == 0
    texts = ["a long secret", "another long secret", "kept as it is", ""]
    log.append(THREAD, [HumanMessage(text, id=str(n)) for n, text in enumerate(texts)])
    path = tmp_path / "sessions" / "t1.log.jsonl"
    before = path.read_bytes()
    assert redact_messages(log, THREAD, [1, 0, 3, 9]) == 2
    after = path.read_bytes()
    assert len(after) == len(before)
    assert b"secret" not in after
    assert [entry.message.text for entry in log.read("t1")] == ["[forgotten]", "[forgotten]", "kept as it is", ""]
    assert redact_messages(log, THREAD, [0, 1]) == 0
    assert path.read_bytes() == after


def test_a_sealed_log_is_not_redacted_in_part(tmp_path: Path) -> None:
    """The message says what to do instead."""
    log = SessionLog(LocalWorkspace(tmp_path, fsync=False), sealer=SEALER)
    log.append(THREAD, [told("a")])
    with pytest.raises(WorkspaceError) as refused:
        redact_messages(log, THREAD, [0])
    reason = "is sealed and cannot be redacted in part: delete the session instead"
    assert str(refused.value) == f"sessions/t1.log.jsonl {reason}"
    assert [entry.message.text for entry in log.read("t1")] == ["a"]


# -- who waits for whom -----------------------------------------------------------------------------------------------


class Slept(list[float]):
    """Counts naps, and gives messages their ids during one of them."""

    def __init__(self, gives: list[HumanMessage], after: int) -> None:
        self.gives, self.after = gives, after

    def __call__(self, seconds: float) -> None:
        self.append(seconds)
        if len(self) == self.after:
            for message in self.gives:
                message.id = "given"


def naps(monkeypatch: pytest.MonkeyPatch, ids: ComingIds, channel: str, value: Any, after: int = 0) -> int:
    """How often a write was waited for."""
    messages = value if isinstance(value, list) else [value]
    slept = Slept([m for m in messages if isinstance(m, HumanMessage)], after)
    monkeypatch.setattr(coming_ids.time, "sleep", slept)
    ids.wait_for([(channel, value)])
    assert set(slept) <= {coming_ids.STEP}
    return len(slept)


def test_ids_that_come_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a moment; what has an id, and what is no message, is not."""
    ids = ComingIds()
    longest = round(coming_ids.LONGEST / coming_ids.STEP)
    assert naps(monkeypatch, ids, "m", [HumanMessage("a"), "text"], after=3) == 3
    assert naps(monkeypatch, ids, "m", HumanMessage("a"), after=1) == 1
    assert naps(monkeypatch, ids, "m", [told("a"), "text", 5]) == 0
    assert naps(monkeypatch, ids, "m", {"a": HumanMessage("a")}) == 0
    assert longest <= naps(monkeypatch, ids, "m", HumanMessage("a")) <= longest + 1


def test_a_channel_that_gives_no_ids_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """After three times in a row, for twenty times; others are waited for as before."""
    ids = ComingIds()

    def is_waited_for(channel: str = "m", after: int = 0) -> bool:
        return naps(monkeypatch, ids, channel, HumanMessage("a"), after) > 0

    assert [is_waited_for(), is_waited_for(), is_waited_for(after=1)] == [True] * 3
    assert [is_waited_for() for _ in range(3)] == [True] * 3
    left_alone = [is_waited_for() for _ in range(22)]
    assert left_alone.count(False) in (20, 21)
    assert left_alone == sorted(left_alone)
    assert is_waited_for("other")


def test_the_ids_of_an_input_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every message in it; what is no dict holds none."""
    ids, slept = ComingIds(), Slept([], 0)
    monkeypatch.setattr(coming_ids.time, "sleep", slept)
    ids.wait_for_input([HumanMessage("a")])
    ids.wait_for_input({"m": [told("a")], "n": 5})
    assert slept == []
    messages = [HumanMessage("a"), HumanMessage("b")]
    slept = Slept(messages, 2)
    monkeypatch.setattr(coming_ids.time, "sleep", slept)
    ids.wait_for_input({"m": [messages[0]], "last": messages[1]})
    assert len(slept) == 2


def test_places_are_let_through_in_their_order() -> None:
    """Whoever leaves early makes way; a second time does nothing."""
    turnstile = Turnstile()
    first, second, third, fourth = (turnstile.join() for _ in range(4))
    second.leave()
    order: list[str] = []

    def go(name: str, ticket: Any) -> None:
        with ticket:
            order.append(name)

    threads = [threading.Thread(target=go, args=pair, daemon=True) for pair in (("4", fourth), ("3", third))]
    for thread in threads:
        thread.start()
    go("1", first)
    for thread in threads:
        thread.join(10)
    first.leave()
    assert order == ["1", "3", "4"]
    go("5", turnstile.join())
    assert order[-1] == "5"


def test_a_fair_lock_lets_threads_in_as_they_came() -> None:
    """Its holder may take it again, and gives it up with the last."""
    lock, order, waiting = FairLock(), list[int](), []

    def take(number: int) -> None:
        with lock:
            order.append(number)

    with lock:
        with lock:
            for number in range(4):
                waiting.append(threading.Thread(target=take, args=(number,), daemon=True))
                waiting[-1].start()
                while len(lock._waiting) <= number:
                    pass
        assert order == []
    for thread in waiting:
        thread.join(10)
    assert order == [0, 1, 2, 3]
    with lock:
        order.append(4)
    assert lock._owner is None


def test_the_collector_pauses_as_long_as_anybody_needs_it() -> None:
    """And stays off where the application switched it off."""
    pause = CollectionPause()
    was_on = gc.isenabled()
    try:
        gc.enable()
        with pause:
            assert not gc.isenabled()
            with pause:
                assert not gc.isenabled()
            assert not gc.isenabled()
        assert gc.isenabled()
        gc.disable()
        with pause:
            pass
        assert not gc.isenabled()
        gc.enable()
        with pause:
            pass
        assert gc.isenabled()
    finally:
        (gc.enable if was_on else gc.disable)()
