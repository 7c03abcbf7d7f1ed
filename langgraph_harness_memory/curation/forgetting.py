"""Forget on request: both layers, archive, change log, index, and a stone so that it does not come back.

    find ► tombstone ► MEMORY.md ► logs, archive ► consolidation state ► change log, refused texts, proposal
         ► backups (on request) ► index, freed pages too ► session logs (on request) ► change log says how many

The stone is set first: from then on nothing that is flushed, merged, recovered or restored brings it back, and a
forget that was cut off is finished by asking again. What it leaves on purpose is named in the report.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from langgraph_harness_memory.curation.finding import (
    Found,
    Target,
    comes_from,
    find,
    is_about,
    is_gone,
    memory_files,
    said_lines,
)
from langgraph_harness_memory.curation.progress import change_state
from langgraph_harness_memory.curation.removing import lines_of, remove_where
from langgraph_harness_memory.curation.tombs import ATTEMPTS, change_tombstones
from langgraph_harness_memory.curation.wording import words
from langgraph_harness_memory.errors import WorkspaceError
from langgraph_harness_memory.events import Forgotten
from langgraph_harness_memory.formats import changes, consolidation_state, daily_log, memory_md
from langgraph_harness_memory.formats.changes import Change, Entry
from langgraph_harness_memory.formats.consolidation_state import ConsolidationState, Pending
from langgraph_harness_memory.formats.tombstones import Tombstones
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.steps import (
    Conflict,
    Failed,
    RemoveLines,
    Steps,
    append_text,
    delete_file,
    index_file,
    list_files,
    notify,
    now,
    read_logged,
    read_text,
    redact_logged,
    remove_lines,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ForgetReport:
    """What was forgotten, and where it still stands."""

    lines: int = 0
    """Lines that were removed from `MEMORY.md`, daily logs and archive."""
    paths: tuple[str, ...] = ()
    """Files they were removed from."""
    sessions: tuple[str, ...] = ()
    """Conversations whose session log still holds what was said."""
    backups: tuple[str, ...] = ()
    """Earlier versions of `MEMORY.md` that still hold it."""
    redacted: int = 0
    """Messages of session logs whose content was taken out."""
    failed: str | None = None
    """What could not be done; asking again finishes it. `None` = all was done."""


def forget(
    tenant: str | None, target: Target, *, key: str, backups: bool = False, sessions: bool = False
) -> Steps[ForgetReport]:
    """Forget what a target names.

    Args:
        tenant: Whose memory.
        target: A query, or lines of a file.
        key: Keys the tombstones of a memory that has none yet; random, hexadecimal.
        backups: Also in earlier versions of `MEMORY.md`.
        sessions: Also redact the messages that it came from.

    Returns:
        What was done; a failure is reported, never raised.
    """
    at = yield from now()
    found = yield from find(tenant, target)
    if isinstance(found, Failed):
        return ForgetReport(failed=found.reason)
    named = [line.text for line in found]

    def with_stones(stones: Tombstones) -> Tombstones:
        for text in named:
            stones = stones.with_stone(words(text), at=at)
        return stones.with_stone(words(target.query), at=at, said_before=True) if target.query else stones

    stones = yield from change_tombstones(tenant, with_stones, key=key)
    if isinstance(stones, Failed):
        return ForgetReport(failed=stones.reason)
    ours = Tombstones(key=stones.key)
    for text in named:
        ours = ours.with_stone(words(text), at=at)
    report = yield from remove_everywhere(tenant, is_gone(target, ours), backups=backups, seen=found)
    if sessions and report.failed is None:
        report = yield from _redact(tenant, report, target, found)
    if report.lines and report.failed is None:
        said = f"forgot {report.lines} line(s) at a person's request in {', '.join(report.paths)}"
        entry_id = consolidation_state.text_hash(f"{at.isoformat()} {said}")
        entry = Entry(at=at, what="forget", id=entry_id, changes=(Change(kind="note", text=said),))
        yield from append_text(tenant, changes.PATH, changes.render(entry))
    yield from notify(Forgotten(tenant=tenant, lines=report.lines))
    return report


def remove_everywhere(
    tenant: str | None, gone: Callable[[str], bool], *, backups: bool = False, seen: Sequence[Found] = ()
) -> Steps[ForgetReport]:
    """Remove every line that a test takes from both layers, the archive, the state and the records.

    Args:
        tenant: Whose memory.
        gone: Judges a line without bullet and outer blanks.
        backups: Also in earlier versions of `MEMORY.md`.
        seen: Lines that were found before and name conversations, also where they are gone by now.
    """
    report = ForgetReport()
    paths = yield from memory_files(tenant)
    if isinstance(paths, Failed):
        return replace(report, failed=paths.reason)
    taken: list[Found] = list(seen)
    for path in paths:
        removed = yield from remove_where(
            tenant, path, lambda line: gone(line.text), backup=path == memory_md.PATH and not backups
        )
        if isinstance(removed, Failed):
            return replace(report, failed=removed.reason)
        if removed:
            taken += removed
            report = replace(report, lines=report.lines + len(removed), paths=(*report.paths, path))
            purged = yield from index_file(tenant, path, purge=True)
            if isinstance(purged, Failed):
                return replace(report, failed=purged.reason)
    state = yield from change_state(tenant, lambda current: _without(current, gone))
    if isinstance(state, Failed):
        return replace(report, failed=state.reason)
    left = yield from _clean_records(tenant, gone, backups=backups)
    if isinstance(left, Failed):
        return replace(report, failed=left.reason)
    held = dict.fromkeys(line.heading.session for line in taken if line.heading and line.heading.session is not None)
    return replace(report, sessions=tuple(held), backups=left)


def _clean_records(
    tenant: str | None, gone: Callable[[str], bool], *, backups: bool
) -> Steps[tuple[str, ...] | Failed]:
    """Remove it from the change log, refused texts, the proposal and, on request, backups; return the backups that hold it."""
    paths = yield from list_files(tenant, daily_log.FOLDER)
    if isinstance(paths, Failed):
        return paths
    holding: list[str] = []
    for path in (memory_md.PROPOSAL, *paths):
        removed: tuple[Found, ...] | Failed | None = ()
        if path == changes.PATH:
            removed = yield from _clean_change_log(tenant, gone)
        elif path.startswith(f"{consolidation_state.PATH}."):
            removed = yield from delete_file(tenant, path)
        elif path.startswith(f"{memory_md.BACKUPS}/") and not backups:
            text = yield from read_text(tenant, path)
            if isinstance(text, Failed):
                return text
            if text and any(gone(line.text) for line in said_lines(path, text.text)):
                holding.append(path)
        elif _is_record(path):
            removed = yield from remove_where(tenant, path, lambda line: gone(line.text))
        if isinstance(removed, Failed):
            return removed
    return tuple(holding)


def _is_record(path: str) -> bool:
    return (
        path.startswith((f"{memory_md.BACKUPS}/", f"{memory_md.REJECTED}/"))
        or path == memory_md.PROPOSAL
        or ".torn-" in path
    )


def _clean_change_log(tenant: str | None, gone: Callable[[str], bool]) -> Steps[Failed | None]:
    for _ in range(ATTEMPTS):
        log = yield from read_text(tenant, changes.PATH)
        if log is None or isinstance(log, Failed):
            return log
        numbers = frozenset(
            number
            for number, line in enumerate(log.text.split("\n"), start=1)
            if any(gone(fact) for fact in changes.said(line))
        )
        if not numbers:
            return None
        done = yield from remove_lines(
            RemoveLines(tenant=tenant, path=changes.PATH, numbers=numbers, expect=log.version)
        )
        if not isinstance(done, Conflict):
            return done if isinstance(done, Failed) else None
    return Failed(error=WorkspaceError(f"{changes.PATH} changed {ATTEMPTS} times while lines were removed; try again"))


def _redact(tenant: str | None, report: ForgetReport, target: Target, found: Sequence[Found]) -> Steps[ForgetReport]:
    """Redact the messages that the lines came from; a conversation is still named where none could be told."""
    about = is_about(target.query) if target.query is not None else lambda _: False
    left: list[str] = []
    for session in report.sessions:
        lines = [line for line in found if line.heading and line.heading.session == session]
        positions = sorted({at for line in lines if line.heading for at in line.heading.positions})
        if not positions:
            left.append(session)
            continue
        thread = ThreadRef(thread_id=session, tenant=tenant)
        logged = yield from read_logged(thread, positions[0], positions[-1] + 1)
        if isinstance(logged, Failed):
            return replace(report, failed=logged.reason)
        held = frozenset(positions)
        taken = tuple(
            message.position
            for message in logged
            if message.position in held
            and (about(message.message.text) or any(comes_from(line.text, message.message.text) for line in lines))
        )
        done = (yield from redact_logged(thread, taken)) if taken else 0
        if isinstance(done, Failed):
            return replace(report, failed=done.reason)
        report = replace(report, redacted=report.redacted + done)
        if not taken:
            left.append(session)
    return replace(report, sessions=tuple(left))


def _without(state: ConsolidationState, gone: Callable[[str], bool]) -> ConsolidationState:
    memory = state.memory
    return replace(
        state,
        memory=replace(memory, text=_cleaned(memory.text, gone)) if memory else None,
        removed=tuple(fact for fact in state.removed if not gone(fact)),
        by_hand=tuple(fact for fact in state.by_hand if not gone(fact)),
        pending=_pending_without(state.pending, gone),
        proposal=_pending_without(state.proposal, gone),
    )


def _pending_without(pending: Pending | None, gone: Callable[[str], bool]) -> Pending | None:
    if pending is None:
        return None
    kept = [line for line in pending.changes.split("\n") if not any(gone(fact) for fact in changes.said(line))]
    return replace(pending, text=_cleaned(pending.text, gone), changes="\n".join(kept))


def _cleaned(text: str, gone: Callable[[str], bool]) -> str:
    numbers = {line.number for line in said_lines("", text) if gone(line.text)}
    return "".join(line for number, line in enumerate(lines_of(text), start=1) if number not in numbers)
