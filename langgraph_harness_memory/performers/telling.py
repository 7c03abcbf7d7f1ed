"""Tell what happened: to the callback, to the custom stream, to the log."""

import dataclasses
import logging
import threading
from collections.abc import Callable

from langgraph.config import get_stream_writer

from langgraph_harness_memory.events import (
    CompactionFailed,
    ConsolidationFailed,
    Damaged,
    Degraded,
    Event,
    EvictionFailed,
    FlushFailed,
    MaintenanceFailed,
    OnEvent,
    as_dict,
)

log = logging.getLogger("langgraph_harness_memory")

WARNINGS = (
    CompactionFailed,
    ConsolidationFailed,
    Damaged,
    Degraded,
    EvictionFailed,
    FlushFailed,
    MaintenanceFailed,
)
"""Events that a person should see without asking; the others are logged at INFO."""


class Teller:
    """Tells events, each once, and never raises into a run.

    Args:
        on_event: Receives each event; what it raises is logged.
        redact: Takes secrets out of the texts of an event; `None` = leaves them.
    """

    def __init__(self, on_event: OnEvent | None = None, *, redact: Callable[[str], str] | None = None) -> None:
        self._on_event = on_event
        self._redact = redact
        self._listeners: list[OnEvent] = []
        self._lock = threading.Lock()
        self._causes: set[tuple[str, str]] = set()

    def listen(self, listener: OnEvent) -> None:
        """Have a part of memory itself hear each event before the user does."""
        self._listeners.append(listener)

    def tell(self, event: Event) -> None:
        """Tell an event to the callback, to the stream of the run that is under way, and to the log."""
        event = self._clean(event)
        fields = as_dict(event)
        log.log(logging.WARNING if isinstance(event, WARNINGS) else logging.INFO, "%s", fields)
        for listener in self._listeners:
            listener(event)
        self._call(event)
        self._stream(fields)

    def degraded(self, what: str, error: Exception, *, thread_id: str | None = None, tenant: str | None = None) -> None:
        """Tell that memory could not do its part, once per cause until that part works again."""
        cause = (what, type(error).__name__)
        with self._lock:
            if cause in self._causes:
                return
            self._causes.add(cause)
        reason = f"{type(error).__name__}: {error}"[:500]
        self.tell(Degraded(what=what, reason=reason, thread_id=thread_id, tenant=tenant))

    def works(self, what: str) -> None:
        """Note that a part of memory works, so that its next failure is told again."""
        if self._causes:
            with self._lock:
                self._causes = {cause for cause in self._causes if cause[0] != what}

    def _clean(self, event: Event) -> Event:
        reason = getattr(event, "reason", None)
        if self._redact is None or not isinstance(reason, str):
            return event
        return dataclasses.replace(event, reason=self._redact(reason))  # type: ignore[call-arg]  # it has one, see above

    def _call(self, event: Event) -> None:
        if self._on_event is None:
            return
        try:
            self._on_event(event)
        except Exception:
            log.exception("on_event raised for %s", type(event).__name__)

    def _stream(self, fields: dict[str, object]) -> None:
        try:
            write = get_stream_writer()
        except (RuntimeError, KeyError, AttributeError):  # outside a run
            return
        try:
            write(fields)
        except Exception:
            log.exception("the custom stream refused %s", fields["type"])
