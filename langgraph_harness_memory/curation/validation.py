"""May what a model wrote replace `MEMORY.md`? Every reason to say no, in one place.

Refused: blank, a sentinel, a refusal, talk to whoever asked, a fence, JSON, prose, a placeholder for what was there
before, an answer that stopped at its limit, one far over budget, one that drops more than a run may drop, and one by
rules where a model wrote the memory. A refused text is kept aside by the caller; nothing else changes.
"""

import re
from dataclasses import dataclass

from langgraph_harness_memory.curation.answers import is_fenced, is_nothing, is_refusal, is_talk, without_thoughts
from langgraph_harness_memory.curation.wording import share, words
from langgraph_harness_memory.formats import memory_md
from langgraph_harness_memory.formats.consolidation_state import Writer
from langgraph_harness_memory.steps import Answer

FAR_OVER = 1.5
"""Times the budget from which an answer is refused; below it, it is cut at a line end."""
LEAST_OF_BUDGET = 0.25
"""Part of the budget that must stay of a memory that was over it; below it, the answer is refused."""
SMALL_MEMORY = 3
"""Facts up to which a memory may be replaced as a whole: two lines can both have been superseded."""

_ELIDED = re.compile(
    r"\W*(?:\.{3,}|…|(?:the )?(?:rest|remainder|remaining|other|existing|previous)\b.{0,40}\b(?:unchanged|as before|same|omitted|here|above)"
    r"|(?:unchanged|same as (?:before|above)|omitted for brevity|no changes? (?:here|below)|see above))\W*",
    re.IGNORECASE,
)
_STRUCTURED = re.compile(r"\s*(?:[-*+•]\s|\d{1,3}[.)]\s|#{1,6}\s|\|)|\ufeff")


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """An answer that must not replace the memory."""

    reason: str
    may_be_mended: bool = False
    """It is worth asking once more with the reason."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """What an answer is measured against."""

    old: str
    """The memory it is to replace."""
    start: str
    """The memory as it was when the run began; several batches must not drop together what one may not."""
    budget: int
    """Characters the memory may have."""
    max_shrink: float
    """Part of the memory that one run may drop while it is under budget."""
    writer: Writer | None
    """Who wrote the old memory; `None` = nobody of ours."""


def judge(answer: Answer, bounds: Bounds) -> str | Refused:
    """Return the text of an answer, tidied, or why it must not be used.

    A text somewhat over budget is returned as it is: the caller asks again or cuts it.
    """
    text = without_thoughts(answer.text)
    if answer.by_rules and bounds.writer == "model" and bounds.old.strip():
        return Refused(reason="rules may not rewrite a memory that a model wrote")
    if answer.truncated:
        return Refused(reason="it stopped at its length limit")
    if not text:
        return Refused(reason="it calls a tool" if answer.has_tool_calls else "it is blank")
    for judged in (_form(text, bounds), _amount(text, bounds)):
        if judged is not None:
            return judged
    return memory_md.tidy(text)


def fit(text: str, budget: int) -> str:
    """Cut a memory at a line end so that it holds its budget; whole facts stay, the last ones go."""
    return memory_md.tidy(memory_md.cut(text, budget)) if len(text) > budget else text


def over_budget(text: str, budget: int) -> Refused | None:
    """Say by how much a text is over its budget; `None` when it fits."""
    if len(text) <= budget:
        return None
    return Refused(reason=f"it has {len(text)} characters and {budget} are allowed", may_be_mended=True)


def _form(text: str, bounds: Bounds) -> Refused | None:
    lines = [line for line in text.split("\n") if line.strip()]
    if is_nothing(text) or (len(lines) <= 2 and is_nothing(lines[0])):
        return Refused(reason="it says that there is nothing, where a whole file was asked for")
    if is_refusal(lines[0]):
        return Refused(reason="it is a refusal")
    if is_fenced(text):
        return Refused(reason="it stands in a code fence", may_be_mended=True)
    if text.lstrip().startswith(("{", "[{", '["')):
        return Refused(reason="it is JSON", may_be_mended=True)
    if _talks(lines):
        return Refused(reason="it talks to whoever asked", may_be_mended=True)
    if any(_ELIDED.fullmatch(line.strip()) for line in lines):
        return Refused(reason="it stands for lines that it leaves out", may_be_mended=True)
    if _structured(text) < 0.5 <= _structured(bounds.old):
        return Refused(reason="it is prose", may_be_mended=True)
    return None


def _talks(lines: list[str]) -> bool:
    first, last = lines[0], lines[-1]
    return any(is_talk(line) and not _STRUCTURED.match(line) for line in (first, last))


def _structured(text: str) -> float:
    """Return which part of a memory's lines are bullets, headings or table rows; 1 for a blank one."""
    lines = [line for line in text.split("\n") if line.strip()]
    return sum(1 for line in lines if _STRUCTURED.match(line)) / len(lines) if lines else 1.0


def _amount(text: str, bounds: Bounds) -> Refused | None:
    if not memory_md.facts(text):
        return Refused(reason="it holds no facts")
    if len(text) > bounds.budget * FAR_OVER:
        return Refused(reason=f"it has {len(text)} characters, far more than the {bounds.budget} allowed")
    for old in (bounds.old, bounds.start):
        if len(old) > bounds.budget and len(text) < bounds.budget * LEAST_OF_BUDGET:
            return Refused(reason=f"it leaves {len(text)} characters of a memory of {len(old)}")
        if len(old) <= bounds.budget and (dropped := _dropped(old, text)) > bounds.max_shrink:
            return Refused(reason=f"it drops {dropped:.0%} of the memory")
    return None


def _dropped(old: str, new: str) -> float:
    """Return which part of a memory an answer drops: of its length, or of its facts, whichever is more."""
    if not old.strip():
        return 0.0
    by_length = 1 - len(new.strip()) / len(old.strip())
    facts = [words(fact.text) for fact in memory_md.facts(old)]
    kept = [words(fact.text) for fact in memory_md.facts(new)]
    if len(facts) <= SMALL_MEMORY:
        return by_length
    gone = sum(1 for fact in facts if all(share(fact, other) < 0.5 for other in kept))
    return max(by_length, gone / len(facts))
