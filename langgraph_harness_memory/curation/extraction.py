"""The facts of one batch: what is asked, what is shown for reference, and what of the answer may be written."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from langgraph_harness_memory.config import FlushConfig
from langgraph_harness_memory.curation import prompts
from langgraph_harness_memory.curation.answers import facts_in
from langgraph_harness_memory.curation.provenance import Said
from langgraph_harness_memory.curation.requests import flush_request
from langgraph_harness_memory.curation.screening import Blocked, Screening
from langgraph_harness_memory.curation.tombs import forgotten_since, read_tombstones
from langgraph_harness_memory.curation.wording import estimate_tokens, likeness, line_form, share, words
from langgraph_harness_memory.events import Degraded
from langgraph_harness_memory.formats import daily_log, memory_md
from langgraph_harness_memory.formats.tombstones import Tombstones
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.steps import AskModel, Failed, Steps, ask_model, notify

REFERENCE_SHARE = 0.3
"""Part of a call's material that `MEMORY.md` and today's log may take; the conversation has the rest."""
LEAST_REFERENCE = 200
"""Tokens of it that are shown beside the shortest stretch."""
NEWEST_LINES = 500
"""Lines of today's log that are looked at for it."""
SAME_MATTER = 0.3
"""Likeness from which two lines speak of the same matter."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """What a flush looks things up in; the same for all of its batches."""

    thread: ThreadRef
    settings: FlushConfig
    screening: Screening
    at: datetime
    tombstones: Tombstones


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What is written down already."""

    memory: str = ""
    log: tuple[daily_log.LogLine, ...] = field(default=())


Parts = tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
"""Sources and facts of each part of a block."""


def extract(desk: Desk, batch: Sequence[Said], known: Known, *, said_at: datetime) -> Steps[Parts | Failed]:
    """Return the facts of a batch by provenance: own words first, then what was repeated from tools."""
    parts: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    for is_repeated in (False, True):
        said = tuple(part for part in batch if bool(part.tools) == is_repeated)
        if not said:
            continue
        facts = yield from _ask(desk, said, known, with_repeated=is_repeated)
        if isinstance(facts, Failed):
            return facts
        # A person may have forgotten something while the model was thinking.
        stones = yield from read_tombstones(desk.thread.tenant)
        if isinstance(stones, Failed):
            return stones
        kept = yield from _screened(desk, facts, known, forgotten_since(desk.tombstones, stones, said_at=said_at))
        if kept:
            parts.append((_labels(said), kept))
    return tuple(parts)


def _ask(desk: Desk, said: Sequence[Said], known: Known, *, with_repeated: bool) -> Steps[tuple[str, ...] | Failed]:
    """Ask for the facts of words of one provenance, in several calls where one message is longer than a call may be."""
    memory, log = _reference(desk.settings, known, said, with_repeated=with_repeated)
    facts: list[str] = []
    for piece in _pieces(said, room(desk.settings)):
        request = flush_request(piece, at=desk.at, memory=memory, log=[*log, *facts[-20:]], prompt=desk.settings.prompt)
        answer = yield from ask_model(AskModel(purpose="flush", messages=request, timeout=desk.settings.timeout))
        if isinstance(answer, Failed):
            return answer
        facts += facts_in(answer.text, truncated=answer.truncated)
    return tuple(dict.fromkeys(facts))


def _pieces(said: Sequence[Said], budget: int) -> Iterator[tuple[Said, ...]]:
    held: list[Said] = []
    size = 0
    for part in (chunk for whole in said for chunk in _chunks(whole, budget)):
        cost = estimate_tokens(part.text) + 8
        if held and size + cost > budget:
            yield tuple(held)
            held, size = [], 0
        held.append(part)
        size += cost
    yield tuple(held)


