"""`maintain`, `cron` and `reindex`: what keeps a memory in order."""

import asyncio
import shlex
import shutil
import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from langgraph_harness_memory.cli import options
from langgraph_harness_memory.cli.console import Terminal
from langgraph_harness_memory.cli.durations import duration
from langgraph_harness_memory.cli.guard import NO, guarded
from langgraph_harness_memory.cli.measuring import is_known
from langgraph_harness_memory.cli.opening import choose_model, open_memory, without_secrets
from langgraph_harness_memory.errors import SettingError
from langgraph_harness_memory.maintenance.cron import register_cron
from langgraph_harness_memory.workspace.opening import is_postgres_url


@guarded
def maintain(
    *,
    workspace: options.Workspace = options.DEFAULT_WORKSPACE,
    user: options.User = None,
    model: options.Model = None,
    every: Annotated[str | None, typer.Option(help="Stay and run again after this time, for example 6h.")] = None,
    if_due: Annotated[bool, typer.Option("--if-due", help="Run only when the interval has passed.")] = False,
    as_json: options.Json = False,
) -> None:
    """Run one maintenance tick.

    Recover, consolidate, expire, prune, reindex. Exit status 1 when a step failed.

    Example: harness-memory maintain -w workspace --every 6h
    """
    terminal = Terminal(as_json=as_json)
    pause = None if every is None else duration(every, "--every")
    who: dict[str, Any] = {} if user is None else {"user_id": user}
    with open_memory(workspace, model=choose_model(model)) as memory:
        if user is not None and not is_known(memory.workspace, memory.sessions.threads(), user):
            raise SettingError.refused("--user", user, "nobody of this name has a memory here; see status --all-users")
        while True:
            with terminal.working("maintaining"):
                report = memory.maintain(force=not if_due, **who)
            terminal.answer(report)
            _show(terminal, report)
            if pause is None:
                break
            terminal.note(f"next run in {pause}")
            time.sleep(pause.total_seconds())
    if report["failures"]:
        raise typer.Exit(NO)


def _show(terminal: Terminal, report: Mapping[str, Any]) -> None:
    if not report["ran"]:
        terminal.say(f"did not run: {escape(report['skipped'])}")
        return
    terminal.say(f"recovered     {len(report['recovered'])} sessions")
    for memory in report["consolidated"]:
        name = "shared" if memory["tenant"] is None else escape(memory["tenant"])
        terminal.say(
            f"consolidated  {name}: {memory['merged']} lines, {memory['added']} added, {memory['changed']} changed, "
            f"{memory['dropped']} dropped"
        )
    archived = [path for logs in report["expired"] for path in logs["archived"]]
    deleted = [path for logs in report["expired"] for path in logs["deleted"]]
    terminal.say(f"expired       {len(archived)} logs archived, {len(deleted)} deleted")
    terminal.say(f"pruned        {len(report['pruned'])} sessions")
    terminal.say(f"reindexed     {report['reindexed']} indexes compared")
    for failure in report["failures"]:
        terminal.note(f"[red]failed[/]  {failure['step']}: {escape(failure['reason'])}")


