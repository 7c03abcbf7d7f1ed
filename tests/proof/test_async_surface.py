"""Async never blocks: every coroutine of the package runs under a detector of blocking calls, on each kind of workspace."""

import asyncio
import fcntl
import os
import secrets
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from blockbuster import BlockingError
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import END, START, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from benchmarks._life import SUMMARY, answer_as_agent, curator, read_log, settings
from langgraph_harness_memory import (
    CompactionConfig,
    ExtractiveChatModel,
    HarnessMemory,
    LocalWorkspace,
    MemoryState,
    PostgresWorkspace,
    PrivacyConfig,
    SessionLog,
    SessionSaver,
    StoreWorkspace,
    create_memory_agent,
    deploy,
)
from langgraph_harness_memory.errors import WorkspaceError
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.maintenance.cron import register_cron
from langgraph_harness_memory.performers import performer
from langgraph_harness_memory.testing import Reply, ScriptedChatModel
from langgraph_harness_memory.testing.tcp_proxy import TcpProxy
from langgraph_harness_memory.workspace import Workspace
from tests.proof.detector import PACKAGE, Seen, coroutines, watch

COMMAND = {
    ("cli/chat.py", "Seat._stream"),
    ("cli/upkeep.py", "_registered"),
    ("cli/recorded.py", "RecordedTool.ainvoke"),
}
"""Run on an event loop that the command line began for them alone: nobody else waits there."""

URL = os.environ.get("HARNESS_TEST_POSTGRES") or "postgresql://postgres@127.0.0.1:5432/test"

ANN = ThreadRef(thread_id="log1", tenant="ann")


# -- workspaces -------------------------------------------------------------------------------------------------------


@contextmanager
def _local(tmp_path: Path) -> Iterator[Workspace]:
    yield LocalWorkspace(tmp_path / "parent" / "workspace")


@contextmanager
def _store(_: Path) -> Iterator[Workspace]:
    yield StoreWorkspace(InMemoryStore())


@contextmanager
def _postgres(_: Path) -> Iterator[Workspace]:
    try:
        psycopg.connect(URL, connect_timeout=3).close()
    except psycopg.OperationalError as error:
        if os.environ.get("CI") or os.environ.get("HARNESS_TEST_POSTGRES"):
            pytest.fail(f"no Postgres for the tests: {error}")
        pytest.skip(f"no Postgres for the tests: {error}")
    schema = f"hm_test_{os.getpid()}_{secrets.token_hex(4)}"
    try:
        with PostgresWorkspace(URL, schema=schema) as workspace:
            yield workspace
    finally:
        with psycopg.connect(URL, autocommit=True) as connection:
            connection.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')


KINDS: dict[str, Callable[[Path], AbstractContextManager[Workspace]]] = {
    "local": _local,
    "store": _store,
    "postgres": _postgres,
}

SEEN: dict[str, Seen] = {}
"""What each kind's test saw, for the test at the end that asks whether all was seen."""


# -- what is driven -----------------------------------------------------------------------------------------------------


def config(thread: str, user: str | None = "ann") -> Any:
    return {"configurable": {"thread_id": thread} | ({} if user is None else {"user_id": user})}


def agent_model(*script: Any) -> ScriptedChatModel:
    return ScriptedChatModel(script=list(script) or [answer_as_agent], repeat=True)


def ask(text: str) -> Any:
    return {"messages": [HumanMessage(text)]}


class Streaming(BaseChatModel):
    """A model behind a gateway that refuses anything but a stream."""

    @property
    def _llm_type(self) -> str:
        return "streaming"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError("only stream=true")

    async def _agenerate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError("only stream=true")

    async def _astream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> Any:
        for word in SUMMARY.split(" "):
            yield ChatGenerationChunk(message=AIMessageChunk(f"{word} "))


async def drive_tree(tree: Workspace) -> None:
    """Every operation of a workspace."""
    await tree.aappend("notes/a.md", b"one\n")
    await tree.aappend("notes/a.md", b"two\n", is_whole_line=lambda line: line.endswith(b"\n"))
    version = await tree.areplace("notes/b.md", b"b", create=True)
    await tree.areplace("notes/b.md", b"c", expect=version)
    assert (await tree.aread("notes/b.md")).data == b"c"  # type: ignore[union-attr]
    assert await tree.astat("notes/a.md") is not None
    assert [info.path for info in await tree.afiles("notes")] == ["notes/a.md", "notes/b.md"]
    assert "notes" in await tree.afolders()
    await tree.amove("notes/b.md", "notes/c.md")
    assert await tree.adelete("notes")
    lease = await tree.aacquire_lease("upkeep", ttl=timedelta(minutes=1))
    assert lease is not None
    assert await tree.arenew_lease(lease, ttl=timedelta(minutes=1))
    await tree.arelease_lease(lease)


