"""How long daily logs stay: merged ones move to the archive, archived ones go when the user said so.

What was not merged is never archived, however old it is: the archive is searched, but it is no input of consolidation.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TypeVar

from langgraph_harness_memory.config import MaintenanceConfig
from langgraph_harness_memory.events import Deleted
from langgraph_harness_memory.formats import consolidation_state, daily_log
from langgraph_harness_memory.formats.consolidation_state import ConsolidationState
from langgraph_harness_memory.steps import (
    Failed,
    Steps,
    delete_file,
    index_file,
    list_files,
    move_file,
    notify,
    now,
    read_text,
)

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Expired:
    """What reached the end of its time."""

    archived: tuple[str, ...] = ()
    """Daily logs that moved to the archive, by their old path."""
    waiting: tuple[str, ...] = ()
    """Daily logs that are old enough and hold lines that were not merged yet."""
    deleted: tuple[str, ...] = ()
    """Archived logs that were deleted."""


class _StepFailed(Exception):
    """A step failed; the rest of this tenant's logs wait for the next tick."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.reason)
        self.failed = failed


def expire(tenant: str | None, config: MaintenanceConfig, *, merges: bool = True) -> Steps[Expired | Failed]:
    """Archive old daily logs of a tenant and delete old archived ones.

    Args:
        tenant: Whose; `None` = the shared root.
        config: The retentions.
        merges: Whether consolidation is on. Where it is off nothing waits for it.

    Returns:
        What moved and went; `Failed` when a step failed, and nothing is half done by it.
    """
    try:
        return (yield from _expire(tenant, config, merges=merges))
    except _StepFailed as stop:
        return stop.failed
    except ValueError as error:  # a damaged consolidation state: nothing counts as merged
        return Failed(error=error)


def _expire(tenant: str | None, config: MaintenanceConfig, *, merges: bool) -> Steps[Expired]:
    today = (yield from now()).date()
    listed = _must((yield from list_files(tenant, daily_log.FOLDER)))
    logs = [(day, path) for path in listed if (day := daily_log.day_of(path))]
    fresh = [(day, path) for day, path in logs if not path.startswith(f"{daily_log.ARCHIVE}/")]
    stored = [(day, path) for day, path in logs if path.startswith(f"{daily_log.ARCHIVE}/")]
    due = _older(fresh, config.daily_file_retention_days, today)
    state = (yield from _merged(tenant)) if due else ConsolidationState()
    archived, waiting = list[str](), list[str]()
    for day, path in due:
        if merges and not (yield from _is_merged(tenant, day, path, state)):
            waiting.append(path)
            continue
        target = _free(day.isoformat(), taken={path for _, path in stored})
        _must((yield from move_file(tenant, path, target)))
        stored.append((day, target))
        _must((yield from index_file(tenant, path)))
        _must((yield from index_file(tenant, target)))
        archived.append(path)
    deleted = list[str]()
    for _, path in _older(stored, config.archive_retention_days, today):
        _must((yield from delete_file(tenant, path)))
        _must((yield from index_file(tenant, path)))
        yield from notify(Deleted(path=path, reason="archive retention", tenant=tenant))
        deleted.append(path)
    return Expired(archived=tuple(archived), waiting=tuple(waiting), deleted=tuple(deleted))


def _older(logs: list[tuple[date, str]], days: int, today: date) -> list[tuple[date, str]]:
    return sorted(log for log in logs if days and log[0] < today - timedelta(days=days))


def _free(day: str, *, taken: set[str]) -> str:
    copy = 1
    while daily_log.archive_path(day, copy) in taken:
        copy += 1
    return daily_log.archive_path(day, copy)


def _merged(tenant: str | None) -> Steps[ConsolidationState]:
    found = _must((yield from read_text(tenant, consolidation_state.PATH)))
    return consolidation_state.parse(found.text) if found else ConsolidationState()


def _is_merged(tenant: str | None, day: date, path: str, state: ConsolidationState) -> Steps[bool]:
    found = _must((yield from read_text(tenant, path)))
    if found is None or state.files.get(path) == consolidation_state.text_hash(found.text):
        return found is not None
    return all(
        consolidation_state.line_key(line) in state.merged
        or (state.merged_before and consolidation_state.is_from_before(line, day, state.merged_before))
        for line in daily_log.lines(found.text)
    )


def _must(answer: T | Failed) -> T:
    if isinstance(answer, Failed):
        raise _StepFailed(answer)
    return answer
