"""How many tokens a text costs, estimated by what it is made of.

No vocabulary is needed, so that counting works offline, for every provider, and at once. A text is taken apart into
words, numbers, punctuation and scripts, each with a price by its length; four characters a token would be right for
English prose alone (820 Chinese characters are about 600 tokens, not 205).

The prices are a non-negative least-squares fit against `o200k_base` over prose, code, JSON and tool calls in English and
the messages of system programs in eighteen other languages; `python -m benchmarks tokens` measures the error on texts
that were not part of the fit.
"""

import re
from collections import Counter
from collections.abc import Iterable

SAMPLED_ABOVE = 48_000
"""Characters above which a text is measured by samples: counting 5 MB takes 0.4 s and tells nothing more."""

SAMPLES, SAMPLE_CHARS = 16, 2_000
"""How many evenly spread pieces of how many characters stand for a text that is sampled."""

_LOWER = re.compile(r"[A-Z]?[a-z]+|(?<![A-Z])[A-Z](?![A-Za-z])")
_UPPER = re.compile(r"[A-Z]{2,}(?![a-z])")
_ACCENTED = re.compile(r"[A-Za-z]*[\u00c0-\u024f\u1e00-\u1eff][A-Za-z\u00c0-\u024f\u1e00-\u1eff]*")
_CYRILLIC = re.compile(r"[\u0400-\u052f]+")
_DIGITS = re.compile(r"[0-9]+")
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]+")
_LINE_ENDS = re.compile(r"\s*\n\s*")
_GAPS = re.compile(r"[ \t]{2,}")
_BEYOND_LATIN = re.compile(r"[^\x00-\u024f\u0400-\u052f\u1e00-\u1eff]")


def _prices(*steps: tuple[int, float]) -> tuple[float, ...]:
    """Spread `(up to this length, price)` over a table by length; the last entry holds the price per further character."""
    table = [0.0]
    for end, price in steps[:-1]:
        table += [price] * (end - len(table) + 1)
    return (*table, steps[-1][1])


_LOWER_PRICES = _prices((1, 1.18), (3, 0.93), (5, 0.91), (7, 1.01), (9, 1.22), (12, 1.76), (16, 3.48), (17, 0.30))
_UPPER_PRICES = _prices((1, 1.0), (2, 0.80), (3, 0.80), (5, 1.93), (8, 2.4), (9, 0.35))
_ACCENTED_PRICES = _prices((2, 0.87), (4, 1.37), (6, 2.05), (8, 3.52), (11, 4.19), (12, 0.35))
_CYRILLIC_PRICES = _prices((3, 0.92), (6, 1.60), (9, 2.08), (13, 2.78), (14, 0.22))
_PUNCTUATION_PRICES = _prices((1, 0.70), (2, 1.02), (4, 0.91), (8, 1.41), (9, 0.06))

_DIGITS_PRICE, _LINE_END_PRICE, _GAP_PRICE = 1.6, 0.66, 0.82
"""For each group of up to three digits, each line end with its indentation, and each run of spaces."""

_SCRIPTS = (
    (0x3040, 0x30FF, 0.68),  # kana
    (0x3000, 0x303F, 0.93),  # CJK punctuation
    (0x3400, 0x9FFF, 0.77),  # Han
    (0xAC00, 0xD7AF, 0.75),  # Hangul
    (0xFF00, 0xFFEF, 0.93),  # full-width forms
    (0x0370, 0x03FF, 0.43),  # Greek
    (0x0590, 0x05FF, 0.53),  # Hebrew
    (0x0600, 0x06FF, 0.40),  # Arabic
    (0x0900, 0x097F, 0.41),  # Devanagari
    (0x0980, 0x0DFF, 0.43),  # Bengali to Sinhala
    (0x0E00, 0x0E7F, 0.43),  # Thai
    (0x2000, 0x2BFF, 1.0),  # dashes, quotes, arrows, boxes
)
"""Price of one character by its script; what is not listed costs as an emoji does."""

_OTHER_PRICE = 2.0


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text.

    Args:
        text: Any text; one of more than 48 000 characters is sampled evenly.

    Returns:
        Tokens, at least 1 for a text that is not empty.
    """
    if not text:
        return 0
    if len(text) <= SAMPLED_ABOVE:
        return max(1, round(_cost(text)))
    step = (len(text) - SAMPLE_CHARS) / (SAMPLES - 1)
    pieces = [text[int(i * step) : int(i * step) + SAMPLE_CHARS] for i in range(SAMPLES)]
    return max(1, round(sum(map(_cost, pieces)) * len(text) / (SAMPLES * SAMPLE_CHARS)))


def _cost(text: str) -> float:
    latin, cost = text, 0.0
    if not text.isascii():
        cost += _by_length(_ACCENTED.findall(text), _ACCENTED_PRICES)
        cost += _by_length(_CYRILLIC.findall(text), _CYRILLIC_PRICES)
        cost += _by_script(_BEYOND_LATIN.findall(text))
        latin = _ACCENTED.sub(" ", text)
    cost += _by_length(_LOWER.findall(latin), _LOWER_PRICES)
    cost += _by_length(_UPPER.findall(latin), _UPPER_PRICES)
    cost += _by_length(_PUNCTUATION.findall(text), _PUNCTUATION_PRICES)
    cost += sum((len(digits) + 2) // 3 for digits in _DIGITS.findall(text)) * _DIGITS_PRICE
    return cost + len(_LINE_ENDS.findall(text)) * _LINE_END_PRICE + len(_GAPS.findall(text)) * _GAP_PRICE


def _by_length(words: Iterable[str], prices: tuple[float, ...]) -> float:
    longest = len(prices) - 2
    cost = 0.0
    for length, times in Counter(map(len, words)).items():
        price = prices[length] if length <= longest else prices[longest] + (length - longest) * prices[-1]
        cost += times * price
    return cost


def _by_script(characters: Iterable[str]) -> float:
    return sum(times * _script_price(ord(character)) for character, times in Counter(characters).items())


def _script_price(point: int) -> float:
    for first, last, price in _SCRIPTS:
        if first <= point <= last:
            return price
    return _OTHER_PRICE