async def drive_sessions(log: SessionLog) -> None:
    """Every operation of the session logs."""
    await log.aappend(ANN, [HumanMessage("what is the tea", id="m1"), AIMessage("green", id="m2")])
    await log.acheck_tenant(ANN)
    assert [entry.message.id for entry in await log.aread("log1")] == ["m1", "m2"]
    assert len(await log.atail("log1", 1)) == 1
    assert await log.atenant("log1") == "ann"
    assert len(await log.aunflushed("log1")) == 2
    await log.amark_flushed(ANN, [0])
    assert await log.aflushed("log1")
    assert await log.ainfo("log1") is not None
    assert len(await log.athreads()) >= 1
    assert await log.asearch("tea", tenant="ann")
    assert await log.aexport_openai("log1")
    assert await log.aexport_langchain("log1")
    assert await log.acopy("log1", "log2")
    await log.aprune(datetime(2000, 1, 1, tzinfo=UTC))
    assert await log.adelete("log2")


async def drive_saver(saver: Any) -> None:
    """Every operation of a checkpointer."""
    own: Any = {"configurable": {"thread_id": "saved", "checkpoint_ns": ""}}
    checkpoint = empty_checkpoint()
    stored = await saver.aput(own, checkpoint, {"source": "input", "step": -1, "run_id": "r1"}, {})
    await saver.aput_writes(stored, [("note", "x")], "task")
    assert await saver.aget_tuple(own) is not None
    assert [found async for found in saver.alist(own)]
    await saver.aget_delta_channel_history(config=own, channels=["messages"])
    await saver.aprune(["saved"])
    if isinstance(saver, SessionSaver):
        await saver.acopy_thread("saved", "copied")
        await saver.adelete_for_runs(["r1"])
    await saver.adelete_thread("saved")


async def drive_index(index: Any) -> None:
    """Every operation of an index."""
    await index.areindex()
    await index.aindex_text("notes.md", "- green tea\n")
    assert await index.asearch("tea", 3, since=date(2000, 1, 1)) is not None
    await index.apurge(tenant="nobody")


async def drive_prebuilt(memory: HarnessMemory, *, turns: int) -> None:
    """Turns of the prebuilt agent, enough that each part works: log, compact, evict, flush."""
    for n in range(turns):
        text = f"Codeword w{n} belongs to item{n}." + (" Please read the log." if n == 2 else "")
        await create_memory_agent(agent_model(), [read_log], memory=memory).ainvoke(ask(text), config("prebuilt"))


async def drive_doors(memory: HarnessMemory) -> None:
    """Turns of the other front doors, and every way to run an agent."""
    prebuilt = create_memory_agent(agent_model(), [read_log], memory=memory)
    _ = [
        part async for part in prebuilt.astream(ask("Please read the log."), config("prebuilt"), stream_mode="messages")
    ]
    _ = [part async for part in prebuilt.astream_events(ask("hello"), config("prebuilt"), version="v2")]
    assert (await prebuilt.aget_state(config("prebuilt"))).values["messages"]
    assert [state async for state in prebuilt.aget_state_history(config("prebuilt"))]
    await prebuilt.aupdate_state(config("prebuilt"), {"messages": [HumanMessage("by hand")]})

    doors = create_agent(agent_model(), [read_log], middleware=memory.middleware(), checkpointer=memory.checkpointer)
    for n in range(3):
        text = f"Codeword d{n} belongs to item{n}." + (" Please read the log." if n == 2 else "")
        await doors.ainvoke(ask(text), config("doors"))

    model = agent_model()
    graph = StateGraph(MemoryState)
    graph.add_node("compaction", memory.compaction_node(model=model, tools=memory.with_tools([read_log])))
    graph.add_node("model", memory.model_node(model, memory.with_tools([read_log])))
    graph.add_node("tools", memory.tool_node(memory.with_tools([read_log])))
    graph.add_node("eviction", memory.eviction_node(tools=memory.with_tools([read_log])))
    graph.add_node("flush", memory.flush_node())
    graph.add_edge(START, "compaction")
    graph.add_edge("compaction", "model")
    graph.add_conditional_edges(
        "model", lambda state: "tools" if state["messages"][-1].tool_calls else "flush", ["tools", "flush"]
    )
    graph.add_edge("tools", "eviction")
    graph.add_edge("eviction", "compaction")
    graph.add_edge("flush", END)
    drawn = graph.compile(checkpointer=memory.checkpointer)
    for n in range(2):
        await drawn.ainvoke(ask(f"Codeword g{n} belongs to item{n}. Please read the log."), config("drawn"))
    await memory.wrap_model(agent_model()).ainvoke([HumanMessage("hello")], config("wrapped"))


