"""The commands, put together."""

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from langgraph_harness_memory.cli import (
    care,
    chat,
    demo,
    doctor,
    lookup,
    moving,
    replay_command,
    status,
    upkeep,
    view_command,
)


def _tell_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"harness-memory {version('langgraph-harness-memory')}\n")
        raise typer.Exit


app = typer.Typer(
    name="harness-memory",
    help="Memory for LangGraph agents that a person can open in an editor.",
    epilog="Exit status: 0 done; 1 it ran and the answer is no; 2 a wrong setting; 3 the workspace could not; 130 Ctrl-C.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _common(
    *,
    show_version: Annotated[
        bool, typer.Option("--version", "-V", is_eager=True, callback=_tell_version, help="Print the version.")
    ] = False,
) -> None:
    """Memory for LangGraph agents that a person can open in an editor."""


_SEE = "See it work"
_READ = "Read a memory"
_KEEP = "Keep it in order"
_MOVE = "Move it"

app.command(rich_help_panel=_SEE)(demo.demo)
app.command(rich_help_panel=_SEE)(replay_command.replay)
app.command(rich_help_panel=_SEE)(chat.chat)
app.command(rich_help_panel=_READ)(lookup.search)
app.command(rich_help_panel=_READ)(lookup.get)
app.command(rich_help_panel=_READ)(status.status)
app.command(rich_help_panel=_READ)(view_command.view)
app.command(rich_help_panel=_KEEP)(upkeep.maintain)
app.command(rich_help_panel=_KEEP)(upkeep.cron)
app.command(rich_help_panel=_KEEP)(upkeep.reindex)
app.command(rich_help_panel=_KEEP)(care.forget)
app.command(rich_help_panel=_KEEP)(care.restore)
app.command(rich_help_panel=_KEEP)(doctor.doctor)
app.command("import", rich_help_panel=_MOVE)(moving.import_)
app.command(rich_help_panel=_MOVE)(moving.copy)
