"""What a tick is asked for and what it says when it is done; plain JSON, so that a server can store and show it."""

from typing import Literal, NotRequired, TypedDict

StepName = Literal["recover", "consolidate", "expire", "prune", "reindex"]

STEPS: tuple[StepName, ...] = ("recover", "consolidate", "expire", "prune", "reindex")
"""The steps of a tick, in order: a log that was never merged must not be archived first."""


class TickInput(TypedDict):
    """What a tick is asked for; an empty one is a whole tick, if one is due."""

    user_id: NotRequired[str | None]
    """Look after this tenant alone, `None` = the shared root alone; left out = all."""
    steps: NotRequired[list[StepName]]
    """Do these alone; left out = all."""
    force: NotRequired[bool]
    """Run whether or not it is due; another process's run is still respected."""


class RecoveredThread(TypedDict):
    """A conversation whose flush was cut off."""

    thread_id: str
    messages: int
    facts: int


class ConsolidatedMemory(TypedDict):
    """What a consolidation did to one `MEMORY.md`."""

    tenant: str | None
    merged: int
    """Lines of daily logs that were merged."""
    added: int
    changed: int
    dropped: int


class ExpiredLogs(TypedDict):
    """Daily logs of one tenant that reached the end of their time."""

    tenant: str | None
    archived: list[str]
    waiting: list[str]
    """Old enough and not merged yet; they stay."""
    deleted: list[str]


class StepFailure(TypedDict):
    """A step that failed; the others ran."""

    step: StepName
    tenant: str | None
    reason: str


class TickReport(TypedDict):
    """What a tick did."""

    ran: bool
    """`False` when it was not due or another tick was under way, in this process or another."""
    skipped: str
    """Why it did not run, for people: not due, or who is at it (this process or another one); empty when it did."""
    started_at: str
    """ISO 8601, UTC."""
    finished_at: str
    recovered: list[RecoveredThread]
    consolidated: list[ConsolidatedMemory]
    """The memories that changed."""
    expired: list[ExpiredLogs]
    """The tenants whose logs moved, waited or went."""
    pruned: list[str]
    """Threads that were deleted."""
    reindexed: int
    """Tenants whose index was compared with the files."""
    failures: list[StepFailure]


class TickState(TickInput):
    """The channels of a tick."""

    lease: NotRequired[str]
    """Token of the claim on the workspace."""
    ran: bool
    skipped: str
    started_at: str
    finished_at: str
    recovered: list[RecoveredThread]
    consolidated: list[ConsolidatedMemory]
    expired: list[ExpiredLogs]
    pruned: list[str]
    reindexed: int
    failures: list[StepFailure]
