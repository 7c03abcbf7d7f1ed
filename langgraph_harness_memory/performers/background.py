"""The queue of flushes: a few daemon threads that start with work, end without it, and drain when the memory is closed.

Nothing depends on it: what is queued and never done stands unmarked in the session log and is recovered from there.
"""

import contextvars
import dataclasses
import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from langchain_core.runnables.config import var_child_runnable_config

from langgraph_harness_memory.identifiers import ThreadRef

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

log = logging.getLogger("langgraph_harness_memory")

WORKERS = 4
"""Flushes of different threads that run at once; each waits for a model most of its time."""

GRACE_SECONDS = 0.2
"""How long an entry waits before it is taken, so that a flush does not compete with the end of the run that queued it: it
made that run 10 ms longer (`python -m benchmarks agent-turn`). Draining waits for nothing."""

IDLE_SECONDS = 5.0
"""How long a worker waits for work before it ends; starting one again costs 0.1 ms."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Flush:
    """What is to be flushed, and with whose model."""

    thread: ThreadRef
    model: "BaseChatModel | None"
    """The agent's own, for a memory without one."""
    everything: bool = True
    """Do not wait for `min_new_tokens`."""
    run_id: str | None = None
    """The run that asked for it, so that its model calls can be found from there; `None` outside a run."""


Work = Callable[[Flush], object]
"""Does one flush."""


@dataclass(frozen=True, slots=True)
class _Queued:
    entry: Flush
    work: Work
    context: contextvars.Context
    due: float
    """When it may be taken, on the monotonic clock."""


class FlushQueue:
    """Flushes many threads at once, and one thread never twice at a time.

    It holds on to nobody: what is queued keeps its memory alive until it is done, an empty queue keeps nothing.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._waiting: OrderedDict[ThreadRef, _Queued] = OrderedDict()
        self._running: set[ThreadRef] = set()
        self._workers = 0
        self._draining = 0

    def soon(self, entry: Flush, work: Work, *, after: timedelta | None = None) -> None:
        """Queue a flush; a thread that waits already is not queued twice.

        Args:
            entry: What is to be flushed.
            work: Does it; it sees the context variables of the caller, but not the caller's run: its model calls belong
                to no stream.
            after: Only when nothing else was queued for the thread until then; `None` = as soon as the run that asks is over.
        """
        if os.getpid() != self._process:  # a fork inherits the queue and no worker; the parent flushes what it queued
            self._begin()
        delay = GRACE_SECONDS if after is None else after.total_seconds()
        new = _Queued(entry, work, contextvars.copy_context(), time.monotonic() + delay)
        with self._changed:
            waiting = self._waiting.get(entry.thread)
            if waiting is None:
                self._waiting[entry.thread] = new
            elif after is None and (new.due < waiting.due or (entry.everything and not waiting.entry.everything)):
                self._waiting[entry.thread] = dataclasses.replace(new, due=min(new.due, waiting.due))
            if self._workers < min(WORKERS, len(self._waiting) + len(self._running)):
                self._workers += 1
                threading.Thread(target=self._work, daemon=True, name="harness-memory-flush").start()
            self._changed.notify_all()

    def drain(self, timeout: timedelta) -> bool:
        """Wait until nothing is queued or running.

        Returns:
            `False` when the time was over first; what is left is recovered from the session log at the next start.
        """
        end = time.monotonic() + timeout.total_seconds()
        with self._changed:
            self._draining += 1
            self._changed.notify_all()
            try:
                return self._is_done_by(end)
            finally:
                self._draining -= 1

    def _is_done_by(self, end: float) -> bool:
        while os.getpid() == self._process and (self._waiting or self._running):
            left = end - time.monotonic()
            if left <= 0:
                log.warning("%d flushes are left for the next start", len(self._waiting) + len(self._running))
                return False
            self._changed.wait(left)
        return True

    def _work(self) -> None:
        try:
            while (queued := self._take()) is not None:
                try:
                    queued.context.run(_outside_the_run, queued)
                except Exception:
                    log.exception("a flush of thread %r ended badly; it is tried again", queued.entry.thread.thread_id)
                finally:
                    self._done(queued.entry)
                del queued  # an idle worker keeps no memory alive
        finally:
            with self._changed:
                self._workers -= 1
                self._changed.notify_all()

    def _take(self) -> _Queued | None:
        with self._changed:
            while True:
                now = time.monotonic()
                free = [queued for thread, queued in self._waiting.items() if thread not in self._running]
                taken = next((queued for queued in free if self._draining or queued.due <= now), None)
                if taken is not None:
                    self._running.add(taken.entry.thread)
                    return self._waiting.pop(taken.entry.thread)
                patience = min((queued.due - now for queued in free), default=IDLE_SECONDS)
                if not self._changed.wait(patience) and not self._waiting:
                    return None

    def _done(self, entry: Flush) -> None:
        with self._changed:
            self._running.discard(entry.thread)
            self._changed.notify_all()


def _outside_the_run(queued: _Queued) -> None:
    var_child_runnable_config.set(None)
    queued.work(queued.entry)
