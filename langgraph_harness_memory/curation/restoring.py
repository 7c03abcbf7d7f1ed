"""Bring an earlier `MEMORY.md` back."""

from dataclasses import dataclass, replace

from langgraph_harness_memory.curation.committing import Rewrite, commit
from langgraph_harness_memory.curation.comparing import compare
from langgraph_harness_memory.curation.progress import change_state, same_as_any, settle
from langgraph_harness_memory.curation.tombs import read_tombstones
from langgraph_harness_memory.curation.wording import words
from langgraph_harness_memory.errors import SettingError, VersionConflict
from langgraph_harness_memory.formats import memory_md
from langgraph_harness_memory.formats.consolidation_state import ConsolidationState
from langgraph_harness_memory.formats.memory_md import Version
from langgraph_harness_memory.steps import Conflict, Failed, Steps, list_files, now, read_text


@dataclass(frozen=True, kw_only=True, slots=True)
class Restored:
    """An earlier version is the memory again; the one it replaced is a version now."""

    version: str
    left_out: int
    """Lines of it that were forgotten since and did not come back."""


def versions(tenant: str | None) -> Steps[tuple[Version, ...] | Failed]:
    """Return the earlier versions of `MEMORY.md`, newest first."""
    paths = yield from list_files(tenant, memory_md.BACKUPS)
    return paths if isinstance(paths, Failed) else memory_md.versions(paths)


def restore(tenant: str | None, version: str) -> Steps[Restored | Failed]:
    """Make an earlier version the memory, without what was forgotten since.

    What a person removed by hand and that version holds comes back: it was asked for.

    Args:
        tenant: Whose memory.
        version: A name that `versions` gives.
    """
    path = memory_md.version_path(version)
    old = (yield from read_text(tenant, path)) if path else None
    if isinstance(old, Failed):
        return old
    if old is None:
        return Failed(error=SettingError.refused("restore.version", version, "give a name that `versions` lists"))
    at = yield from now()
    tombstones = yield from read_tombstones(tenant)
    if isinstance(tombstones, Failed):
        return tombstones
    present = yield from settle(tenant)
    if isinstance(present, Failed):
        return present
    text = memory_md.without(old.text, lambda fact: tombstones.covers(words(fact)))
    facts = [fact.text for fact in memory_md.facts(text)]
    is_back = same_as_any(facts)

    def lifted(state: ConsolidationState) -> ConsolidationState:
        kept = tuple(fact for fact in state.removed if not is_back(fact))
        return replace(state, removed=kept) if kept != state.removed else state

    state = yield from change_state(tenant, lifted)
    if isinstance(state, Failed):
        return state
    writer = present.state.memory.writer if present.state.memory else "person"
    rewrite = Rewrite(
        text=text,
        writer=writer,
        keys=frozenset(),
        what=f"restore of {version}",
        changes=compare(present.text, text, ()),
    )
    done = yield from commit(tenant, present, rewrite, at=at)
    match done:
        case Conflict():
            return Failed(error=VersionConflict("MEMORY.md changed while a version was restored; try again"))
        case Failed():
            return done
    return Restored(version=version, left_out=len(memory_md.facts(old.text)) - len(facts))
