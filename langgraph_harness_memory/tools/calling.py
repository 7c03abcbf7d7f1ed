"""What all tools share: their shape, their limits, and how errors become messages."""

import re
import sqlite3
from collections.abc import Awaitable, Callable
from datetime import date
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, ValidationError

from langgraph_harness_memory.errors import HarnessMemoryError, PathRefused, SettingError
from langgraph_harness_memory.tenancy import ambient_thread

PAGE_CHARS = 20_000
"""Characters of one page: a quarter of the default eviction limit, about 5 000 tokens."""

LINE_CHARS = 400
"""Characters of a line in a list of hits; the whole line is one `memory_get` away."""

MOST_RESULTS = 50
"""Hits that one search gives at most."""

ROOM = 200
"""Characters kept free on a page for what is said around it."""

_CITED = re.compile(r"(?P<path>.*?)(?:#L?(?P<line>\d{1,9}))?\Z", re.DOTALL)


def build(
    name: str,
    about: str,
    args: type[BaseModel],
    sync: Callable[..., str],
    twin: Callable[..., Awaitable[str]],
) -> BaseTool:
    """Make a tool whose errors are messages.

    Args:
        name: What the model calls.
        about: What it reads of it, in as few words as it takes.
        args: The schema of the arguments.
        sync: Does it.
        twin: Does it on the event loop.
    """
    return StructuredTool(
        name=name,
        description=about,
        args_schema=args,
        func=_guarded(sync),
        coroutine=_aguarded(twin),
        handle_tool_error=True,
        handle_validation_error=_told_arguments,
    )


def _guarded(call: Callable[..., str]) -> Callable[..., str]:
    def guarded(**arguments: Any) -> str:
        try:
            return call(**arguments)
        except (HarnessMemoryError, OSError, sqlite3.Error) as error:
            raise _told(error) from error

    return guarded


def _aguarded(call: Callable[..., Awaitable[str]]) -> Callable[..., Awaitable[str]]:
    async def guarded(**arguments: Any) -> str:
        try:
            return await call(**arguments)
        except (HarnessMemoryError, OSError, sqlite3.Error) as error:
            raise _told(error) from error

    return guarded


def _told(error: Exception) -> ToolException:
    """Tell a model what went wrong, without the folders of the machine it runs on."""
    if isinstance(error, PathRefused):
        return ToolException("That path leaves the workspace or is no regular file. Use a path as tools print it.")
    if isinstance(error, SettingError):
        return ToolException(clipped(str(error), LINE_CHARS))
    return ToolException(f"Memory could not do this now ({type(error).__name__}). Go on without it or try again later.")


def _told_arguments(error: ValidationError | Any) -> str:
    if not isinstance(error, ValidationError):
        return "The arguments are not as the schema asks."
    wrong = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()[:5]]
    return clipped(f"The arguments are not as the schema asks: {'; '.join(wrong)}", LINE_CHARS)


def tenant() -> str | None:
    """Return whose memory the run under way means."""
    return ambient_thread().tenant


def bounded(max_results: int) -> int:
    """Return how many hits to give: at least one, at most `MOST_RESULTS`."""
    return min(max(max_results, 1), MOST_RESULTS)


def day(name: str, text: str) -> date | None:
    """Read a day that a model wrote; an empty text is no bound.

    Raises:
        ToolException: It is no day.
    """
    if not text.strip():
        return None
    try:
        return date.fromisoformat(text.strip()[:10])
    except ValueError:
        raise ToolException(f"{name}={text!r} is no day; write it as YYYY-MM-DD.") from None


def clipped(text: str, most: int) -> str:
    """Return at most so many characters of a text."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def place(path: str) -> tuple[str, int | None]:
    """Split a citation `path#line`, as hits print it, and tidy the path."""
    found = _CITED.fullmatch(path.strip())
    assert found is not None
    plain = found["path"].replace("\\", "/").removeprefix("./")
    return plain, int(found["line"]) if found["line"] else None
