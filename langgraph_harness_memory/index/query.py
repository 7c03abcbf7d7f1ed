"""What a query asks for: its terms, the days it names, and what is tried when nothing matches.

    "What did we decide about node.js last week?"
        │ days        last week ─► a period, its words leave the terms
        │ words       node.js ─► the whole, else its parts
        │ stop words  what did we about ─► out (a query of nothing else keeps them)
        ▼
    terms: decid, node.js | node js      periods: 23–29 November

Any string is a valid query: operators, quotes and NUL are text like any other.
"""

from dataclasses import dataclass
from datetime import date

from langgraph_harness_memory.index.dates import Period, periods_in
from langgraph_harness_memory.index.stopwords import DENSE_WORDS, stop_words_for
from langgraph_harness_memory.index.text import Word, words_of

MAX_QUERY_CHARACTERS = 10_000
"""Characters of a query that are read; a pasted page asks with its beginning."""

MAX_CHOICES = 400
"""Words of a query that are looked up; the rarest of them are searched for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """One word of the query and the terms that may stand for it, the most exact first."""

    whole: tuple[str, ...]
    """Terms that mean exactly this word."""
    parts: tuple[str, ...] = ()
    """Terms to use where the index does not know the whole: an identifier's parts, the characters of a run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """A query, taken apart."""

    choices: tuple[Choice, ...]
    """What to look for, in the order of the query; empty for a query without letters, digits or pictures."""
    periods: tuple[Period, ...]
    """Days that the query names."""
    literal: str
    """The query without outer blanks, for a search character by character when it has no terms."""
    asks_for_days_alone: bool = False
    """Nothing is left of it but a day or relative time ("yesterday")."""

    @property
    def terms(self) -> list[str]:
        """Every term that may matter, once each."""
        return list(dict.fromkeys(t for c in self.choices for t in (*c.whole, *c.parts)))


def analyse(text: str, today: date) -> Query:
    """Take a query apart.

    Args:
        text: Any string.
        today: What "yesterday" is counted from.
    """
    text = _readable(text[:MAX_QUERY_CHARACTERS])
    periods = tuple(periods_in(text, today))
    spoken = words_of(text)
    timeless = _content(words_of(_without_relative_days(text, periods)))
    words = timeless or _content(spoken) or spoken
    exact_days = [p for p in periods if p.is_relative or p.first == p.last]
    return Query(
        choices=tuple(dict.fromkeys(_choice(word) for word in words[:MAX_CHOICES])),
        periods=periods,
        literal=text.strip(),
        asks_for_days_alone=bool(exact_days) and not _content(words_of(_without(text, periods))),
    )


def _readable(text: str) -> str:
    """Put blanks for NUL and a replacement for lone surrogates, which no line of a file can hold."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def _without_relative_days(text: str, periods: tuple[Period, ...]) -> str:
    return _without(text, tuple(p for p in periods if p.is_relative))


def _without(text: str, periods: tuple[Period, ...]) -> str:
    lowered = text.lower() if periods else text
    for period in periods:
        lowered = lowered.replace(period.text, " ", 1)
    return lowered if periods else text


def _content(words: list[Word]) -> list[Word]:
    """Leave out the words that ask rather than tell."""
    stop = stop_words_for([word.whole for word in words])
    kept: list[Word] = []
    for word in words:
        if word.is_dense:
            kept += _dense_content(word)
        elif word.parts or word.whole not in stop:
            kept.append(word)
    return kept


def _dense_content(word: Word) -> list[Word]:
    """Cut a run of a script without spaces at its particles and question words."""
    rest = word.surface
    for particle in DENSE_WORDS:
        if len(particle) > 1 or len(rest) > 2:
            rest = rest.replace(particle, " ")
    return words_of(rest)


def _choice(word: Word) -> Choice:
    if not word.is_dense:
        return Choice(whole=(word.whole,), parts=word.parts)
    characters = tuple(word.surface)
    return Choice(whole=word.parts, parts=characters) if word.parts else Choice(whole=characters)
