"""The session log: each message once, positions that last, owners, marks, listing, copying, pruning, exports."""

import asyncio
import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from langchain_core.load import loads
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, RemoveMessage, ToolMessage
from langgraph.store.memory import InMemoryStore

from langgraph_harness_memory.curation.redaction import redact
from langgraph_harness_memory.errors import TenantMismatch
from langgraph_harness_memory.events import Deleted, Event
from langgraph_harness_memory.formats.forms import marked
from langgraph_harness_memory.formats.marks import Marks
from langgraph_harness_memory.identifiers import ThreadRef, file_stem
from langgraph_harness_memory.sessions.log import ANY, SessionLog
from langgraph_harness_memory.sessions.saver import SessionSaver
from langgraph_harness_memory.testing.clock import FrozenClock
from langgraph_harness_memory.workspace.local import LocalWorkspace
from langgraph_harness_memory.workspace.store import StoreWorkspace
from tests.sessions.conftest import T1, THREAD, chat, say, texts

ALICE, BOB = ThreadRef(thread_id="a1", tenant="alice"), ThreadRef(thread_id="b1", tenant="bob")


def test_positions_are_given_in_order_and_again_for_known_messages(log: SessionLog) -> None:
    """An append says where each message stands, also those that were there."""
    one, two, three = (HumanMessage(t, id=t) for t in ("one", "two", "three"))
    assert log.append(THREAD, [one, two]) == {"one": 0, "two": 1}
    assert log.append(THREAD, [one, three, two]) == {"one": 0, "three": 2, "two": 1}
    assert [(e.position, e.message.text) for e in log.read("t1")] == [(0, "one"), (1, "two"), (2, "three")]


def test_a_message_without_an_id_is_given_one(log: SessionLog) -> None:
    """The object itself gets the id, so that the state will hold the same message."""
    message = HumanMessage("hi")
    positions = log.append(THREAD, [message])
    assert positions == {message.id: 0}
    assert log.append(THREAD, [message]) == positions


def test_another_content_under_the_same_id_is_a_new_version(log: SessionLog) -> None:
    """An edit is logged once, and going back to the first text adds nothing."""
    log.append(THREAD, [HumanMessage("one", id="m")])
    assert log.append(THREAD, [HumanMessage("won", id="m")]) == {"m": 1}
    assert log.append(THREAD, [HumanMessage("one", id="m")]) == {"m": 0}
    assert texts([e.message for e in log.read("t1")]) == ["one", "won"]


def test_forms_removals_and_parts(log: SessionLog) -> None:
    """Forms and removals are left out; a streamed part is logged as the message that it becomes, once."""
    summary = HumanMessage("s", id="m", additional_kwargs=marked("summary"))
    part = AIMessageChunk("hel", id="p") + AIMessageChunk("lo", id="p")
    assert log.append(THREAD, [summary, RemoveMessage(id="m"), part]) == {"p": 0}
    assert log.append(THREAD, [AIMessage("hello", id="p")]) == {"p": 0}


def test_the_order_of_keys_makes_no_new_version(log: SessionLog) -> None:
    """The same artifact with its keys in another order is the same message."""
    log.append(THREAD, [ToolMessage("x", tool_call_id="c", id="m", artifact={"a": 1, "b": 2})])
    assert log.append(THREAD, [ToolMessage("x", tool_call_id="c", id="m", artifact={"b": 2, "a": 1})]) == {"m": 0}


def test_an_empty_append_makes_no_file(log: SessionLog, tmp_path: Path) -> None:
    """Nothing said leaves nothing behind."""
    assert log.append(THREAD, []) == {}
    assert log.threads() == []
    assert log.read("t1") == []
    assert log.tail("t1", 3) == []
    assert log.unflushed("t1") == []
    assert log.tenant("t1") is None
    assert not (tmp_path / "workspace" / "sessions").exists()


def test_reading_from_a_position_and_from_the_end(log: SessionLog) -> None:
    """`start` and `tail` give the same messages as reading all of them."""
    log.append(THREAD, [HumanMessage("x" * 3000, id=f"m{n}") for n in range(200)])
    other = SessionLog(log.workspace)
    assert [e.position for e in other.tail("t1", 3)] == [197, 198, 199]
    assert [e.position for e in other.read("t1", start=150)] == list(range(150, 200))
    assert [e.position for e in other.tail("t1", 999)] == list(range(200))


