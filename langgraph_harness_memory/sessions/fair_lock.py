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
        turn: threading.Lock | None = None
        is_mine = False
        try:
            with self._guard:
                if self._owner is None or self._owner == me:
                    self._owner = me
                    self._depth += 1
                    is_mine = True
                    return
                turn = threading.Lock()
                turn.acquire()
                self._waiting.append((me, turn))
            turn.acquire()
        except BaseException:
            # Ctrl-C reaches the main thread here too; a place that nobody takes any more would hold up all behind it.
            self._step_back(me, turn, is_mine=is_mine)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._guard:
            self._hand_on()

    def _step_back(self, me: int, turn: "threading.Lock | None", *, is_mine: bool) -> None:
        with self._guard:
            waiting = [place for place in self._waiting if place[1] is turn]
            if waiting:
                self._waiting.remove(waiting[0])
            elif is_mine or (turn is not None and self._owner == me):
                self._hand_on()

    def _hand_on(self) -> None:
        self._depth -= 1
        if self._depth:
            return
        if not self._waiting:
            self._owner = None
            return
        self._owner, turn = self._waiting.popleft()
        self._depth = 1
        turn.release()
