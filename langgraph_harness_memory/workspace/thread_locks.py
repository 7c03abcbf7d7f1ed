"""Locks by name among the threads and event loops of this process."""

import asyncio
import threading
import time
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta

from langgraph_harness_memory.errors import LockTimeout

POLL = 0.002
"""Seconds between an event loop's tries to take a lock that a thread holds."""


class _Named:
    """One lock of this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class ThreadLocks:
    """Locks by name among the threads and event loops of this process."""

    def __init__(self) -> None:
        self._known: weakref.WeakValueDictionary[str, _Named] = weakref.WeakValueDictionary()
        self._guard = threading.Lock()

    @contextmanager
    def hold(self, keys: list[str], timeout: timedelta, *, what: str) -> Iterator[None]:
        """Hold locks for a section, in the order of their names.

        Raises:
            LockTimeout: Another thread held one of them all the time.
        """
        deadline = time.monotonic() + timeout.total_seconds()
        held: list[_Named] = []
        try:
            for named in self._in_order(keys):
                if not named.lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
                    raise LockTimeout(f"{what} was locked by another thread for {timeout.total_seconds():g} s")
                held.append(named)
            yield
        finally:
            for named in held:
                named.lock.release()

    @asynccontextmanager
    async def ahold(self, keys: list[str], wait: timedelta, *, what: str) -> AsyncIterator[None]:
        """Twin of `hold`: waits without blocking the event loop."""
        deadline = time.monotonic() + wait.total_seconds()
        held: list[_Named] = []
        try:
            for named in self._in_order(keys):
                while not named.lock.acquire(blocking=False):
                    if time.monotonic() >= deadline:
                        raise LockTimeout(f"{what} was locked by another thread for {wait.total_seconds():g} s")
                    await asyncio.sleep(POLL)
                held.append(named)
            yield
        finally:
            for named in held:
                named.lock.release()

    def _in_order(self, keys: list[str]) -> list[_Named]:
        with self._guard:
            return [self._known.setdefault(key, _Named()) for key in sorted(set(keys))]
