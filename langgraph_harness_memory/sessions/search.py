"""Which messages answer a query: BM25 over the query's own words, in any script; pure.

Words are compared without case, accents and width, and by their beginning, so that `deploy` finds `deployed`. Scripts
that write without spaces are cut into pairs of characters. Results of the memory's own search tools are left out: they
repeat what is found elsewhere.
"""

import functools
import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import Any

MAX_TERMS = 64
"""Words of a query that count; a pasted page is a valid query, and its first words say what it is about."""

SNIPPET = 240
"""Characters of a snippet."""

PREFIX_FROM = 4
"""Characters from which on a word also finds longer words that begin with it."""

SATURATION = 1.2
LENGTH_WEIGHT = 0.6
"""BM25's k1 and b: a bit less weight on length than usual, since a long answer is no worse an answer."""

OWN_TOOLS = frozenset({"memory_search", "memory_get", "session_search"})

_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"


@functools.cache
def _token() -> "re.Pattern[str]":
    """Compile what a word is at its first use: large sets of characters take milliseconds, which an import need not."""
    return re.compile(rf"[{_UNSPACED}\U00020000-\U0003ffff]+|(?:(?![{_UNSPACED}])\w)+[+#]*|[\U0001f000-\U0001faff]")


@functools.cache
def _unspaced_run() -> "re.Pattern[str]":
    return re.compile(rf"[{_UNSPACED}\U00020000-\U0003ffff]+")


def folded(text: str) -> str:
    """Return a text without case, accents and width."""
    if text.isascii():
        return text.lower()
    # Composed again: Korean syllables fall apart into letters otherwise, and pairs of them would be pairs of letters.
    apart = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join(c for c in apart if not unicodedata.combining(c)))


def terms_of(query: str) -> tuple[str, ...]:
    """Return the words of a query, each once, in their order; empty where it has none."""
    terms: dict[str, None] = {}
    for token in _token().findall(folded(query)):
        if _unspaced_run().fullmatch(token) and len(token) > 2:
            terms.update(dict.fromkeys(token[i : i + 2] for i in range(len(token) - 1)))
        else:
            terms[token] = None
    return tuple(terms)[:MAX_TERMS]


def text_of(record: dict[str, Any]) -> str:
    """Return what a message's plain JSON says as text; empty for results of our own search tools."""
    if record.get("name") in OWN_TOOLS:
        return ""
    content = record.get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = (b if isinstance(b, str) else b.get("text") if isinstance(b, dict) else None for b in blocks)
    return "\n".join(t for t in texts if isinstance(t, str))


@dataclass(frozen=True, slots=True)
class Found:
    """A message that holds words of the query."""

    thread_id: str
    position: int
    counts: dict[str, int]
    length: int


class Ranking:
    """Collects messages and ranks those that hold words of the query."""

    def __init__(self, terms: tuple[str, ...]) -> None:
        self._terms = terms
        self._pattern = _pattern(terms)
        self._found: list[Found] = []
        self._messages = 0
        self._length = 0

    def add(self, thread_id: str, position: int, text: str) -> None:
        """Look at a message."""
        self._messages += 1
        self._length += len(text)
        counts = Counter(self._term_of(match) for match in self._pattern.findall(folded(text)))
        if counts:
            self._found.append(Found(thread_id, position, dict(counts), len(text)))

    def _term_of(self, match: tuple[str, ...] | str) -> str:
        groups = (match,) if isinstance(match, str) else match
        return next(term for term, group in zip(self._ordered, groups, strict=True) if group)

    @property
    def _ordered(self) -> list[str]:
        return _ordered(self._terms)

    def best(self, limit: int) -> list[tuple[float, Found]]:
        """Return the best messages with their rank, smaller is better; of equal ones the later first."""
        with_term = Counter(term for found in self._found for term in found.counts)
        rarity = {t: math.log(1 + (self._messages - n + 0.5) / (n + 0.5)) for t, n in with_term.items()}
        average = max(1.0, self._length / max(1, self._messages))
        scored = [(-self._score(found, rarity, average), found) for found in self._found]
        return sorted(scored, key=lambda pair: (pair[0], -pair[1].position))[:limit]

    def _score(self, found: Found, rarity: dict[str, float], average: float) -> float:
        damping = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * found.length / average)
        return sum(rarity[t] * n * (SATURATION + 1) / (n + damping) for t, n in found.counts.items())


def snippet(text: str, terms: tuple[str, ...]) -> str:
    """Return the part of a text around the densest place where terms stand, on one line."""
    places = [m.start() for m in _pattern(terms).finditer(folded(text))]
    at = max(places, key=lambda p: (sum(p <= q < p + SNIPPET * 2 // 3 for q in places), -p)) if places else 0
    start = _unfolded(text, at) - SNIPPET // 6
    start = 0 if len(text) <= SNIPPET else max(0, min(start, len(text) - SNIPPET))
    cut = " ".join(text[start : start + SNIPPET].split())
    return f"{'…' if start else ''}{cut}{'…' if start + SNIPPET < len(text) else ''}"


def _unfolded(text: str, index: int) -> int:
    """Return where a place of the folded text stands in the text itself."""
    if text.isascii():
        return index
    length = 0
    for place, character in enumerate(text):
        if length >= index:
            return place
        length += len(folded(character))
    return len(text)


def _ordered(terms: tuple[str, ...]) -> list[str]:
    # The longest first, so that `deployment` is not counted for `deploy` when both were asked for.
    return sorted(terms, key=len, reverse=True)


def _pattern(terms: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"({_term_pattern(term)})" for term in _ordered(terms)))


def _term_pattern(term: str) -> str:
    if _unspaced_run().fullmatch(term) or not re.match(r"\w", term):
        return re.escape(term)
    # A word may stand right behind or before one of a script without spaces.
    begin, letter = rf"(?<!(?![{_UNSPACED}])[^\W_])", rf"(?![{_UNSPACED}])\w"
    if term[-1] in "+#":
        return rf"{begin}{re.escape(term)}(?![+#])"
    ending = rf"(?:{letter})*" if len(term) >= PREFIX_FROM else rf"(?![+#])(?!{letter})"
    return rf"{begin}{re.escape(term)}{ending}"
