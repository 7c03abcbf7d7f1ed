"""A lock that lets threads in in the order in which they came.

LangGraph stores a step's writes and checkpoints from several threads; the log shall hold messages in the order in which
they were handed over, and `threading.Lock` wakes whom it likes.
"""

import threading
from collections import deque
from types import TracebackType


class FairLock:
    """A re-entrant lock, first come, first served."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._owner: int | None = None
        self._depth = 0
        self._waiting: deque[tuple[int, threading.Lock]] = deque()

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._guard:
            if self._owner is None or self._owner == me:
                self._owner = me
                self._depth += 1
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append((me, turn))
        turn.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._guard:
            self._depth -= 1
            if self._depth:
                return
            if not self._waiting:
                self._owner = None
                return
            self._owner, turn = self._waiting.popleft()
            self._depth = 1
            turn.release()