def test_the_end_of_a_long_log_is_read_without_its_beginning(log: SessionLog, tmp_path: Path) -> None:
    """The last messages are there although the beginning is one block of zeros."""
    log.append(THREAD, [HumanMessage("x" * 5000, id=f"m{n}") for n in range(400)])
    path = tmp_path / "workspace" / "sessions" / "t1.log.jsonl"
    data = path.read_bytes()
    path.write_bytes(data[:500] + b"\x00" * 1_000_000 + data[1_000_500:])
    events: list[Event] = []
    other = SessionLog(log.workspace, on_event=events.append)
    assert [e.message.id for e in other.tail("t1", 2)] == ["m398", "m399"]
    assert events == []


def test_each_append_is_seen_by_other_readers(log: SessionLog) -> None:
    """Two logs over one workspace see each other's messages at once, and positions never meet."""
    other = SessionLog(log.workspace)
    for n in range(5):
        assert log.append(THREAD, [HumanMessage("x", id=f"a{n}")]) == {f"a{n}": 2 * n}
        assert other.append(THREAD, [HumanMessage("x", id=f"b{n}"), HumanMessage("x", id=f"a{n}")]) == {
            f"b{n}": 2 * n + 1,
            f"a{n}": 2 * n,
        }
    assert log.read("t1") == other.read("t1")


def test_files_are_private(log: SessionLog, tmp_path: Path) -> None:
    """0600 for files and 0700 for folders."""
    log.append(THREAD, [HumanMessage("x")])
    folder = tmp_path / "workspace" / "sessions"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "t1.log.jsonl").stat().st_mode) == 0o600


# -- owners ---------------------------------------------------------------------------------------------------------


def test_a_thread_belongs_to_who_began_it(log: SessionLog) -> None:
    """Another tenant, and the shared root, can neither write nor mark, and nothing changes."""
    log.append(ALICE, [HumanMessage("mine", id="m")])
    for intruder in (ThreadRef(thread_id="a1", tenant="bob"), ThreadRef(thread_id="a1")):
        with pytest.raises(TenantMismatch, match="thread 'a1' belongs to tenant 'alice'"):
            log.append(intruder, [HumanMessage("yours")])
        with pytest.raises(TenantMismatch, match="use another thread_id"):
            log.mark_flushed(intruder, [0])
        with pytest.raises(TenantMismatch, match="belongs to tenant 'alice'"):
            log.check_tenant(intruder)
    log.append(THREAD, [HumanMessage("shared")])
    with pytest.raises(TenantMismatch, match="belongs to the shared root and was asked for by tenant 'alice'"):
        log.append(ThreadRef(thread_id="t1", tenant="alice"), [HumanMessage("x")])
    assert [log.tenant(t) for t in ("a1", "t1", "nobody")] == ["alice", None, None]
    assert texts([e.message for e in log.read("a1")]) == ["mine"]


def test_a_thread_that_a_checkpointer_began_is_settled_by_the_first_front_door(log: SessionLog) -> None:
    """The run's context is known to the nodes alone: they say whose it is, and then it is."""
    saver = SessionSaver.over(log)
    say(chat(saver), "hi")
    assert log.tenant("t1") is None
    log.append(ThreadRef(thread_id="t1", tenant="alice"), [HumanMessage("more", id="m")])
    assert SessionLog(log.workspace).tenant("t1") == "alice"
    with pytest.raises(TenantMismatch, match="belongs to tenant 'alice'"):
        log.append(THREAD, [HumanMessage("x")])
    with pytest.raises(TenantMismatch, match="asked for by tenant 'bob'"):
        saver.get_tuple({"configurable": {"thread_id": "t1", "user_id": "bob"}})
    # `get_state` and LangGraph Studio name no user, and find it.
    assert saver.get_tuple(T1) is not None
    assert len(say(chat(saver), "again", config={"configurable": {"thread_id": "t1", "user_id": "alice"}})) == 4


def test_a_checkpointer_takes_the_user_that_a_config_names(log: SessionLog) -> None:
    """A plain graph with `configurable.user_id` begins a thread of that user."""
    saver = SessionSaver.over(log)
    say(chat(saver), "hi", config={"configurable": {"thread_id": "t1", "user_id": "alice"}})
    assert log.tenant("t1") == "alice"
    with pytest.raises(TenantMismatch, match="belongs to tenant 'alice'"):
        chat(saver).invoke({"messages": [HumanMessage("x")]}, {"configurable": {"thread_id": "t1", "user_id": "bob"}})
    with pytest.raises(TenantMismatch, match="belongs to tenant 'alice'"):
        log.append(ThreadRef(thread_id="t1", tenant="bob"), [HumanMessage("x")])


