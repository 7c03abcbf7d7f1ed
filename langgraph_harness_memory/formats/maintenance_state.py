"""`memory/.maintenance.json`: when a root was last looked after, and what it was asked for since.

One file per root (the shared one, each tenant's), so that the throttle survives restarts and is shared by processes.
A tenant's folder does not spell its id, so the file does. What cannot be read counts as "never": the worst that can
follow is one run too many.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

VERSION = 1
PATH = "memory/.maintenance.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class MaintenanceState:
    """What is known of earlier runs of one root."""

    tenant: str | None = None
    """Whose root it is; `None` = the shared one."""
    ticked_at: datetime | None = None
    """Start of the last whole tick; aware."""
    consolidated_at: datetime | None = None
    """Start of the last consolidation, whatever its outcome; aware."""
    requested_at: datetime | None = None
    """When a flush last asked for a consolidation that has not begun yet; aware."""


def parse(text: str) -> MaintenanceState:
    """Read a state; unknown fields and bad values count as never written."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return MaintenanceState()
    if not isinstance(fields, dict):
        return MaintenanceState()
    tenant = fields.get("tenant")
    return MaintenanceState(
        tenant=tenant if isinstance(tenant, str) else None,
        ticked_at=_moment(fields.get("ticked_at")),
        consolidated_at=_moment(fields.get("consolidated_at")),
        requested_at=_moment(fields.get("requested_at")),
    )


def render(state: MaintenanceState) -> str:
    """Write a state as one line of JSON."""
    fields: dict[str, Any] = {"v": VERSION}
    if state.tenant is not None:
        fields["tenant"] = state.tenant
    for name in ("ticked_at", "consolidated_at", "requested_at"):
        moment = getattr(state, name)
        if moment is not None:
            fields[name] = moment.astimezone(UTC).isoformat()
    return json.dumps(fields) + "\n"


def _moment(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo else None
