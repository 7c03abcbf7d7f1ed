"""The persisted throttle of each root, and which roots there are."""

import dataclasses
from collections.abc import Callable, Iterable

from langgraph_harness_memory.errors import WorkspaceError
from langgraph_harness_memory.formats import maintenance_state
from langgraph_harness_memory.formats.maintenance_state import MaintenanceState
from langgraph_harness_memory.identifiers import tenant_root
from langgraph_harness_memory.steps import Conflict, Failed, Steps, WriteText, read_text, write_text
from langgraph_harness_memory.workspace import Workspace
from langgraph_harness_memory.workspace import read_text as text_of

USERS = "users"
"""Folder of the tenants' roots."""

ATTEMPTS = 6
"""Tries of a write; each that fails is one more process that has just written."""


def read_state(tenant: str | None) -> Steps[MaintenanceState]:
    """Read what is known of a root's earlier runs; nothing where it cannot be read.

    Ticks are of the whole workspace, so that a tenant's state tells of them what the shared root's does.
    """
    found = yield from read_text(tenant, maintenance_state.PATH)
    state = MaintenanceState() if found is None or isinstance(found, Failed) else maintenance_state.parse(found.text)
    if tenant is None:
        return state
    shared = yield from read_state(None)
    return dataclasses.replace(state, ticked_at=shared.ticked_at)


def change_state(
    tenant: str | None, change: Callable[[MaintenanceState], MaintenanceState]
) -> Steps[MaintenanceState | Failed]:
    """Change what is known of a root's earlier runs, whatever other processes write meanwhile."""
    for _ in range(ATTEMPTS):
        found = yield from read_text(tenant, maintenance_state.PATH)
        if isinstance(found, Failed):
            return found
        old = maintenance_state.parse(found.text) if found else MaintenanceState()
        new = dataclasses.replace(change(old), tenant=tenant)
        text = maintenance_state.render(new)
        step = WriteText(tenant=tenant, path=maintenance_state.PATH, text=text, expect=found.version if found else None)
        written = yield from write_text(step)
        if not isinstance(written, Conflict):
            return written if isinstance(written, Failed) else new
    return Failed(error=WorkspaceError(f"{maintenance_state.PATH} changed {ATTEMPTS} times while it was written"))


def known_tenants(workspace: Workspace, seen: Iterable[str | None] = ()) -> list[str | None]:
    """List whose memories there are: the shared root first, then tenants by id.

    Args:
        workspace: The root.
        seen: Tenants known from elsewhere, for example the owners of sessions.
    """
    found = {tenant for tenant in seen if tenant is not None}
    for stem in workspace.folders(USERS):
        stored = text_of(workspace, f"{USERS}/{stem}/{maintenance_state.PATH}")
        named = None if stored is None else maintenance_state.parse(stored[0]).tenant
        # A plain id spells its folder, so that files put there by hand are looked after too.
        tenant = stem if named is None else named
        if str(tenant_root(tenant)) == f"{USERS}/{stem}":
            found.add(tenant)
    return [None, *sorted(found)]
