"""The two short drivers that play an operation over a connection, sync and async; and what a URL says."""

import contextlib
import re
from contextlib import AsyncExitStack, ExitStack
from typing import Any, TypeVar, cast

from langgraph_harness_memory.errors import SettingError
from langgraph_harness_memory.workspace.postgres_sql import Begin, Commit, Query, Rows, Work

T = TypeVar("T")


def play(work: Work[T], connection: Any) -> T:
    """Play an operation's queries; what raises undoes its transaction."""
    rows: Rows | None = None
    with ExitStack() as stack, contextlib.closing(work):
        while True:
            try:
                step = next(work) if rows is None else work.send(rows)
            except StopIteration as end:
                return cast("T", end.value)
            match step:
                case Begin():
                    stack.enter_context(connection.transaction())
                    rows = []
                case Commit():
                    stack.close()
                    rows = []
                case Query():
                    cursor = connection.execute(step.text.encode(), step.values)
                    rows = cursor.fetchall() if cursor.description else []


async def aplay(work: Work[T], connection: Any) -> T:
    """Twin of `play`."""
    rows: Rows | None = None
    async with AsyncExitStack() as stack:
        with contextlib.closing(work):
            while True:
                try:
                    step = next(work) if rows is None else work.send(rows)
                except StopIteration as end:
                    return cast("T", end.value)
                match step:
                    case Begin():
                        await stack.enter_async_context(connection.transaction())
                        rows = []
                    case Commit():
                        await stack.aclose()
                        rows = []
                    case Query():
                        cursor = await connection.execute(step.text.encode(), step.values)
                        rows = await cursor.fetchall() if cursor.description else []


def checked_schema(name: str) -> str:
    """Check a schema's name.

    Raises:
        SettingError: It is no plain identifier.
    """
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", name) or name.startswith("pg_"):
        raise SettingError.refused(
            "schema", name, "give lower-case letters, digits and '_', at most 63, not beginning with 'pg_'"
        )
    return name


def split_schema(url: str) -> tuple[str, str | None]:
    """Take `schema=name` out of a URL's query, since libpq knows no such parameter.

    Returns:
        The rest of the URL, and the schema if one was named.
    """
    head, mark, query = url.partition("?")
    items = [item for item in query.split("&") if item] if mark else []
    schemas = [item.removeprefix("schema=") for item in items if item.startswith("schema=")]
    rest = "&".join(item for item in items if not item.startswith("schema="))
    return (f"{head}?{rest}" if rest else head), (schemas[-1] if schemas else None)
