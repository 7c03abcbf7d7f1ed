"""The whole memory on Postgres: what a user of the agent sees, through outages and killed replicas."""

import asyncio
import subprocess
import sys
import textwrap
import time
from urllib.parse import urlsplit, urlunsplit

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_harness_memory import ExtractiveChatModel, HarnessMemory, TenantMismatch, create_memory_agent
from langgraph_harness_memory.events import Degraded
from langgraph_harness_memory.formats.daily_log import day_of, parse
from langgraph_harness_memory.index.postgres import PostgresMemoryIndex
from langgraph_harness_memory.sessions.postgres import PostgresSessionSaver
from langgraph_harness_memory.testing import ScriptedChatModel
from langgraph_harness_memory.testing.tcp_proxy import TcpProxy
from langgraph_harness_memory.workspace import read_text
from langgraph_harness_memory.workspace.postgres import PostgresWorkspace


@pytest.fixture
def workspace(postgres_url, schema):
    with PostgresWorkspace(postgres_url, schema=schema) as workspace:
        yield workspace


def model():
    return ScriptedChatModel(script=["Noted."], repeat=True)


def config(thread="t1", user="alice"):
    return {"configurable": {"thread_id": thread, "user_id": user}}


def say(text):
    return {"messages": [("user", text)]}


def blocks(workspace, user, thread):
    """Count in how many blocks of a user's daily logs each position of a thread stands."""
    tree = workspace.under(f"users/{user}")
    counts = {}
    for info in tree.files("memory"):
        if day_of(info.path):
            for section in parse(read_text(tree, info.path)[0]):
                if section.heading and section.heading.session == thread and section.heading.part == 1:
                    for position in section.heading.positions:
                        counts[position] = counts.get(position, 0) + 1
    return counts


def test_everything_stands_in_the_schema(postgres_url, schema, tmp_path, monkeypatch):
    """A memory that is opened by a URL uses its own index and checkpointer and writes nothing to this disk."""
    monkeypatch.chdir(tmp_path)
    with HarnessMemory(f"{postgres_url}?schema={schema}", model=ExtractiveChatModel()) as memory:
        assert isinstance(memory.index, PostgresMemoryIndex)
        assert isinstance(memory.checkpointer, PostgresSessionSaver)
        agent = create_memory_agent(model(), memory=memory)
        agent.invoke(say("I prefer tea over coffee."), config())
        asyncio.run(agent.ainvoke(say("We chose Alembic for the database migration."), config()))
        assert len(agent.get_state(config()).values["messages"]) == 4
    memory.consolidate(user_id="alice")
    assert "tea over coffee" in memory.workspace.read("users/alice/MEMORY.md").data.decode()
    assert "tea" in memory.index.for_tenant("alice").search("tea")[0].content
    assert memory.index.for_tenant("bob").search("tea") == []
    assert list(tmp_path.iterdir()) == []
    memory.workspace.close()


def test_thread_belongs_to_who_began_it(workspace):
    """Another user's run of a thread is refused, whatever replica it reaches."""
    with HarnessMemory(workspace, model=ExtractiveChatModel()) as memory:
        create_memory_agent(model(), memory=memory).invoke(say("mine"), config())
    with HarnessMemory(workspace, model=ExtractiveChatModel()) as memory:
        agent = create_memory_agent(model(), memory=memory)
        with pytest.raises(TenantMismatch, match="t1"):
            agent.invoke(say("yours"), config(user="bob"))


def test_two_replicas_share_a_thread(workspace, postgres_url, schema):
    """A conversation that hops from replica to replica is one conversation, logged and flushed once."""
    with PostgresWorkspace(postgres_url, schema=schema) as other:
        memories = [HarnessMemory(each, model=ExtractiveChatModel()) for each in (workspace, other)]
        agents = [create_memory_agent(model(), memory=memory) for memory in memories]
        for n in range(8):
            agents[n % 2].invoke(say(f"I prefer the colour shade-{n}."), config())
        for memory in memories:
            memory.close()
        assert len(agents[0].get_state(config()).values["messages"]) == 16
    logged = memories[0].sessions.read("t1")
    assert [m.message.content for m in logged if m.message.type == "human"] == [
        f"I prefer the colour shade-{n}." for n in range(8)
    ]
    assert blocks(workspace, "alice", "t1") == dict.fromkeys(range(16), 1)


@pytest.mark.parametrize("checkpointer", ["own", "another"])
def test_turns_go_on_while_the_server_is_away(postgres_url, schema, checkpointer):
    """Turns are answered through an outage, with a warning, and what they said is remembered afterwards, once."""
    parts = urlsplit(postgres_url)
    heard = []
    with TcpProxy(parts.hostname, parts.port or 5432) as proxy:
        user = parts.netloc.rpartition("@")[0]
        netloc = f"{user}@127.0.0.1:{proxy.port}" if user else f"127.0.0.1:{proxy.port}"
        url = urlunsplit(parts._replace(netloc=netloc, query=f"schema={schema}"))
        with HarnessMemory(url, model=ExtractiveChatModel(), on_event=heard.append) as memory:
            saver = None if checkpointer == "own" else InMemorySaver()
            agent = create_memory_agent(model(), memory=memory, checkpointer=saver)
            agent.invoke(say("I prefer the colour shade-before."), config())
            memory._parts.settle()
            proxy.stop()
            heard.clear()
            began = time.perf_counter()
            for n in range(3):
                answer = agent.invoke(say(f"I prefer the colour shade-{n}."), config())
                assert answer["messages"][-1].content == "Noted."
            assert time.perf_counter() - began < 30
            assert any(isinstance(event, Degraded) for event in heard)
            proxy.start()
            time.sleep(1.2)
            agent.invoke(say("I prefer the colour shade-after."), config())
            assert len(agent.get_state(config()).values["messages"]) == 10
            memory._parts.settle()
        logged = [m.message.content for m in memory.sessions.read("t1") if m.message.type == "human"]
        assert logged == [f"I prefer the colour shade-{n}." for n in ("before", 0, 1, 2, "after")]
        memory.maintain()
        assert memory.sessions.unflushed("t1") == []
        assert blocks(memory.workspace, "alice", "t1") == dict.fromkeys(range(10), 1)
        if checkpointer == "own":
            with PostgresWorkspace(postgres_url, schema=schema) as other:
                found = PostgresSessionSaver(other).get_tuple({"configurable": {"thread_id": "t1"}})
                assert len(found.checkpoint["channel_values"]["messages"]) == 10
        memory.close()
        memory.workspace.close()


