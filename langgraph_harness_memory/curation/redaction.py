"""Find secrets in a text and put stable placeholders in their place.

    my key is sk-…          →   my key is [REDACTED:openai:9f3c]

Equal secrets get equal placeholders, so that a transcript still makes sense. No scanner finds everything: this one knows
the formats in `secret_patterns` and the phrases in `secret_phrases`, and prefers a false alarm to a key on disk only where
the surroundings call the value a secret.

A text is searched as a reader sees it: without zero-width characters, full-width forms folded, and a second time with
broken lines joined.
"""

import hashlib
import hmac
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from langgraph_harness_memory.curation.secret_patterns import SecretFormat, secret_formats
from langgraph_harness_memory.curation.secret_phrases import (
    Found,
    find_headers,
    find_keyed,
    find_options,
    find_private_keys,
    find_seed_phrases,
    find_url_passwords,
    looks_random,
)

PLACEHOLDER = re.compile(r"\[REDACTED:[a-z0-9_]+:[0-9a-f]{4}\]")
"""What stands in a secret's place."""

_KEY = b"langgraph-harness-memory placeholder"
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff\uff01-\uff5e\U000e0000-\U000e007f]"
)
_FULL_WIDTH = range(0xFF01, 0xFF5F)
_BROKEN_LINE = re.compile(
    r"(?<=[\w+/=.-])(?:\\?\r?\n|\\n)[ \t>|]{0,8}(?=([\w+/=.-]{8,2000})[\"']?[,;]?[ \t]*(?:\\?\r?\n|\\n|\Z))", re.ASCII
)
"""A line end in the middle of what may be one token: the next line is a run of a token's characters and nothing else."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Secret:
    """Where a secret stands in a text; never what it is, so that it can be logged."""

    kind: str
    """The vendor or the role: `github`, `password`, `private_key`, …"""
    start: int
    """Offset of its first character."""
    end: int
    """Offset after its last character."""


def redact(text: str, *, key: bytes = _KEY) -> str:
    """Put `[REDACTED:<kind>:<4 hex>]` in the place of every secret.

    Args:
        text: Any text; one without secrets is returned as it is.
        key: Keys the four digits, which tell equal secrets from different ones. They are 16 bits of a keyed hash: too few to
            confirm a guess, and with a key of your own of no use to anybody else.

    Returns:
        The text; redacting it again changes nothing.
    """
    out: list[str] = []
    at = 0
    for secret in find_secrets(text):
        seen = _joined(_as_seen(text[secret.start : secret.end])[0])[0]
        digits = hmac.new(key, seen.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:4]
        out += [text[at : secret.start], f"[REDACTED:{secret.kind}:{digits}]"]
        at = secret.end
    return "".join([*out, text[at:]]) if out else text


def find_secrets(text: str) -> list[Secret]:
    """Find the secrets of a text, in the order in which they stand; they never overlap.

    Args:
        text: Any text; placeholders of earlier redactions are no secrets.
    """
    if len(text) < 8:
        return []
    seen, offsets = _as_seen(text)
    spans = [
        (kind, offsets[start] if offsets else start, (offsets[end - 1] + 1) if offsets else end)
        for kind, start, end in _spans_of(seen)
    ]
    taken = [match.span() for match in PLACEHOLDER.finditer(text)]
    return [Secret(kind=kind, start=start, end=end) for kind, start, end in _merged(spans, taken)]


@cache
def _formats() -> tuple[SecretFormat, ...]:
    return secret_formats()


def _spans_of(text: str) -> Iterator[Found]:
    yield from find_private_keys(text)
    yield from _find_formats(text)
    yield from find_url_passwords(text)
    yield from find_headers(text)
    yield from find_options(text)
    yield from find_seed_phrases(text)
    yield from find_keyed(text)
    if "\n" in text or "\\n" in text:
        yield from _across_lines(text)


def _find_formats(text: str) -> Iterator[Found]:
    for known in _formats():
        if not any(literal in text for literal in known.literals):
            continue
        group = known.pattern.groups
        for match in known.pattern.finditer(text):
            if not known.must_look_random or _is_generated(match[group]):
                yield known.kind, *match.span(group)


def _is_generated(token: str) -> bool:
    """Tell `sk-abc123…` from `sk-learn-contrib-extras`, and a template of one repeated letter from a token."""
    tail = token[3:]
    return looks_random(tail, least=12) or (
        tail.isalpha() and len(set(tail)) > 12 and any(c.isupper() for c in tail[1:]) and any(c.islower() for c in tail)
    )


def _across_lines(text: str) -> Iterator[Found]:
    """Find tokens that a line end cuts into pieces, each too short to be known, or known and only the beginning."""
    joined, breaks = _joined(text)
    found = list(_find_formats(joined)) if breaks else []
    if not found:
        return
    offsets: list[int] = []
    at = 0
    for start, end in [*breaks, (len(text), len(text))]:
        offsets.extend(range(at, start))
        at = end
    for kind, start, end in found:
        yield kind, offsets[start], offsets[end - 1] + 1


def _joined(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Take out the line ends after which a generated token may go on."""
    breaks = [m.span() for m in _BROKEN_LINE.finditer(text) if looks_random(m[1], least=8, bits=2.3)]
    starts = [0, *(end for _, end in breaks)]
    ends = [*(start for start, _ in breaks), len(text)]
    return "".join(text[a:b] for a, b in zip(starts, ends, strict=True)), breaks


def _as_seen(text: str) -> tuple[str, list[int] | None]:
    """Return a text without invisible characters and full-width forms, and where each character stood; `None` = unchanged."""
    if text.isascii() or not _INVISIBLE.search(text):
        return text, None
    kept = [(i, c) for i, c in enumerate(text) if not _INVISIBLE.match(c) or ord(c) in _FULL_WIDTH]
    seen = "".join(chr(ord(c) - 0xFEE0) if ord(c) in _FULL_WIDTH else c for _, c in kept)
    return seen, [i for i, _ in kept]


def _merged(spans: list[Found], taken: list[tuple[int, int]]) -> list[Found]:
    """Join overlapping spans under the kind that was found first, and leave out what touches a placeholder."""
    merged: list[tuple[int, str, int, int]] = []
    for rank, (kind, start, end) in sorted(enumerate(spans), key=lambda ranked: ranked[1][1]):
        if _overlaps((start, end), taken):
            continue
        if merged and start < merged[-1][3]:
            best, known, begin, stop = merged[-1]
            merged[-1] = (min(best, rank), known if best < rank else kind, begin, max(stop, end))
        else:
            merged.append((rank, kind, start, end))
    return [(kind, start, end) for _, kind, start, end in merged]


def _overlaps(span: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    """Tell whether a span touches one of others, which are sorted and apart."""
    after = bisect_left(others, (span[1], 0))
    return after > 0 and others[after - 1][1] > span[0]
