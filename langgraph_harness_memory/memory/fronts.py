"""The front doors that are built out of the parts: tools and middleware."""

from collections.abc import Sequence
from typing import Any

from langchain_core.tools import BaseTool

from langgraph_harness_memory.config import MemoryConfig
from langgraph_harness_memory.errors import MissingExtra
from langgraph_harness_memory.memory.parts import Parts
from langgraph_harness_memory.turns import Turns


def build_tools(parts: Parts, *, write: bool) -> list[BaseTool]:
    """Return memory's tools, the writing ones only on request."""
    return []


def build_middleware(
    turns: Turns, tools: Sequence[BaseTool], reader: BaseTool | None, config: MemoryConfig
) -> list[Any]:
    """Return the middleware for the parts that are on, outermost first.

    Raises:
        MissingExtra: langchain is not installed.
    """
    try:
        from langgraph_harness_memory import middleware  # noqa: PLC0415  langchain comes with an extra
    except ImportError as error:
        raise MissingExtra("memory.middleware()", "agents") from error
    # The reader is offered by the eviction's middleware, which leaves a `read_file` of somebody else alone.
    searching = [tool for tool in tools if tool is not reader]
    stack: list[Any] = [middleware.WorkspaceContextMiddleware(turns, tools=searching)]
    stack.append(middleware.ToolResultEvictionMiddleware(turns, reader=reader if config.eviction is not None else None))
    stack.append(middleware.CompactionMiddleware(turns, counts_context=config.context is not None))
    stack.append(middleware.MemoryFlushMiddleware(turns))
    return stack