@guarded
def cron(
    *,
    workspace: options.Workspace = options.DEFAULT_WORKSPACE,
    every: Annotated[str, typer.Option(help="Time between two runs.")] = "6h",
    systemd: Annotated[bool, typer.Option("--systemd", help="Print a service and a timer instead.")] = False,
    url: Annotated[str | None, typer.Option(help="Register it as a cron of this LangGraph server instead.")] = None,
    graph: Annotated[str, typer.Option(help="With --url: the graph's name in langgraph.json.")] = "maintenance",
    model: options.Model = None,
    as_json: options.Json = False,
) -> None:
    """Print a crontab line that runs maintenance.

    Or a systemd service and timer; it installs nothing. With --url it registers a cron on a LangGraph server, once however
    often it is called.

    A password in a Postgres URL is left out of what it prints; ~/.pgpass of whoever runs it keeps passwords.

    Example: harness-memory cron -w workspace --every 6h
    """
    terminal = Terminal(as_json=as_json)
    gap = duration(every, "--every")
    if url is not None:
        with terminal.working("asking the server"):
            found = asyncio.run(_registered(url, graph, _schedule(gap)))
        terminal.answer({"cron_id": found, "schedule": _schedule(gap), "url": without_secrets(url)[0]})
        terminal.say(f"cron {escape(found)} runs {escape(graph)} at {_schedule(gap)} UTC")
        return
    program = shutil.which("harness-memory") or "harness-memory"
    notes: list[str] = []
    if is_postgres_url(workspace):
        where, secrets = without_secrets(workspace)
        if secrets:
            notes.append(
                "the password of the URL is left out, since everybody on the machine can read a command line; give it to whoever "
                "runs this in ~/.pgpass (host:port:database:user:password, chmod 600), or give the whole URL as "
                "HARNESS_MEMORY_WORKSPACE and delete --workspace here"
            )
    else:
        where = str(Path(workspace).expanduser().resolve())
        if not Path(where).is_dir():
            notes.append(f"there is no folder {where!r} yet, and maintenance makes none")
    command = [program, "maintain", "--workspace", where, *(["--model", model] if model else [])]
    line = f"{_schedule(gap)} {shlex.join(command)}".replace("%", "\\%")
    service = (
        f"[Unit]\nDescription=Maintenance of a memory\n\n[Service]\nType=oneshot\nExecStart={shlex.join(command)}\n"
    )
    timer = (
        f"[Unit]\nDescription=Maintenance of a memory\n\n[Timer]\nOnBootSec=5min\nOnUnitActiveSec={int(gap.total_seconds())}s\n"
        "Persistent=true\n\n[Install]\nWantedBy=timers.target\n"
    )
    terminal.answer({"crontab": line, "systemd": {"service": service, "timer": timer}, "notes": notes})
    if systemd:
        terminal.say(escape(f"# harness-memory.service\n{service}\n# harness-memory.timer\n{timer}"))
    else:
        terminal.say(escape(line))
    for note in notes:
        terminal.note(f"[yellow]note[/]  {escape(note)}")


async def _registered(url: str, graph: str, schedule: str) -> str:
    from httpx import HTTPError
    from langgraph_sdk import get_client

    try:
        async with get_client(url=url) as client:
            return await register_cron(client, graph=graph, schedule=schedule)
    except HTTPError as error:
        reason = str(error) or type(error).__name__
        raise SettingError.refused(
            "--url", without_secrets(url)[0], f"give the address of a LangGraph server that answers ({reason})"
        ) from error


def _schedule(gap: timedelta) -> str:
    """Write a gap as cron knows it: parts of an hour, of a day, or whole days."""
    minutes = gap.total_seconds() / 60
    if minutes < 60 and 60 % minutes == 0:
        return f"*/{int(minutes)} * * * *" if minutes > 1 else "* * * * *"
    hours = minutes / 60
    if hours < 24 and 24 % hours == 0:
        return f"17 */{int(hours)} * * *" if hours > 1 else "17 * * * *"
    if hours == 24:
        return "17 3 * * *"
    raise SettingError.refused("--every", str(gap), "cron knows parts of an hour or day: 15m, 30m, 1h, 6h, 12h, 1d")


@guarded
def reindex(
    *,
    workspace: options.Workspace = options.DEFAULT_WORKSPACE,
    user: options.User = None,
    as_json: options.Json = False,
) -> None:
    """Compare every file with the index.

    What differs is rebuilt.

    Example: harness-memory reindex -w workspace
    """
    terminal = Terminal(as_json=as_json)
    start = time.monotonic()
    with open_memory(workspace) as memory, terminal.working("reindexing"):
        memory.index.for_tenant(user).reindex()
        named = memory.workspace.name
    took = time.monotonic() - start
    terminal.answer({"workspace": named, "user": user, "seconds": round(took, 3)})
    terminal.say(f"index compared with every file in {took:.2f} s")
