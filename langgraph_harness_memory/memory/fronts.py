"""The front doors that are built out of the parts: tools and middleware."""

import secrets
from collections.abc import Sequence
from typing import Any

from langchain_core.tools import BaseTool

from langgraph_harness_memory.config import MemoryConfig
from langgraph_harness_memory.curation.finding import Target, find
from langgraph_harness_memory.curation.forgetting import forget
from langgraph_harness_memory.curation.saving import save
from langgraph_harness_memory.errors import MissingExtra
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.memory.parts import Parts
from langgraph_harness_memory.steps import Failed, Steps, adrive, drive
from langgraph_harness_memory.tools import (
    PAGE_CHARS,
    ForgetRequest,
    memory_forget_tool,
    memory_get_tool,
    memory_save_tool,
    memory_search_tool,
    read_file_tool,
    session_search_tool,
)
from langgraph_harness_memory.turns import Turns


def build_tools(parts: Parts, *, write: bool) -> list[BaseTool]:
    """Return memory's tools, the writing ones only on request."""
    limit = parts.config.eviction.max_result_chars if parts.config.eviction else 0
    page = min(PAGE_CHARS, limit) if limit else PAGE_CHARS  # a page of a reader is never itself evicted
    built = [
        memory_search_tool(parts.index, page_chars=page),
        memory_get_tool(parts.workspace, page_chars=page),
        session_search_tool(parts.sessions, page_chars=page),
        read_file_tool(parts.workspace, parts.sessions, eviction_path=parts.eviction_path, page_chars=page),
    ]
    return [*built, *_writing_tools(parts)] if write else built


def _writing_tools(parts: Parts) -> list[BaseTool]:
    def keep(text: str, thread: ThreadRef) -> Steps[str]:
        saved = yield from save(thread, text, screening=parts.screening, key=secrets.token_hex(16))
        return f"Not saved: {saved.error}" if isinstance(saved, Failed) else f"Saved to {saved.path}."

    def drop(request: ForgetRequest, thread: ThreadRef) -> Steps[str]:
        report = yield from forget(thread.tenant, _target(request), key=secrets.token_hex(16))
        done = f"Forgot {report.lines} line(s)."
        return done if report.failed is None else f"{done} Not all was done, ask again: {report.failed}"

    def named(request: ForgetRequest, thread: ThreadRef) -> Steps[list[str]]:
        found = yield from find(thread.tenant, _target(request))
        return [] if isinstance(found, Failed) else [f"{line.path}#{line.number} {line.text}" for line in found]

    async def akeep(text: str, thread: ThreadRef) -> str:
        return await adrive(keep(text, thread), parts.performer().aperform)

    async def adrop(request: ForgetRequest, thread: ThreadRef) -> str:
        return await adrive(drop(request, thread), parts.performer().aperform)

    return [
        memory_save_tool(lambda text, thread: drive(keep(text, thread), parts.performer().perform), akeep),
        memory_forget_tool(
            lambda request, thread: drive(drop(request, thread), parts.performer().perform),
            adrop,
            preview=lambda request, thread: drive(named(request, thread), parts.performer().perform),
        ),
    ]


def _target(request: ForgetRequest) -> Target:
    return Target(query=request.query, path=request.path, lines=request.lines)


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