def _chunks(said: Said, budget: int) -> Iterator[Said]:
    """Part one long text at line ends, or anywhere where it has none."""
    rest = said.text
    while estimate_tokens(rest) + 8 > budget:
        length = max(len(rest) * budget // (estimate_tokens(rest) + 8), 1)
        end = rest.rfind("\n", length // 2, length) + 1 or length
        while estimate_tokens(rest[:end]) + 8 > budget and end > 1:
            end //= 2
        yield replace(said, text=rest[:end])
        rest = rest[end:]
    yield replace(said, text=rest)


def _reference(
    settings: FlushConfig, known: Known, said: Sequence[Said], *, with_repeated: bool
) -> tuple[str, tuple[str, ...]]:
    """Return what of `MEMORY.md` and today's log is shown beside a stretch; words of tools only beside words of tools.

    As much of it as stands in proportion to the stretch: all, or those lines that share most of their words with it, then
    the newest. Beside a short stretch the whole reference cost five times the stretch itself.
    """
    new = sum(estimate_tokens(part.text) for part in said)
    fair = int(new * REFERENCE_SHARE / (1 - REFERENCE_SHARE))
    budget = min(int(settings.max_input_tokens * REFERENCE_SHARE), max(LEAST_REFERENCE, fair))
    log = [line.text for line in known.log if with_repeated or "tool:" not in line.source][-NEWEST_LINES:]
    if estimate_tokens(known.memory) + sum(estimate_tokens(line) + 2 for line in log) <= budget:
        return known.memory, tuple(log)
    facts = [fact.text for fact in memory_md.facts(known.memory)]
    lines = [*facts, *log]
    matter = words("\n".join(part.text for part in said))
    newest_first = range(len(lines) - 1, -1, -1)
    chosen: set[int] = set()
    for place in sorted(newest_first, key=lambda place: -share(words(lines[place]), matter)):
        cost = estimate_tokens(lines[place]) + 4
        if cost <= budget:
            chosen.add(place)
            budget -= cost
    memory = "\n".join(f"- {fact}" for place, fact in enumerate(facts) if place in chosen)
    return memory, tuple(line for place, line in enumerate(log, len(facts)) if place in chosen)


def _screened(
    desk: Desk, facts: Sequence[str], known: Known, is_forgotten: Callable[[frozenset[str]], bool]
) -> Steps[tuple[str, ...]]:
    """Return what may be written: redacted, allowed, not forgotten, and not in `MEMORY.md` word for word already."""
    standing = {line_form(fact.text) for fact in memory_md.facts(known.memory)}
    kept: list[str] = []
    for fact in facts:
        passed = desk.screening.screen(fact, "daily_log")
        if isinstance(passed, Blocked):
            told = Degraded(
                thread_id=desk.thread.thread_id, tenant=desk.thread.tenant, what="a fact", reason=passed.reason
            )
            yield from notify(told)
        elif _says_nothing_new(passed, standing, known) or is_forgotten(words(passed)):
            continue
        else:
            kept.append(passed)
    return tuple(kept)


def _says_nothing_new(fact: str, standing: set[str], known: Known) -> bool:
    """Say whether a fact stands in `MEMORY.md`, and nothing that was written since speaks of the same matter."""
    if line_form(fact) not in standing:
        return not fact.strip()
    said = words(fact)
    return not any(
        likeness(said, words(line.text)) >= SAME_MATTER and line_form(line.text) != line_form(fact)
        for line in known.log
    )


def _labels(said: Sequence[Said]) -> tuple[str, ...]:
    tools = dict.fromkeys(f"tool:{tool}" for part in said for tool in part.tools)
    return tuple(tools) or tuple(dict.fromkeys(part.role for part in said))


def room(settings: FlushConfig) -> int:
    """Return the tokens that one call has for the conversation, beside its instructions and its reference."""
    instructions = estimate_tokens(settings.prompt or prompts.prompt(prompts.FLUSH))
    return max(int((settings.max_input_tokens - instructions) * (1 - REFERENCE_SHARE)), 200)
