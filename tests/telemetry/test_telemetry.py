"""Events reach OpenTelemetry, without what was said."""

import sys
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from langgraph_harness_memory.errors import MissingExtra
from langgraph_harness_memory.events import CompactionFailed, Event, Flushed
from langgraph_harness_memory.telemetry import opentelemetry_events

FLUSHED = Flushed(thread_id="t1", tenant="ann", messages=4, facts=2, path="memory/2026-01-05.md")


@pytest.fixture
def sink() -> Any:
    class Sink:
        spans = InMemorySpanExporter()
        reader = InMemoryMetricReader()
        tracers = TracerProvider()
        heard: list[Event] = []

    Sink.tracers.add_span_processor(SimpleSpanProcessor(Sink.spans))
    Sink.meters = MeterProvider(metric_readers=[Sink.reader])
    Sink.tell = staticmethod(
        opentelemetry_events(tracer_provider=Sink.tracers, meter_provider=Sink.meters, then=Sink.heard.append)
    )
    return Sink


def points(sink: Any) -> dict[str, list[Any]]:
    data = sink.reader.get_metrics_data()
    metrics = data.resource_metrics[0].scope_metrics[0].metrics
    return {metric.name: list(metric.data.data_points) for metric in metrics}


def test_events_are_counted_by_kind_and_their_numbers_measured(sink: Any) -> None:
    """Two flushes of two facts each: two events, four facts, and no series for a thread."""
    sink.tell(FLUSHED)
    sink.tell(FLUSHED)
    found = points(sink)
    (count,) = found["harness_memory.events"]
    assert (count.value, dict(count.attributes)) == (2, {"harness_memory.event": "memory.flushed"})
    assert found["harness_memory.flushed.facts"][0].sum == 4
    assert sink.heard == [FLUSHED, FLUSHED]


def test_an_event_within_a_span_is_noted_on_it(sink: Any) -> None:
    """A turn's trace shows what memory did in it, and whose thread it was."""
    with sink.tracers.get_tracer("test").start_as_current_span("turn"):
        sink.tell(FLUSHED)
    (span,) = sink.spans.get_finished_spans()
    (event,) = span.events
    assert (span.name, event.name) == ("turn", "memory.flushed")
    assert event.attributes["harness_memory.thread_id"] == "t1"


def test_an_event_outside_every_span_has_its_own(sink: Any) -> None:
    """A background flush is seen too."""
    sink.tell(FLUSHED)
    assert [span.name for span in sink.spans.get_finished_spans()] == ["memory.flushed"]


def test_what_was_said_and_paths_stay_out(sink: Any) -> None:
    """A reason may quote a model, and a path a user's name."""
    sink.tell(CompactionFailed(thread_id="t1", reason="the model said: my dog is ill", failures=1))
    sink.tell(FLUSHED)
    told = str([dict(span.attributes) for span in sink.spans.get_finished_spans()])
    assert "dog" not in told
    assert "memory/2026" not in told
    assert "'harness_memory.failures': 1" in told


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has not installed opentelemetry is told how to."""
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(MissingExtra, match=r"langgraph-harness-memory\[otel\]"):
        opentelemetry_events()
