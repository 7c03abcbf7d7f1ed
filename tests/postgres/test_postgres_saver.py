"""LangGraph's own checkpointer beside a workspace on Postgres."""

import asyncio
import itertools
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_harness_memory.sessions.postgres import PostgresSessionSaver
from langgraph_harness_memory.workspace.postgres import PostgresWorkspace


@pytest.fixture
def workspace(postgres_url, schema):
    with PostgresWorkspace(postgres_url, schema=schema) as workspace:
        yield workspace


def graph(saver):
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda state: {"messages": [("ai", f"{len(state['messages'])}")]})
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return builder.compile(checkpointer=saver)


@pytest.mark.timeout(300)
def test_conformance(workspace, postgres_url, schema):
    """LangGraph's own suite passes, in a schema of its own for every capability."""
    numbers = itertools.count()
    opened = []

    @checkpointer_test(name="PostgresSessionSaver")
    async def saver():
        one = PostgresWorkspace(postgres_url, schema=f"{schema}_{next(numbers)}")
        opened.append(one)
        yield PostgresSessionSaver(one)
        one.close()

    try:
        report = asyncio.run(validate(saver))
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            for one in opened:
                connection.execute(f'DROP SCHEMA IF EXISTS "{one.schema}" CASCADE')
    assert {c: r.failures for c, r in report.results.items() if r.failures} == {}
    assert report.passed_all_base()


def test_sync_and_async_are_one(workspace):
    """A thread that was begun sync goes on async, on any event loop, and the other way round."""
    agent = graph(PostgresSessionSaver(workspace))
    config = {"configurable": {"thread_id": "t"}}
    agent.invoke({"messages": [("user", "a")]}, config)
    asyncio.run(agent.ainvoke({"messages": [("user", "b")]}, config))
    asyncio.run(agent.ainvoke({"messages": [("user", "c")]}, config))
    assert len(agent.get_state(config).values["messages"]) == 6
    assert len(list(agent.get_state_history(config))) == 9


def test_tables_stand_in_the_workspaces_schema(workspace, postgres_url):
    """Checkpoints stand beside the files, so that dropping the schema leaves nothing."""
    graph(PostgresSessionSaver(workspace)).invoke({"messages": []}, {"configurable": {"thread_id": "t"}})
    with psycopg.connect(postgres_url) as connection:
        tables = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = %s", [workspace.schema]
        ).fetchall()
    assert {"checkpoints", "checkpoint_blobs", "checkpoint_writes", "files"} <= {name for (name,) in tables}


def test_replicas_that_start_together_agree(postgres_url, schema):
    """Six openings that make the tables at the same moment all work."""
    workspaces = [PostgresWorkspace(postgres_url, schema=schema) for _ in range(6)]

    def run(number):
        agent = graph(PostgresSessionSaver(workspaces[number]))
        agent.invoke({"messages": [("user", "a")]}, {"configurable": {"thread_id": str(number)}})
        workspaces[number].append("log", b"x\n")
        return agent

    with ThreadPoolExecutor(6) as pool:
        agents = list(pool.map(run, range(6)))
    assert all(
        len(agents[0].get_state({"configurable": {"thread_id": str(n)}}).values["messages"]) == 2 for n in range(6)
    )
    assert workspaces[0].stat("log").size == 12
    for workspace in workspaces:
        workspace.close()
