"""How a memory is doing, at a glance."""

from dataclasses import dataclass
from datetime import datetime

from langgraph_harness_memory.formats import memory_md
from langgraph_harness_memory.maintenance.throttle import known_tenants, read_state
from langgraph_harness_memory.memory.parts import Parts
from langgraph_harness_memory.performers import attempt
from langgraph_harness_memory.steps import Failed, drive
from langgraph_harness_memory.workspace import Lease

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
    state = drive(read_state(None), parts.performer().perform)
    return Health(
        workspace=parts.workspace.name,
        is_writable=not isinstance(lease, Failed),
        tenants=0 if isinstance(tenants, Failed) else len(tenants) - 1,
        sessions=len(infos),
        unflushed=sum(info.unflushed for info in infos),
        memory_characters=0 if memory is None or isinstance(memory, Failed) else memory.size,
        ticked_at=state.ticked_at,
        consolidated_at=state.consolidated_at,
        requested_at=state.requested_at,
        is_scheduler_running=parts.scheduler.running,
        problems=tuple(f"{what}: {found.reason}" for what, found in looked.items() if isinstance(found, Failed)),
    )


def _probe(parts: Parts) -> Lease | None:
    lease = parts.workspace.acquire_lease(PROBE, ttl=parts.upkeep.settings.lease)
    if lease is not None:
        parts.workspace.release_lease(lease)
    return lease
