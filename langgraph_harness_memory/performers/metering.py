"""What memory spends on models: summed in memory, written down now and then, nothing of a turn waits for it.

A process that is killed loses at most a minute of these sums. They decide nothing.
"""

import threading
from collections import Counter
from datetime import tzinfo

from langgraph_harness_memory.clock import Clock
from langgraph_harness_memory.events import (
    CompactionFailed,
    ConsolidationFailed,
    Event,
    EvictionFailed,
    FlushFailed,
    MaintenanceFailed,
    ModelAsked,
)
from langgraph_harness_memory.formats import usage
from langgraph_harness_memory.formats.usage import Spent, Usage
from langgraph_harness_memory.performers.attempting import attempt
from langgraph_harness_memory.steps import Failed
from langgraph_harness_memory.workspace import Workspace, read_text, text_bytes

WRITE_EVERY_SECONDS = 60.0
"""Least time between two writes, so that a busy service does not rewrite a file for each call."""

FAILURES = (CompactionFailed, ConsolidationFailed, EvictionFailed, FlushFailed, MaintenanceFailed)


class Meter:
    """Sums what events tell.

    Args:
        workspace: Where the sums are kept.
        clock: Tells days and when to write.
        timezone: Whose calendar names the days; `None` = the machine's own.
    """

    def __init__(self, workspace: Workspace, clock: Clock, timezone: tzinfo | None) -> None:
        self._workspace = workspace
        self._clock = clock
        self._timezone = timezone
        self._lock = threading.Lock()
        self._fresh = Usage()
        self._failures: Counter[str] = Counter()
        self._written_at: float | None = None

    @property
    def failures(self) -> dict[str, int]:
        """Failures that this process was told of, by the event's name."""
        return dict(self._failures)

    def hear(self, event: Event) -> None:
        """Note an event; only some are of interest."""
        if isinstance(event, FAILURES):
            with self._lock:
                self._failures[type(event).__name__] += 1
        if isinstance(event, ModelAsked):
            at = self._clock.now()
            spent = Spent(calls=1, failures=int(event.failed), tokens=event.tokens)
            day = at.astimezone(self._timezone).date().isoformat()
            one = Usage(days={day: {event.purpose: spent}}, succeeded_at=None if event.failed else at)
            with self._lock:
                self._fresh = self._fresh.plus(one)

    def usage(self) -> Usage:
        """Return all sums, written or not."""
        with self._lock:
            fresh = self._fresh
        return _stored(self._workspace).plus(fresh)

    def write(self, *, now: bool = False) -> None:
        """Write what is new down, if it is time; what cannot be written is tried again later.

        Args:
            now: Whether or not it is time.
        """
        at = self._clock.monotonic()
        with self._lock:
            is_early = self._written_at is not None and at - self._written_at < WRITE_EVERY_SECONDS
            if not self._fresh.days or (is_early and not now):
                return
            fresh, self._fresh, self._written_at = self._fresh, Usage(), at
        if isinstance(attempt(lambda: self._add(fresh)), Failed):
            with self._lock:
                self._fresh = fresh.plus(self._fresh)

    def _add(self, fresh: Usage) -> None:
        with self._workspace.lock("usage"):
            found = read_text(self._workspace, usage.PATH)
            known = Usage() if found is None else usage.parse(found[0])
            today = self._clock.now().astimezone(self._timezone).date()
            text = usage.render(known.plus(fresh).recent(today))
            expect = found[1] if found else None
            self._workspace.replace(usage.PATH, text_bytes(text), expect=expect, create=found is None)


def _stored(workspace: Workspace) -> Usage:
    found = attempt(lambda: read_text(workspace, usage.PATH))
    return Usage() if found is None or isinstance(found, Failed) else usage.parse(found[0])
