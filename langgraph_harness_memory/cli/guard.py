"""How a command ends: with a clear line and an exit status, never with a traceback for what a user can mend.

0    done
1    it ran, and the answer is no: nothing found, a file left out, a check that failed
2    a setting, argument or extra is wrong or missing
3    the workspace could not do what was asked
130  stopped with Ctrl-C
"""

import functools
import json
import os
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import typer

from langgraph_harness_memory.errors import HarnessMemoryError, MissingExtra, SettingError

P = ParamSpec("P")
T = TypeVar("T")

NO = 1
USAGE = 2
FAILED = 3
STOPPED = 130


def guarded(command: Callable[P, T]) -> Callable[P, T]:
    """Turn what a user can mend into one line on standard error and an exit status."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return command(*args, **kwargs)
        except HarnessMemoryError as error:
            _tell(error, as_json=bool(kwargs.get("as_json")))
            raise typer.Exit(USAGE if isinstance(error, SettingError | MissingExtra) else FAILED) from error
        except KeyboardInterrupt:
            sys.stderr.write("\nstopped; what was done stays, and the same command goes on from there\n")
            raise typer.Exit(STOPPED) from None
        except BrokenPipeError:
            # Whoever read the output has seen enough; nothing may be written at exit either.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None

    return run


def _tell(error: HarnessMemoryError, *, as_json: bool) -> None:
    if as_json:
        document = {"error": {"type": type(error).__name__, "message": str(error)}}
        sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    sys.stderr.write(f"error: {error}\n")
