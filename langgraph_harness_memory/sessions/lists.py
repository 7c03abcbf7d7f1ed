"""Lists of messages as they stand in checkpoints: short, however long, and written again only where they changed.

messages  m0 m1 m2 … m3998 m3999   form  m4000
items     run(0, 4000)             made  said(4000)
chain     ◄── piece ◄── piece ◄── piece        each stored with the checkpoint that needed it
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import is_
from typing import Any

from langgraph_harness_memory.formats.checkpoint_log import Pointer
from langgraph_harness_memory.formats.messages import held_by
from langgraph_harness_memory.sessions.live import Held, Made, Said, Stored

Item = list[Any]
"""A JSON array as `formats.checkpoint_log` describes it."""


@dataclass(frozen=True, slots=True)
class Other:
    """An element of a list that is no message, or one that is stored in place: its plain JSON."""

    value: Any


Element = Stored | Other

ABSENT = object()
"""Stands among objects for an element that is no shared message; it is identical to no element of a list."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Where a stretch of a list's items is stored."""

    pointer: Pointer | None
    """`None` until the line that holds it is written."""
    end: int
    """Items of the list up to the end of this piece."""


@dataclass(eq=False, slots=True)
class StoredList:
    """A list of messages as it is stored."""

    elements: list[Element]
    items: list[Item]
    pieces: list[Piece]
    objects: list[Any]
    """The message objects that stand for the elements now; `ABSENT` for an element that is none."""
    pristine: list[Any]
    """What each of these objects held when it was stored or built."""
    starts: list[int]
    """Number of the first element of each item."""
    is_plain: bool
    """Every element is a stored message."""

    def stored_at(self, pointer: Pointer) -> None:
        """Take note of where its last piece was written."""
        self.pieces = [p if p.pointer is not None else Piece(pointer, p.end) for p in self.pieces]

    def changed_objects(self) -> list[int]:
        """Return which objects a caller changed since they were stored or built."""
        if self.is_plain:
            now = list(map(held_by, self.objects))
            if now == self.pristine:
                return []
        return [
            index
            for index, (message, pristine) in enumerate(zip(self.objects, self.pristine, strict=True))
            if message is not ABSENT and held_by(message) != pristine
        ]


def laid_out(elements: list[Element], items: list[Item], pieces: list[Piece]) -> StoredList:
    """Return a stored list of elements and the items that stand for them."""
    return StoredList(
        elements=elements,
        items=items,
        pieces=pieces,
        objects=_objects(elements),
        pristine=_pristine(elements),
        starts=_starts(items),
        is_plain=all(isinstance(element, Held) for element in elements),
    )


def _objects(elements: Sequence[Element]) -> list[Any]:
    return [e.message if isinstance(e, Held) else ABSENT for e in elements]


def _pristine(elements: Sequence[Element]) -> list[Any]:
    return [e.pristine if isinstance(e, Held) else None for e in elements]


def _starts(items: Sequence[Item], *, first: int = 0) -> list[int]:
    return list(accumulate(map(count_of, items), initial=first))[:-1]


def count_of(item: Item) -> int:
    """Return how many elements an item stands for."""
    return int(item[2]) if item[0] == "run" else 1


def item_of(element: Element) -> Item:
    """Write one element."""
    match element:
        case Stored(place=Said(position=position, pointer=(offset, length))):
            return ["said", element.message_id, element.content_hash, position, offset, length]
        case Stored(place=Made(pointer=(offset, length))):
            return ["made", element.message_id, element.content_hash, offset, length]
        case Other():
            return ["is", element.value]
        case _:
            raise AssertionError(element)


def extended(items: list[Item], elements: Sequence[Element], *, last: Element | None) -> list[Item]:
    """Add elements to items, those that follow each other in the log as one run.

    Args:
        items: What stands already; not changed.
        elements: What is added.
        last: The element before them, if `items` ends with it.
    """
    items = list(items)
    for element in elements:
        if last is not None and _follows(last, element):
            items[-1] = _longer(items[-1], last, element)
        else:
            items.append(item_of(element))
        last = element
    return items


