"""`forget` and `restore`: what a person takes out of a memory, and how an earlier one comes back."""

import re
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.markup import escape

from langgraph_harness_memory.cli import options
from langgraph_harness_memory.cli.console import Terminal, counted
from langgraph_harness_memory.cli.guard import NO, guarded
from langgraph_harness_memory.cli.opening import open_memory, tenant_workspace
from langgraph_harness_memory.curation.finding import Found, Target, find
from langgraph_harness_memory.errors import SettingError
from langgraph_harness_memory.memory import HarnessMemory
from langgraph_harness_memory.steps import Failed, ListFiles, ReadText, Step, TextFile, drive
from langgraph_harness_memory.workspace import Workspace, read_text


@guarded
def forget(
    query: Annotated[str | None, typer.Argument(help="Every line that holds all of these words.")] = None,
    *,
    workspace: options.Workspace = options.DEFAULT_WORKSPACE,
    user: options.User = None,
    path: Annotated[str | None, typer.Option(help="A file instead: MEMORY.md or a daily log.")] = None,
    lines: Annotated[str | None, typer.Option(help="Its lines, for example 7 or 7-9.")] = None,
    backups: Annotated[bool, typer.Option("--backups", help="Also in earlier versions of MEMORY.md.")] = False,
    sessions: Annotated[bool, typer.Option("--sessions", help="Also redact the messages that it came from.")] = False,
    yes: options.Yes = False,
    as_json: options.Json = False,
) -> None:
    """Remove lines from the memory, for good.

    From both layers and the index; shows them and asks first. Exit status 1 when there is none.

    Example: harness-memory forget "phone number" -w workspace
    """
    terminal = Terminal(as_json=as_json)
    if not yes and (as_json or not sys.stdin.isatty()):
        raise SettingError.refused("--yes", yes, "give --yes where nobody can be asked")
    with open_memory(workspace) as memory:
        done = forget_asking(
            terminal,
            memory,
            query=query,
            path=path,
            lines=_span(lines),
            user=user,
            backups=backups,
            sessions=sessions,
            ask=None if yes else lambda: input("forget these lines? [y/N] "),
        )
    if not done:
        raise typer.Exit(NO)


def forget_asking(
    terminal: Terminal,
    memory: HarnessMemory,
    *,
    query: str | None = None,
    path: str | None = None,
    lines: tuple[int, int] | None = None,
    user: str | None = None,
    backups: bool = False,
    sessions: bool = False,
    ask: Callable[[], str | None] | None,
) -> bool:
    """Show what would be forgotten, ask, and forget.

    Args:
        terminal: Where to print.
        memory: The memory.
        query: All words of the lines; or
        path: a file and
        lines: its first and last line.
        user: Whose memory; `None` = the shared one.
        backups: Also in earlier versions.
        sessions: Also redact the messages.
        ask: Asks the person and returns the answer; `None` = do not ask.

    Returns:
        Whether lines were forgotten.
    """
    target = Target(query=query, path=path, lines=lines)
    found = _found(tenant_workspace(memory.workspace, user), target)
    for line in found:
        terminal.say(f"  [bold]{escape(line.path)}#{line.number}[/]  {escape(line.text)}")
    if not found:
        terminal.answer({"lines": 0, "found": []})
        terminal.note("no line says that")
        return False
    if ask is not None and (ask() or "").strip().lower() not in ("y", "yes"):
        terminal.say("nothing was forgotten")
        return False
    with terminal.working("forgetting"):
        report = memory.forget(query, path=path, lines=lines, user_id=user, backups=backups, sessions=sessions)
    terminal.answer(
        {"found": [{"path": f.path, "line_number": f.number, "content": f.text} for f in found], "report": report}
    )
    terminal.say(f"{counted(report.lines, 'line')} forgotten in {', '.join(map(escape, report.paths)) or 'no file'}")
    if report.sessions and not sessions:
        terminal.say(
            f"[dim]still said in {counted(len(report.sessions), 'session log')}; 'harness-memory forget' with --sessions redacts there[/]"
        )
    if report.backups and not backups:
        terminal.say(
            f"[dim]still in {counted(len(report.backups), 'earlier version')}; 'harness-memory forget' with --backups removes it there[/]"
        )
    if report.failed:
        terminal.note(f"[red]not finished:[/] {escape(report.failed)}; ask again")
    return report.failed is None


def _found(root: Workspace, target: Target) -> tuple[Found, ...]:
    def perform(step: Step) -> Any:
        match step:
            case ListFiles():
                return tuple(info.path for info in root.files(step.folder))
            case ReadText():
                read = read_text(root, step.path)
                return None if read is None else TextFile(text=read[0], version=read[1])
        raise TypeError(f"looking asks for no {type(step).__name__}")

    found = drive(find(None, target), perform)
    if isinstance(found, Failed):
        raise found.error
    return found


def _span(lines: str | None) -> tuple[int, int] | None:
    if lines is None:
        return None
    parts = re.fullmatch(r"(\d+)(?:-(\d+))?", lines.strip())
    if parts is None:
        raise SettingError.refused("--lines", lines, "give a line or a span, for example 7 or 7-9")
    return int(parts[1]), int(parts[2] or parts[1])


@guarded
def restore(
    version: Annotated[str | None, typer.Argument(help="A version that --list names; by default the newest.")] = None,
    *,
    workspace: options.Workspace = options.DEFAULT_WORKSPACE,
    user: options.User = None,
    show: Annotated[bool, typer.Option("--list", "-l", help="List the versions and restore none.")] = False,
    as_json: options.Json = False,
) -> None:
    """Bring an earlier MEMORY.md back.

    What it replaces becomes a version itself.

    Example: harness-memory restore --list -w workspace
    """
    terminal = Terminal(as_json=as_json)
    with open_memory(workspace) as memory:
        versions = memory.versions(user_id=user)
        if show:
            terminal.answer({"versions": versions})
            terminal.table("", ["version", "replaced at"], [[v.name, v.at] for v in versions])
        if not versions:
            if not show:
                terminal.answer({"restored": None})
            terminal.note("there is no earlier version")
            raise typer.Exit(NO)
        if show:
            return
        restored = memory.restore(version, user_id=user)
    terminal.answer({"restored": restored})
    terminal.say(f"{escape(restored.version)} is MEMORY.md again")
    if restored.left_out:
        terminal.say(f"[dim]left out, since it was forgotten: {counted(restored.left_out, 'line')}[/]")
