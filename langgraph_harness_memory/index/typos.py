"""Terms that were probably meant, for a query of which no word stands in any line."""

from collections.abc import Iterable, Mapping

MIN_LENGTH = 4
"""Letters a word needs before a misspelling of it can be told from another word."""

LONG = 8
"""Letters from which two slips are forgiven instead of one."""

NEIGHBOURS = 5
"""Terms that one word may stand for, the nearest first."""


def nearest(term: str, vocabulary: Mapping[str, int]) -> list[str]:
    """Return the terms that a misspelt one may stand for.

    A term that begins with the word counts as near: `kuber` stands for `kubernet`.

    Args:
        term: What was typed.
        vocabulary: Terms there are, and in how many lines each stands.

    Returns:
        The nearest terms, the most common first among equals; empty for words too short to tell.
    """
    if len(term) < MIN_LENGTH or not term.isalnum():
        return []
    allowed = 1 if len(term) < LONG else 2
    near = [(_gap(term, other, allowed), -count, other) for other, count in _similar(term, vocabulary, allowed)]
    kept = sorted(found for found in near if found[0] <= allowed)
    return [other for _, _, other in kept[:NEIGHBOURS]]


def _similar(term: str, vocabulary: Mapping[str, int], allowed: int) -> Iterable[tuple[str, int]]:
    letters = set(term)
    for other, count in vocabulary.items():
        alike = abs(len(other) - len(term)) <= allowed and len(letters.symmetric_difference(other)) <= 2 * allowed
        if alike or other.startswith(term):
            yield other, count


def _gap(term: str, other: str, allowed: int) -> int:
    return 0 if other.startswith(term) else distance(term, other, allowed)


def distance(a: str, b: str, most: int) -> int:
    """Count the slips between two words: a letter more, less, other, or two swapped.

    Args:
        a: One word.
        b: The other.
        most: Counting stops above this; the answer is then `most + 1`.
    """
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        row = [i]
        for j, right in enumerate(b, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (left != right))
            if i > 1 and j > 1 and left == b[j - 2] and a[i - 2] == right:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most and (not before or min(last) > most):
            return most + 1
        before, last = last, row
    return min(last[-1], most + 1)
