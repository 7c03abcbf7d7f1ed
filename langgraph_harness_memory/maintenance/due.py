"""When maintenance is due: one pure function for every host.

The in-process scheduler, the command line, a server's cron and a node in somebody's graph all ask here, so that two
hosts by mistake do no harm.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from langgraph_harness_memory.config import MaintenanceConfig
from langgraph_harness_memory.formats.maintenance_state import MaintenanceState

NOW = timedelta(0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """What may run now, and how long until something may."""

    tick: bool
    """A whole tick: the interval is over."""
    consolidation: bool
    """A consolidation: a flush asked for one and the gap is over, or a tick is due."""
    wait: timedelta
    """Until the next of the two may run by itself; zero when one may now."""


def due(state: MaintenanceState, config: MaintenanceConfig, *, now: datetime) -> Due:
    """Say what of a root's maintenance may run.

    Args:
        state: What is known of earlier runs. A moment in the future (the clock was wrong then or is now) counts as never:
            the run that follows corrects it, where waiting for it could take years.
        config: The interval of ticks and the least gap between consolidations.
        now: The current moment, aware.
    """
    until_tick = _left(state.ticked_at, config.interval, now)
    until_consolidation = until_tick
    if state.requested_at is not None:
        until_consolidation = min(until_tick, _left(state.consolidated_at, config.min_gap, now))
    return Due(
        tick=until_tick == NOW,
        consolidation=until_consolidation == NOW,
        wait=min(until_tick, until_consolidation),
    )


def _left(last: datetime | None, gap: timedelta, now: datetime) -> timedelta:
    if last is None or last > now:
        return NOW
    return max(NOW, gap - (now - last))
