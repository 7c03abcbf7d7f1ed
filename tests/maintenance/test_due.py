"""When maintenance is due, and what is remembered of it."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory.config import MaintenanceConfig
from langgraph_harness_memory.formats import maintenance_state
from langgraph_harness_memory.formats.maintenance_state import MaintenanceState
from langgraph_harness_memory.maintenance.due import due

NOW = datetime(2026, 4, 12, 12, 0, tzinfo=UTC)
CONFIG = MaintenanceConfig()
FIRST, LAST = (datetime(year, 1, 1) for year in (2020, 2035))  # noqa: DTZ001  hypothesis takes naive bounds
moments = st.none() | st.datetimes(min_value=FIRST, max_value=LAST, timezones=st.just(UTC))


def ago(**kwargs: int) -> datetime:
    return NOW - timedelta(**kwargs)


def test_nothing_known_means_everything_is_due() -> None:
    """A workspace that was never looked after is looked after at once."""
    found = due(MaintenanceState(), CONFIG, now=NOW)
    assert (found.tick, found.consolidation, found.wait) == (True, True, timedelta(0))


def test_tick_waits_for_its_interval() -> None:
    """Six hours between two ticks, and the wait says how long is left."""
    found = due(MaintenanceState(ticked_at=ago(hours=5), consolidated_at=ago(hours=5)), CONFIG, now=NOW)
    assert (found.tick, found.consolidation, found.wait) == (False, False, timedelta(hours=1))
    assert due(MaintenanceState(ticked_at=ago(hours=6)), CONFIG, now=NOW).tick


def test_request_waits_for_the_gap_since_the_last_consolidation() -> None:
    """A flush's signal is served after half an hour, whatever that consolidation ended in."""
    asked = MaintenanceState(ticked_at=ago(hours=1), consolidated_at=ago(minutes=10), requested_at=ago(minutes=1))
    found = due(asked, CONFIG, now=NOW)
    assert (found.tick, found.consolidation, found.wait) == (False, False, timedelta(minutes=20))
    late = MaintenanceState(ticked_at=ago(hours=1), consolidated_at=ago(minutes=30), requested_at=ago(minutes=29))
    assert due(late, CONFIG, now=NOW).consolidation


def test_moment_in_the_future_does_not_stop_maintenance_for_years() -> None:
    """A run that was noted by a wrong clock counts as never."""
    future = NOW + timedelta(days=3650)
    assert due(MaintenanceState(ticked_at=future, consolidated_at=future), CONFIG, now=NOW).tick


@given(ticked=moments, consolidated=moments, requested=moments, now=moments.filter(bool))
def test_wait_ends_exactly_when_something_is_due(
    ticked: datetime | None, consolidated: datetime | None, requested: datetime | None, now: datetime
) -> None:
    """Before the wait is over nothing is due, after it something is, and no wait is longer than the interval."""
    state = MaintenanceState(ticked_at=ticked, consolidated_at=consolidated, requested_at=requested)
    found = due(state, CONFIG, now=now)
    assert timedelta(0) <= found.wait <= CONFIG.interval
    assert (found.wait == timedelta(0)) == (found.tick or found.consolidation)
    later = due(state, CONFIG, now=now + found.wait)
    assert later.tick or later.consolidation
    if found.tick:
        assert found.consolidation


@given(ticked=moments, consolidated=moments, requested=moments, tenant=st.none() | st.text())
def test_state_survives_its_file(
    ticked: datetime | None, consolidated: datetime | None, requested: datetime | None, tenant: str | None
) -> None:
    """What is written is read back."""
    state = MaintenanceState(tenant=tenant, ticked_at=ticked, consolidated_at=consolidated, requested_at=requested)
    assert maintenance_state.parse(maintenance_state.render(state)) == state


def test_zone_of_a_moment_does_not_matter() -> None:
    """Moments are kept in UTC."""
    at = datetime(2026, 4, 12, 20, 0, tzinfo=timezone(timedelta(hours=8)))
    assert maintenance_state.parse(maintenance_state.render(MaintenanceState(ticked_at=at))).ticked_at == NOW


@pytest.mark.parametrize(
    "text",
    ["", "nonsense", "[1]", '{"ticked_at": 5, "tenant": 7}', '{"ticked_at": "2026-04-12T12:00:00"}', "\ufffd", '"x"'],
)
def test_damaged_state_counts_as_never(text: str) -> None:
    """A file that cannot be read costs one run too many, never an error."""
    assert maintenance_state.parse(text) == MaintenanceState()
