"""The in-process host of maintenance: one daemon thread that sleeps on an event and holds its owner weakly.

Nothing runs at construction. The thread ends when it is stopped or when its owner is gone.
"""

import os
import threading
import weakref
from collections.abc import Callable
from datetime import timedelta
from typing import Generic, TypeVar

OwnerT = TypeVar("OwnerT")

LONGEST_SLEEP = timedelta(hours=1)
"""Longest wait between two looks at the clock, so that a suspended machine or a corrected clock is noticed."""


class Scheduler(Generic[OwnerT]):
    """Runs what is due and sleeps until something is again.

    Args:
        owner: Held weakly.
        run: Does what is due and returns how long until something may be due by itself; it reports its own failures.
    """

    def __init__(self, owner: OwnerT, run: Callable[[OwnerT], timedelta]) -> None:
        self._wake = threading.Event()
        wake = self._wake
        self._owner = weakref.ref(owner, lambda _: wake.set())
        self._run = run
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._process = os.getpid()

    @property
    def running(self) -> bool:
        """Whether the thread is there, in this process."""
        return self._alive()

    def _alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive() and self._process == os.getpid()

    def start(self) -> None:
        """Start the thread; without effect while it runs."""
        with self._lock:
            if self._alive():
                return
            self._process = os.getpid()
            self._stop = threading.Event()
            self._wake.clear()
            self._thread = threading.Thread(
                target=_loop,
                args=(self._owner, self._run, self._wake, self._stop),
                daemon=True,
                name="harness-memory-maintenance",
            )
            self._thread.start()

    def wake(self) -> None:
        """Have it look again what is due; without effect while it is not running."""
        self._wake.set()

    def stop(self, timeout: timedelta) -> bool:
        """Stop the thread and wait for a run that is under way.

        Returns:
            `False` when the time was over first; the thread ends after its run.
        """
        thread = self._thread
        self._stop.set()
        self._wake.set()
        if thread is None or self._process != os.getpid() or thread is threading.current_thread():
            return True
        thread.join(timeout.total_seconds())
        return not thread.is_alive()


def _loop(
    owner_of: "weakref.ref[OwnerT]",
    run: Callable[[OwnerT], timedelta],
    wake: threading.Event,
    stop: threading.Event,
) -> None:
    wait = timedelta(0)
    while True:
        wake.wait(min(wait, LONGEST_SLEEP).total_seconds())
        wake.clear()
        owner = owner_of()
        if owner is None or stop.is_set():
            return
        wait = run(owner)
        del owner  # it may go while this thread sleeps
