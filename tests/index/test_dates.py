"""Days that a text names."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory.index.dates import day_in, periods_in

TODAY = date(2026, 12, 1)  # a Tuesday


def _spans(text: str) -> list[tuple[str, str]]:
    return [(p.first.isoformat(), p.last.isoformat()) for p in periods_in(text, TODAY)]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("on 2023-05-08", "2023-05-08", "2023-05-08"),
        ("8 May 2023", "2023-05-08", "2023-05-08"),
        ("May 8th, 2023", "2023-05-08", "2023-05-08"),
        ("on March 7", "2026-03-07", "2026-03-07"),
        ("what happened in May?", "2026-05-01", "2026-05-31"),
        ("in December", "2026-12-01", "2026-12-31"),
        ("May 2023", "2023-05-01", "2023-05-31"),
        ("in 2023", "2023-01-01", "2023-12-31"),
        ("yesterday", "2026-11-30", "2026-11-30"),
        ("last week", "2026-11-23", "2026-11-29"),
        ("last month", "2026-11-01", "2026-11-30"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("3 days ago", "2026-11-28", "2026-11-28"),
        ("a month ago", "2026-11-01", "2026-11-30"),
        ("last Friday", "2026-11-27", "2026-11-27"),
        ("the last 3 days", "2026-11-28", "2026-12-01"),
        ("gestern", "2026-11-30", "2026-11-30"),
        ("am 3. März 2024", "2024-03-03", "2024-03-03"),
        ("la semana pasada", "2026-11-23", "2026-11-29"),
        ("le mois dernier", "2026-11-01", "2026-11-30"),
        ("вчера", "2026-11-30", "2026-11-30"),
        ("昨天吃了什么", "2026-11-30", "2026-11-30"),
        ("2023年5月8日", "2023-05-08", "2023-05-08"),
        ("先週の会議", "2026-11-23", "2026-11-29"),
        ("어제", "2026-11-30", "2026-11-30"),
    ],
)
def test_days_are_understood(text: str, first: str, last: str) -> None:
    """Absolute and relative days in several languages name a stretch of days."""
    assert _spans(text) == [(first, last)]


@pytest.mark.parametrize(
    "text", ["May I go?", "version 2026.13.45", "2026-02-30", "march on", "the second one", "2026", "5", "v1.2.3", ""]
)
def test_what_is_no_day(text: str) -> None:
    """Numbers, verbs and days that do not exist name nothing."""
    assert _spans(text) == []


def test_several_days() -> None:
    """Each day of a text is found, in order, and the more exact reading wins."""
    assert _spans("between 2023-05-08 and May 10, 2023") == [("2023-05-08",) * 2, ("2023-05-10",) * 2]


def test_heading_names_a_day() -> None:
    """A heading's day is its first full one; a month alone or a relative day is none."""
    assert day_in("## Session at 13:56 on 8 May 2023") == date(2023, 5, 8)
    assert day_in("# 2026-03-04") == date(2026, 3, 4)
    assert day_in("Plans for May 2023, written yesterday") is None


@given(st.text(max_size=60), st.dates())
def test_any_text_on_any_day(text: str, today: date) -> None:
    """No text and no day fails, and a period never ends before it begins."""
    assert all(p.first <= p.last for p in periods_in(text, today))


@given(st.integers(0, 9999), st.sampled_from(["days", "weeks", "months", "years"]), st.dates())
def test_any_distance(count: int, unit: str, today: date) -> None:
    """A distance that leaves the calendar names nothing."""
    assert all(p.first <= today for p in periods_in(f"{count} {unit} ago", today))
