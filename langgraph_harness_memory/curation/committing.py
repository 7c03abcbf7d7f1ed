"""Replace `MEMORY.md`, so that a crash at any point is recognised and a hand edit wins.

    note what is about to happen ► MEMORY.md (if it is still what was read) ► change log ► marks ► index

The note holds the text, the marks and the change log's entry: whoever comes next sees from `MEMORY.md` whether the
rewrite happened, and finishes or drops it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from langgraph_harness_memory.curation.progress import Present, change_state, record_change, recorded
from langgraph_harness_memory.formats import changes, memory_md
from langgraph_harness_memory.formats.changes import Change, Entry
from langgraph_harness_memory.formats.consolidation_state import ConsolidationState, Pending, Writer, text_hash
from langgraph_harness_memory.steps import Conflict, Failed, Steps, WriteText, index_file, write_text


@dataclass(frozen=True, kw_only=True, slots=True)
class Rewrite:
    """A new `MEMORY.md`, and all that goes with it."""

    text: str
    writer: Writer
    keys: frozenset[bytes]
    """Lines that it merges."""
    what: str
    """Who rewrites, for the change log."""
    changes: tuple[Change, ...]


def commit(
    tenant: str | None, present: Present, rewrite: Rewrite, *, at: datetime, backup: bool = True
) -> Steps[ConsolidationState | Conflict | Failed]:
    """Replace the memory that was read.

    Args:
        tenant: Whose memory.
        present: The memory that was read; another one by now is a `Conflict`, and nothing is written.
        rewrite: What takes its place.
        at: When, in the configured zone.
        backup: Keep the replaced version; a rewrite that changes nothing makes none.

    Returns:
        The state after it.
    """
    pending = as_pending(rewrite, present, at=at)
    if present.memory and rewrite.text == present.text:
        if rewrite.changes:
            yield from record_change(tenant, pending.changes, pending.entry_id)
        return (yield from change_state(tenant, lambda state: recorded(state, pending)))
    noted = yield from change_state(tenant, lambda state: replace(state, pending=pending))
    if isinstance(noted, Failed):
        return noted
    done = yield from write_text(
        WriteText(tenant=tenant, path=memory_md.PATH, text=rewrite.text, expect=present.version, backup=backup)
    )
    if not isinstance(done, str):
        yield from change_state(tenant, lambda state: _without(state, pending))
        return done
    yield from record_change(tenant, pending.changes, pending.entry_id)
    state = yield from change_state(tenant, lambda state: recorded(state, pending))
    yield from index_file(tenant, memory_md.PATH)
    return state


def as_pending(rewrite: Rewrite, present: Present, *, at: datetime) -> Pending:
    """Return the note of a rewrite."""
    entry_id = text_hash(f"{at.isoformat()}\n{rewrite.what}\n{present.text}\n{rewrite.text}")
    return Pending(
        text=rewrite.text,
        writer=rewrite.writer,
        keys=rewrite.keys,
        changes=render_entry(rewrite.what, rewrite.changes, at=at, entry_id=entry_id),
        entry_id=entry_id,
        base=text_hash(present.text),
    )


def render_entry(what: str, said: Sequence[Change], *, at: datetime, entry_id: str) -> str:
    """Write an entry of the change log."""
    return changes.render(Entry(at=at, what=what, id=entry_id, changes=tuple(said)))


def _without(state: ConsolidationState, pending: Pending) -> ConsolidationState:
    return replace(state, pending=None) if state.pending == pending else state
