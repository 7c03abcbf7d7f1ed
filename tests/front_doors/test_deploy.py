"""The targets of `langgraph.json`: what a server is given, and from which variables."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_harness_memory import SessionSaver, deploy
from langgraph_harness_memory.errors import SettingError
from langgraph_harness_memory.testing import OpenAIServer, ScriptedChatModel


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """A workspace of this test's own; the process's one memory is let go of before and after it."""
    for name in (deploy.AGENT, deploy.MODEL, deploy.RUNTIME, deploy.DISK):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(deploy.WORKSPACE, str(tmp_path / "workspace"))
    deploy.memory.cache_clear()
    yield monkeypatch
    deploy.memory().close()
    deploy.memory.cache_clear()


def test_all_targets_share_one_memory(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Agent, maintenance and checkpointer of one process look after the same files."""
    assert deploy.memory() is deploy.memory()
    assert str(tmp_path / "workspace") in repr(deploy.memory())


def test_an_agent_without_a_model_says_which_variable_names_one(environment: pytest.MonkeyPatch) -> None:
    """The server's log tells what to set."""
    with pytest.raises(SettingError, match=r"HARNESS_MEMORY_AGENT.*name a chat model, for example 'openai:gpt-5.5'"):
        deploy.agent()


@pytest.mark.parametrize("variable", [deploy.AGENT, deploy.MODEL])
def test_the_agent_answers_remembers_and_brings_no_checkpointer(
    variable: str, environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its model is the agent's own, else the one that curates; the server brings the checkpointer."""
    with OpenAIServer(model=ScriptedChatModel(script=["We use Alembic."], repeat=True)) as server:
        environment.setenv("OPENAI_BASE_URL", server.url)
        environment.setenv("OPENAI_API_KEY", "unused")
        environment.setenv(variable, "openai:gpt-5.5")
        agent = deploy.agent()
        told = agent.invoke({"messages": [("user", "What do we use?")]}, {"configurable": {"thread_id": "t1"}})
        assert told["messages"][-1].text == "We use Alembic."
        assert agent.checkpointer is False
        assert [entry.message.text for entry in deploy.memory().sessions.read("t1")] == [
            "What do we use?",
            "We use Alembic.",
        ]
        deploy.memory().close()


def test_maintenance_from_a_cron_runs_once_and_then_only_when_due(environment: pytest.MonkeyPatch) -> None:
    """The graph has no checkpointer either: its progress lies in the workspace."""
    graph = deploy.maintenance()
    assert graph.checkpointer is None
    first: Any = graph.invoke({})
    second: Any = graph.invoke({})
    assert (first["ran"], second["ran"], second["skipped"]) == (True, False, "not due")


def test_the_server_gets_the_checkpointer_and_drains_when_it_stops(environment: pytest.MonkeyPatch) -> None:
    """Our checkpointer while it runs; behind it nothing is left open, and a second start works."""

    async def serve() -> type:
        async with deploy.checkpointer() as saver:
            assert await saver.aget_tuple({"configurable": {"thread_id": "t1"}}) is None
            return type(saver)

    assert asyncio.run(serve()) is SessionSaver
    assert asyncio.run(serve()) is SessionSaver


def test_a_server_that_fails_still_closes_what_was_open(environment: pytest.MonkeyPatch) -> None:
    """The error goes on, and the index is closed before it does."""
    index: Any = deploy.memory().index

    async def serve() -> None:
        async with deploy.checkpointer():
            await index.asearch("anything")
            assert index.path is not None
            raise RuntimeError("the port is taken")

    with pytest.raises(RuntimeError, match="the port is taken"):
        asyncio.run(serve())
    assert index.path is None


def test_without_a_variable_the_workspace_is_a_folder_here(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As the page says: `workspace` below the folder that the server was started in."""
    environment.chdir(tmp_path)
    environment.delenv(deploy.WORKSPACE)
    deploy.memory.cache_clear()
    assert deploy.memory().workspace.name == str(tmp_path / "workspace")
