"""`memory_get` and `read_file`."""

from langchain_core.tools import BaseTool, ToolException
from pydantic import BaseModel, Field

from langgraph_harness_memory.identifiers import ThreadRef, file_stem, tenant_root
from langgraph_harness_memory.index.rows import is_indexed
from langgraph_harness_memory.outcome import finish_in_thread
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.tenancy import ambient_thread
from langgraph_harness_memory.tools.calling import PAGE_CHARS, ROOM, build, place, tenant
from langgraph_harness_memory.workspace import Workspace, read_text


class GetArgs(BaseModel):
    """Arguments of `memory_get`."""

    path: str = Field(description="e.g. MEMORY.md, or a path from memory_search")
    start_line: int = 1
    end_line: int = Field(default=0, description="0 = to the end")


class ReadArgs(BaseModel):
    """Arguments of `read_file`."""

    path: str
    offset: int = Field(default=0, description="Characters to skip")
    limit: int = Field(default=0, description="Characters to read; 0 = a page")


def memory_get_tool(workspace: Workspace, *, page_chars: int = PAGE_CHARS) -> BaseTool:
    """Build `memory_get`.

    Args:
        workspace: The whole workspace; each call reads its tenant's part.
        page_chars: Characters of one answer at most.
    """

    def get(path: str, start_line: int = 1, end_line: int = 0) -> str:
        wanted, cited = place(path)
        tree = workspace.under(tenant_root(tenant()).as_posix())
        if not is_indexed(wanted):
            raise ToolException(
                f"{path!r} is no memory file. Give MEMORY.md, memory/YYYY-MM-DD.md, or a path from memory_search."
            )
        return _numbered(wanted, _text(tree, wanted, path), cited or start_line, end_line, page_chars)

    async def aget(path: str, start_line: int = 1, end_line: int = 0) -> str:
        return await finish_in_thread(get, path, start_line, end_line)

    about = "Read lines of a memory file."
    return build("memory_get", about, GetArgs, get, aget)


def read_file_tool(
    workspace: Workspace, sessions: SessionLog, *, eviction_path: str, page_chars: int = PAGE_CHARS
) -> BaseTool:
    """Build `read_file`.

    Args:
        workspace: The whole workspace; each call reads its tenant's part, and what its own sessions put aside.
        sessions: Says whose a session is.
        eviction_path: Folder of evicted results.
        page_chars: Characters of one answer at most.
    """

    def read(path: str, offset: int = 0, limit: int = 0) -> str:
        wanted, _ = place(path)
        tree = _tree_for(wanted, ambient_thread(), workspace, sessions, eviction_path)
        return _page(wanted, _text(tree, wanted, path), offset, limit, page_chars)

    async def aread(path: str, offset: int = 0, limit: int = 0) -> str:
        return await finish_in_thread(read, path, offset, limit)

    about = "Read a workspace file or a large result that was put aside, page by page."
    return build("read_file", about, ReadArgs, read, aread)


def _tree_for(
    path: str, thread: ThreadRef, workspace: Workspace, sessions: SessionLog, eviction_path: str
) -> Workspace:
    """Choose the tree that a path lies in, and refuse what is not this tenant's.

    Raises:
        ToolException: It is hidden, or belongs to somebody else.
    """
    parts = path.split("/")
    if any(part.startswith(".") for part in parts) or parts[0] == "users":
        raise ToolException(f"{path!r} is not open to this tool.")
    if path.startswith(f"{eviction_path}/"):
        _check_owner(path.removeprefix(f"{eviction_path}/").split("/")[0], path, thread, sessions)
        return workspace
    if parts[0] == "sessions":
        if not path.endswith(".log.jsonl"):
            raise ToolException(f"{path!r} is not open to this tool.")
        _check_owner(parts[-1].removesuffix(".log.jsonl"), path, thread, sessions)
        return workspace
    return workspace if path == "AGENTS.md" else workspace.under(tenant_root(thread.tenant).as_posix())


def _check_owner(stem: str, path: str, thread: ThreadRef, sessions: SessionLog) -> None:
    own = stem == file_stem(thread.thread_id)
    if own and sessions.tenant(thread.thread_id) in (thread.tenant, None):
        return
    if stem not in {file_stem(info.thread_id) for info in sessions.threads(tenant=thread.tenant)}:
        raise ToolException(f"There is no file {path!r} of yours.")


def _text(tree: Workspace, path: str, asked: str) -> str:
    found = read_text(tree, path)
    if found is None:
        raise ToolException(f"There is no file {asked!r}. Paths are relative to the workspace, as tools print them.")
    return found[0]


def _numbered(path: str, text: str, start: int, end: int, page_chars: int) -> str:
    """Number lines from `start` to `end` until the page is full, and say how to go on."""
    lines = text.removesuffix("\n").split("\n") if text else []
    if not lines:
        return f"{path} is empty."
    first = min(max(start, 1), len(lines))
    last = min(end, len(lines)) if end > 0 else len(lines)
    if last < first:
        raise ToolException(f"end_line={end} lies before start_line={start}; {path} has {len(lines)} lines.")
    left, shown, number = page_chars - ROOM - len(path), list[str](), first
    for number in range(first, last + 1):
        entry = f"{number}: {lines[number - 1].rstrip(chr(13))}"
        left -= len(entry) + 1
        if left < 0:
            break
        shown.append(entry)
    if not shown:
        cut = f"{first}: {lines[first - 1]}"[: max(page_chars - ROOM - len(path), 1)]
        more = f'; the rest of the line by read_file("{path}")'
        return f"{cut}\n[line {first} of {len(lines)}, cut{more}]"
    reached = first + len(shown) - 1
    more = f"; go on with start_line={reached + 1}" if reached < last else ""
    return "\n".join([*shown, f"[{path}, lines {first}-{reached} of {len(lines)}{more}]"])


def _page(path: str, text: str, offset: int, limit: int, page_chars: int) -> str:
    if not text:
        return f"{path} is empty."
    if not 0 <= offset < len(text):
        raise ToolException(f"offset={offset} lies outside {path}, which has {len(text)} characters.")
    most = max(page_chars - ROOM - len(path), 1)
    end = min(offset + (min(limit, most) if limit > 0 else most), len(text))
    more = f"; go on with offset={end}" if end < len(text) else ""
    return f"{text[offset:end]}\n[{path}, characters {offset}-{end} of {len(text)}{more}]"
