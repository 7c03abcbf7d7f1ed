"""Keep Python's cyclic garbage collector out of a short stretch that builds tens of thousands of objects.

Each of them lives on, and the collector would walk the whole heap of the process to find that out: up to two thirds of
the time in which a thread of 4 000 messages resumes (`python -m benchmarks resume`).
"""

import gc
import os
import threading


class CollectionPause:
    """Holds the collector off while any stretch is under way; does nothing where the application switched it off."""

    def __init__(self) -> None:
        self._start_anew()

    def _start_anew(self) -> None:
        self._process = os.getpid()
        self._guard = threading.Lock()
        self._depth = 0
        self._was_on = False

    def __enter__(self) -> None:
        if self._process != os.getpid():
            # The threads whose stretches were under way in the parent are not in this child.
            was_on = self._depth > 0 and self._was_on
            self._start_anew()
            if was_on:
                gc.enable()
        with self._guard:
            if self._depth == 0:
                self._was_on = gc.isenabled()
                gc.disable()
            self._depth += 1

    def __exit__(self, *_: object) -> None:
        with self._guard:
            self._depth -= 1
            if self._depth == 0 and self._was_on:
                gc.enable()


PAUSE = CollectionPause()
"""The one of this process: the collector is the process's too."""
