"""The consolidation state from within rules: read it, change it, settle what a crash cut off, see what a person removed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from langgraph_harness_memory.curation.wording import likeness, line_form, words
from langgraph_harness_memory.errors import WorkspaceError
from langgraph_harness_memory.events import Damaged, Degraded
from langgraph_harness_memory.formats import changes, consolidation_state, memory_md
from langgraph_harness_memory.formats.consolidation_state import ConsolidationState, Pending, Written
from langgraph_harness_memory.steps import (
    Conflict,
    Failed,
    Steps,
    TextFile,
    WriteText,
    append_text,
    notify,
    read_text,
    write_text,
)

ATTEMPTS = 5
"""How often the state is read and written again when somebody else was faster."""
REWORDED = 0.5
"""Likeness from which a line that is gone was worded anew and not removed."""
MOST_BY_HAND = 500
"""Facts written by hand that are remembered as such."""
SAME_FACT = 0.8
"""Likeness from which two lines are one fact."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Present:
    """What is there when a consolidation begins."""

    memory: TextFile | None
    """`MEMORY.md`; `None` where there is none."""
    state: ConsolidationState

    @property
    def text(self) -> str:
        """The memory's text; empty where there is none."""
        return self.memory.text if self.memory else ""

    @property
    def version(self) -> str | None:
        """What a rewrite expects to find."""
        return self.memory.version if self.memory else None

    @property
    def is_to_be_rebuilt(self) -> bool:
        """Nothing is remembered, though something was or nobody knows: the memory is built from all that the logs hold.

        Where lines were seen and no memory was ever written (a tool said them, a proposal was rejected), there is none to rebuild.
        """
        never_written = self.state.memory is None and not self.state.merged
        return self.state.is_lost or (never_written and not memory_md.facts(self.text))


def read_state(tenant: str | None) -> Steps[ConsolidationState | Failed]:
    """Read the state; a damaged one is told and counts as none, so that everything is merged again."""
    found = yield from read_text(tenant, consolidation_state.PATH)
    if isinstance(found, Failed):
        return found
    try:
        return consolidation_state.parse(found.text) if found else ConsolidationState()
    except ValueError as error:
        yield from notify(Damaged(tenant=tenant, path=consolidation_state.PATH, reason=str(error)))
        return ConsolidationState()


def change_state(
    tenant: str | None, change: Callable[[ConsolidationState], ConsolidationState]
) -> Steps[ConsolidationState | Failed]:
    """Change the state, whoever else changes it meanwhile.

    Args:
        tenant: Whose memory.
        change: Returns the new state; may be called more than once.
    """
    for _ in range(ATTEMPTS):
        found = yield from read_text(tenant, consolidation_state.PATH)
        if isinstance(found, Failed):
            return found
        try:
            old = consolidation_state.parse(found.text) if found else ConsolidationState()
        except ValueError:
            old = ConsolidationState()
            yield from _keep_damaged(tenant, found)
        new = change(old)
        if found and new == old:
            return new
        done = yield from write_text(
            WriteText(
                tenant=tenant,
                path=consolidation_state.PATH,
                text=consolidation_state.render(new),
                expect=found.version if found else None,
            )
        )
        if not isinstance(done, Conflict):
            return done if isinstance(done, Failed) else new
    path = consolidation_state.PATH
    return Failed(error=WorkspaceError(f"{path} changed {ATTEMPTS} times while it was written; try again"))


def _keep_damaged(tenant: str | None, found: TextFile | None) -> Steps[None]:
    """Keep a damaged state beside the new one; an earlier damaged one stays."""
    if found:
        path = f"{consolidation_state.PATH}.damaged"
        yield from write_text(WriteText(tenant=tenant, path=path, text=found.text, expect=None))


def settle(tenant: str | None) -> Steps[Present | Failed]:
    """Return what is there, after finishing a rewrite that a crash cut off and noting what a person removed."""
    state = yield from read_state(tenant)
    memory = yield from read_text(tenant, memory_md.PATH)
    if isinstance(memory, Failed):
        return memory
    if isinstance(state, Failed):
        return state
    text = memory.text if memory else ""
    if state.pending:
        settled = yield from _settle_pending(tenant, state.pending, text)
        if isinstance(settled, Failed):
            return settled
        state = settled
    seen = with_removals(state, text)
    if seen != state:
        changed = yield from change_state(tenant, lambda current: with_removals(current, text))
        if isinstance(changed, Failed):
            return changed
        state = changed
    return Present(memory=memory, state=state)


