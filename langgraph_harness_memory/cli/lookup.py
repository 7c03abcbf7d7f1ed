"""`search` and `get`: find a line, and read around it."""

import re
from typing import Annotated

import typer
from rich.markup import escape

from langgraph_harness_memory.cli import options
from langgraph_harness_memory.cli.console import Terminal, counted
from langgraph_harness_memory.cli.guard import NO, guarded
from langgraph_harness_memory.cli.opening import open_memory, tenant_workspace
from langgraph_harness_memory.errors import SettingError
from langgraph_harness_memory.workspace import read_text

_PLACE = re.compile(r"(?P<path>.+?)#L?(?P<line>\d+)")


@guarded
def search(
    query: Annotated[str, typer.Argument(help="Words or a question; any text is a valid query.")],
    *,
    workspace: options.Workspace = options.DEFAULT_WORKSPACE,
    user: options.User = None,
    limit: options.Limit = 10,
    since: options.Since = None,
    until: options.Until = None,
    sessions: Annotated[bool, typer.Option("--sessions", help="Search what was said in sessions instead.")] = False,
    as_json: options.Json = False,
) -> None:
    """Find lines of the memory, best first.

    Exit status 1 when there is none.

    Example: harness-memory search "which tool for the database migration" -w workspace
    """
    terminal = Terminal(as_json=as_json)
    first, last = options.day(since, "--since"), options.day(until, "--until")
    with open_memory(workspace) as memory:
        if sessions:
            with terminal.working("searching"):
                said = memory.sessions.search(query, limit, tenant=user)
            terminal.answer({"query": query, "hits": said})
            for hit in said:
                terminal.say(
                    f"[bold]{escape(hit.thread_id)}[/] [dim]message {hit.position}, {hit.role}[/]  {escape(hit.snippet)}"
                )
            found = bool(said)
        else:
            with terminal.working("searching"):  # the first search of a memory builds its index
                hits = memory.index.for_tenant(user).search(query, limit, first, last)
            terminal.answer({"query": query, "hits": hits})
            for line in hits:
                terminal.say(f"[bold]{escape(line.path)}#{line.line_number}[/]  {escape(line.content)}")
            found = bool(hits)
    if not found:
        terminal.note("nothing found")
        raise typer.Exit(NO)


@guarded
def get(
    path: Annotated[str, typer.Argument(help="A file of the workspace, also with a line: memory/2026-04-12.md#7.")],
    *,
    workspace: options.Workspace = options.DEFAULT_WORKSPACE,
    user: options.User = None,
    start: Annotated[int | None, typer.Option(min=1, help="First line.")] = None,
    end: Annotated[int | None, typer.Option(min=1, help="Last line.")] = None,
    context: Annotated[int, typer.Option("--context", "-C", min=0, help="Lines around the one in PATH#LINE.")] = 3,
    as_json: options.Json = False,
) -> None:
    """Print numbered lines of a file.

    Exit status 1 when there is no such file or line.

    Example: harness-memory get memory/2026-04-12.md#7 -C 5
    """
    terminal = Terminal(as_json=as_json)
    place = _PLACE.fullmatch(path)
    if place:
        path, line = place["path"], int(place["line"])
        start, end = start or max(1, line - context), end or line + context
    if start is not None and end is not None and end < start:
        raise SettingError.refused("--end", end, f"give a line from {start} on")
    with open_memory(workspace) as memory:
        read = read_text(tenant_workspace(memory.workspace, user), path)
    if read is None:
        terminal.answer({"path": path, "lines": None})
        terminal.note(f"there is no file {path!r}")
        raise typer.Exit(NO)
    texts = read[0].split("\n")
    if texts and not texts[-1]:
        texts.pop()
    numbered = [(n, t.rstrip("\r")) for n, t in enumerate(texts, start=1) if (start or 1) <= n <= (end or len(texts))]
    shown = [{"line_number": n, "content": t} for n, t in numbered]
    terminal.answer({"path": path, "total_lines": len(texts), "lines": shown})
    for number, text in numbered:
        terminal.say(f"[dim]{number:>6}[/]  {escape(text)}")
    if start is not None and start > max(1, len(texts)):
        terminal.note(f"{escape(path)} has {counted(len(texts), 'line')}")
        raise typer.Exit(NO)
