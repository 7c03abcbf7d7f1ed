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
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

import typer

from langgraph_harness_memory.errors import HarnessMemoryError, MissingExtra, SettingError

P = ParamSpec("P")
T = TypeVar("T")

NO = 1
USAGE = 2
FAILED = 3
STOPPED = 130

_STOPPED = "\nstopped; what was done stays, and the same command goes on from there\n"


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
            sys.stderr.write(_STOPPED)
            raise typer.Exit(STOPPED) from None
        except BrokenPipeError:
            # Whoever read the output has seen enough; nothing may be written at exit either.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None

    return run


@contextmanager
def ending_soon(patience: float = 10.0) -> Iterator[None]:
    """Have Ctrl-C end the process within some seconds, whatever its threads still wait for.

    A run is unwound as usual first. LangGraph waits for its worker threads then, and one of them may wait for what the
    interrupted thread held; all that was acknowledged is on disk, so that ending is as safe as it is for a kill.

    Args:
        patience: Seconds to unwind in; a second Ctrl-C ends the process at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    watch = threading.Timer(patience, _end_now)
    watch.daemon = True

    def stop(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGINT, lambda *_: _end_now())
        watch.start()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end_now() -> None:
    sys.stderr.write(_STOPPED)
    sys.stderr.flush()
    os._exit(STOPPED)


def _tell(error: HarnessMemoryError, *, as_json: bool) -> None:
    if as_json:
        document = {"error": {"type": type(error).__name__, "message": str(error)}}
        sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    sys.stderr.write(f"error: {error}\n")
