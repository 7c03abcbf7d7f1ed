"""The two graphs of the service, for its own replicas and for `langgraph.json`.

The environment says where the memory is and who speaks:

    HARNESS_WORKSPACE   postgresql://user:password@host/database?schema=name
    HARNESS_MODEL       a chat model's name such as openai:gpt-5.5; without it an offline stand-in answers
    HARNESS_INTERVAL    seconds between two ticks of maintenance; 300
"""

import os
from datetime import timedelta
from typing import Any

from langchain_core.language_models import BaseChatModel

from langgraph_harness_memory import (
    ExtractiveChatModel,
    HarnessMemory,
    MaintenanceConfig,
    MemoryConfig,
    create_memory_agent,
)
from langgraph_harness_memory.testing import ScriptedChatModel, echo

LOCAL = "postgresql://postgres@127.0.0.1:5432/postgres?schema=harness_service"

PROMPT = "You are a helpful assistant. Keep answers short."


def interval() -> timedelta:
    """Return the time between two ticks of maintenance."""
    return timedelta(seconds=float(os.environ.get("HARNESS_INTERVAL") or 300))


def open_memory() -> HarnessMemory:
    """Open the memory that all replicas share. Maintenance is a process of its own, so no replica starts one."""
    return HarnessMemory(
        os.environ.get("HARNESS_WORKSPACE") or LOCAL,
        model=None if os.environ.get("HARNESS_MODEL") else ExtractiveChatModel(),
        config=MemoryConfig(maintenance=MaintenanceConfig(interval=interval(), autostart=False)),
    )


def chat_model() -> BaseChatModel | str:
    """Return who answers."""
    return os.environ.get("HARNESS_MODEL") or ScriptedChatModel(script=[echo], repeat=True)


def agent() -> Any:
    """Return the agent for a server that brings its own checkpointer."""
    return create_memory_agent(chat_model(), memory=open_memory(), system_prompt=PROMPT, checkpointer=False)


def maintenance() -> Any:
    """Return one tick of maintenance, for a cron of that server."""
    return open_memory().maintenance_graph()
