"""The steps of a tick: what each has to do, and the rule that does it.

A step gathers first (files are listed; no model is asked) and is then driven like every other rule, so that the same
text serves sync and async.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from langgraph_harness_memory.clock import Clock
from langgraph_harness_memory.config import ConsolidationConfig, MaintenanceConfig, MemoryConfig
from langgraph_harness_memory.curation.consolidation import ConsolidationReport, consolidate
from langgraph_harness_memory.curation.flush import flush
from langgraph_harness_memory.curation.screening import Screening
from langgraph_harness_memory.formats.maintenance_state import MaintenanceState
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.index.hits import Index
from langgraph_harness_memory.maintenance.report import (
    ConsolidatedMemory,
    ExpiredLogs,
    RecoveredThread,
    StepFailure,
    StepName,
    TickState,
)
from langgraph_harness_memory.maintenance.retention import expire
from langgraph_harness_memory.maintenance.throttle import change_state, known_tenants, read_state
from langgraph_harness_memory.performers import Performer, Teller
from langgraph_harness_memory.sessions.log import SessionInfo, SessionLog
from langgraph_harness_memory.steps import Failed, Steps, now
from langgraph_harness_memory.workspace import Workspace

Update = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Upkeep:
    """What a tick looks after, and with what."""

    workspace: Workspace
    sessions: SessionLog
    index: Callable[[], Index]
    performer: Callable[[], Performer]
    """Who acts; asked for at each step, since an agent's model may be bound later."""
    teller: Teller
    clock: Clock
    config: MemoryConfig
    screening: Screening
    forget_checkpoints: Callable[[str], None]
    """Deletes the checkpoints of a thread whose session was pruned, where they do not lie beside it."""
    is_running: Callable[[str], bool]
    """Whether a run of a thread is under way in this process, which will flush what it says itself."""
    under_way: set[tuple[int, str]] = field(default_factory=set)
    """Process and claim of the ticks that this memory runs now, so that one that is turned away can say by whom."""

    @property
    def settings(self) -> MaintenanceConfig:
        """The maintenance group; the defaults where it is switched off and a tick is asked for by hand."""
        return self.config.maintenance or MaintenanceConfig()


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One step: `gather` may block and asks no model, `rule` does no I/O of its own."""

    gather: Callable[[Upkeep, TickState], Any]
    rule: Callable[[Upkeep, Any], Steps[Update]]


def _is_mine(state: TickState, tenant: str | None) -> bool:
    return "user_id" not in state or state["user_id"] == tenant


def _tenants(upkeep: Upkeep, state: TickState) -> list[str | None]:
    if "user_id" in state:
        return [state["user_id"]]
    return known_tenants(upkeep.workspace, (info.tenant for info in upkeep.sessions.threads()))


# -- recover: flush what a crash cut off


def _unflushed(upkeep: Upkeep, state: TickState) -> list[SessionInfo]:
    flushes = upkeep.config.flush
    if flushes is None or flushes.trigger == "never":
        return []
    waiting = [info for info in upkeep.sessions.threads() if info.unflushed and _is_mine(state, info.tenant)]
    # Whoever asks for a tick by hand means all that is there.
    return [info for info in waiting if state.get("force", False) or not upkeep.is_running(info.thread_id)]


def _recover(upkeep: Upkeep, threads: list[SessionInfo]) -> Steps[Update]:
    recovered: list[RecoveredThread] = []
    failures: list[StepFailure] = []
    settings = upkeep.config.flush
    if settings is None:
        return {}
    for info in threads:
        thread = ThreadRef(thread_id=info.thread_id, tenant=info.tenant)
        report = yield from flush(thread, settings=settings, screening=upkeep.screening, everything=True)
        if report.messages:
            recovered.append(RecoveredThread(thread_id=info.thread_id, messages=report.messages, facts=report.facts))
        if report.failed is not None:
            failures.append(StepFailure(step="recover", tenant=info.tenant, reason=report.failed))
    return {"recovered": recovered, "failures": failures}


# -- consolidate: merge what is new by line


def _to_consolidate(upkeep: Upkeep, state: TickState) -> list[str | None]:
    return [] if upkeep.config.consolidation is None else _tenants(upkeep, state)


def _consolidate(upkeep: Upkeep, tenants: list[str | None]) -> Steps[Update]:
    consolidated: list[ConsolidatedMemory] = []
    failures: list[StepFailure] = []
    settings = upkeep.config.consolidation
    if settings is None:
        return {}
    for tenant in tenants:
        report = yield from consolidate_now(upkeep, tenant, settings)
        if report.failed is not None:
            failures.append(StepFailure(step="consolidate", tenant=tenant, reason=report.failed))
        if report.merged:
            consolidated.append(
                ConsolidatedMemory(
                    tenant=tenant,
                    merged=report.merged,
                    added=report.added,
                    changed=report.changed,
                    dropped=report.dropped,
                )
            )
    return {"consolidated": consolidated, "failures": failures}


def consolidate_now(upkeep: Upkeep, tenant: str | None, settings: ConsolidationConfig) -> Steps[ConsolidationReport]:
    """Consolidate one tenant's memory and note it for the throttle.

    A request stays noted until a consolidation that began after it went well, so that a failing model is asked again
    after the gap and a crash loses no request. One that found nothing to merge asked no model and does not count: what is
    flushed a moment later would wait half an hour for it.
    """
    at = yield from now()
    before = yield from read_state(tenant)
    yield from change_state(tenant, lambda state: dataclasses.replace(state, consolidated_at=at))
    report = yield from consolidate(
        tenant, settings=settings, screening=upkeep.screening, review=upkeep.config.privacy.review
    )
    if report.failed is None:
        yield from change_state(tenant, lambda state: _served(state, at))
        if not report.merged:
            yield from change_state(tenant, lambda state: _uncounted(state, at, before.consolidated_at))
    return report


def _uncounted(state: MaintenanceState, at: datetime, before: datetime | None) -> MaintenanceState:
    return dataclasses.replace(state, consolidated_at=before) if state.consolidated_at == at else state


def _served(state: MaintenanceState, at: datetime) -> MaintenanceState:
    is_served = state.requested_at is not None and state.requested_at <= at
    return dataclasses.replace(state, requested_at=None) if is_served else state


# -- expire: archive merged daily logs


def _expire(upkeep: Upkeep, tenants: list[str | None]) -> Steps[Update]:
    expired: list[ExpiredLogs] = []
    failures: list[StepFailure] = []
    for tenant in tenants:
        done = yield from expire(tenant, upkeep.settings, merges=upkeep.config.consolidation is not None)
        if isinstance(done, Failed):
            failures.append(StepFailure(step="expire", tenant=tenant, reason=done.reason))
        elif done.archived or done.waiting or done.deleted:
            expired.append(
                ExpiredLogs(
                    tenant=tenant,
                    archived=list(done.archived),
                    waiting=list(done.waiting),
                    deleted=list(done.deleted),
                )
            )
    return {"expired": expired, "failures": failures}


# -- prune: delete sessions that nobody came back to


def _prune(upkeep: Upkeep, state: TickState) -> list[str]:
    days = upkeep.settings.session_retention_days
    if not days or "user_id" in state:
        return []
    before = upkeep.clock.now() - timedelta(days=days)
    flushes = upkeep.config.flush
    pruned = upkeep.sessions.prune(before, only_flushed=flushes is not None and flushes.trigger != "never")
    for info in pruned:
        upkeep.forget_checkpoints(info.thread_id)
    return [info.thread_id for info in pruned]


def _pruned(_: Upkeep, threads: list[str]) -> Steps[Update]:
    yield from ()
    return {"pruned": threads}


# -- reindex: compare the content of every file with the index


REINDEXED_LINES = 5_000
"""Rows that a tick compares with their lines, beside the files that changed (0.2 s); all of them where there are no more.
`harness-memory reindex` compares everything."""


def _reindex(upkeep: Upkeep, state: TickState) -> int:
    tenants = _tenants(upkeep, state)
    # The view of the shared root looks after every tenant, also of one that left nothing but rows.
    upkeep.index().for_tenant(state.get("user_id")).reindex(lines=REINDEXED_LINES)
    return len(tenants)


def _reindexed(_: Upkeep, tenants: int) -> Steps[Update]:
    yield from ()
    return {"reindexed": tenants}


TASKS: Mapping[StepName, Task] = {
    "recover": Task(gather=_unflushed, rule=_recover),
    "consolidate": Task(gather=_to_consolidate, rule=_consolidate),
    "expire": Task(gather=_tenants, rule=_expire),
    "prune": Task(gather=_prune, rule=_pruned),
    "reindex": Task(gather=_reindex, rule=_reindexed),
}
