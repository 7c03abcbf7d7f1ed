"""The steps of the ranking, one by one."""

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory.index.dates import Period
from langgraph_harness_memory.index.knobs import RANKING
from langgraph_harness_memory.index.order import best, mixed
from langgraph_harness_memory.index.query import analyse
from langgraph_harness_memory.index.rank import (
    Candidate,
    FileSize,
    Statistics,
    choose,
    essential,
    rarity,
    scores,
)
from langgraph_harness_memory.index.typos import distance, nearest


def _line(key: int, terms: str, **about: object) -> Candidate:
    made = Candidate(
        key=key,
        file=1,
        path="MEMORY.md",
        number=key * 10,
        text=terms,
        terms=terms,
        heading="",
        day="",
        source="",
        is_heading=False,
    )
    return made._replace(**about)  # type: ignore[arg-type]  # a test's own fields


def _statistics(counts: dict[str, dict[int, int]], files: dict[int, FileSize] | None = None) -> Statistics:
    return Statistics(files=files or {1: FileSize(100, 800), 2: FileSize(100, 800)}, counts=counts)


def _ranked(lines: list[Candidate], weights: dict[str, float], **knobs: object) -> list[int]:
    ranking = replace(RANKING, **knobs)  # type: ignore[arg-type]  # a test's own knobs
    statistics = _statistics({term: {1: 5} for term in weights})
    return [s.candidate.key for s in best(lines, scores(lines, weights, statistics, (), ranking), 10, weights, ranking)]


def test_the_whole_before_its_parts() -> None:
    """An identifier that the index knows is searched for as a whole, one it does not know by its parts."""
    query = analyse("getUser", date(2026, 1, 1))
    parts = {"get": {1: 3}, "user": {1: 9}}
    assert set(choose(query, _statistics({"getuser": {1: 1}, **parts}))) == {"getuser"}
    assert list(choose(query, _statistics(parts))) == ["get", "user"]
    assert choose(query, _statistics({})) == {}


def test_rare_terms_bring_the_lines() -> None:
    """Once the rarest terms bring enough lines, common ones only order them."""
    counts = {"walrus": {1: 2}, "deploy": {1: 400}, "the": {1: 5_000}}
    statistics = _statistics(counts, {1: FileSize(6_000, 48_000)})
    weights = {term: rarity(sum(c.values()), 6_000) for term, c in counts.items()}
    assert essential(weights, statistics) == ["walrus", "deploy"]
    assert essential(weights, statistics, replace(RANKING, enough=1, enough_part=0.0)) == ["walrus"]


def test_more_of_the_query_is_better() -> None:
    """A line with two of the words comes before one with one word twice."""
    assert _ranked([_line(1, "tea tea cup"), _line(2, "tea lemon cup")], {"tea": 2.0, "lemon": 2.0}) == [2, 1]


def test_neighbours_lift_a_line() -> None:
    """Of two equal lines the one beside a good line comes first, under one heading alone."""
    good = _line(1, "tea lemon honey", number=10)
    beside, away = _line(2, "tea cup red", number=11), _line(3, "tea cup blue", number=40)
    weights = {"tea": 2.0, "lemon": 2.0, "honey": 2.0}
    assert _ranked([away, beside, good], weights, cut_off=0.0) == [1, 2, 3]
    other = beside._replace(heading="another")
    lines = [away, other, good]
    total = scores(lines, weights, _statistics({t: {1: 5} for t in weights}))
    assert total[0] == pytest.approx(total[1])


def test_the_file_lifts_its_lines() -> None:
    """Of two equal lines the one in a file about the topic comes first."""
    lines = [_line(1, "tea cup", file=1), _line(2, "tea cup x", file=2)]
    statistics = _statistics({"tea": {1: 1, 2: 30}})
    total = scores(lines, {"tea": 2.0}, statistics)
    assert total[1] > total[0]


