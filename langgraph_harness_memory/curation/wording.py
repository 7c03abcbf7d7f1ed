"""Words of a text for comparing facts: what two lines share, whatever their case, form or script.

Not for search: an index has its own words. Here a wrong match costs a fact, so that everything is plain and exact.
"""

import functools
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u00ad\U000e0000-\U000e007f]")
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_DENSE = re.compile("[^\x00-\u04ff\u2000-\u206f]")


@functools.cache
def _token() -> "re.Pattern[str]":
    """Compile what a word is at its first use: large sets of characters take milliseconds, which an import need not."""
    return re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:[.'’:/@+#-]+[^\W_{_CJK}]+)*[+#]*", re.UNICODE)


@functools.cache
def _is_cjk() -> "re.Pattern[str]":
    return re.compile(rf"[{_CJK}]")


STOP_WORDS = frozenset(
    """a an and any are as at be been being but by can could did do does doing for from had has have having he her hers
    him his how i if in into is it its just me my of on or our ours out over own she so some such than that
    the their them then there these they this those to too up very was we were what when where which while who whom why
    will with would you your yours user users user's assistant also about
    der die das und ist ein eine von zu mit den dem des im in auf für
    el la los las un una y de en que es por con para le les des et du est""".split()  # noqa: SIM905  a list of 150 quoted words is not read
)
"""Words that say nothing of what a line is about."""


def normal(text: str) -> str:
    """Return a text as it is compared: one form per character, no case, no accents, nothing invisible, single blanks."""
    if text.isascii():  # most text is, and what follows takes a step per character
        return " ".join(text.lower().split())
    wide = unicodedata.normalize("NFKD", _INVISIBLE.sub("", text)).casefold()
    bare = "".join(c for c in wide if not unicodedata.combining(c))
    return " ".join(unicodedata.normalize("NFC", bare).split())


def tokens(text: str) -> list[str]:
    """Return the words of a text in order, simple endings cut off; runs of CJK characters become pairs of characters."""
    found: list[str] = []
    for token in _token().findall(normal(text)):
        if _is_cjk().match(token):
            found += [token[at : at + 2] for at in range(len(token) - 1)] or [token]
        else:
            found.append(_stem(token))
    return found


def words(text: str) -> frozenset[str]:
    """Return the words that say what a text is about; all of its words where it has no others."""
    found = tokens(text)
    return frozenset(word for word in found if word not in _STOP_STEMS) or frozenset(found)


def share(part: frozenset[str], whole: frozenset[str]) -> float:
    """Return how much of the first set of words is in the second, from 0 to 1."""
    return len(part & whole) / len(part) if part else 0.0


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Return how alike two sets of words are, from 0 to 1 (their Jaccard index)."""
    return len(one & other) / len(one | other) if one or other else 1.0


def same_line(one: str, other: str) -> bool:
    """Say whether two facts are the same but for case, punctuation and form."""
    return line_form(one) == line_form(other)


def line_form(text: str) -> str:
    """Return what two lines that say the same in the same words have in common."""
    return " ".join(_token().findall(normal(text))) or normal(text)


def runs(sequence: Sequence[str], length: int) -> frozenset[tuple[str, ...]]:
    """Return every run of so many words in a row."""
    return frozenset(tuple(sequence[at : at + length]) for at in range(len(sequence) - length + 1))


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: a CJK character is about three quarters of one, other scripts four characters each.

    Measured against cl100k: 820 Chinese characters are about 600 tokens.
    """
    dense = len(_DENSE.findall(text))
    return (len(text) - dense) // 4 + (dense * 3 + 3) // 4


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    word = word.removesuffix("'s").removesuffix("’s")
    if len(word) < 5 or not word.isascii() or not word.isalpha():
        return word
    for ending, least in (("ies", 3), ("ing", 4), ("ed", 4), ("es", 4), ("s", 4)):
        if word.endswith(ending) and len(word) - len(ending) >= least and not word.endswith("ss"):
            cut = word[: -len(ending)]
            return cut + "i" if ending == "ies" else cut.removesuffix("e")
    return word.removesuffix("e")


_STOP_STEMS = STOP_WORDS | frozenset(_stem(word) for word in STOP_WORDS)
