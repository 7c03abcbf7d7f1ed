"""How a list of messages is laid out: runs, pieces, and what is not written again; pure."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage, HumanMessage

from langgraph_harness_memory.formats.messages import fields_of
from langgraph_harness_memory.sessions.lists import (
    ABSENT,
    Element,
    Other,
    Piece,
    StoredList,
    changed_from,
    common_start,
    count_of,
    extended,
    item_of,
    laid_out,
    pieces_after,
    written,
)
from langgraph_harness_memory.sessions.live import Held, LiveMessages, Made, Said, Stored, token_of

HASH = "0123456789abcdef"
LENGTH = 10
"""Bytes of each line in these logs, its newline apart."""


def said(position: int, message_id: str | None = None) -> Held:
    """A message of the log; lines stand one behind the other."""
    message = HumanMessage(f"m{position}", id=message_id or f"m{position}")
    place = Said(position, (position * (LENGTH + 1), LENGTH))
    return Held(message.id, HASH, place, message, fields_of(message))


def made(offset: int) -> Held:
    message = HumanMessage("form", id=f"f{offset}")
    return Held(message.id, HASH, Made((offset, 5)), message, fields_of(message))


def digest(*messages: Held) -> str:
    return f"{sum(m.token for m in messages) % 2**64:016x}"


def expanded(items: Sequence[Any]) -> list[Any]:
    """What items stand for: positions of the log, offsets of forms, values."""
    out: list[Any] = []
    for item in items:
        match item:
            case ["said", _, _, position, _, _]:
                out.append(("said", position))
            case ["run", first, count, _, _, _]:
                out += [("said", position) for position in range(first, first + count)]
            case ["made", _, _, offset, _]:
                out.append(("made", offset))
            case ["is", value]:
                out.append(("is", value))
    return out


def named(elements: Sequence[Element]) -> list[Any]:
    return expanded([item_of(element) for element in elements])


def test_each_kind_of_element_is_written_as_one_item() -> None:
    """With its id, its hash and where it stands."""
    assert item_of(said(3)) == ["said", "m3", HASH, 3, 33, 10]
    assert item_of(made(70)) == ["made", "f70", HASH, 70, 5]
    assert item_of(Other({"a": 1})) == ["is", {"a": 1}]
    assert [count_of(item) for item in (["is", 1], ["said"], ["made"], ["run", 5, 7, "", 0, 0])] == [1, 1, 1, 7]


def test_a_token_stands_for_an_id_and_a_content() -> None:
    """It does not change between releases: the digest of a run is made of it."""
    assert token_of(None, "0" * 15 + "2") == 2_000_006
    assert token_of("", "0" * 16) == 0
    assert token_of("a", "0" * 16) == 0xE8B7BE43
    assert token_of("\ud800", "0" * 16) == token_of("\ud800", "0" * 16) != 0
    assert token_of("a", "f" * 16) < 2**64
    assert Stored("a", HASH, Said(0, (0, 1))).token == token_of("a", HASH)


def test_messages_that_follow_each_other_in_the_log_are_one_run() -> None:
    """From the first byte of the first to the last byte of the last; the list that it is added to stays."""
    one, two, three, five = said(1), said(2), said(3), said(5)
    assert extended([], [one, two], last=None) == [["run", 1, 2, digest(one, two), 11, 21]]
    items = extended([], [one, two, three, five], last=None)
    assert items == [["run", 1, 3, digest(one, two, three), 11, 32], item_of(five)]
    begun = [item_of(one)]
    assert extended(begun, [two], last=one) == [["run", 1, 2, digest(one, two), 11, 21]]
    assert begun == [item_of(one)]
    assert extended(begun, [two], last=None) == [item_of(one), item_of(two)]
    assert extended(begun, [], last=one) == begun
    assert extended([["run", 1, 2, digest(one, two), 11, 21]], [three], last=two) == [
        ["run", 1, 3, digest(one, two, three), 11, 32]
    ]
    assert named([two, one, one, made(70), two, Other(1), three]) == expanded(
        extended([], [two, one, one, made(70), two, Other(1), three], last=None)
    )
    assert len(extended([], [two, one, one, made(70), two, Other(1), three], last=None)) == 7


def laid(elements: list[Element]) -> StoredList:
    return changed_from(None, elements)


def test_a_first_list_is_one_piece_without_a_place() -> None:
    """Until its line is written; then the next one begins where it stands."""
    one, other = said(1), Other({"x": 1})
    stored = laid([said(0), one, other])
    assert stored.items == [["run", 0, 2, digest(said(0), one), 0, 21], ["is", {"x": 1}]]
    assert stored.pieces == [Piece(None, 2)]
    assert stored.starts == [0, 2]
    assert stored.objects[1] is one.message
    assert stored.objects[2] is ABSENT
    assert stored.pristine == [said(0).pristine, one.pristine, None]
    assert (stored.is_plain, laid([one]).is_plain, laid([]).is_plain) == (False, True, True)
    assert written(stored) == {"$messages": [None, *stored.items]}
    stored.stored_at((500, 60))
    assert stored.pieces == [Piece((500, 60), 2)]
    stored.stored_at((900, 60))
    assert stored.pieces == [Piece((500, 60), 2)]
    again = laid_out(stored.elements, stored.items, stored.pieces)
    assert (again.starts, again.objects, again.is_plain) == (stored.starts, stored.objects, False)


def test_a_list_that_did_not_change_is_the_same_one() -> None:
    """By its elements, or by equal values in place."""
    elements: list[Element] = [said(0), Other([1]), said(1)]
    base = laid(elements)
    assert changed_from(base, list(elements)) is base
    assert changed_from(base, [elements[0], Other([1]), elements[2]]) is base
    assert changed_from(base, elements[2:], same=2) is base
    assert changed_from(base, [], same=3) is base
    assert changed_from(base, [elements[0], Other([2]), elements[2]]) is not base
    assert changed_from(base, elements[:2]) is not base


def test_a_list_that_grew_is_written_from_where_it_grew() -> None:
    """The piece before is referred to by its line, unless it is shorter than what follows."""
    base = laid([Other(n) for n in range(4)])
    base.stored_at((500, 60))
    grown = changed_from(base, [Other(n) for n in range(6)])
    assert grown.pieces == [Piece((500, 60), 4), Piece(None, 6)]
    assert written(grown) == {"$messages": [[500, 60], ["is", 4], ["is", 5]]}
    grown.stored_at((700, 40))
    longer = changed_from(grown, [Other(n) for n in range(7)])
    assert longer.pieces == [Piece((500, 60), 4), Piece((700, 40), 6), Piece(None, 7)]
    assert written(longer) == {"$messages": [[700, 40], ["is", 6]]}
    longer = changed_from(base, [Other(n) for n in range(9)])
    assert longer.pieces == [Piece(None, 9)]
    assert written(longer) == {"$messages": [None, *(["is", n] for n in range(9))]}
    shorter = changed_from(grown, [Other(n) for n in range(4)])
    assert shorter.pieces == [Piece((500, 60), 4)]


@pytest.mark.parametrize(
    ("ends", "unchanged", "total", "left"),
    [
        ([4], 4, 6, [4, None]),
        ([4], 4, 8, [None]),
        ([4], 4, 7, [4, None]),
        ([4], 3, 6, [None]),
        ([4], 4, 4, [4]),
        ([4, 6], 6, 7, [4, 6, None]),
        ([4, 6], 6, 8, [None]),
        ([5, 7], 7, 9, [5, None]),
        ([5, 7], 7, 10, [None]),
        ([4, 6], 5, 6, [4, None]),
        ([8, 12, 14], 14, 15, [8, 12, 14, None]),
        ([8, 12, 14], 14, 16, [None]),
        ([16, 22, 24], 24, 26, [16, 22, None]),
        ([16, 22, 24], 24, 29, [16, None]),
        ([8, 12, 14], 14, 14, [8, 12, 14]),
        ([8, 12], 12, 12, [8, 12]),
        ([], 0, 3, [None]),
        ([], 0, 0, [None]),
    ],
)
def test_each_piece_is_larger_than_all_that_follow_it(
    ends: list[int], unchanged: int, total: int, left: list[int | None]
) -> None:
    """So that a list of n items has at most log n pieces; a piece that has no line yet is written anew."""
    stored = [Piece((end * 100, 1), end) for end in ends]
    expected = [Piece(None, total) if end is None else Piece((end * 100, 1), end) for end in left]
    assert pieces_after(stored, unchanged, total) == expected
    assert pieces_after([*stored, Piece(None, unchanged)], unchanged, total) == expected


def test_a_run_that_reaches_beyond_what_is_shared_is_cut() -> None:
    """A message in its middle was removed: what stands before it is a shorter run."""
    messages = [said(n) for n in range(6)]
    base = laid([*messages])
    base.stored_at((500, 60))
    cut = changed_from(base, [*messages[:2], *messages[3:]])
    assert cut.items == [
        ["run", 0, 2, digest(*messages[:2]), 0, 21],
        ["run", 3, 3, digest(*messages[3:]), 33, 32],
    ]
    assert cut.starts == [0, 2]
    assert cut.pieces == [Piece(None, 2)]
    assert cut.objects == [m.message for m in cut.elements if isinstance(m, Held)]
    grown = changed_from(base, [said(6)], same=6)
    assert grown.items == [["run", 0, 7, digest(*messages, said(6)), 0, 76]]
    assert grown.pieces == [Piece(None, 1)]
    behind = changed_from(base, [Other(1)], same=6)
    assert behind.items == [*base.items, ["is", 1]]
    assert behind.pieces == [Piece(None, 2)]
    assert (behind.starts, behind.is_plain, grown.is_plain) == ([0, 6], False, True)


POOL: list[Element] = [*(said(n) for n in range(6)), made(70), made(80), Other("a"), Other("b")]
lists = st.lists(st.sampled_from(POOL), max_size=12)


@given(lists, lists, st.integers(0, 12), st.integers(0, 5), st.booleans())
def test_any_change_of_a_list_says_what_the_list_holds(
    before: list[Element], after: list[Element], keep: int, drop: int, is_told: bool
) -> None:
    """Whatever was kept, removed and added, the items stand for the elements, and starts, pieces and objects fit them."""
    base = laid(before)
    base.stored_at((500, 60))
    kept = before[:keep]
    elements = [*kept, *before[keep + drop :], *after]
    same = len(kept) if is_told else 0
    found = changed_from(base, elements[same:], same=same)
    assert named(found.elements) == named(elements)
    assert expanded(found.items) == named(elements)
    whole = laid(elements)
    assert found.starts == [sum(map(count_of, found.items[:n])) for n in range(len(found.items))]
    assert all(a is b for a, b in zip(found.objects, whole.objects, strict=True))
    assert found.pristine == whole.pristine
    assert found.pieces[-1].end == len(found.items)
    for piece in found.pieces[:-1]:
        assert found.items[: piece.end] == base.items[: piece.end]
    if found.pieces[-1].pointer is not None:
        assert found.items == base.items[: found.pieces[-1].end]
    assert not (found.is_plain and not whole.is_plain)
    for item in found.items:
        if item[0] == "run":
            run = [m for m in POOL if isinstance(m, Held) and isinstance(m.place, Said)][item[1] : item[1] + item[2]]
            assert item[3:] == [digest(*run), item[1] * 11, item[2] * 11 - 1]


# -- objects ----------------------------------------------------------------------------------------------------------


def test_what_a_list_shares_with_a_stored_one_is_seen_object_by_object() -> None:
    """An equal object is another one; so is one that stands for another version by now."""
    messages = [said(n) for n in range(3)]
    base = laid([*messages, Other(1)])
    objects: list[Any] = [m.message for m in messages]
    assert common_start(base, objects, set()) == 3
    assert common_start(base, objects[:2], set()) == 2
    assert common_start(base, [], set()) == 0
    assert common_start(base, [*objects, ABSENT], set()) == 4
    assert common_start(base, [*objects, 1], set()) == 3
    assert common_start(base, [objects[0], objects[1].model_copy(), objects[2]], set()) == 1
    assert common_start(base, objects, {id(objects[1])}) == 1
    assert common_start(base, objects, {0}) == 3


def test_objects_that_a_caller_changed_are_found() -> None:
    """In a list of messages alone, and in one with other elements."""
    for elements in ([said(0), said(1)], [said(0), Other(1), said(1)]):
        stored = laid(list(elements))
        assert stored.changed_objects() == []
        last: BaseMessage = stored.objects[-1]
        last.content = "changed"
        assert stored.changed_objects() == [len(elements) - 1]
        last.content = "m1"
        assert stored.changed_objects() == []


def test_an_object_stands_for_what_it_was_last_said_to_stand_for() -> None:
    """One that moved to another version is noted, so that lists that hold it are looked at again."""
    live = LiveMessages()
    one, two, form = said(1), said(2), made(70)
    for held in (one, form):
        live.remember(held)
    assert live.at(1) is live.said(1, HASH) is one
    assert live.said(1, "f" * 16) is None
    assert live.at(2) is live.said(2, HASH) is None
    assert live.made("f70", HASH) is form
    assert live.made("f70", "f" * 16) is live.made("f71", HASH) is None
    assert live.of(one.message) is one
    assert live.of(one.message.model_copy()) is None
    assert live.moved == set()
    live.assign(one.message, one)
    assert live.moved == set()
    live.assign(one.message, two)
    assert live.moved == {id(one.message)}
    assert live.of(one.message) is two
    other = HumanMessage("m1", id="m1")
    live.remember(said(1), other)
    assert live.at(1) is one
    seen = live.of(other)
    assert seen is not None
    assert seen.place == one.place


def test_an_object_is_intact_until_it_is_changed() -> None:
    """And is replaced by another one, with what that one holds."""
    held = said(1)
    assert held.is_intact
    held.message.content = "changed"
    assert not held.is_intact
    fresh = HumanMessage("m1", id="m1")
    held.renew(fresh, fields_of(fresh))
    assert held.is_intact
    assert held.message is fresh


def test_objects_of_no_list_are_forgotten_when_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """At more than twice the live ones and a reserve."""
    monkeypatch.setattr("langgraph_harness_memory.sessions.live.SPARE", 2)
    live = LiveMessages()
    kept, form = said(0), made(70)
    rest = [said(n) for n in range(1, 4)]
    for held in (kept, form, *rest):
        live.remember(held)
    live.assign(rest[0].message, rest[1])
    live.assign(kept.message, form)
    live.trim([kept, form])
    assert live.at(1) is not None
    live.remember(said(4))
    live.remember(said(5))
    live.trim([kept, form])
    assert [live.at(n) is not None for n in range(6)] == [True, False, False, False, False, False]
    assert live.made("f70", HASH) is form
    assert live.of(kept.message) is form
    assert live.of(rest[0].message) is None
    assert live.moved == {id(kept.message)}
