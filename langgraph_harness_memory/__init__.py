"""Memory for LangGraph agents that a person can open in an editor.

Start at `HarnessMemory` (the whole) and `create_memory_agent` (the prebuilt graph); `MemoryIndex`, `SessionSaver` and
`ExtractiveChatModel` also work alone. Public names are loaded when first used, so that importing the package costs
nothing beyond the interpreter's own work.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langgraph_harness_memory.agent import create_memory_agent
    from langgraph_harness_memory.config import (
        CompactionConfig,
        ConsolidationConfig,
        FlushConfig,
        MaintenanceConfig,
        MemoryConfig,
        PrivacyConfig,
        StorageConfig,
        ToolResultEvictionConfig,
        TruncateArgsConfig,
        WorkspaceContextConfig,
    )
    from langgraph_harness_memory.curation.extractor import ExtractiveChatModel
    from langgraph_harness_memory.errors import HarnessMemoryError, TenantMismatch
    from langgraph_harness_memory.index.hits import SearchHit
    from langgraph_harness_memory.index.sqlite import MemoryIndex
    from langgraph_harness_memory.memory import HarnessMemory
    from langgraph_harness_memory.retriever import MemoryIndexRetriever
    from langgraph_harness_memory.sessions.log import SessionLog
    from langgraph_harness_memory.sessions.saver import SessionSaver
    from langgraph_harness_memory.state import MemoryState, memory_messages
    from langgraph_harness_memory.workspace import Workspace
    from langgraph_harness_memory.workspace.local import LocalWorkspace
    from langgraph_harness_memory.workspace.postgres import PostgresWorkspace
    from langgraph_harness_memory.workspace.store import StoreWorkspace

_HOME = {
    "CompactionConfig": "config",
    "ConsolidationConfig": "config",
    "ExtractiveChatModel": "curation.extractor",
    "FlushConfig": "config",
    "HarnessMemory": "memory",
    "HarnessMemoryError": "errors",
    "LocalWorkspace": "workspace.local",
    "MaintenanceConfig": "config",
    "MemoryConfig": "config",
    "MemoryIndex": "index.sqlite",
    "MemoryIndexRetriever": "retriever",
    "MemoryState": "state",
    "PostgresWorkspace": "workspace.postgres",
    "PrivacyConfig": "config",
    "SearchHit": "index.hits",
    "SessionLog": "sessions.log",
    "SessionSaver": "sessions.saver",
    "StorageConfig": "config",
    "StoreWorkspace": "workspace.store",
    "TenantMismatch": "errors",
    "ToolResultEvictionConfig": "config",
    "TruncateArgsConfig": "config",
    "Workspace": "workspace",
    "WorkspaceContextConfig": "config",
    "create_memory_agent": "agent",
    "memory_messages": "state",
}

__all__ = [
    "CompactionConfig",
    "ConsolidationConfig",
    "ExtractiveChatModel",
    "FlushConfig",
    "HarnessMemory",
    "HarnessMemoryError",
    "LocalWorkspace",
    "MaintenanceConfig",
    "MemoryConfig",
    "MemoryIndex",
    "MemoryIndexRetriever",
    "MemoryState",
    "PostgresWorkspace",
    "PrivacyConfig",
    "SearchHit",
    "SessionLog",
    "SessionSaver",
    "StorageConfig",
    "StoreWorkspace",
    "TenantMismatch",
    "ToolResultEvictionConfig",
    "TruncateArgsConfig",
    "Workspace",
    "WorkspaceContextConfig",
    "create_memory_agent",
    "memory_messages",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