def _follows(last: Element, element: Element) -> bool:
    if not (isinstance(last, Stored) and isinstance(element, Stored)):
        return False
    before, after = last.place, element.place
    return isinstance(before, Said) and isinstance(after, Said) and after.position == before.position + 1


def _longer(item: Item, last: Element, element: Element) -> Item:
    assert isinstance(last, Stored)
    assert isinstance(element, Stored)
    assert isinstance(element.place, Said)
    end = sum(element.place.pointer)
    if item[0] == "run":
        _, first, count, digest, offset, _ = item
        total = (int(digest, 16) + element.token) % 2**64
        return ["run", first, count + 1, f"{total:016x}", offset, end - offset]
    _, _, _, position, offset, _ = item
    return ["run", position, 2, f"{(last.token + element.token) % 2**64:016x}", offset, end - offset]


def common_start(base: StoredList, values: Sequence[Any], moved: set[int]) -> int:
    """Return how many elements a list shares with a stored one, object by object."""
    shortest = min(len(base.objects), len(values))
    if not moved and all(map(is_, base.objects, values)):
        return shortest
    for index, (stored, value) in enumerate(zip(base.objects, values, strict=False)):
        if stored is not value or id(value) in moved:
            return index
    return shortest


def changed_from(base: StoredList | None, elements: list[Element], *, same: int = 0) -> StoredList:
    """Lay out a list so that what it shares with a stored one, from the start, is not written again.

    Args:
        base: The stored one.
        elements: What the list holds after its first `same` elements, which are those of `base`.
        same: How many.

    Returns:
        The list; `base` itself where nothing changed. Its last piece has no pointer yet, unless it ends where one of
        the stored pieces does.
    """
    if base is None:
        items = extended([], elements, last=None)
        return laid_out(elements, items, [Piece(None, len(items))])
    shared = same + _shared(base.elements[same:], elements)
    if shared == same + len(elements) == len(base.elements):
        return base
    # Items that lie in the shared part altogether stand as they are; a run that reaches beyond it is cut.
    whole = bisect_right(base.starts, shared) - 1 if shared < len(base.elements) else len(base.items)
    kept = base.items[:whole]
    start = base.starts[whole] if whole < len(base.items) else shared
    added = [*base.elements[start:same], *elements[max(0, start - same) :]]
    items = extended(kept, added, last=base.elements[start - 1] if kept else None)
    unchanged = whole if not kept or items[whole - 1] is kept[-1] else whole - 1
    return StoredList(
        elements=base.elements[:start] + added,
        items=items,
        pieces=pieces_after(base.pieces, unchanged, len(items)),
        objects=base.objects[:start] + _objects(added),
        pristine=base.pristine[:start] + _pristine(added),
        starts=base.starts[:unchanged]
        + _starts(items[unchanged:], first=base.starts[unchanged] if unchanged < whole else start),
        is_plain=base.is_plain and all(isinstance(element, Held) for element in added),
    )


def _shared(before: Sequence[Element], after: Sequence[Element]) -> int:
    shortest = min(len(before), len(after))
    for index in range(shortest):
        one, other = before[index], after[index]
        if one is not other and not (isinstance(one, Other) and isinstance(other, Other) and one == other):
            return index
    return shortest


def pieces_after(stored: Sequence[Piece], unchanged: int, total: int) -> list[Piece]:
    """Keep the stored pieces that are unchanged and larger than what would follow them."""
    kept = [piece for piece in stored if piece.end <= unchanged and piece.pointer is not None]
    while kept:
        start = kept[-2].end if len(kept) > 1 else 0
        if kept[-1].end - start > total - kept[-1].end or total == kept[-1].end:
            break
        kept.pop()
    return kept if kept and kept[-1].end == total else [*kept, Piece(None, total)]


def written(stored: StoredList) -> dict[str, Any]:
    """Write the last piece of a list as JSON."""
    before = stored.pieces[-2] if len(stored.pieces) > 1 else None
    start = 0 if before is None else before.end
    return {"$messages": [None if before is None else list(before.pointer or ()), *stored.items[start:]]}
