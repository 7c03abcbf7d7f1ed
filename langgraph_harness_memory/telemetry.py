"""Events as OpenTelemetry metrics and span events; the one door to opentelemetry.

    HarnessMemory(…, on_event=opentelemetry_events())

Texts stay out: an attribute names what happened and how much, never what was said.
"""

from collections.abc import Mapping
from typing import Any

from langgraph_harness_memory.errors import MissingExtra
from langgraph_harness_memory.events import Event, OnEvent, as_dict

SCOPE = "langgraph_harness_memory"
"""Name of the tracer's and the meter's scope."""

IDENTIFYING = frozenset({"type", "thread_id", "tenant"})
"""Not attributes of a metric: a series for each thread would never end. Span events carry the thread."""

TEXTS = frozenset({"reason", "path", "kept_aside", "parents"})
"""May hold what was said, or part of a path that a user named; they stay in the log."""


def opentelemetry_events(
    *, tracer_provider: Any = None, meter_provider: Any = None, then: OnEvent | None = None
) -> OnEvent:
    """Return an `on_event` that counts events and notes them on the span that is current.

    * counter `harness_memory.events`, one for each event, with `harness_memory.event` (for example `memory.compacted`);
    * a histogram `harness_memory.<event>.<field>` for each number an event carries, for example `harness_memory.flushed.facts`;
    * a span event of the same name on the current span, so that a turn's trace shows what memory did in it; where no span is
      recording (a background flush, a tick) a span of its own.

    Args:
        tracer_provider: Where spans go; `None` = the global one.
        meter_provider: Where metrics go; `None` = the global one.
        then: Receives each event afterwards; `None` = nobody.

    Raises:
        MissingExtra: opentelemetry is not installed.
    """
    try:
        from opentelemetry import metrics, trace  # noqa: PLC0415  an extra
    except ImportError as error:
        raise MissingExtra("opentelemetry_events()", "otel") from error
    tracer = trace.get_tracer(SCOPE, tracer_provider=tracer_provider)
    meter = metrics.get_meter(SCOPE, meter_provider=meter_provider)
    counter = meter.create_counter("harness_memory.events", unit="{event}", description="What memory did")
    histograms: dict[str, Any] = {}

    def tell(event: Event) -> None:
        fields = as_dict(event)
        name = str(fields["type"])
        counter.add(1, {"harness_memory.event": name})
        for key, value in _numbers(fields).items():
            metric = f"harness_memory.{name.removeprefix('memory.')}.{key}"
            if metric not in histograms:
                histograms[metric] = meter.create_histogram(metric)
            histograms[metric].record(value)
        attributes = {f"harness_memory.{key}": value for key, value in _attributes(fields).items()}
        current = trace.get_current_span()
        if current.is_recording():
            current.add_event(name, attributes)
        else:
            tracer.start_span(name, attributes=attributes).end()
        if then is not None:
            then(event)

    return tell


def _numbers(fields: Mapping[str, Any]) -> dict[str, float]:
    return {
        key: value
        for key, value in fields.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and key not in IDENTIFYING
    }


def _attributes(fields: Mapping[str, Any]) -> dict[str, str | bool | int | float]:
    kept = {key: value for key, value in fields.items() if key != "type" and key not in TEXTS}
    return {key: value for key, value in kept.items() if isinstance(value, str | bool | int | float)}