async def drive_tools(memory: HarnessMemory) -> None:
    """Every tool, called by a model within a run; a person agrees to the forgetting."""
    calls: Sequence[Any] = [
        ("memory_search", {"query": "codeword"}),
        ("memory_get", {"path": "MEMORY.md"}),
        ("session_search", {"query": "codeword"}),
        ("read_file", {"path": "MEMORY.md"}),
        ("memory_save", {"text": "the tea is green"}),
        ("memory_forget", {"query": "tea green"}),
    ]
    assert {name for name, _ in calls} == {tool.name for tool in memory.tools_for(write=True)}
    model = ScriptedChatModel(script=[Reply(calls=[call]) for call in calls] + ["done"])
    agent = create_memory_agent(model, memory.tools_for(write=True), memory=memory)
    told = await agent.ainvoke(ask("use them all"), config("tools"))
    assert "__interrupt__" in told
    told = await agent.ainvoke(Command(resume=True), config("tools"))
    assert told["messages"][-1].text == "done"


async def drive_memory(memory: HarnessMemory) -> None:
    """Every operation of the whole."""
    said: list[BaseMessage] = [HumanMessage(f"Codeword o{n} belongs to item{n}.", id=f"o{n}") for n in range(10)]
    assert await memory.acompact(said, thread_id="ops", user_id="ann")
    await memory.aflush(said, "ops", user_id="ann")
    await memory.aconsolidate(user_id="ann")
    await memory.asave("Codeword s1 belongs to item1.", user_id="ann")
    await memory.aconsolidate(user_id="ann")
    await memory.arequest_consolidation(user_id="ann")
    assert await memory.acontext_message(config("ops")) is not None
    assert (await memory.aforget("Codeword o3", user_id="ann")).lines
    assert await memory.aversions(user_id="ann")
    await memory.arestore(user_id="ann")
    await memory.retriever(k=2).ainvoke("codeword", config("ops"))
    await memory.aforget("Codeword o4", user_id="ann", backups=True, sessions=True)
    await memory.amaintain()
    await memory.maintenance_graph().ainvoke({"force": True})
    await memory.ahealth()
    await memory.astart()
    await memory.astop()
    assert (await memory.adelete_user("ann")).files


async def drive_review(memory: HarnessMemory) -> None:
    """Proposals that a person accepts or rejects."""
    for n, decide in enumerate((memory.aaccept, memory.areject)):
        await memory.asave(f"Codeword p{n} belongs to item{n}.", user_id="eve")
        await memory.aconsolidate(user_id="eve")
        await decide(user_id="eve")


class Crons:
    """A server's crons."""

    crons: Any = property(lambda self: self)

    async def search(self, **_: Any) -> list[Any]:
        return []

    async def create(self, *_: Any, **__: Any) -> Any:
        return {"cron_id": "c1"}


