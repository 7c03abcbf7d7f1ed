"""One batch: ask a model to merge it into the memory, judge what it says, and take out what must not stand there."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from langgraph_harness_memory.config import ConsolidationConfig
from langgraph_harness_memory.curation import prompts
from langgraph_harness_memory.curation.comparing import contradictions
from langgraph_harness_memory.curation.progress import same_as_any
from langgraph_harness_memory.curation.requests import NewLine, consolidation_request
from langgraph_harness_memory.curation.screening import Blocked, Screening
from langgraph_harness_memory.curation.validation import Bounds, Refused, fit, judge, over_budget
from langgraph_harness_memory.curation.wording import estimate_tokens, line_form, words
from langgraph_harness_memory.formats import memory_md
from langgraph_harness_memory.formats.changes import Change
from langgraph_harness_memory.formats.consolidation_state import ConsolidationState, Writer
from langgraph_harness_memory.formats.tombstones import Tombstones
from langgraph_harness_memory.steps import Answer, AskModel, Failed, Steps, ask_model

CHARS_PER_TOKEN = 4
"""How a budget in tokens is told to a model."""
LINE_OVERHEAD = 24
"""Tokens that a line's date, source and JSON take in a request at most."""
LEAST_ROOM = 300
"""Tokens that a batch has at least, however large everything else is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Merger:
    """What every batch of a run is merged with."""

    settings: ConsolidationConfig
    screening: Screening
    at: datetime
    """When the run began, in the configured zone."""
    tombstones: Tombstones = field(default_factory=lambda: Tombstones(key="00"))
    start: str = ""
    """The memory when the run began."""

    @property
    def budget(self) -> int:
        """Characters that the memory may have."""
        return self.settings.max_memory_tokens * CHARS_PER_TOKEN


@dataclass(frozen=True, kw_only=True, slots=True)
class Merged:
    """A new text that may replace the memory."""

    text: str
    writer: Writer
    remarks: tuple[Change, ...] = ()
    """What the change log should say beyond the comparison."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rejected:
    """An answer that may not."""

    reason: str
    text: str


def overflowing(text: str, settings: ConsolidationConfig) -> tuple[NewLine, ...]:
    """Return the lines of an oversized memory that do not fit beside a batch; they are merged like new ones, first."""
    head = memory_md.cut(text, _memory_room(settings))
    if len(head) == len(text):
        return ()
    lines = head.count("\n")
    return tuple(
        NewLine(text=fact.text, day=None, source="", path=memory_md.PATH, number=fact.number)
        for fact in memory_md.facts(text)
        if fact.number > lines
    )


def next_batch(
    lines: Sequence[NewLine], text: str, removed: Sequence[str], settings: ConsolidationConfig
) -> tuple[tuple[NewLine, ...], tuple[NewLine, ...]]:
    """Part lines into those that fit into one call beside the memory, at least one, and the rest."""
    fixed = estimate_tokens(settings.prompt or prompts.prompt(prompts.CONSOLIDATION))
    fixed += estimate_tokens(memory_md.cut(text, _memory_room(settings)))
    fixed += sum(estimate_tokens(fact) + 2 for fact in removed)
    room = max(settings.max_input_tokens - fixed, LEAST_ROOM)
    batch: list[NewLine] = []
    for line in lines:
        clipped = _clipped(line, room)
        cost = estimate_tokens(clipped.text) + LINE_OVERHEAD
        if batch and cost > room:
            break
        batch.append(clipped)
        room -= cost
    return tuple(batch), tuple(lines[len(batch) :])


def merge(
    merger: Merger, batch: Sequence[NewLine], text: str, state: ConsolidationState
) -> Steps[Merged | Rejected | Failed]:
    """Merge a batch into a memory; an answer that can be mended is asked for once more.

    Args:
        merger: Budgets and guards.
        batch: The lines, oldest first.
        text: The memory; what of it does not fit beside a batch is among the lines.
        state: Who wrote the memory, and what a person removed from it.
    """
    old = memory_md.cut(text, _memory_room(merger.settings))
    writer = state.memory.writer if state.memory else None
    bounds = Bounds(
        old=old, start=merger.start, budget=merger.budget, max_shrink=merger.settings.max_shrink, writer=writer
    )
    answer = yield from _ask(merger, batch, old, state.removed)
    if isinstance(answer, Failed):
        return answer
    judged = _judged(merger, answer, bounds, batch)
    if isinstance(judged, Refused) and judged.may_be_mended:
        second = yield from _ask(merger, batch, old, state.removed, complaint=judged.reason)
        if isinstance(second, Answer) and isinstance(judge(second, bounds), str):
            answer = second
    return _settled(merger, answer, bounds, batch, state)


