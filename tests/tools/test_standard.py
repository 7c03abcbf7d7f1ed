"""LangChain's standard suites pass on the retriever and on every tool."""

import atexit
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from langgraph_harness_memory import HarnessMemory
from langgraph_harness_memory.index.sqlite import MemoryIndex
from langgraph_harness_memory.retriever import MemoryIndexRetriever

# The suites hold sync and async tests in one class; the mark is for the async ones.
pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.filterwarnings("ignore:The test .* is marked with '@pytest.mark.asyncio':pytest.PytestWarning"),
]


def _folder() -> Path:
    made = Path(tempfile.mkdtemp(prefix="standard-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    root = made / "ws"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Memory\n- The database is PostgreSQL\n- Likes tea\n", encoding="utf-8")
    lines = [
        f"- database migration step {n}: {word}" for n, word in enumerate(["plan", "dump", "copy", "check", "switch"])
    ]
    (root / "memory" / "2026-03-04.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return root


def _tool(name: str) -> BaseTool:
    memory = HarnessMemory(_folder())
    return next(tool for tool in memory.tools_for(write=True) if tool.name == name)


class TestRetriever(RetrieversIntegrationTests):
    """`MemoryIndexRetriever`."""

    @property
    def retriever_constructor(self) -> type[MemoryIndexRetriever]:
        return MemoryIndexRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"index": MemoryIndex(_folder())}

    @property
    def retriever_query_example(self) -> str:
        return "database migration"


class _Search:
    @property
    def tool_constructor(self) -> BaseTool:
        return _tool("memory_search")

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": "database migration", "max_results": 3}


class _Get:
    @property
    def tool_constructor(self) -> BaseTool:
        return _tool("memory_get")

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"path": "MEMORY.md"}


class _Save:
    @property
    def tool_constructor(self) -> BaseTool:
        return _tool("memory_save")

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"text": "Prefers trains"}


class _Forget:
    @property
    def tool_constructor(self) -> BaseTool:
        return _tool("memory_forget")

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": "tea"}


class _Sessions:
    @property
    def tool_constructor(self) -> BaseTool:
        return _tool("session_search")

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": "migration"}


class _Read:
    @property
    def tool_constructor(self) -> BaseTool:
        return _tool("read_file")

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"path": "MEMORY.md", "offset": 2, "limit": 10}


class TestMemorySearchUnit(_Search, ToolsUnitTests):
    """`memory_search`, its shape."""


class TestMemorySearch(_Search, ToolsIntegrationTests):
    """`memory_search`, called."""


class TestMemoryGetUnit(_Get, ToolsUnitTests):
    """`memory_get`, its shape."""


class TestMemoryGet(_Get, ToolsIntegrationTests):
    """`memory_get`, called."""


class TestMemorySaveUnit(_Save, ToolsUnitTests):
    """`memory_save`, its shape."""


class TestMemorySave(_Save, ToolsIntegrationTests):
    """`memory_save`, called."""


class TestMemoryForgetUnit(_Forget, ToolsUnitTests):
    """`memory_forget`, its shape."""


class TestMemoryForget(_Forget, ToolsIntegrationTests):
    """`memory_forget`, called."""


class TestSessionSearchUnit(_Sessions, ToolsUnitTests):
    """`session_search`, its shape."""


class TestSessionSearch(_Sessions, ToolsIntegrationTests):
    """`session_search`, called."""


class TestReadFileUnit(_Read, ToolsUnitTests):
    """`read_file`, its shape."""


class TestReadFile(_Read, ToolsIntegrationTests):
    """`read_file`, called."""
