"""Targets for `langgraph.json`: a remembering agent, its maintenance, its checkpointer.

    {
      "dependencies": ["."],
      "graphs": {
        "agent": "langgraph_harness_memory.deploy:agent",
        "maintenance": "langgraph_harness_memory.deploy:maintenance"
      },
      "checkpointer": {"path": "langgraph_harness_memory.deploy.checkpointer"}
    }

Graphs are compiled without a checkpointer, since the server brings its own. Settings come from the environment:

    HARNESS_MEMORY_WORKSPACE   folder or postgresql:// URL; default `workspace`
    HARNESS_MEMORY_AGENT       the agent's model, for example `openai:gpt-5.5`
    HARNESS_MEMORY_MODEL       who flushes and consolidates; default: the agent's model
    HARNESS_MEMORY_DISK        `kept` = this host's disk outlives its process (a mounted volume), so that a folder may be used

Copy this file where an agent needs tools of its own.
"""

import functools
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph

from langgraph_harness_memory.agent import create_memory_agent
from langgraph_harness_memory.errors import SettingError
from langgraph_harness_memory.maintenance.cron import register_cron
from langgraph_harness_memory.memory import HarnessMemory

__all__ = ["agent", "checkpointer", "maintenance", "memory", "memory_from", "register_cron"]

WORKSPACE, AGENT, MODEL = "HARNESS_MEMORY_WORKSPACE", "HARNESS_MEMORY_AGENT", "HARNESS_MEMORY_MODEL"
DISK = "HARNESS_MEMORY_DISK"

RUNTIME = "LANGGRAPH_RUNTIME_EDITION"
"""The server says here what it keeps its runs in: `inmem` under `langgraph dev`, anything else on a host whose replicas come
and go with their disks."""


def memory_from(environment: Mapping[str, str]) -> HarnessMemory:
    """Build the memory that an environment describes.

    Args:
        environment: Variables by name.

    Raises:
        SettingError: The workspace is a folder of a host that does not keep its disk.
    """
    workspace = environment.get(WORKSPACE) or "workspace"
    is_stateless = environment.get(RUNTIME, "inmem") != "inmem" and environment.get(DISK) != "kept"
    if is_stateless and not workspace.startswith(("postgresql://", "postgres://")):
        raise SettingError.refused(
            WORKSPACE,
            workspace,
            f"this server's replicas do not keep their disks: give a postgresql:// URL, or set {DISK}=kept for a mounted volume",
        )
    return HarnessMemory(workspace, model=environment.get(MODEL) or None)


@functools.cache
def memory() -> HarnessMemory:
    """Return this process's memory; one for all graphs, so that they share files, index and scheduler."""
    return memory_from(os.environ)


def agent() -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the agent.

    Raises:
        SettingError: Its model is not named.
    """
    model = os.environ.get(AGENT) or os.environ.get(MODEL)
    if not model:
        raise SettingError.refused(AGENT, model, "name a chat model, for example 'openai:gpt-5.5'")
    return create_memory_agent(model, memory=memory(), checkpointer=False)


def maintenance() -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return one tick of maintenance; run from a cron it does nothing unless a tick is due."""
    return memory().maintenance_graph()


@asynccontextmanager
async def checkpointer() -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Give the server our checkpointer, and drain what runs in the background when the server stops."""
    shared = memory()
    try:
        yield shared.checkpointer
    finally:
        await shared.aclose()
