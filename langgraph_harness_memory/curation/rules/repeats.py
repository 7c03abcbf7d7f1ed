"""Finds a line among many that says the same, without comparing it with each."""

from langgraph_harness_memory.curation.wording import words

SAME_FACT = 0.8
"""How much two lines must share (Jaccard index of their words) before one is taken for the other again."""
WITHIN = 0.95
"""Part of a line's words that another must hold for the line to add nothing."""


class Repeats:
    """Lines that were seen, by their words.

    Two lines that share four fifths of their words share at least one of the longest fifth of either, so that only
    lines that hold such a word are compared.
    """

    def __init__(self) -> None:
        self._lines: list[frozenset[str]] = []
        self._holding: dict[str, list[int]] = {}

    def add(self, text: str) -> int:
        """Remember a line; returns its number, counted from 0."""
        said = words(text)
        for word in said:
            self._holding.setdefault(word, []).append(len(self._lines))
        self._lines.append(said)
        return len(self._lines) - 1

    def find(self, text: str) -> int | None:
        """Return the number of the first line that says the same, or holds all that this one says; `None` without one."""
        said = words(text)
        rare = sorted(said, key=lambda word: (len(self._holding.get(word, ())), word))[: len(said) // 5 + 1]
        near = sorted({number for word in rare for number in self._holding.get(word, ())})
        return next((number for number in near if _is_same(said, self._lines[number])), None)


def _is_same(said: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(said & other)
    return shared >= SAME_FACT * len(said | other) or (len(said) > 3 and shared >= WITHIN * len(said))
