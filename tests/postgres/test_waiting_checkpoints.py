"""Checkpoints beside a workspace on Postgres while its server is away, call by call."""

import asyncio
import threading
import time
from typing import Any

import pytest

from langgraph_harness_memory.errors import WorkspaceError
from langgraph_harness_memory.sessions import postgres
from langgraph_harness_memory.sessions.postgres import PostgresSessionSaver
from langgraph_harness_memory.workspace.postgres import PostgresWorkspace


class Server:
    """The door to the server: shut, every call fails as if it were away."""

    def __init__(self, workspace: PostgresWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_away = False
        self.calls = 0
        guarded = workspace.connections.guarded

        def door(call: Any) -> Any:
            self.calls += 1
            if self.is_away:
                raise WorkspaceError("the server is away")
            return guarded(call)

        monkeypatch.setattr(workspace.connections, "guarded", door)


@pytest.fixture
def workspace(postgres_url, schema):
    with PostgresWorkspace(postgres_url, schema=schema) as workspace:
        yield workspace


@pytest.fixture
def server(workspace, monkeypatch):
    # Nothing is written by itself while a test looks; each test writes what waits by asking.
    monkeypatch.setattr(postgres, "CATCH_UP", 60.0)
    return Server(workspace, monkeypatch)


@pytest.fixture
def saver(workspace, server):
    return PostgresSessionSaver(workspace)


def config(checkpoint_id: str | None = None, *, thread: str = "t1", ns: str | None = "") -> Any:
    named = {"thread_id": thread} | ({} if ns is None else {"checkpoint_ns": ns})
    return {"configurable": named | ({} if checkpoint_id is None else {"checkpoint_id": checkpoint_id})}


def checkpoint(checkpoint_id: str, **values: Any) -> Any:
    return {
        "v": 4,
        "id": checkpoint_id,
        "ts": "",
        "channel_values": {name: [value] for name, value in values.items()},
        "channel_versions": {name: str(value) for name, value in values.items()},
        "versions_seen": {},
        "updated_channels": None,
    }


def held(found: Any) -> tuple[Any, ...]:
    """What a test looks at in a checkpoint that was read."""
    return (
        found.config["configurable"]["checkpoint_id"],
        found.checkpoint["channel_values"],
        found.metadata,
        found.parent_config and found.parent_config["configurable"]["checkpoint_id"],
        list(found.pending_writes),
    )


def test_what_was_put_is_read_with_its_writes(saver, workspace):
    """By this process and by another one; nothing waits."""
    assert saver.put(config(), checkpoint("1", a=1), {"step": 0}, {"a": "1"}) == config("1")
    saver.put_writes(config("1"), [("a", 2), ("b", 3)], "task", "~p")
    saver.put(config("1"), checkpoint("2", a=4), {"step": 1}, {"a": "4"})
    assert saver.waiting == 0
    for reader in (saver, PostgresSessionSaver(workspace)):
        assert held(reader.get_tuple(config("1"))) == (
            "1",
            {"a": [1]},
            {"step": 0},
            None,
            [("task", "a", 2), ("task", "b", 3)],
        )
        assert held(reader.get_tuple(config())) == ("2", {"a": [4]}, {"step": 1}, "1", [])


def test_a_known_thread_goes_on_from_what_this_process_saw_last(saver, server, workspace):
    """Its checkpoint, its writes, and nothing of another id or thread."""
    other = PostgresSessionSaver(workspace)
    other.put(config(), checkpoint("1", a=1), {"step": 0}, {"a": "1"})
    other.put(config("1"), checkpoint("2", a=2), {"step": 1}, {"a": "2"})
    other.put_writes(config("2"), [("a", 3)], "task")
    seen = held(saver.get_tuple(config()))
    server.is_away = True
    assert held(saver.get_tuple(config())) == held(saver.get_tuple(config("2"))) == seen
    assert seen == ("2", {"a": [2]}, {"step": 1}, "1", [("task", "a", 3)])
    for unknown in (config("1"), config(thread="t2"), config(ns="sub")):
        with pytest.raises(WorkspaceError, match="the server is away"):
            saver.get_tuple(unknown)


def test_a_checkpoint_that_is_asked_for_by_its_id_is_not_the_last_one(saver, server):
    """Looking back at history does not make a thread go on from there."""
    saver.put(config(), checkpoint("1", a=1), {}, {"a": "1"})
    saver.put(config("1"), checkpoint("2", a=2), {}, {"a": "2"})
    assert saver.get_tuple(config("1")) is not None
    server.is_away = True
    assert held(saver.get_tuple(config()))[0] == "2"


def test_the_newest_checkpoint_waits_and_is_written_when_the_server_is_back(saver, server, workspace, caplog):
    """On top of the last one that was written, with every channel that changed since, and with its writes."""
    saver.put(config(), checkpoint("1", a=1, b=1), {"step": 0}, {"a": "1", "b": "1"})
    server.is_away = True
    saver.put_writes(config("1"), [("a", 8)], "early")
    assert saver.waiting == 1
    assert saver.put(config("1"), checkpoint("2", a=2, b=1), {"step": 1}, {"a": "2"}) == config("2")
    saver.put_writes(config("2"), [("a", 9)], "late")
    assert saver.put(config("2"), checkpoint("3", a=2, b=3), {"step": 2}, {"b": "3"}) == config("3")
    saver.put_writes(config("3"), [("a", 10)], "task", "~p")
    saver.put_writes(config("3"), [("b", 11)], "task2", "~q")
    newest = ("3", {"a": [2], "b": [3]}, {"step": 2}, "2", [("task", "a", 10), ("task2", "b", 11)])
    assert held(saver.get_tuple(config())) == newest
    assert saver.waiting == 1
    server.is_away = False
    assert held(saver.get_tuple(config())) == (*newest[:3], "1", newest[4])
    assert saver.waiting == 0
    listed = list(PostgresSessionSaver(workspace).list(config()))
    assert [held(each)[:4] for each in listed] == [
        ("3", {"a": [2], "b": [3]}, {"step": 2}, "1"),
        ("1", {"a": [1], "b": [1]}, {"step": 0}, None),
    ]
    assert held(listed[0])[4] == newest[4]
    warnings = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert warnings == ["Postgres cannot be written: the newest checkpoints wait in this process and are lost with it"]


def test_writes_alone_wait_too(saver, server, workspace):
    """They belong to a checkpoint that is written."""
    saver.put(config(), checkpoint("1", a=1), {}, {"a": "1"})
    server.is_away = True
    saver.put_writes(config("1"), [("a", 2)], "task", "~p")
    server.is_away = False
    assert held(saver.get_tuple(config()))[4] == [("task", "a", 2)]
    assert held(PostgresSessionSaver(workspace).get_tuple(config()))[4] == [("task", "a", 2)]


def test_what_waits_is_not_overtaken(saver, server, workspace):
    """A thread of which something waits waits on, though the server is back; another one is written."""
    server.is_away = True
    saver.put(config(), checkpoint("1", a=1), {}, {"a": "1"})
    server.is_away = False
    calls = server.calls
    saver.put(config("1"), checkpoint("2", a=2), {}, {"a": "2"})
    assert (saver.waiting, server.calls) == (1, calls)
    saver.put(config(thread="t2"), checkpoint("1", a=1), {}, {"a": "1"})
    assert (saver.waiting, server.calls) == (1, calls + 1)
    assert held(saver.get_tuple(config()))[0] == "2"
    assert [held(each)[0] for each in PostgresSessionSaver(workspace).list(config())] == ["2"]


def test_what_waits_is_tried_again_and_again(saver, server, workspace, monkeypatch, caplog):
    """And told once it is written; what waits later is tried anew."""
    monkeypatch.setattr(postgres, "CATCH_UP", 0.01)
    before = set(threading.enumerate())
    for round_ in ("1", "2"):
        server.is_away = True
        for thread in ("t1", "t2"):
            saver.put(config(thread=thread), checkpoint(round_, a=1), {}, {"a": "1"})
        assert saver.waiting == 2
        calls = server.calls
        while server.calls < calls + 3:
            time.sleep(0.005)
        server.is_away = False
        until = time.monotonic() + 20
        while saver.waiting and time.monotonic() < until:
            time.sleep(0.005)
        assert saver.waiting == 0
    for thread in ("t1", "t2"):
        assert [held(each)[0] for each in PostgresSessionSaver(workspace).list(config(thread=thread))] == ["2", "1"]
    for trying in set(threading.enumerate()) - before:
        if trying.name == "harness-memory-checkpoints":
            trying.join(20)
    assert [r.message for r in caplog.records].count("the checkpoints that waited are written") == 2


def test_a_deleted_thread_leaves_nothing_that_waits_or_is_remembered(saver, server):
    """In any namespace; others stay."""
    for thread in ("t1", "t2"):
        for ns in ("", "sub"):
            saver.put(config(thread=thread, ns=ns), checkpoint("1", a=1), {}, {"a": "1"})
    server.is_away = True
    saver.put(config("1"), checkpoint("2", a=2), {}, {"a": "2"})
    saver.put(config("1", thread="t2"), checkpoint("2", a=2), {}, {"a": "2"})
    with pytest.raises(WorkspaceError, match="the server is away"):
        saver.delete_thread("t1")
    assert saver.waiting == 1
    for ns in ("", "sub"):
        with pytest.raises(WorkspaceError, match="the server is away"):
            saver.get_tuple(config(ns=ns))
        assert saver.get_tuple(config(thread="t2", ns=ns)) is not None
    server.is_away = False
    saver.delete_thread("t1")
    assert saver.get_tuple(config()) is None
    assert held(saver.get_tuple(config(thread="t2")))[0] == "2"


def test_only_so_many_threads_are_remembered(saver, server, monkeypatch):
    """The one that was used longest ago is forgotten first."""
    monkeypatch.setattr(postgres, "REMEMBERED", 2)
    for thread in ("t1", "t2", "t1", "t3"):
        saver.put(config(thread=thread), checkpoint("1", a=1), {}, {"a": "1"})
    server.is_away = True
    assert saver.get_tuple(config(thread="t1")) is not None
    assert saver.get_tuple(config(thread="t3")) is not None
    with pytest.raises(WorkspaceError, match="the server is away"):
        saver.get_tuple(config(thread="t2"))


def test_a_later_change_of_what_was_given_does_not_reach_what_is_remembered(saver, server):
    """Checkpoints and writes are kept as bytes."""
    given, value = checkpoint("1", a=1), [2]
    saver.put(config(), given, {}, {"a": "1"})
    saver.put_writes(config("1"), [("a", value)], "task")
    given["channel_values"]["a"].append("changed")
    value.append("changed")
    server.is_away = True
    assert held(saver.get_tuple(config()))[1::3] == ({"a": [1]}, [("task", "a", [2])])


def test_the_async_twins_of_a_saver_on_postgres(saver):
    """Each does what the sync method does."""

    async def all_of_them() -> None:
        assert await saver.aput(config(), checkpoint("1", a=1), {"step": 0}, {"a": "1"}) == config("1")
        await saver.aput_writes(config("1"), [("a", 2)], "task", "~p")
        await saver.aput(config("1"), checkpoint("2", a=3), {"step": 1}, {"a": "3"})
        assert held(await saver.aget_tuple(config("1"))) == held(saver.get_tuple(config("1")))
        for more, found in [
            ({}, ["2", "1"]),
            ({"limit": 1}, ["2"]),
            ({"before": config("2")}, ["1"]),
            ({"filter": {"step": 0}}, ["1"]),
        ]:
            assert [held(each)[0] async for each in saver.alist(config(), **more)] == found
        history = await saver.aget_delta_channel_history(config=config("2"), channels=["a"])
        assert history == saver.get_delta_channel_history(config=config("2"), channels=["a"])
        await saver.adelete_thread("t1")
        assert await saver.aget_tuple(config()) is None

    asyncio.run(all_of_them())
