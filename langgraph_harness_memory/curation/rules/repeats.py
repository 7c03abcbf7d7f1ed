"""Finds a line among many that says the same, without comparing it with each.

A line repeats another when the other holds every word that it is about, in the same order, with the same negations. One
word that differs may be the value that matters ("port 8080", "the red button"), so that likeness alone is never enough.
"""

from langgraph_harness_memory.curation.rules import cues
from langgraph_harness_memory.curation.wording import tokens, words

NEGATIONS = cues.word_set(
    """no not never none nor cannot dont don't doesn't didn't isn't aren't wasn't won't can't nicht kein keine nie ne pas jamais nunca não
    mai не нет никогда"""
)
"""Words that turn a statement around."""
DENSE_NEGATIONS = ("不", "没", "沒", "ない", "ません", "않", "못")

LIGHT = (
    cues.FILLER | cues.word_set("remember also really very just now still actually again already even")
) - NEGATIONS
"""Words that a repeat may have beyond the line that it repeats."""


class Repeats:
    """Lines that were seen, by their words."""

    def __init__(self) -> None:
        self._lines: list[_Line] = []
        self._holding: dict[str, list[int]] = {}

    def add(self, text: str) -> int:
        """Remember a line; returns its number, counted from 0."""
        line = _Line(text)
        for word in line.words:
            self._holding.setdefault(word, []).append(len(self._lines))
        self._lines.append(line)
        return len(self._lines) - 1

    def find(self, text: str) -> int | None:
        """Return the number of the first line that says the same, or all that this one says; `None` without one."""
        line = _Line(text)
        rarest = min(line.telling, key=lambda word: len(self._holding.get(word, ())), default=None)
        near = self._holding.get(rarest, ()) if rarest is not None else ()
        return next((number for number in near if line.repeats(self._lines[number])), None)


class _Line:
    """A line's words, each once, in order."""

    __slots__ = ("negations", "telling", "words")

    def __init__(self, text: str) -> None:
        said = tokens(text)
        about = words(text)
        self.words = dict.fromkeys(word for word in said if word in about)
        self.telling = [word for word in self.words if word not in LIGHT] or list(self.words)
        negated = [word for word in said if word in NEGATIONS]
        self.negations = len(negated) + sum(text.count(mark) for mark in DENSE_NEGATIONS)

    def repeats(self, other: "_Line") -> bool:
        """Say whether another line holds all that this one is about."""
        if self.negations != other.negations or any(word not in other.words for word in self.telling):
            return False
        telling = set(self.telling)
        return self.telling == [word for word in other.words if word in telling]