# -- marks ------------------------------------------------------------------------------------------------------------


def test_marks_are_kept_as_ranges(log: SessionLog) -> None:
    """What is marked is no longer unflushed, for other readers too."""
    log.append(THREAD, [HumanMessage("x", id=f"m{n}") for n in range(6)])
    log.mark_flushed(THREAD, [0, 1, 4])
    other = SessionLog(log.workspace)
    assert other.flushed("t1") == Marks(((0, 1), (4, 4)))
    assert [e.position for e in other.unflushed("t1")] == [2, 3, 5]
    other.mark_flushed(THREAD, [2, 3])
    assert log.flushed("t1").ranges == ((0, 4),)
    assert log.threads()[0].unflushed == 1


# -- all sessions -----------------------------------------------------------------------------------------------------


def test_sessions_are_listed_by_tenant_newest_first(tmp_path: Path) -> None:
    """Each with its counts and times."""
    clock = FrozenClock(datetime(2026, 1, 1, tzinfo=UTC))
    log = SessionLog(LocalWorkspace(tmp_path), clock=clock)
    log.append(ALICE, [HumanMessage("a")])
    clock.advance(timedelta(hours=1))
    log.append(BOB, [HumanMessage("b")])
    clock.advance(timedelta(hours=1))
    log.append(ThreadRef(thread_id="a/2", tenant="alice"), [HumanMessage("c")])
    clock.advance(timedelta(minutes=1))
    log.append(ALICE, [HumanMessage("d")])
    assert [i.thread_id for i in log.threads(tenant=ANY)] == ["a1", "a/2", "b1"]
    assert [i.thread_id for i in log.threads(tenant="alice")] == ["a1", "a/2"]
    assert log.threads(tenant=None) == []
    (first, *_) = log.threads(tenant="alice")
    assert (first.messages, first.unflushed, first.tenant) == (2, 2, "alice")
    assert first.last_at - first.first_at == timedelta(hours=2, minutes=1)
    assert first.path == log.path_of("a1")
    assert first.size == (tmp_path / first.path).stat().st_size


def test_pruning_deletes_old_sessions_that_are_flushed(tmp_path: Path) -> None:
    """One with unflushed messages, one with an open interrupt, one that is leased and a new one stay."""
    clock = FrozenClock(datetime(2026, 1, 1, tzinfo=UTC))
    events: list[Event] = []
    log = SessionLog(LocalWorkspace(tmp_path, clock=clock), clock=clock, on_event=events.append)
    saver = SessionSaver.over(log)
    from langgraph.types import interrupt

    for name in ("old", "unflushed", "leased", "open"):
        node = (lambda state: interrupt("?")) if name == "open" else None
        graph = chat(saver, node) if node else chat(saver)
        graph.invoke({"messages": [HumanMessage("x")]}, {"configurable": {"thread_id": name}})
        if name != "unflushed":
            log.mark_flushed(ThreadRef(thread_id=name), [e.position for e in log.read(name)])
    clock.advance(timedelta(days=10))
    log.append(ThreadRef(thread_id="new"), [HumanMessage("x")])
    lease = log.workspace.acquire_lease("session/leased", ttl=timedelta(days=20))
    assert lease is not None
    gone = log.prune(clock.now() - timedelta(days=5))
    assert [i.thread_id for i in gone] == ["old"]
    assert [e.thread_id for e in events if isinstance(e, Deleted)] == ["old"]
    assert {i.thread_id for i in log.threads()} == {"unflushed", "leased", "open", "new"}
    assert not list((tmp_path / "sessions").glob("old*"))
    log.workspace.release_lease(lease)
    assert {i.thread_id for i in log.prune(clock.now() - timedelta(days=5), only_flushed=False)} == {
        "unflushed",
        "leased",
    }