# -- a replica that is killed ------------------------------------------------------------------------------------------------

REPLICA = """
import os, sys, time
from datetime import timedelta
from langgraph_harness_memory import ExtractiveChatModel, HarnessMemory, MaintenanceConfig, MemoryConfig, create_memory_agent
from langgraph_harness_memory.testing import ScriptedChatModel
from langgraph_harness_memory.workspace.postgres import PostgresWorkspace

POINT = {point!r}


def stop():
    print("reached", flush=True)
    time.sleep(60)


class Slow(ExtractiveChatModel):
    def _generate(self, messages, *args, **kwargs):
        if POINT == "in the model call" or (POINT == "in the consolidation" and os.environ.get("CONSOLIDATING")):
            stop()
        return super()._generate(messages, *args, **kwargs)


class Stopping(PostgresWorkspace):
    def append(self, path, data, **kwargs):
        done = super().append(path, data, **kwargs)
        if POINT == "between block and mark" and path.startswith("memory/2"):
            stop()
        return done

    def replace(self, path, data, **kwargs):
        done = super().replace(path, data, **kwargs)
        if POINT == "between MEMORY.md and its marks" and path == "MEMORY.md":
            stop()
        return done


config = MemoryConfig(maintenance=MaintenanceConfig(autostart=False, lease=timedelta(seconds=2)))
workspace = Stopping({url!r}, schema={schema!r})
memory = HarnessMemory(workspace, model=Slow(), config=config)
agent = create_memory_agent(ScriptedChatModel(script=["Noted."], repeat=True), memory=memory)
for n in range(3):
    agent.invoke({{"messages": [("user", f"I prefer the colour shade-{{n}}.")]}}, {{"configurable": {{"thread_id": "t1", "user_id": "alice"}}}})
    memory._parts.settle()
os.environ["CONSOLIDATING"] = "1"
memory.maintain()
print("never reached the point", flush=True)
"""


@pytest.mark.parametrize(
    "point", ["in the model call", "between block and mark", "in the consolidation", "between MEMORY.md and its marks"]
)
def test_killed_replica_is_followed_by_another(workspace, postgres_url, schema, point):
    """`kill -9` in the middle of a flush or a consolidation: another replica finishes within a lease, nothing is doubled."""
    from datetime import timedelta

    from langgraph_harness_memory import MaintenanceConfig, MemoryConfig

    program = textwrap.dedent(REPLICA).format(point=point, url=postgres_url, schema=schema)
    replica = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert replica.stdout.readline() == "reached\n"
    finally:
        replica.kill()
        replica.wait()
        replica.stdout.close()
    killed = time.perf_counter()
    settings = MemoryConfig(maintenance=MaintenanceConfig(autostart=False, lease=timedelta(seconds=2)))
    with HarnessMemory(workspace, model=ExtractiveChatModel(), config=settings) as memory:
        report = memory.maintain()
        while not report["ran"]:
            assert report["skipped"] == "another process is at it"
            assert time.perf_counter() - killed < 5
            time.sleep(0.1)
            report = memory.maintain()
        assert report["failures"] == []
        memory.maintain()
        logged = memory.sessions.read("t1")
        said = [m.message.content for m in logged if m.message.type == "human"]
        assert said == [f"I prefer the colour shade-{n}." for n in range(len(said))]
        assert memory.sessions.unflushed("t1") == []
        assert blocks(workspace, "alice", "t1") == dict.fromkeys(range(len(logged)), 1)
        memory_md = workspace.read("users/alice/MEMORY.md").data.decode()
    for n in range(len(said)):
        assert memory_md.count(f"shade-{n}.") == 1


def test_leaving_closes_what_was_opened(postgres_url, schema):
    """A memory that opened its workspace by a URL leaves no connection behind, sync or async."""
    import psycopg

    url = f"{postgres_url}?schema={schema}&application_name={schema}"

    async def use():
        async with HarnessMemory(url, model=ExtractiveChatModel()) as memory:
            agent = create_memory_agent(model(), memory=memory)
            await agent.ainvoke(say("I prefer tea."), config())
            await memory.workspace.aread("MEMORY.md")

    asyncio.run(use())
    with HarnessMemory(url, model=ExtractiveChatModel()) as memory:
        create_memory_agent(model(), memory=memory).invoke(say("I prefer coffee."), config())
    # One transaction sees one snapshot of the activity, however often it asks.
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
        until = time.monotonic() + 5
        while connection.execute(query, [schema]).fetchone() != (0,):
            assert time.monotonic() < until
            time.sleep(0.05)