def test_heading_names_the_topic_of_lines_below() -> None:
    """A term in the heading counts in part for a line that holds another one; the heading itself ranks low."""
    below = _line(1, "cluster moved", heading="Database")
    other = _line(2, "cluster stayed")
    heading = _line(3, "databas", heading="Database", is_heading=True)
    weights = {"cluster": 2.0, "databas": 2.0, "db": 2.0}
    assert _ranked([other, below, heading], weights, cut_off=0.0)[0] == 1


def test_the_day_asked_for_comes_first() -> None:
    """Of equal lines the one of the named day comes first."""
    day = Period(first=date(2026, 3, 1), last=date(2026, 3, 31), text="in march", is_relative=False)
    lines = [_line(1, "tea cup", day="2026-02-10"), _line(2, "tea mug", day="2026-03-10")]
    total = scores(lines, {"tea": 2.0}, _statistics({"tea": {1: 5}}), [day])
    assert total[1] > total[0]


def test_what_a_tool_said_ranks_below() -> None:
    """Of equal lines what people said comes first."""
    assert _ranked([_line(1, "tea cup", source="tool:web"), _line(2, "tea mug", source="user")], {"tea": 2.0}) == [2, 1]


def test_copies_come_last() -> None:
    """Nine copies of one fact leave room for another one."""
    lines = [_line(n, "gateway timeout 30 second", day=f"2026-01-0{n}") for n in range(1, 10)]
    ranked = _ranked([*lines, _line(99, "gateway run in frankfurt today again")], {"gateway": 2.0})
    assert ranked[:2] == [9, 99]
    assert len(ranked) == 10


def test_far_behind_is_left_out() -> None:
    """A line with little of the query is left out beside one with all of it; of one word every line stays."""
    lines = [_line(1, "alembic database migration"), _line(2, "the user likes long walks on the beach", file=2)]
    assert _ranked(lines, {"alembic": 5.0, "databas": 4.0, "migration": 4.0, "user": 0.3}) == [1]
    assert len(_ranked([_line(1, "tea"), _line(2, "tea " + "x " * 200)], {"tea": 2.0})) == 2


def test_meaning_is_added_to_words() -> None:
    """A line of equal words that means more alike comes first; one with the meaning alone is there too."""
    first, second, third = _line(1, "tea cup"), _line(2, "tea mug"), _line(3, "beverage")
    lines, total = mixed([first, second], [1.0, 1.0], [(first, 0.1), (second, 0.5), (third, 0.9)], RANKING)
    by_key = {line.key: score for line, score in zip(lines, total, strict=True)}
    assert by_key[2] > by_key[1] > by_key[3] > 0
    assert mixed([first], [1.0], [], RANKING) == ([first], [1.0])


@given(st.integers(0, 50), st.integers(0, 50))
def test_rarity_falls_with_the_count(count: int, more: int) -> None:
    """A term in more lines tells less, and never less than nothing."""
    assert rarity(count, 100) >= rarity(count + more, 100) >= 0


@pytest.mark.parametrize(
    ("a", "b", "slips"),
    [
        ("alembc", "alembic", 1),
        ("alembci", "alembic", 1),
        ("kubernets", "kubernet", 1),
        ("tea", "coffee", 3),
        ("", "ab", 2),
        ("x", "x", 0),
    ],
)
def test_slips_between_words(a: str, b: str, slips: int) -> None:
    """A letter more, less, other or two swapped are one slip each; counting stops above the bound."""
    assert min(distance(a, b, 2), 3) == min(slips, 3)


def test_nearest_terms() -> None:
    """A misspelt word stands for near terms and for those that it begins; a short one for none."""
    words = {"alembic": 3, "albumin": 9, "kubernetes": 2, "tea": 40}
    assert nearest("alembc", words) == ["alembic"]
    assert nearest("kuber", words) == ["kubernetes"]
    assert nearest("tee", words) == []
    assert nearest("c++", words) == []