def test_deleting_removes_evicted_files_that_no_other_session_names(log: SessionLog) -> None:
    """A copied session keeps the files that it names; with the last of them they go."""
    workspace = log.workspace
    saver = SessionSaver.over(log)
    path = f"large_tool_results/{file_stem('t1')}/result.txt"
    workspace.append(path, b"large\n")
    workspace.append(f"large_tool_results/{file_stem('t1')}/own.txt", b"large\n")
    workspace.append("large_tool_results/other/x.txt", b"large\n")
    placeholder = ToolMessage(f"see {path}.", tool_call_id="c", id="r", additional_kwargs=marked("evicted", path=path))
    chat(saver).update_state(T1, {"messages": [HumanMessage("x", id="h"), placeholder]})
    saver.copy_thread("t1", "t2")
    saver.delete_thread("t1")
    assert [f.path for f in workspace.files("large_tool_results")] == ["large_tool_results/other/x.txt", path]
    log.delete("t2")
    assert [f.path for f in workspace.files("large_tool_results")] == ["large_tool_results/other/x.txt"]


def test_copying_takes_marks_and_times_along(tmp_path: Path) -> None:
    """A copy's messages are as old as the originals, and what was flushed is not flushed again."""
    clock = FrozenClock(datetime(2026, 1, 1, tzinfo=UTC))
    log = SessionLog(LocalWorkspace(tmp_path), clock=clock)
    log.append(ALICE, [HumanMessage("a", id="a"), HumanMessage("b", id="b")])
    log.mark_flushed(ALICE, [0])
    log.append(ThreadRef(thread_id="a2", tenant="alice"), [HumanMessage("before", id="x")])
    clock.advance(timedelta(days=1))
    assert log.copy("a1", "a2") == {0: 1, 1: 2}
    assert [(e.message.id, e.logged_at.day) for e in log.read("a2")] == [("x", 1), ("a", 1), ("b", 1)]
    assert log.flushed("a2").ranges == ((1, 1),)
    assert log.copy("a1", "a1") == {}
    assert log.copy("nothing", "a3") == {}
    log.append(BOB, [HumanMessage("x")])
    with pytest.raises(TenantMismatch, match="belongs to tenant 'bob'"):
        log.copy("a1", "b1")


# -- exports, redaction, other back ends ----------------------------------------------------------------------------


def test_exports_hold_the_newest_version_of_each_message(log: SessionLog) -> None:
    """OpenAI chat JSONL and LangChain dumps, each readable by its owner."""
    call = {"name": "t", "args": {"q": 1}, "id": "c", "type": "tool_call"}
    said = [
        HumanMessage("hi", id="h"),
        AIMessage("", id="a", tool_calls=[call]),
        ToolMessage("r", tool_call_id="c", id="r"),
    ]
    log.append(THREAD, said)
    log.append(THREAD, [HumanMessage("hello", id="h")])
    line = log.export_openai("t1")
    assert line.endswith("\n")
    assert [m["role"] for m in json.loads(line)["messages"]] == ["user", "assistant", "tool"]
    assert json.loads(line)["messages"][0]["content"] == "hello"
    with pytest.warns(Warning, match="`loads` is in beta"):
        dumped = loads(log.export_langchain("t1"), allowed_objects="messages")
    assert dumped == [HumanMessage("hello", id="h"), *said[1:]]
    assert (log.export_openai("x"), log.export_langchain("x")) == ("", "[]")


def test_with_redaction_neither_file_holds_a_secret_and_the_state_shows_the_placeholder(tmp_path: Path) -> None:
    """The log, the checkpoints and what is read next hold the same placeholder, in this process and the next."""
    key = "sk-abc123def456ghi789jkl012"
    saver = SessionSaver(tmp_path, fsync=False, redact=redact)
    graph = chat(saver)
    say(graph, f"my api key is {key}")
    messages = say(graph, "again")
    assert key not in messages[0].text
    assert b"abc123def456" not in b"".join(p.read_bytes() for p in tmp_path.glob("*.jsonl"))
    again = SessionSaver(tmp_path, fsync=False, redact=redact)
    assert chat(again).get_state(T1).values["messages"] == messages
    assert len(again.log.read("t1")) == 4
    assert len(say(chat(again), "third")) == 6
    assert len(again.log.read("t1")) == 6


