"""What a workspace holds, in figures; for `status` and `doctor`."""

from dataclasses import dataclass
from datetime import datetime

from langgraph_harness_memory.cli.opening import tenant_workspace
from langgraph_harness_memory.formats import daily_log, maintenance_state, memory_md
from langgraph_harness_memory.identifiers import tenant_root
from langgraph_harness_memory.memory import HarnessMemory
from langgraph_harness_memory.sessions.values import SessionInfo
from langgraph_harness_memory.workspace import Workspace, read_text


@dataclass(frozen=True, kw_only=True, slots=True)
class Holding:
    """What one tenant's memory holds."""

    user: str | None
    sessions: int
    messages: int
    unflushed: int
    """Messages that no flush has looked at yet."""
    first_message: datetime | None
    """When the oldest session began."""
    oldest_unflushed: datetime | None
    """When the oldest session with such messages last heard something."""
    daily_logs: int
    archived_logs: int
    logged_facts: int
    """Lines of daily logs, the archive included."""
    memory_facts: int
    """Lines of MEMORY.md."""
    memory_versions: int
    """Earlier versions that can be restored."""
    last_tick: datetime | None
    last_consolidation: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Disk:
    """Bytes by kind of file."""

    sessions: int = 0
    evicted: int = 0
    memory: int = 0
    knowledge: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        """All of them together."""
        return self.sessions + self.evicted + self.memory + self.knowledge + self.other


def holding(memory: HarnessMemory, user: str | None) -> Holding:
    """Measure one tenant's memory; reads each of its files once."""
    root = tenant_workspace(memory.workspace, user)
    sessions = memory.sessions.threads(tenant=user)
    days = [info.path for info in root.files("memory") if daily_log.day_of(info.path) is not None]
    text = read_text(root, memory_md.PATH)
    state = _state(root)
    waiting = [s for s in sessions if s.unflushed]
    return Holding(
        user=user,
        sessions=len(sessions),
        messages=sum(s.messages for s in sessions),
        unflushed=sum(s.unflushed for s in sessions),
        first_message=min((s.first_at for s in sessions), default=None),
        oldest_unflushed=min((s.last_at for s in waiting), default=None),
        daily_logs=sum(not path.startswith(daily_log.ARCHIVE) for path in days),
        archived_logs=sum(path.startswith(daily_log.ARCHIVE) for path in days),
        logged_facts=sum(_facts(root, path) for path in days),
        memory_facts=len(memory_md.facts(text[0])) if text else 0,
        memory_versions=len(memory_md.versions(info.path for info in root.files(memory_md.BACKUPS))),
        last_tick=state.ticked_at,
        last_consolidation=state.consolidated_at,
    )


def users(workspace: Workspace, sessions: list[SessionInfo]) -> list[str]:
    """List the tenants that are known: those of sessions, and those whose folder names them."""
    known = {s.tenant for s in sessions if s.tenant is not None}
    for folder in workspace.folders("users"):
        state = _state(workspace.under(f"users/{folder}"))
        if state.tenant is not None:
            known.add(state.tenant)
    return sorted(known)


def is_known(workspace: Workspace, sessions: list[SessionInfo], user: str) -> bool:
    """Say whether a user has a session or a folder here, also one that does not tell whose it is."""
    return user in users(workspace, sessions) or tenant_root(user).name in workspace.folders("users")


def nameless(workspace: Workspace, known: list[str]) -> list[str]:
    """List the folders of tenants whose id nothing tells any more."""
    named = {tenant_root(user).name for user in known}
    return [folder for folder in workspace.folders("users") if folder not in named]


def disk(workspace: Workspace, *, evicted: str) -> Disk:
    """Add up the bytes of a workspace.

    Args:
        workspace: Its root.
        evicted: The folder of evicted results.
    """
    sizes = {"sessions": 0, "evicted": 0, "memory": 0, "knowledge": 0, "other": 0}
    for info in workspace.files():
        parts = info.path.split("/")
        parts = parts[2:] if parts[0] == "users" else parts
        first = parts[0] if parts else ""
        kind = {"sessions": "sessions", evicted: "evicted", "memory": "memory", "MEMORY.md": "memory"}.get(first)
        sizes[kind or ("knowledge" if first == "knowledge" else "other")] += info.size
    return Disk(**sizes)


def _state(root: Workspace) -> maintenance_state.MaintenanceState:
    read = read_text(root, maintenance_state.PATH)
    return maintenance_state.parse(read[0]) if read else maintenance_state.MaintenanceState()


def _facts(root: Workspace, path: str) -> int:
    read = read_text(root, path)
    return sum(1 for _ in daily_log.lines(read[0])) if read else 0
