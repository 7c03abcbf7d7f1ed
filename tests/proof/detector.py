"""A detector of blocking calls on the event loop, and the list of all coroutines that it has to see run.

blockbuster raises where a call would block; memory answers a failing step with `Failed` and goes on, so that what was
raised is noted here as well. It misses much of what a file, a lock and a database driver do: `MISSED` adds that.
"""

import importlib.util
import inspect
import pkgutil
import sys
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import blockbuster.blockbuster as machinery
from blockbuster import BlockBuster, BlockBusterFunction, BlockingError

import langgraph_harness_memory
from langgraph_harness_memory import testing

PACKAGE = Path(langgraph_harness_memory.__file__).parent

MISSED = (
    "builtins.open", "io.open", "io.FileIO.read", "io.FileIO.readall", "io.FileIO.write", "io.BufferedWriter.flush",
    "io.BufferedReader.readline", "io.TextIOWrapper.readline", "io.TextIOWrapper.flush", "os.open", "os.fsync", "os.fdatasync",
    "os.ftruncate", "os.truncate", "os.fstat", "os.lstat", "os.pread", "os.pwrite", "os.scandir", "os.utime", "os.chmod",
    "os.fchmod", "os.statvfs", "os.waitpid", "fcntl.flock", "fcntl.lockf", "fcntl.fcntl", "sqlite3.connect", "subprocess.Popen",
    "socket.getaddrinfo", "socket.create_connection", "threading.Event.wait", "threading.Condition.wait", "threading.Thread.join",
    "queue.Queue.get", "queue.SimpleQueue.get",
)  # fmt: skip
"""What blocks and blockbuster does not watch."""

DATABASE = (
    "psycopg.connect", "psycopg.Connection.wait", "psycopg_pool.ConnectionPool.getconn",
    "psycopg_pool.ConnectionPool.close", "psycopg_pool.ConnectionPool.check",
)  # fmt: skip
"""A driver in C waits on its socket where nobody sees it; its doors are watched instead."""

ALLOWED: list[tuple[str, tuple[str, ...]]] = [
    ("<frozen importlib._bootstrap>", ("_find_and_load",)),
    ("linecache.py", ("checkcache", "updatecache")),
    ("threading.py", ("start",)),
    ("asyncio/base_events.py", ("run_in_executor", "shutdown_default_executor")),
    ("logging/__init__.py", ("emit", "flush")),
    ("coverage/python.py", ("get_python_source", "read_python_source")),
]
"""Where even asyncio and the interpreter block for a moment: an import, a line of a traceback, the start of a thread, a log record."""

Name = tuple[str, str]
"""A module's path within the package and a coroutine's qualified name."""


@dataclass
class Seen:
    """What happened on the loop."""

    blocked: list[str] = field(default_factory=list)
    """Blocking calls, each with the package's frames that led to it."""
    driven: set[Name] = field(default_factory=set)
    """Coroutines of the package that were entered."""


@contextmanager
def watch(seen: Seen) -> Iterator[None]:
    """Watch this thread's event loop.

    Args:
        seen: What is seen is noted here; a call that would block also raises.
    """

    class Noted(BlockingError):
        def __init__(self, name: str) -> None:
            super().__init__(name)
            seen.blocked.append(f"{name} <- {' <- '.join(_ours())}")

    guard = BlockBuster(langgraph_harness_memory, excluded_modules=[testing])
    for name in MISSED + (DATABASE if importlib.util.find_spec("psycopg_pool") else ()):
        guard.functions[f"{name}()"] = _watched(name)
    guard.functions["concurrent.futures.Future.result"] = _watched(
        "concurrent.futures.Future.result", unless=lambda future, *_, **__: Future.done(future)
    )
    for function in guard.functions.values():
        function.can_block_functions += [(file, set(names)) for file, names in ALLOWED]
    original = machinery.BlockingError
    machinery.BlockingError = Noted  # type: ignore[misc]  # the only way to hear of an error that somebody catches
    guard.activate()
    before = sys.getprofile()
    sys.setprofile(_note_coroutines(seen.driven))
    try:
        yield
    finally:
        sys.setprofile(before)
        guard.deactivate()
        machinery.BlockingError = original  # type: ignore[misc]


def _watched(name: str, unless: Callable[..., bool] = lambda *_, **__: False) -> BlockBusterFunction:
    return BlockBusterFunction(
        None,
        name,
        scanned_modules=langgraph_harness_memory,
        excluded_modules=[testing],
        can_block_predicate=unless,
    )


def _ours() -> list[str]:
    """The package's frames on the stack, innermost first."""
    frames = [frame for frame in traceback.extract_stack() if frame.filename.startswith(str(PACKAGE))]
    return [f"{Path(f.filename).relative_to(PACKAGE)}:{f.lineno} {f.name}" for f in reversed(frames)][:8]


ASYNC = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def _note_coroutines(driven: set[Name]) -> Callable[[FrameType, str, Any], None]:
    prefix = f"{PACKAGE}/"

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & ASYNC and code.co_filename.startswith(prefix):
            driven.add((code.co_filename.removeprefix(prefix), code.co_qualname))

    return note


def coroutines() -> set[Name]:
    """Every `async def` that the package's users can reach, found in its code: methods, functions and what is made within them.

    Not in it: what a protocol only declares, and the fakes of `testing`.
    """
    found: set[Name] = set()
    for module in pkgutil.walk_packages([str(PACKAGE)], f"{PACKAGE.name}."):
        if module.name.startswith(testing.__name__):
            continue
        spec = importlib.util.find_spec(module.name)
        assert spec is not None
        assert spec.origin is not None
        loader: Any = spec.loader
        declared = _protocols(module.name)
        found |= {
            (str(Path(spec.origin).relative_to(PACKAGE)), code.co_qualname)
            for code in _nested(loader.get_code(module.name))
            if code.co_flags & ASYNC and code.co_qualname.split(".")[0] not in declared
        }
    return found


def _protocols(module: str) -> set[str]:
    names = vars(importlib.import_module(module)).items()
    return {name for name, value in names if isinstance(value, type) and getattr(value, "_is_protocol", False)}


def _nested(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _nested(constant)
