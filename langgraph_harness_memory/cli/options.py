"""Options that several commands share, so that each is spelled and explained once."""

from datetime import date
from typing import Annotated

import typer

from langgraph_harness_memory.errors import SettingError

DEFAULT_WORKSPACE = "workspace"

Workspace = Annotated[
    str,
    typer.Option(
        "--workspace",
        "-w",
        envvar="HARNESS_MEMORY_WORKSPACE",
        help="Folder of the memory, or a Postgres URL (postgresql://…).",
    ),
]
User = Annotated[str | None, typer.Option("--user", "-u", help="Whose memory; without it the shared one.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")]
Since = Annotated[str | None, typer.Option(help="Only lines of this day (YYYY-MM-DD) or later.")]
Until = Annotated[str | None, typer.Option(help="Only lines of this day (YYYY-MM-DD) or earlier.")]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="Chat model that curates, for example openai:gpt-5.5; 'offline' = by rules, without a network. "
        "Default: OpenAI where OPENAI_API_KEY or OPENAI_BASE_URL is set, else offline.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def day(text: str | None, name: str) -> date | None:
    """Read a day.

    Args:
        text: `YYYY-MM-DD`; `None` = none.
        name: The option, for the message.

    Raises:
        SettingError: It is no day.
    """
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise SettingError.refused(name, text, "give a day such as 2026-04-12") from error