def recorded(state: ConsolidationState, pending: Pending) -> ConsolidationState:
    """Return the state after a rewrite that stands."""
    written = Written(text=pending.text, writer=pending.writer)
    return replace(state.with_merged(pending.keys), memory=written, pending=None)


def record_change(tenant: str | None, entry: str, entry_id: str) -> Steps[None]:
    """Append to the change log what is not there yet; a failure is told and costs the record alone."""
    log = yield from read_text(tenant, changes.PATH)
    if isinstance(log, TextFile) and changes.has_entry(log.text, entry_id):
        return
    failed = log if isinstance(log, Failed) else (yield from append_text(tenant, changes.PATH, entry))
    if isinstance(failed, Failed):
        yield from notify(Degraded(tenant=tenant, what="the change log", reason=failed.reason))


def with_removals(state: ConsolidationState, text: str) -> ConsolidationState:
    """Return the state with what a person took out of `MEMORY.md` since it was last written, and without what they put back.

    A line that is there in other words was edited and not removed. From then on the memory is compared with what the
    person left. A memory that is blank was lost or cleared as a whole: it is rebuilt from all logs, also when somebody
    writes a line into it first, and nothing in it counts as removed one by one.
    """
    standing = [fact.text for fact in memory_md.facts(text)]
    if not standing:
        lost = state.memory if state.memory and memory_md.facts(state.memory.text) else None
        return replace(state, memory=replace(lost, text=text), is_lost=True) if lost else state
    forms = {line_form(fact) for fact in standing}
    by_hand = [fact for fact in state.by_hand if line_form(fact) in forms]
    removed = [fact for fact in state.removed if line_form(fact) not in forms]
    if state.memory and state.memory.text != text:
        said = [words(fact) for fact in standing]
        known = {line_form(fact) for fact in removed}
        for fact in memory_md.facts(state.memory.text):
            form, meant = line_form(fact.text), words(fact.text)
            if form not in forms and form not in known and all(likeness(meant, other) < REWORDED for other in said):
                removed.append(fact.text)
                known.add(form)
        before = {line_form(fact.text) for fact in memory_md.facts(state.memory.text)}
        by_hand += [fact for fact in standing if line_form(fact) not in before and fact not in by_hand]
    memory = replace(state.memory, text=text) if state.memory else None
    return replace(state, removed=tuple(removed), by_hand=tuple(by_hand[:MOST_BY_HAND]), memory=memory)


def same_as_any(facts: Sequence[str]) -> Callable[[str], bool]:
    """Return a test whether a line states one of these facts in much the same words."""
    forms = {line_form(fact) for fact in facts}
    meant = [words(fact) for fact in facts]

    def is_same(line: str) -> bool:
        if not facts:
            return False
        said = words(line)
        return line_form(line) in forms or any(likeness(said, other) >= SAME_FACT for other in meant)

    return is_same


def _settle_pending(tenant: str | None, pending: Pending, text: str) -> Steps[ConsolidationState | Failed]:
    """Finish a rewrite whose marks a crash cut off, or drop one that never reached `MEMORY.md`."""

    def settle_it(state: ConsolidationState) -> ConsolidationState:
        if state.pending != pending:
            return state
        return recorded(state, pending) if stands else replace(state, pending=None)

    state = yield from read_state(tenant)
    if isinstance(state, Failed):
        return state
    stands = _comes_from(text, pending, state.memory)
    if stands:
        yield from record_change(tenant, pending.changes, pending.entry_id)
    return (yield from change_state(tenant, settle_it))


def _comes_from(text: str, pending: Pending, before: Written | None) -> bool:
    """Say whether a memory is the pending rewrite, as it was or edited since, and not the one before it."""
    if text == pending.text:
        return True
    if consolidation_state.text_hash(text) == pending.base or not text.strip():
        return False
    lines = {line_form(fact.text) for fact in memory_md.facts(text)}
    new = {line_form(fact.text) for fact in memory_md.facts(pending.text)}
    old = {line_form(fact.text) for fact in memory_md.facts(before.text)} if before else set[str]()
    return len(lines & (new - old)) > len(lines & (old - new))