async def drive_all(workspace: Workspace) -> None:
    """The whole of the async surface over one workspace."""
    await drive_tree(workspace)
    summariser = settings(compaction=CompactionConfig(trigger_messages=6, keep_messages=2, model=Streaming()))
    async with HarnessMemory(workspace, model=curator(), config=settings()) as memory:
        await drive_prebuilt(memory, turns=4)
        await drive_doors(memory)
        await drive_tools(memory)
        await drive_sessions(memory.sessions)
        await drive_saver(memory.checkpointer)
        await drive_index(memory.index)
        await drive_memory(memory)
    async with HarnessMemory(workspace, model=ExtractiveChatModel(), config=summariser) as memory:
        await drive_prebuilt(memory, turns=4)
    async with HarnessMemory(workspace, model=curator(), config=settings(privacy=PrivacyConfig(review=True))) as memory:
        await drive_review(memory)
    async with type(memory.index)(workspace) as index:  # type: ignore[call-arg]  # the protocol does not tell how one is made
        await index.asearch("codeword")
        await index.aclose()
    if isinstance(workspace, PostgresWorkspace):
        async with workspace:
            await workspace.afolders()
    await register_cron(Crons())


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_blocks_the_event_loop(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end state asserted: no blocking call was made on the loop, whether or not somebody caught it."""
    seen = SEEN[kind] = Seen()
    monkeypatch.setenv(deploy.WORKSPACE, str(tmp_path / "deployed"))
    deploy.memory.cache_clear()

    async def run(workspace: Workspace) -> None:
        with watch(seen):
            await drive_all(workspace)
            async with deploy.checkpointer() as saver:
                await saver.aget_tuple(config("nobody"))

    try:
        with KINDS[kind](tmp_path) as workspace:
            asyncio.run(run(workspace))
    finally:
        deploy.memory.cache_clear()
    assert seen.blocked == []


def test_a_database_that_goes_away_blocks_nothing() -> None:
    """Connections that break, a server that is gone and one that is back: every wait is off the loop."""
    seen = SEEN["away"] = Seen()
    parts = urlsplit(URL)
    user = parts.netloc.rpartition("@")[0]

    async def run(workspace: Workspace, proxy: TcpProxy) -> None:
        with watch(seen):
            await workspace.aappend("log", b"1\n")
            await asyncio.to_thread(proxy.stop)
            await asyncio.to_thread(proxy.start)
            await workspace.aappend("log", b"2\n")
            await asyncio.to_thread(proxy.stop)
            with pytest.raises(WorkspaceError, match="cannot be reached"):
                await workspace.aappend("log", b"3\n")
            await workspace.aclose()  # type: ignore[attr-defined]  # it is one on Postgres

    with _postgres(Path()) as direct, TcpProxy(parts.hostname or "127.0.0.1", parts.port or 5432) as proxy:
        netloc = f"{user}@127.0.0.1:{proxy.port}" if user else f"127.0.0.1:{proxy.port}"
        schema = direct.schema  # type: ignore[attr-defined]  # the same
        with PostgresWorkspace(urlunsplit(parts._replace(netloc=netloc)), schema=schema) as workspace:
            asyncio.run(run(workspace, proxy))
        stored = direct.read("log")
    assert stored is not None
    assert stored.data == b"1\n2\n"
    assert seen.blocked == []


def test_every_coroutine_was_driven() -> None:
    """A new `async def` that no test here drives fails this one; it needs the tests above to have run."""
    if set(SEEN) != {*KINDS, "away"} or not all(seen.driven for seen in SEEN.values()):
        pytest.skip("asks what the tests on all kinds of workspace saw; not all of them ran")
    driven = set().union(*(seen.driven for seen in SEEN.values()))
    assert coroutines() - driven - COMMAND == set()


def _seeded(call: Callable[[], Any]) -> Any:
    """Make a call from an `async def` that looks as if it stood in the package."""
    scope: dict[str, Any] = {}
    exec(compile("async def seeded(call): call()", str(PACKAGE / "seeded.py"), "exec"), scope)
    return scope["seeded"](call)


BLOCKING: dict[str, Callable[[], Any]] = {
    "open": lambda: open(os.devnull).close(),  # noqa: PTH123  the builtin is what is asked about
    "Path.read_text": lambda: Path(os.devnull).read_text(),
    "os.open": lambda: os.close(os.open(os.devnull, os.O_RDONLY)),
    "os.stat": lambda: os.stat(os.devnull),  # noqa: PTH116  the same
    "os.fsync": lambda: os.fsync(0),
    "os.scandir": lambda: os.scandir().close(),
    "fcntl.flock": lambda: fcntl.flock(0, fcntl.LOCK_UN),
    "sqlite3.connect": lambda: sqlite3.connect(":memory:").close(),
    "time.sleep": lambda: time.sleep(0.001),
    "an event": lambda: threading.Event().wait(0.001),
    "a thread's end": lambda: threading.Thread(target=print).join(),
    "a future": lambda: Future().result(0.001),  # type: ignore[var-annotated]  # of nothing
    "a name's address": lambda: socket.getaddrinfo("localhost", 80),
    "the database": lambda: psycopg.connect(URL, connect_timeout=1),
}


@pytest.mark.parametrize("name", BLOCKING)
def test_the_detector_sees_a_blocking_call(name: str) -> None:
    """One call of each kind on the loop, put there on purpose; also where somebody swallows what it raises."""
    seen = Seen()

    async def run() -> None:
        with watch(seen), suppress(BlockingError):
            await _seeded(BLOCKING[name])

    asyncio.run(run())
    assert len(seen.blocked) == 1
    assert "seeded.py" in seen.blocked[0]


def test_the_detector_sees_a_step_that_is_done_on_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the one function gone that takes blocking work off the loop, a turn is told of, though memory swallows it."""
    seen = Seen()

    async def at_once(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    async def run() -> None:
        with watch(seen):
            async with HarnessMemory(tmp_path / "w", model=curator(), config=settings()) as memory:
                monkeypatch.setattr(performer, "finish_in_thread", at_once)
                agent = create_memory_agent(agent_model(), memory=memory, checkpointer=False)
                await agent.ainvoke(ask("hello"), config("t1"))

    asyncio.run(run())
    assert any("AppendSessionLog" in line or "sessions/log.py" in line for line in seen.blocked)


def test_the_list_of_coroutines_is_found_in_the_code() -> None:
    """Methods, functions and what is made within them; none that a protocol only declares."""
    found = coroutines()
    assert ("memory/operations.py", "Operations.aflush") in found
    assert ("nodes.py", "_node.<locals>.awork") in found
    assert ("workspace/__init__.py", "Workspace.aread") not in found
    assert len(found) > 150