def _settled(
    merger: Merger, answer: Answer, bounds: Bounds, batch: Sequence[NewLine], state: ConsolidationState
) -> Merged | Rejected:
    """Take what can be used as it stands: cut to the budget, or with a remark on a contradiction."""
    usable = judge(answer, bounds)
    if isinstance(usable, Refused):
        return Rejected(reason=usable.reason, text=answer.text)
    text = fit(usable, merger.budget)
    remarks = [] if text == usable else [Change(kind="note", text="cut at a line end to hold the budget")]
    remarks += [
        Change(kind="note", text=f"the earlier “{pair.earlier}” stands although “{pair.later}” is later")
        for pair in contradictions(bounds.old, text, batch)
    ]
    cleaned, refused = _without_gone(text, merger, state)
    screened = merger.screening.screen(cleaned, "memory")
    if isinstance(screened, Blocked):
        return Rejected(reason=screened.reason, text="")
    if not memory_md.facts(screened):
        return Rejected(reason="nothing of it may stand in the memory", text=answer.text)
    return Merged(
        text=memory_md.tidy(screened), writer="rules" if answer.by_rules else "model", remarks=(*remarks, *refused)
    )


def _judged(merger: Merger, answer: Answer, bounds: Bounds, batch: Sequence[NewLine]) -> str | Refused:
    judged = judge(answer, bounds)
    if isinstance(judged, Refused):
        return judged
    over = over_budget(judged, merger.budget)
    if over:
        return over
    for pair in contradictions(bounds.old, judged, batch):
        reason = f"it keeps “{pair.earlier}” although the later line says “{pair.later}”"
        return Refused(reason=reason, may_be_mended=True)
    return judged


def _without_gone(text: str, merger: Merger, state: ConsolidationState) -> tuple[str, tuple[Change, ...]]:
    """Take out what a person removed or forgot, whatever words it came back in."""
    refused: list[Change] = []
    is_removed = same_as_any(state.removed)
    by_hand = {line_form(fact) for fact in state.by_hand}

    def is_gone(fact: str) -> bool:
        if line_form(fact) in by_hand:
            return False
        if merger.tombstones.covers(words(fact)):
            refused.append(Change(kind="refused", text="a line that was forgotten"))
            return True
        if is_removed(fact):
            refused.append(Change(kind="refused", text=fact))
            return True
        return False

    return memory_md.without(text, is_gone), tuple(refused)


def _ask(
    merger: Merger, batch: Sequence[NewLine], text: str, removed: Sequence[str], *, complaint: str = ""
) -> Steps[Answer | Failed]:
    request = consolidation_request(
        batch,
        memory=text,
        removed=removed,
        budget=merger.budget,
        today=merger.at.date(),
        complaint=complaint,
        prompt=merger.settings.prompt,
    )
    return (yield from ask_model(AskModel(purpose="consolidation", messages=request, timeout=merger.settings.timeout)))


def _memory_room(settings: ConsolidationConfig) -> int:
    """Return the characters of a memory that a call can hold beside a batch: two budgets of it, or half the call."""
    half = settings.max_input_tokens * CHARS_PER_TOKEN // 2
    return min(settings.max_memory_tokens * CHARS_PER_TOKEN * 2, half)


def _clipped(line: NewLine, room: int) -> NewLine:
    """Cut a line that no call could hold; the whole stays in its log."""
    most = max(room, LEAST_ROOM)
    if estimate_tokens(line.text) + LINE_OVERHEAD <= most:
        return line
    length = max(len(line.text) * (most - LINE_OVERHEAD) // (estimate_tokens(line.text) + 1), 40)
    return replace(line, text=line.text[: length - 1] + "…")
