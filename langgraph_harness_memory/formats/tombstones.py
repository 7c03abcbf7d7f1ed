"""`memory/.tombstones`: what was forgotten, without saying what it was.

A stone holds keyed hashes of the words of a forgotten line, so that the line is known when it comes again in other
words or another order, and cannot be read from the file.

    {"v": 1, "key": "…", "stones": [{"at": "2026-04-12T03:53:10+08:00", "words": ["5f0c1a2b3c4d", …]}]}
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

PATH = "memory/.tombstones"
VERSION = 1

LEAST_SHARE = 0.8
"""Part of a forgotten line's words that a text must hold to count as that line; below four words: all of them, and a single word
must be all that the text says, or forgetting "Tea" would take every line about tea."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stone:
    """One thing that was forgotten."""

    at: datetime
    """When, aware."""
    words: frozenset[str]
    """Keyed hashes of its words."""
    said_before: bool = False
    """It stands for a query, not for a line: only what was said before `at` falls under it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tombstones:
    """All that was forgotten in one memory."""

    key: str
    """Keys the hashes; hexadecimal. Another memory's stones cannot be compared with these."""
    stones: tuple[Stone, ...] = ()

    def hashed(self, words: Iterable[str]) -> frozenset[str]:
        """Return the hashes that stand for words here."""
        key = bytes.fromhex(self.key)[:64]
        return frozenset(
            hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=6, key=key).hexdigest() for word in words
        )

    def with_stone(self, words: Iterable[str], *, at: datetime, said_before: bool = False) -> "Tombstones":
        """Return these and one more; nothing changes where the same stone stands or there are no words."""
        stone = Stone(at=at, words=self.hashed(words), said_before=said_before)
        same = [s for s in self.stones if s.words == stone.words and s.said_before == said_before]
        if not stone.words or (same and not said_before):
            return self
        return replace(self, stones=(*(s for s in self.stones if s not in same), stone))

    def covers(self, words: Iterable[str], *, said_at: datetime | None = None) -> bool:
        """Say whether a text is, or holds, something that was forgotten.

        Args:
            words: The text's words.
            said_at: When it was said; `None` = not known, and stones of queries do not count.
        """
        if not self.stones:
            return False
        hashed = self.hashed(words)
        return any(
            stone.words <= hashed and said_at is not None and said_at <= stone.at
            if stone.said_before
            else _holds(hashed, stone.words)
            for stone in self.stones
        )

    def lifted(self, words: Iterable[str]) -> "Tombstones":
        """Return these without the stones that a text falls under: it was said again on purpose."""
        hashed = self.hashed(words)
        return replace(self, stones=tuple(s for s in self.stones if s.said_before or not _holds(hashed, s.words)))


def parse(text: str) -> Tombstones:
    """Read the file.

    Raises:
        ValueError: It is damaged; it must not be taken for an empty one, or what was forgotten would come back.
    """
    try:
        fields: dict[str, Any] = json.loads(text)
        bytes.fromhex(fields["key"])
        return Tombstones(key=fields["key"], stones=tuple(_stone(entry) for entry in fields["stones"]))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"{PATH} cannot be read: {error}") from error


def render(tombstones: Tombstones) -> str:
    """Write the file."""
    stones = [
        {"at": s.at.isoformat(), "words": sorted(s.words)} | ({"said_before": True} if s.said_before else {})
        for s in tombstones.stones
    ]
    return json.dumps({"v": VERSION, "key": tombstones.key, "stones": stones}, indent=1) + "\n"


def _stone(entry: dict[str, Any]) -> Stone:
    at = datetime.fromisoformat(entry["at"])
    if at.tzinfo is None or not all(isinstance(word, str) for word in entry["words"]):
        raise ValueError("a stone lacks its zone or its words")
    return Stone(at=at, words=frozenset(entry["words"]), said_before=bool(entry.get("said_before", False)))


def _holds(words: frozenset[str], stone: frozenset[str]) -> bool:
    if len(stone) < 2:
        return bool(stone) and words == stone
    least = len(stone) if len(stone) < 4 else LEAST_SHARE * len(stone)
    return len(words & stone) >= least
