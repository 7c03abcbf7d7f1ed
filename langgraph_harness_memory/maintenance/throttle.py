"""The persisted throttle of each root, and which roots there are."""

from collections.abc import Callable, Iterable

from langgraph_harness_memory.errors import VersionConflict
from langgraph_harness_memory.formats import maintenance_state
from langgraph_harness_memory.formats.maintenance_state import MaintenanceState
from langgraph_harness_memory.identifiers import tenant_root
from langgraph_harness_memory.workspace import Workspace

USERS = "users"
"""Folder of the tenants' roots."""

RETRIES = 5
"""Tries of a write that another process was faster with; each try is one more process that has just written."""


def root(workspace: Workspace, tenant: str | None) -> Workspace:
    """Return the workspace of a tenant's memory."""
    return workspace if tenant is None else workspace.under(str(tenant_root(tenant)))


def read_state(workspace: Workspace, tenant: str | None) -> MaintenanceState:
    """Read what is known of a root's earlier runs."""
    stored = root(workspace, tenant).read(maintenance_state.PATH)
    return MaintenanceState() if stored is None else maintenance_state.parse(stored.data)


def update_state(
    workspace: Workspace, tenant: str | None, change: Callable[[MaintenanceState], MaintenanceState]
) -> MaintenanceState:
    """Change what is known of a root's earlier runs, whatever other processes write meanwhile.

    Raises:
        VersionConflict: Others were faster each time.
    """
    files = root(workspace, tenant)
    for left in range(RETRIES, -1, -1):
        stored = files.read(maintenance_state.PATH)
        state = change(MaintenanceState() if stored is None else maintenance_state.parse(stored.data))
        data = maintenance_state.render(state)
        try:
            files.replace(
                maintenance_state.PATH, data, expect=None if stored is None else stored.version, create=stored is None
            )
        except VersionConflict:
            if not left:
                raise
        else:
            break
    return state


def known_tenants(workspace: Workspace, seen: Iterable[str | None] = ()) -> list[str | None]:
    """List whose memories there are: the shared root first, then tenants by id.

    Args:
        workspace: The root.
        seen: Tenants known from elsewhere, for example the owners of sessions.
    """
    found = {tenant for tenant in seen if tenant is not None}
    for stem in workspace.folders(USERS):
        stored = workspace.read(f"{USERS}/{stem}/{maintenance_state.PATH}")
        tenant = None if stored is None else maintenance_state.parse(stored.data).tenant
        if tenant is not None and str(tenant_root(tenant)) == f"{USERS}/{stem}":
            found.add(tenant)
        elif tenant is None and str(tenant_root(stem)) == f"{USERS}/{stem}":
            found.add(stem)  # a plain id spells its folder, so that files put there by hand are looked after too
    return [None, *sorted(found)]
