"""The marks of a session, `sessions/<id>.marks.json`: which positions of its log are flushed.

    {"v": 1, "log": "2026-01-31T09:00:00+00:00", "flushed": [[0, 41], [44, 60]]}

Ranges include both ends, are sorted, and never touch. `log` says which log is meant, by when it was begun.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass

ENDING = ".marks.json"
"""What follows a thread's stem in the name of its marks."""

VERSION = 1


@dataclass(frozen=True, slots=True)
class Marks:
    """A set of log positions, as ranges."""

    ranges: tuple[tuple[int, int], ...] = ()
    """First and last position of each, sorted, with at least one position between two."""

    def __contains__(self, position: object) -> bool:
        return any(first <= position <= last for first, last in self.ranges) if isinstance(position, int) else False

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges)

    def below(self, position: int) -> int:
        """Count the marked positions before a position."""
        return sum(max(0, min(last, position - 1) - first + 1) for first, last in self.ranges)

    def including(self, positions: Iterable[int]) -> "Marks":
        """Return these marks and further positions."""
        pieces = sorted([*self.ranges, *((p, p) for p in positions)])
        merged: list[tuple[int, int]] = []
        for first, last in pieces:
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        return Marks(tuple(merged))


def render(marks: Marks, *, log_begun: str | None) -> bytes:
    """Write marks as the content of their file.

    Args:
        marks: The marks.
        log_begun: When the log was begun, as its first line says it; `None` where that line is lost.
    """
    record = {"v": VERSION, "log": log_begun, "flushed": [list(pair) for pair in marks.ranges]}
    return (json.dumps(record) + "\n").encode("ascii")


def parse(data: bytes) -> tuple[Marks, str | None]:
    """Read marks.

    Returns:
        The marks, and when the log that they belong to was begun.

    Raises:
        ValueError: The file is not what it should be.
    """
    try:
        record = json.loads(data)
        pairs = sorted((int(first), int(last)) for first, last in record["flushed"])
        log_begun = record.get("log")
    except (TypeError, KeyError, AttributeError, RecursionError, ValueError, OverflowError) as error:
        raise ValueError(f"not a file of marks: {error}") from error
    if any(first < 0 or last < first for first, last in pairs):
        raise ValueError("not a file of marks: a range ends before it begins")
    return Marks(tuple(pairs)).including(()), log_begun
