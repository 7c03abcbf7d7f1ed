"""How a memory is doing, at a glance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from langgraph_harness_memory.formats import memory_md
from langgraph_harness_memory.maintenance.throttle import known_tenants, read_state
from langgraph_harness_memory.memory.parts import Parts
from langgraph_harness_memory.performers import attempt
from langgraph_harness_memory.sessions.log import SessionInfo
from langgraph_harness_memory.steps import Failed, drive
from langgraph_harness_memory.workspace import Lease

DAYS_SHOWN = timedelta(days=30)

PROBE = "health"
"""Name of the claim that is made and given back to see whether the workspace can be written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Health:
    """How a memory is doing."""

    workspace: str
    """The folder, or the URL without its password."""
    is_writable: bool
    tenants: int
    """Tenants with a memory, without the shared root."""
    sessions: int
    unflushed: int
    """Messages whose facts are not in a daily log yet."""
    oldest_unflushed_at: datetime | None
    """When the oldest of them was said; `None` where nothing waits."""
    succeeded_at: datetime | None
    """When a model last answered memory itself."""
    failures: Mapping[str, int]
    """Failures since this process opened the memory, by the event's name."""
    tokens_by_day: Mapping[str, int]
    """What memory itself asked of models in the last 30 days, by day `YYYY-MM-DD`."""
    memory_characters: int
    """Size of the shared `MEMORY.md`."""
    ticked_at: datetime | None
    """Start of the last whole tick of maintenance."""
    consolidated_at: datetime | None
    """Start of the last consolidation of the shared memory."""
    requested_at: datetime | None
    """When a consolidation of the shared memory was asked for that has not begun yet."""
    is_scheduler_running: bool
    problems: tuple[str, ...]
    """What could not be looked at, and why."""

    @property
    def is_well(self) -> bool:
        """Whether memory can do its part."""
        return self.is_writable and not self.problems


def look(parts: Parts) -> Health:
    """Look at a memory; nothing here raises for what is wrong with it."""
    lease = attempt(lambda: _probe(parts))
    threads = attempt(parts.sessions.threads)
    tenants = attempt(lambda: known_tenants(parts.workspace))
    memory = attempt(lambda: parts.workspace.stat(memory_md.PATH))
    index = attempt(lambda: parts.index().search("", 1))
    looked = {"sessions": threads, "tenants": tenants, "MEMORY.md": memory, "index": index, "writing": lease}
    infos = [] if isinstance(threads, Failed) else threads
    usage = parts.meter.usage().since((parts.clock.now() - DAYS_SHOWN).date())
    state = drive(read_state(None), parts.performer().perform)
    return Health(
        workspace=parts.workspace.name,
        is_writable=not isinstance(lease, Failed),
        tenants=0 if isinstance(tenants, Failed) else len(tenants) - 1,
        sessions=len(infos),
        unflushed=sum(info.unflushed for info in infos),
        oldest_unflushed_at=_oldest(parts, infos),
        succeeded_at=usage.succeeded_at,
        failures=parts.meter.failures,
        tokens_by_day={day: sum(s.tokens for s in spent.values()) for day, spent in sorted(usage.days.items())},
        memory_characters=0 if memory is None or isinstance(memory, Failed) else memory.size,
        ticked_at=state.ticked_at,
        consolidated_at=state.consolidated_at,
        requested_at=state.requested_at,
        is_scheduler_running=parts.scheduler.running,
        problems=tuple(f"{what}: {found.reason}" for what, found in looked.items() if isinstance(found, Failed)),
    )


def _oldest(parts: Parts, infos: Sequence[SessionInfo]) -> datetime | None:
    """Look into the sessions with something unflushed; a session that cannot be read is a problem of its own."""
    moments = []
    for info in infos:
        waiting = attempt(lambda at=info: parts.sessions.unflushed(at.thread_id)) if info.unflushed else []  # type: ignore[misc]
        if not isinstance(waiting, Failed) and waiting:
            moments.append(waiting[0].logged_at)
    return min(moments, default=None)


def _probe(parts: Parts) -> Lease | None:
    lease = parts.workspace.acquire_lease(PROBE, ttl=parts.upkeep.settings.lease)
    if lease is not None:
        parts.workspace.release_lease(lease)
    return lease
