"""Whether a tick may run now: one process per workspace at a time, and only when it is due."""

import dataclasses
import os
from typing import Any

from langgraph_harness_memory.maintenance.due import due
from langgraph_harness_memory.maintenance.report import TickState
from langgraph_harness_memory.maintenance.tasks import Upkeep
from langgraph_harness_memory.maintenance.throttle import change_state, read_state
from langgraph_harness_memory.performers import attempt
from langgraph_harness_memory.steps import Failed, drive
from langgraph_harness_memory.workspace import Lease

LEASE = "maintenance"
"""Name of the claim on a workspace."""

ELSEWHERE = "another process is at it"
HERE = "this process is at it already: its own scheduler, or another call of maintain()"
"""Why a tick does not run while another one does."""


def claim(upkeep: Upkeep, state: TickState) -> dict[str, Any]:
    """Begin a tick: a clean report, and the claim on the workspace if the tick may run.

    A workspace that cannot be written gives no lease; the tick is then skipped with the reason.
    """
    at = upkeep.clock.now()
    blank: dict[str, Any] = {
        "ran": False,
        "skipped": "",
        "started_at": at.isoformat(),
        "finished_at": at.isoformat(),
        "recovered": [],
        "consolidated": [],
        "expired": [],
        "pruned": [],
        "reindexed": 0,
        "failures": [],
    }
    if not state.get("force", False) and not _is_due(upkeep, state):
        return {**blank, "skipped": "not due"}
    lease = attempt(lambda: upkeep.workspace.acquire_lease(LEASE, ttl=upkeep.settings.lease))
    if isinstance(lease, Failed):
        return {**blank, "skipped": lease.reason}
    if lease is None:
        mine = any(process == os.getpid() for process, _ in list(upkeep.under_way))
        return {**blank, "skipped": HERE if mine else ELSEWHERE}
    if not state.get("force", False) and not _is_due(upkeep, state):
        attempt(lambda: upkeep.workspace.release_lease(lease))  # another process ran it between the two
        return {**blank, "skipped": "not due"}
    upkeep.under_way.add((os.getpid(), lease.owner))
    if "user_id" not in state and state.get("steps") is None:
        drive(change_state(None, lambda old: dataclasses.replace(old, ticked_at=at)), upkeep.performer().perform)
    return {**blank, "ran": True, "lease": lease.owner}


def _is_due(upkeep: Upkeep, state: TickState) -> bool:
    known = drive(read_state(state.get("user_id")), upkeep.performer().perform)
    found = due(known, upkeep.settings, now=upkeep.clock.now())
    return found.consolidation if state.get("steps") == ["consolidate"] else found.tick


def renew(upkeep: Upkeep, state: TickState) -> None:
    """Give a sign of life between two steps; a disk that refuses it does not stop the steps, which say so themselves."""
    if "lease" in state:
        held = Lease(name=LEASE, owner=state["lease"])
        attempt(lambda: upkeep.workspace.renew_lease(held, ttl=upkeep.settings.lease))


def release(upkeep: Upkeep, state: TickState) -> dict[str, Any]:
    """End a tick and give the claim back; one that cannot be given back ends by itself."""
    if "lease" in state:
        held = Lease(name=LEASE, owner=state["lease"])
        attempt(lambda: upkeep.workspace.release_lease(held))
        upkeep.under_way.discard((os.getpid(), held.owner))
    return {"finished_at": upkeep.clock.now().isoformat()}
