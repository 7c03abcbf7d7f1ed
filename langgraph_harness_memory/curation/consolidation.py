"""From daily logs to `MEMORY.md`: what is new by line, merged by a model, written only if it is sane.

    settle ► gather new lines ► batch that fits ► model (no lock) ► judge ► screen ► compare ► commit ► next batch
      ▲                                                                                          │
      └──────────────────────────── somebody changed MEMORY.md meanwhile (twice at most) ────────┘

`MEMORY.md` is replaced only from the version that was read. A refused answer is kept aside, nothing is marked and the
lines come again. No rule here words a fact: lines are taken out (removed by a person, forgotten, over budget) and
never put in.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from langgraph_harness_memory.config import ConsolidationConfig
from langgraph_harness_memory.curation.committing import Rewrite, commit
from langgraph_harness_memory.curation.comparing import compare
from langgraph_harness_memory.curation.forgetting import remove_everywhere
from langgraph_harness_memory.curation.gathering import Gathered, gather
from langgraph_harness_memory.curation.merging import Merged, Merger, Rejected, merge, next_batch, overflowing
from langgraph_harness_memory.curation.progress import Present, change_state, settle
from langgraph_harness_memory.curation.requests import NewLine
from langgraph_harness_memory.curation.review import propose
from langgraph_harness_memory.curation.screening import Screening
from langgraph_harness_memory.curation.tombs import read_tombstones
from langgraph_harness_memory.curation.wording import words
from langgraph_harness_memory.events import Consolidated, ConsolidationFailed
from langgraph_harness_memory.formats.changes import Change, count
from langgraph_harness_memory.formats.consolidation_state import ConsolidationState, text_hash
from langgraph_harness_memory.formats.memory_md import PROPOSAL, rejected_path
from langgraph_harness_memory.formats.tombstones import Tombstones
from langgraph_harness_memory.steps import Conflict, Failed, Steps, WriteText, notify, now, write_text

CONFLICTS = 2
"""How often one batch is merged again after somebody else changed `MEMORY.md`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsolidationReport:
    """What a consolidation did."""

    merged: int = 0
    """Lines of daily logs that were merged."""
    added: int = 0
    """Lines that are new in `MEMORY.md`."""
    changed: int = 0
    """Lines that were worded anew."""
    dropped: int = 0
    """Lines that are no longer there."""
    set_aside: int = 0
    """New lines that may not be promoted (a tool said them, a person removed or forgot them); they stay in their log."""
    proposal: str | None = None
    """Where the proposal lies, in review mode."""
    failed: str | None = None
    """Why it stopped; what is not marked is merged later. `None` = all went well."""
    kept_aside: str | None = None
    """Where a refused text lies."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Round:
    """How far one pass over the logs came."""

    report: ConsolidationReport
    has_conflict: bool = False
    has_progress: bool = False


def consolidate(
    tenant: str | None, *, settings: ConsolidationConfig, screening: Screening, review: bool = False
) -> Steps[ConsolidationReport]:
    """Merge what is new in the daily logs into `MEMORY.md`.

    Args:
        tenant: Whose memory; `None` = the shared root.
        settings: Budgets, deadline, shrink guard.
        screening: What the new text passes before it is written.
        review: Write a proposal beside `MEMORY.md` for a person to accept.

    Returns:
        What was done; a failure is reported and told, never raised.
    """
    report = ConsolidationReport()
    conflicts = 0
    while True:
        at = yield from now()
        outcome = yield from _one_round(
            tenant, report, Merger(settings=settings, screening=screening, at=at), review=review
        )
        report = outcome.report
        if not outcome.has_conflict:
            return report
        conflicts = 1 if outcome.has_progress else conflicts + 1
        if conflicts > CONFLICTS:
            return (yield from _failed(tenant, report, "MEMORY.md changed each time while it was merged"))


def _one_round(tenant: str | None, report: ConsolidationReport, merger: Merger, *, review: bool) -> Steps[_Round]:
    present = yield from settle(tenant)
    if isinstance(present, Failed):
        return _Round(report=(yield from _failed(tenant, report, present.reason)))
    tombstones = yield from read_tombstones(tenant)
    if isinstance(tombstones, Failed):
        return _Round(report=(yield from _failed(tenant, report, tombstones.reason)))
    gathered = yield from gather(tenant, present.state, tombstones, everything=present.is_to_be_rebuilt)
    if isinstance(gathered, Failed):
        return _Round(report=(yield from _failed(tenant, report, gathered.reason)))
    report = replace(report, set_aside=report.set_aside + len(gathered.set_aside))
    merger = replace(merger, tombstones=tombstones, start=present.text)
    if review:
        return _Round(report=(yield from _review(tenant, report, merger, present, gathered)))
    return (yield from _merge_all(tenant, report, merger, present, gathered))


def _merge_all(
    tenant: str | None, report: ConsolidationReport, merger: Merger, present: Present, gathered: Gathered
) -> Steps[_Round]:
    """Merge batch by batch, each written and marked before the next is asked for."""
    left = (*overflowing(present.text, merger.settings), *gathered.new) if gathered.new else ()
    has_progress = False
    text = present.text
    held: list[NewLine] = []
    while left:
        batch, left = next_batch(left, text, present.state.removed, merger.settings)
        held += batch
        merged = yield from merge(merger, batch, text, present.state)
        if not isinstance(merged, Merged):
            return _Round(report=(yield from _not_merged(tenant, report, merged, merger.at)), has_progress=has_progress)
        stones = yield from read_tombstones(tenant)
        if isinstance(stones, Failed):
            return _Round(report=(yield from _failed(tenant, report, stones.reason)), has_progress=has_progress)
        if stones.stones != merger.tombstones.stones:
            return _Round(report=report, has_conflict=True, has_progress=has_progress)
        text = merged.text
        if any(not line.key for line in left):
            continue  # the rest of an oversized memory is not in the text yet
        written = yield from _commit(tenant, present, merged, held, merger=merger, backup=not has_progress)
        match written:
            case Conflict():
                return _Round(report=report, has_conflict=True, has_progress=has_progress)
            case Failed():
                return _Round(report=(yield from _failed(tenant, report, written.reason)), has_progress=has_progress)
        present, changes = written
        text = present.text
        has_progress = True
        report = yield from _told(tenant, report, held, changes)
        held = []
    done = yield from _mark_seen(tenant, gathered, present.state)
    if isinstance(done, Failed):
        return _Round(report=(yield from _failed(tenant, report, done.reason)), has_progress=has_progress)
    return _Round(report=report, has_progress=has_progress)


def _commit(
    tenant: str | None, present: Present, merged: Merged, lines: Sequence[NewLine], *, merger: Merger, backup: bool
) -> Steps[tuple[Present, tuple[Change, ...]] | Conflict | Failed]:
    changes = (*compare(present.text, merged.text, lines), *merged.remarks)
    rewrite = Rewrite(
        text=merged.text,
        writer=merged.writer,
        keys=frozenset(line.key for line in lines if line.key),
        what="consolidation",
        changes=changes,
    )
    state = yield from commit(tenant, present, rewrite, at=merger.at, backup=backup)
    if isinstance(state, Conflict | Failed):
        return state
    yield from _sweep(tenant, merger.tombstones)
    again = yield from settle(tenant)
    if isinstance(again, Failed):
        return again
    return again, changes


def _sweep(tenant: str | None, before: Tombstones) -> Steps[None]:
    """Take out what was forgotten while it was written: its stone stands, and its search came too early."""
    stones = yield from read_tombstones(tenant)
    if isinstance(stones, Tombstones) and stones.stones != before.stones:
        fresh = replace(stones, stones=tuple(stone for stone in stones.stones if stone not in before.stones))
        yield from remove_everywhere(tenant, lambda text: fresh.covers(words(text)), backups=True)


def _mark_seen(tenant: str | None, gathered: Gathered, state: ConsolidationState) -> Steps[ConsolidationState | Failed]:
    """Mark what was set aside, and the logs in which nothing is left to merge."""

    def seen(current: ConsolidationState) -> ConsolidationState:
        marked = current.with_merged(gathered.set_aside)
        whole = {path: gathered.files[path] for path, keys in gathered.keys.items() if keys <= marked.merged}
        return replace(marked, files={**marked.files, **whole}, is_lost=False)

    if seen(state) == state:
        return state
    return (yield from change_state(tenant, seen))


def _review(
    tenant: str | None, report: ConsolidationReport, merger: Merger, present: Present, gathered: Gathered
) -> Steps[ConsolidationReport]:
    """Merge everything that is new and propose the result; nothing is marked until a person accepts it."""
    keys = frozenset(line.key for line in gathered.new)
    standing = present.state.proposal
    if standing and standing.keys >= keys and standing.base == text_hash(present.text):
        return replace(report, proposal=PROPOSAL)
    left = (*overflowing(present.text, merger.settings), *gathered.new) if gathered.new else ()
    text, remarks = present.text, list[Change]()
    merged: Merged | None = None
    while left:
        batch, left = next_batch(left, text, present.state.removed, merger.settings)
        answer = yield from merge(merger, batch, text, present.state)
        if not isinstance(answer, Merged):
            return (yield from _not_merged(tenant, report, answer, merger.at))
        merged, text = answer, answer.text
        remarks += answer.remarks
    if merged is None:
        done = yield from _mark_seen(tenant, gathered, present.state)
        return (yield from _failed(tenant, report, done.reason)) if isinstance(done, Failed) else report
    rewrite = Rewrite(
        text=text,
        writer=merged.writer,
        keys=keys,
        what="consolidation, reviewed",
        changes=(*compare(present.text, text, gathered.new), *remarks),
    )
    path = yield from propose(tenant, present, rewrite, at=merger.at)
    if isinstance(path, Failed):
        return (yield from _failed(tenant, report, path.reason))
    return replace(report, proposal=path)


def _told(
    tenant: str | None, report: ConsolidationReport, lines: Sequence[NewLine], changes: Sequence[Change]
) -> Steps[ConsolidationReport]:
    added, changed, dropped = count(changes, "added"), count(changes, "changed"), count(changes, "dropped")
    if added or changed or dropped:
        yield from notify(Consolidated(tenant=tenant, added=added, changed=changed, dropped=dropped))
    return replace(
        report,
        merged=report.merged + sum(1 for line in lines if line.key),
        added=report.added + added,
        changed=report.changed + changed,
        dropped=report.dropped + dropped,
    )


def _not_merged(
    tenant: str | None, report: ConsolidationReport, answer: Rejected | Failed, at: datetime
) -> Steps[ConsolidationReport]:
    """Keep a refused text aside and tell why it was refused."""
    if isinstance(answer, Failed):
        return (yield from _failed(tenant, report, answer.reason))
    path = None
    if answer.text.strip():
        path = rejected_path(at, answer.text)
        kept = yield from write_text(WriteText(tenant=tenant, path=path, text=answer.text, expect=None))
        path = path if isinstance(kept, str) else None
    report = replace(report, kept_aside=path)
    return (yield from _failed(tenant, report, f"the answer was refused: {answer.reason}"))


def _failed(tenant: str | None, report: ConsolidationReport, reason: str) -> Steps[ConsolidationReport]:
    yield from notify(ConsolidationFailed(tenant=tenant, reason=reason, kept_aside=report.kept_aside))
    return replace(report, failed=reason)
