"""Review mode: consolidation proposes, a person accepts or rejects.

The proposal is `MEMORY.proposed.md`, a plain file that the person may edit before accepting it. What goes with it (the
lines it merges, the memory it was made from) stands in the consolidation state.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from langgraph_harness_memory.curation.committing import Rewrite, as_pending, commit
from langgraph_harness_memory.curation.comparing import compare
from langgraph_harness_memory.curation.progress import Present, change_state, settle
from langgraph_harness_memory.curation.screening import Blocked, Screening
from langgraph_harness_memory.curation.tombs import read_tombstones
from langgraph_harness_memory.curation.wording import words
from langgraph_harness_memory.errors import VersionConflict, WorkspaceError, WriteRefused
from langgraph_harness_memory.formats import memory_md
from langgraph_harness_memory.formats.consolidation_state import ConsolidationState, text_hash
from langgraph_harness_memory.steps import (
    Conflict,
    Failed,
    Steps,
    TextFile,
    WriteText,
    delete_file,
    now,
    read_text,
    write_text,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Accepted:
    """A proposal became `MEMORY.md`."""

    merged: int
    """Lines of daily logs that it merged."""


def propose(tenant: str | None, present: Present, rewrite: Rewrite, *, at: datetime) -> Steps[str | Failed]:
    """Write a proposal in the place of an earlier one, and return where it lies."""
    proposal = as_pending(rewrite, present, at=at)
    old = yield from read_text(tenant, memory_md.PROPOSAL)
    if isinstance(old, Failed):
        return old
    standing = present.state.proposal
    if old and standing and old.text.strip() and old.text != standing.text:
        return memory_md.PROPOSAL  # a person is editing it; what is new since waits for their yes or no
    noted = yield from change_state(tenant, lambda state: replace(state, proposal=proposal))
    if isinstance(noted, Failed):
        return noted
    done = yield from write_text(
        WriteText(tenant=tenant, path=memory_md.PROPOSAL, text=rewrite.text, expect=old.version if old else None)
    )
    match done:
        case Conflict():
            return Failed(
                error=VersionConflict(f"{memory_md.PROPOSAL} was edited while it was written; nothing is lost")
            )
        case Failed():
            return done
    return memory_md.PROPOSAL


def accept(tenant: str | None, *, screening: Screening) -> Steps[Accepted | Failed]:
    """Make the proposal, as it now reads, the memory.

    Returns:
        `Failed` with `VersionConflict` when `MEMORY.md` changed since the proposal was made: consolidate again.
    """
    at = yield from now()
    present = yield from settle(tenant)
    if isinstance(present, Failed):
        return present
    proposal, found = present.state.proposal, (yield from read_text(tenant, memory_md.PROPOSAL))
    if isinstance(found, Failed):
        return found
    if proposal is None or found is None:
        return Failed(error=WorkspaceError(f"there is no proposal: {memory_md.PROPOSAL} is written by a consolidation"))
    if text_hash(present.text) != proposal.base:
        return Failed(error=VersionConflict("MEMORY.md changed since the proposal was made; consolidate again"))
    stones = yield from read_tombstones(tenant)
    if isinstance(stones, Failed):
        return stones
    proposed = memory_md.without(found.text, lambda fact: stones.covers(words(fact)))
    text = screening.screen(memory_md.tidy(proposed), "memory")
    if isinstance(text, Blocked):
        return Failed(error=WriteRefused(text.reason))
    rewrite = Rewrite(
        text=text,
        writer=proposal.writer if found.text == proposal.text else "person",
        keys=proposal.keys,
        what="consolidation, accepted",
        changes=compare(present.text, text, ()),
    )
    state = yield from commit(tenant, present, rewrite, at=at)
    match state:
        case Conflict():
            return Failed(error=VersionConflict("MEMORY.md changed while the proposal was accepted; consolidate again"))
        case Failed():
            return state
    gone = yield from _drop(tenant, state, found)
    return gone if isinstance(gone, Failed) else Accepted(merged=len(proposal.keys))


def reject(tenant: str | None) -> Steps[Failed | None]:
    """Drop the proposal; its lines count as seen and are not proposed again."""
    present = yield from settle(tenant)
    if isinstance(present, Failed):
        return present
    found = yield from read_text(tenant, memory_md.PROPOSAL)
    if isinstance(found, Failed):
        return found
    return (yield from _drop(tenant, present.state, found))


def _drop(tenant: str | None, state: ConsolidationState, found: TextFile | None) -> Steps[Failed | None]:
    proposal = state.proposal
    if proposal:
        keys = proposal.keys
        changed = yield from change_state(tenant, lambda current: replace(current.with_merged(keys), proposal=None))
        if isinstance(changed, Failed):
            return changed
    return (yield from delete_file(tenant, memory_md.PROPOSAL)) if found else None
