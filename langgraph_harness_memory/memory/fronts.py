"""The front doors that are built out of the parts: tools and middleware. Each is loaded where it is asked for."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langgraph_harness_memory.config import MemoryConfig
from langgraph_harness_memory.curation.finding import Target, find
from langgraph_harness_memory.curation.forgetting import ForgetReport
from langgraph_harness_memory.curation.saving import Saved
from langgraph_harness_memory.errors import MissingExtra
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.memory.operations import Operations
from langgraph_harness_memory.memory.parts import Parts
from langgraph_harness_memory.steps import Failed, drive
from langgraph_harness_memory.turns import OURS, Turns

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from langgraph_harness_memory.tools import ForgetRequest


def reading_tools(parts: Parts) -> "list[BaseTool]":
    """Build the tools that read memory."""
    from langgraph_harness_memory import tools  # noqa: PLC0415  a program that only writes memory needs none

    limit = parts.config.eviction.max_result_chars if parts.config.eviction else 0
    page = min(tools.PAGE_CHARS, limit) if limit else tools.PAGE_CHARS  # a reader's page is never evicted itself
    return _marked(
        [
            tools.memory_search_tool(parts.index, page_chars=page),
            tools.memory_get_tool(parts.workspace, page_chars=page),
            tools.session_search_tool(parts.sessions, page_chars=page),
            tools.read_file_tool(parts.workspace, parts.sessions, eviction_path=parts.eviction_path, page_chars=page),
        ]
    )


def writing_tools(memory: Operations, parts: Parts) -> "list[BaseTool]":
    """Build the tools that save and forget; forgetting interrupts the run for a person."""
    from langgraph_harness_memory import tools  # noqa: PLC0415  the same

    def save(text: str, thread: ThreadRef) -> str:
        return _told_saved(memory.save(text, thread_id=thread.thread_id, user_id=thread.tenant))

    async def asave(text: str, thread: ThreadRef) -> str:
        return _told_saved(await memory.asave(text, thread_id=thread.thread_id, user_id=thread.tenant))

    def forget(request: "ForgetRequest", thread: ThreadRef) -> str:
        asked = {"path": request.path, "lines": request.lines, "user_id": thread.tenant}
        return _told_forgotten(memory.forget(request.query, **asked))  # type: ignore[arg-type]  # the names of `forget`

    async def aforget(request: "ForgetRequest", thread: ThreadRef) -> str:
        asked = {"path": request.path, "lines": request.lines, "user_id": thread.tenant}
        return _told_forgotten(await memory.aforget(request.query, **asked))  # type: ignore[arg-type]  # the same

    def preview(request: "ForgetRequest", thread: ThreadRef) -> list[str]:
        target = Target(query=request.query, path=request.path, lines=request.lines)
        found = drive(find(thread.tenant, target), parts.performer().perform)
        if isinstance(found, Failed):
            raise found.error
        return [f"{line.path}#{line.number}: {line.text}" for line in found]

    return _marked([tools.memory_save_tool(save, asave), tools.memory_forget_tool(forget, aforget, preview=preview)])


def build_middleware(
    turns: Turns, tools: "Sequence[BaseTool]", reader: "BaseTool | None", config: MemoryConfig
) -> list[Any]:
    """Return the middleware for `create_agent` and `create_deep_agent`, outermost first.

    Raises:
        MissingExtra: langchain is not installed.
    """
    try:
        from langgraph_harness_memory import middleware  # noqa: PLC0415  langchain comes with an extra
    except ImportError as error:
        raise MissingExtra("memory.middleware()", "agents") from error
    # The reader is offered by the eviction's middleware, which leaves a `read_file` of somebody else alone.
    searching = [tool for tool in tools if tool is not reader]
    return [
        middleware.WorkspaceContextMiddleware(turns, tools=searching),
        middleware.ToolResultEvictionMiddleware(turns, reader=reader if config.eviction is not None else None),
        middleware.CompactionMiddleware(turns, counts_context=config.context is not None),
        middleware.MemoryFlushMiddleware(turns),
    ]


def _marked(tools: "list[BaseTool]") -> "list[BaseTool]":
    """Mark tools as ours, so that a front door knows our `read_file` from somebody else's."""
    for tool in tools:
        tool.metadata = {**(tool.metadata or {}), OURS: True}
    return tools


def _told_saved(saved: Saved) -> str:
    return f"Saved to {saved.path}: {saved.text}"


def _told_forgotten(report: ForgetReport) -> str:
    if report.failed is not None:
        return f"Not all could be forgotten: {report.failed}. Ask again to finish."
    left = f" It still stands in the log of {len(report.sessions)} conversation(s)." if report.sessions else ""
    return f"Forgot {report.lines} line(s) in {', '.join(report.paths) or 'no file'}.{left}"
