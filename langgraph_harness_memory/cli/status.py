"""`status`: what a memory holds and how it fares."""

from typing import Annotated, Any

import typer
from rich.markup import escape

from langgraph_harness_memory.cli import options
from langgraph_harness_memory.cli.console import Terminal
from langgraph_harness_memory.cli.guard import guarded
from langgraph_harness_memory.cli.measuring import Disk, Holding, disk, holding, users
from langgraph_harness_memory.cli.opening import open_memory
from langgraph_harness_memory.memory.health import Health


@guarded
def status(
    *,
    workspace: options.Workspace = options.DEFAULT_WORKSPACE,
    user: options.User = None,
    all_users: Annotated[
        bool, typer.Option("--all-users", help="Every user that is known, and the shared memory.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Show what the memory holds and how it fares.

    Sessions, logs, facts, pending flushes, the last maintenance and disk use.

    Example: harness-memory status -w workspace --all-users
    """
    terminal = Terminal(as_json=as_json)
    with open_memory(workspace) as memory, terminal.working("looking"):
        who: list[str | None] = [user]
        if all_users:
            who = [None, *users(memory.workspace, memory.sessions.threads())]
        holdings = [holding(memory, one) for one in who]
        used = disk(memory.workspace, evicted="large_tool_results")
        health = memory.health()
        name = memory.workspace.name
    terminal.answer(
        {"workspace": name, "memories": holdings, "disk": {**_bytes(used), "total": used.total}, "health": health}
    )
    terminal.say(f"[bold]{escape(name)}[/]")
    for one in holdings:
        _show(terminal, one)
    _show_work(terminal, health)
    sizes: list[list[Any]] = []
    sizes += [[kind, size] for kind, size in _bytes(used).items()]
    terminal.table("Disk", ["", "bytes"], [*sizes, ["total", used.total]])


def _show_work(terminal: Terminal, health: Health) -> None:
    rows: list[list[Any]] = [
        ["a model last answered", health.succeeded_at],
        ["oldest message not flushed yet", health.oldest_unflushed_at],
        *([f"tokens on {day}", tokens] for day, tokens in list(health.tokens_by_day.items())[-7:]),
        *([f"{what} since it was opened", times] for what, times in sorted(health.failures.items())),
        *(["problem", problem] for problem in health.problems),
    ]
    terminal.table("Memory's own work", ["", ""], rows)


def _bytes(used: Disk) -> dict[str, int]:
    return {kind: getattr(used, kind) for kind in ("sessions", "evicted", "memory", "knowledge", "other")}


def _show(terminal: Terminal, one: Holding) -> None:
    rows: list[list[Any]] = [
        ["sessions", one.sessions],
        ["messages", one.messages],
        ["not flushed yet", one.unflushed],
        ["daily logs", one.daily_logs],
        ["archived logs", one.archived_logs],
        ["facts in daily logs", one.logged_facts],
        ["facts in MEMORY.md", one.memory_facts],
        ["versions of MEMORY.md", one.memory_versions],
        ["last maintenance", one.last_tick],
        ["last consolidation", one.last_consolidation],
    ]
    terminal.table("shared memory" if one.user is None else f"user {one.user}", ["", ""], rows)