def test_with_redaction_other_values_hold_no_secret_either(tmp_path: Path) -> None:
    """Texts of other channels, of inputs that are no message objects, and of writes are redacted as well."""
    key = "sk-abc123def456ghi789jkl012"
    saver = SessionSaver(tmp_path, fsync=False, redact=redact)
    graph = chat(saver)
    state = graph.invoke({"messages": [("user", f"my api key is {key}"), {"role": "user", "content": key}]}, T1)
    assert len(state["messages"]) == 3
    config = saver.put(
        {"configurable": {"thread_id": "t2", "checkpoint_ns": ""}},
        {
            "v": 4,
            "id": "1",
            "ts": "",
            "channel_values": {"notes": {"deep": [key, (key, 1)]}},
            "channel_versions": {"notes": 1},
            "versions_seen": {},
            "updated_channels": None,
        },
        {},
        {},
    )
    saver.put_writes(config, [("notes", key)], "task")
    assert b"abc123def456" not in b"".join(p.read_bytes() for p in tmp_path.glob("*.jsonl"))


def test_a_line_that_was_redacted_in_place_is_seen_by_readers_that_had_it(tmp_path: Path) -> None:
    """A message that a person had forgotten is gone from the next state, in a process that holds it in memory too."""
    from langgraph_harness_memory.sessions.redacting import redact_messages

    mine = SessionSaver.over(SessionLog(LocalWorkspace(tmp_path, fsync=False)))
    say(chat(mine), "forget me please, all of this", "two")
    redact_messages(SessionLog(LocalWorkspace(tmp_path, fsync=False)), THREAD, [0])
    state = chat(mine).get_state(T1).values["messages"]
    assert "forget me" not in state[0].text
    assert len(state) == 4
    assert len(say(chat(mine), "three")) == 6


def test_a_store_serves_as_workspace() -> None:
    """Logs and checkpoints in a LangGraph store, read by another log over the same store."""
    store = InMemoryStore()
    saver = SessionSaver.over(SessionLog(StoreWorkspace(store, namespace=("memory",))))
    state = say(chat(saver), "one", "two")
    other = SessionSaver.over(SessionLog(StoreWorkspace(store, namespace=("memory",))))
    assert chat(other).get_state(T1).values["messages"] == state
    assert len(say(chat(other), "three")) == 6
    assert len(chat(saver).get_state(T1).values["messages"]) == 6
    saver.prune(["t1"])
    assert len(chat(other).get_state(T1).values["messages"]) == 6
    other.delete_thread("t1")
    assert chat(saver).get_state(T1).values == {}


def test_the_async_twins_do_the_same(log: SessionLog) -> None:
    """Each twin gives what the sync method gives."""

    async def all_of_them() -> None:
        assert await log.aappend(THREAD, [HumanMessage("find me", id="a"), HumanMessage("b", id="b")]) == {
            "a": 0,
            "b": 1,
        }
        assert await log.aread("t1") == log.read("t1")
        assert await log.atail("t1", 1) == log.tail("t1", 1)
        assert await log.aunflushed("t1") == log.unflushed("t1")
        await log.amark_flushed(THREAD, [0])
        assert await log.aflushed("t1") == log.flushed("t1")
        assert await log.athreads() == log.threads()
        assert await log.ainfo("t1") == log.info("t1")
        assert await log.atenant("t1") is None
        await log.acheck_tenant(THREAD)
        assert await log.asearch("find", tenant=None) == log.search("find", tenant=None)
        assert await log.aexport_openai("t1") == log.export_openai("t1")
        assert await log.aexport_langchain("t1") == log.export_langchain("t1")
        assert await log.acopy("t1", "t2") == {0: 0, 1: 1}
        assert await log.aprune(datetime(2000, 1, 1, tzinfo=UTC)) == []
        assert await log.adelete("t1")
        assert not await log.adelete("t1")

    asyncio.run(all_of_them())


def test_a_cancelled_append_is_done_when_the_cancellation_arrives(log: SessionLog) -> None:
    """Whoever cancels knows afterwards that the message is in the log, whole, once."""

    async def cancelled(number: int) -> None:
        work = asyncio.create_task(log.aappend(THREAD, [HumanMessage("x" * 100_000, id=f"m{number}")]))
        await asyncio.sleep(0.0005 * number)
        work.cancel()
        await asyncio.wait([work])
        size = log.workspace.stat(log.path_of("t1"))
        await asyncio.sleep(0.01)
        assert log.workspace.stat(log.path_of("t1")) == size

    for number in range(8):
        asyncio.run(cancelled(number))
    ids = [e.message.id for e in log.read("t1")]
    assert len(ids) == len(set(ids))
