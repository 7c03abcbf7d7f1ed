"""What a rewrite of `MEMORY.md` added, changed and dropped, and where each line came from."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from langgraph_harness_memory.curation.requests import NewLine
from langgraph_harness_memory.curation.wording import likeness, line_form, share, words
from langgraph_harness_memory.formats import memory_md
from langgraph_harness_memory.formats.changes import Change

WORDED_ANEW = 1 / 3
"""Likeness from which a new line is an old one in other words."""
TAKEN_OVER = 0.5
"""Part of a daily log's line that a line of the memory must hold to have come from it; its numbers must all be there to count as
taken over."""
MEANT_BY = 0.75
"""Part of a later line that a line of the memory must hold, with a word that the earlier one lacks, to stand for the later one."""
SHOWN_CHARS = 400
"""Characters of a line in the change log; its daily log holds the whole."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contradiction:
    """Two lines about one matter that cannot both hold; the later one should win."""

    earlier: str
    later: str


def compare(old: str, new: str, merged: Sequence[NewLine]) -> tuple[Change, ...]:
    """Return what became of each line: changed, added, dropped, and what of the merged lines was left in its log.

    Args:
        old: The memory before.
        new: The memory after.
        merged: The lines that were merged, oldest first.
    """
    before = {line_form(fact.text): fact.text for fact in memory_md.facts(old)}
    after = {line_form(fact.text): fact.text for fact in memory_md.facts(new)}
    gone = [text for form, text in before.items() if form not in after]
    come = [text for form, text in after.items() if form not in before]
    lines = [(line, words(line.text)) for line in merged]
    pairs = _pairs(gone, come)
    found = [_changed(gone[a], come[b], lines) for a, b in pairs]
    paired_old, paired_new = {a for a, _ in pairs}, {b for _, b in pairs}
    for at, text in enumerate(come):
        if at not in paired_new:
            found.append(Change(kind="added", text=_short(text), origin=_origin(words(text), lines)))
    for at, text in enumerate(gone):
        if at not in paired_old:
            found.append(Change(kind="dropped", text=_short(text)))
    return (*found, *_left(after.values(), lines))


def contradictions(old: str, new: str, merged: Sequence[NewLine]) -> Iterator[Contradiction]:
    """Give each pair where an answer keeps the earlier of two contradicting lines and drops the later one."""
    lines = [(line.text, words(line.text)) for line in merged]
    earlier = [(fact.text, words(fact.text)) for fact in memory_md.facts(old)]
    after = [words(fact.text) for fact in memory_md.facts(new)]
    for at, (later, said_later) in enumerate(lines):
        if any(said_later <= fact for fact in after):
            continue  # most lines stand as they were said; without this, thousands are compared with each other
        holding = [fact for fact in after if share(said_later, fact) >= MEANT_BY]
        for first, said_first in (*earlier, *lines[:at]):
            if not _contradict(said_first, said_later) or any(fact & (said_later - said_first) for fact in holding):
                continue
            if any(said_first <= fact for fact in after):
                yield Contradiction(earlier=first, later=later)
                break


def _contradict(one: frozenset[str], other: frozenset[str]) -> bool:
    """Say whether two lines speak of one matter and differ in a word or two of it."""
    return likeness(one, other) >= 0.4 and 0 < len(one - other) <= 2 and 0 < len(other - one) <= 2


def _pairs(gone: Sequence[str], come: Sequence[str]) -> list[tuple[int, int]]:
    """Match lines that went with lines that came, the most alike first; each at most once."""
    old, new = [words(text) for text in gone], [words(text) for text in come]
    alike = sorted(
        ((likeness(one, other), a, b) for a, one in enumerate(old) for b, other in enumerate(new)),
        key=lambda entry: (-entry[0], entry[1], entry[2]),
    )
    taken_old, taken_new = set[int](), set[int]()
    pairs: list[tuple[int, int]] = []
    for degree, a, b in alike:
        if degree < WORDED_ANEW:
            break
        if a not in taken_old and b not in taken_new:
            pairs.append((a, b))
            taken_old.add(a)
            taken_new.add(b)
    return sorted(pairs)


def _changed(before: str, after: str, lines: Sequence[tuple[NewLine, frozenset[str]]]) -> Change:
    said_before, said_after = words(before), words(after)
    came, went = said_after - said_before, said_before - said_after
    origin = _origin(came, lines)
    return Change(
        kind="changed",
        text=_short(after),
        before=_short(before),
        origin=origin,
        supersedes=bool(origin and went),
    )


def _origin(said: frozenset[str], lines: Sequence[tuple[NewLine, frozenset[str]]]) -> str:
    """Return where the words of a line came from: the line that holds most of them, the later one where two do."""
    best, most = "", TAKEN_OVER
    for line, words_of_line in lines:
        held = share(said, words_of_line)
        if held >= most:
            best, most = line.origin, held
    return best


def _left(after: Iterable[str], lines: Sequence[tuple[NewLine, frozenset[str]]]) -> Iterator[Change]:
    kept = [words(text) for text in after]
    for line, said in lines:
        if not any(share(said, fact) >= TAKEN_OVER and _numbers(said) <= fact for fact in kept):
            yield Change(kind="left", text=_short(line.text), origin=line.origin)


def _numbers(said: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in said if any(character.isdigit() for character in word))


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
