"""What the commands print: tables for people, one JSON document for programs, progress beside both.

Answers go to standard output, everything else to standard error. Colour and progress bars appear on a terminal alone;
`NO_COLOR` switches colour off there too.
"""

import json
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

_PAGE = 120
"""Columns of a table where no terminal has a width."""


_NAME = "harness-memory"


class _Pipe(Console):
    """A console whose reader may hang up."""

    def on_broken_pipe(self) -> None:
        """Leave the ending to the command instead of ending here with status 1."""
        raise BrokenPipeError


class Terminal:
    """The two streams of one command."""

    def __init__(self, *, as_json: bool = False) -> None:
        """Open the streams.

        Args:
            as_json: Print one JSON document instead of text.
        """
        self.as_json = as_json
        self.out = _Pipe(soft_wrap=True, highlight=False)
        self.err = Console(stderr=True, soft_wrap=True, highlight=False)
        if not self.out.is_terminal:
            self.out = _Pipe(soft_wrap=True, highlight=False, width=_PAGE)

    def say(self, text: str) -> None:
        """Print a line for people; nothing with `--json`. Rich markup is understood."""
        if not self.as_json:
            self.out.print(text)

    def note(self, text: str) -> None:
        """Print a line beside the answer, to standard error. Rich markup is understood."""
        self.err.print(text)

    def table(self, title: str, columns: list[str], rows: list[list[Any]]) -> None:
        """Print a table for people; numbers stand to the right."""
        if self.as_json:
            return
        table = Table(
            title=title or None, title_justify="left", box=box.SIMPLE, pad_edge=False, show_header=any(columns)
        )
        for at, column in enumerate(columns):
            numbers = bool(rows) and all(isinstance(row[at], int | float) for row in rows)
            table.add_column(column, justify="right" if numbers else "left", overflow="fold")
        for row in rows:
            table.add_row(*[escape(_shown(cell)) for cell in row])
        self.out.print(table, soft_wrap=False)

    def answer(self, value: Any) -> None:
        """Print the command's JSON document; nothing without `--json`."""
        if self.as_json:
            sys.stdout.write(json.dumps(plain(value), ensure_ascii=False, indent=2) + "\n")

    @contextmanager
    def progress(self, what: str, total: int) -> Iterator["Bar"]:
        """Show how far something has come, where standard error is a terminal.

        Args:
            what: What is done.
            total: How many steps it has.
        """
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self.err, transient=True, disable=not self.err.is_terminal) as progress:
            yield Bar(progress, what, total)

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Show that something without countable steps is under way, where standard error is a terminal.

        Args:
            what: What is done.
        """
        if not self.err.is_terminal:
            yield
            return
        with self.err.status(what):
            yield


class Bar:
    """One progress bar."""

    def __init__(self, progress: Progress, what: str, total: int) -> None:
        """Show a bar of `total` steps."""
        self._progress = progress
        self._task = progress.add_task(what, total=total)

    def to(self, done: int, what: str | None = None) -> None:
        """Say how many steps are done, and what is being done."""
        self._progress.update(self._task, completed=done, description=what)


def called() -> str:
    """Write how this command is called here: by its name where the shell finds it, else by the path it was started with."""
    started = Path(sys.argv[0])
    found = shutil.which(_NAME)
    if started.name != _NAME or (found is not None and Path(found).resolve() == started.resolve()):
        return _NAME
    return shlex.quote(str(started))


def counted(number: int, thing: str) -> str:
    """Write a number of things, "1 line" or "2 lines"."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def plain(value: Any) -> Any:
    """Turn a result into what JSON has: dataclasses become objects, moments ISO text, durations seconds."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case datetime() | date():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case set() | frozenset():
            return sorted(plain(item) for item in value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return plain(asdict(value))
        case _:
            return str(value)


def _shown(cell: Any) -> str:
    match cell:
        case None:
            return "–"
        case bool():
            return "yes" if cell else "no"
        case int():
            return f"{cell:,}"
        case float():
            return f"{cell:,.2f}"
        case datetime():
            return cell.astimezone().strftime("%Y-%m-%d %H:%M")
        case _:
            return str(cell)
