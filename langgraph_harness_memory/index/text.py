"""Lines and queries cut into terms, script by script.

    raw text ─► normalise (NFKC, accents and vowel points off) ─► words ─► terms
                                                             │
      Latin, Cyrillic, Greek, Arabic, Indic …   a word  ─► its stem
      getUserById, snake_case, POL-358, v1.2    an identifier ─► the whole, then its parts
      Chinese, Japanese, Korean, Thai …         a run without spaces ─► its characters and pairs of characters
      emoji and other pictures                  each by itself

Both sides pass through the same functions, so that what was cut one way in a line is cut the same way in a query.
No term holds white space: a line's terms joined by blanks are what the back ends store and split.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from langgraph_harness_memory.index.stems import stem

MAX_TERM_LENGTH = 64
"""Characters of a term; what is longer (base64, hashes in a row) is cut, on both sides."""

DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3041-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f"
    "\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts that write without spaces, or that glue particles to words (Korean)."""

_LETTER = rf"(?:[^\W{DENSE}]|[\u0900-\u0963\u0966-\u0dff\u1a00-\u1cff])"
_PICTURE = "[\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\U0001f000-\U0001faff]"
_WORD = re.compile(
    rf"(?P<dense>[{DENSE}]+)|(?P<picture>{_PICTURE})"
    rf"|(?<!{_LETTER})\.?{_LETTER}+(?:[-./:@'’&+#]{_LETTER}+)*(?:\+\+|[+#](?!{_LETTER}))?"
)
_ASCII_WORD = re.compile(r"(?<!\w)\.?\w+(?:[-./:@'&+#]\w+)*(?:\+\+|[+#](?!\w))?", re.ASCII)
_MARKS = re.compile(
    "[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0640\ufe00-\ufe0f\u200b-\u200f\u00ad]"
)
_SEAM = re.compile(r"[-./:@'&+#_\d]|[a-z][A-Z]|[A-Z][A-Z][a-z]")
_PART = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z]{3})(?=\d)|(?<=\d)(?=[A-Za-z]{3})")


@dataclass(frozen=True, kw_only=True, slots=True)
class Word:
    """One word of a query."""

    surface: str
    """As it was typed, normalised."""
    whole: str
    """Its term: the stem of a plain word, an identifier as a whole, a character of a run without spaces."""
    parts: tuple[str, ...] = ()
    """Terms of an identifier's parts, in order; the pairs of a longer run; empty for a plain word."""
    is_dense: bool = False
    """It is a run of a script without spaces."""


def normalise(text: str) -> str:
    """Bring a text to its compatibility form, without accents and vowel points; letters keep their case."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", _MARKS.sub("", decomposed).replace("’", "'"))


def terms_of(text: str) -> list[str]:
    """Cut a line into its terms, in reading order."""
    out: list[str] = []
    if text.isascii():
        for chunk in _ASCII_WORD.findall(text):
            out += _terms_of_word(chunk)
        return out
    for match in _WORD.finditer(normalise(text)):
        if match["dense"]:
            out += _grams(match[0])
        elif match["picture"]:
            out.append(match[0])
        else:
            out += _terms_of_word(match[0])
    return out


def words_of(text: str) -> list[Word]:
    """Cut a query into its words, in reading order."""
    return [_word(match) for match in _WORD.finditer(normalise(text))]


def _word(match: "re.Match[str]") -> Word:
    chunk = match[0]
    if match["dense"]:
        pairs = tuple(chunk[i : i + 2] for i in range(len(chunk) - 1))
        return Word(surface=chunk, whole=chunk if len(chunk) < 3 else "", parts=pairs, is_dense=True)
    if match["picture"]:
        return Word(surface=chunk, whole=chunk)
    whole, *parts = _terms_of_word(chunk)
    return Word(surface=chunk, whole=whole, parts=tuple(parts))


def _grams(run: str) -> list[str]:
    """Return each character of a run and each pair, so that one character finds it and two find it exactly."""
    return [gram for i, char in enumerate(run) for gram in (char, run[i : i + 2])][: 2 * len(run) - 1]


@lru_cache(maxsize=100_000)
def _terms_of_word(chunk: str) -> tuple[str, ...]:
    if not _SEAM.search(chunk):
        return (stem(chunk.casefold())[:MAX_TERM_LENGTH],)
    if chunk[-2:] in ("'s", "'S", "s'", "S'") or chunk[-1] == "'":
        return _terms_of_word(chunk.rstrip("'") if chunk[-1] == "'" else chunk[:-2])
    whole = chunk.casefold()[:MAX_TERM_LENGTH]
    if "'" in chunk and chunk.replace("'", "").isalpha():
        return (whole.replace("'", ""),)
    pieces = [piece for part in _PART.findall(chunk) for piece in _HUMP.split(part)]
    if chunk[-1] in "+#":
        pieces = [piece for piece in pieces if len(piece) > 1]
    parts = [stem(piece.casefold())[:MAX_TERM_LENGTH] for piece in pieces]
    if parts == [whole] or not parts:
        return (whole,)
    if len(parts) == 1 and whole == pieces[0].casefold():
        return (parts[0],)
    return (whole, *parts)
