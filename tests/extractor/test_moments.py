"""Relative dates gain the day they mean."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory.curation.rules.moments import with_dates

MONDAY = date(2023, 5, 8)


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("I went there yesterday.", "I went there yesterday (2023-05-07)."),
        ("We leave tomorrow!", "We leave tomorrow (2023-05-09)!"),
        ("It was last year.", "It was last year (2022)."),
        ("Next month we move.", "Next month (2023-06) we move."),
        ("in two weeks", "in two weeks (2023-05-22)"),
        ("3 days ago", "3 days ago (2023-05-05)"),
        ("昨天去了", "昨天 (2023-05-07)去了"),
        ("明天出发", "明天 (2023-05-09)出发"),
        ("Wir fahren übermorgen.", "Wir fahren übermorgen (2023-05-10)."),
        ("The meeting was on 3 May 2023.", "The meeting was on 3 May 2023."),
        ("nothing here", "nothing here"),
        ("We deploy on Thursday.", "We deploy on Thursday."),
        ("Wir treffen uns am Freitag.", "Wir treffen uns am Freitag."),
    ],
)
def test_a_relative_date_gains_its_day(said, written):
    """Counted from the day it was said; a full date needs none."""
    assert with_dates(said, MONDAY) == written


def test_a_week_gains_its_first_and_last_day():
    """A week is no day."""
    assert with_dates("We met last week.", MONDAY) == "We met last week (2023-05-01 – 2023-05-07)."


def test_without_a_day_nothing_is_guessed():
    """Where it is not known when something was said, the words stay alone."""
    assert with_dates("yesterday", None) == "yesterday"


@given(st.text(max_size=200), st.dates(min_value=date(1, 1, 1), max_value=date(9999, 12, 31)))
def test_no_day_is_too_early_or_too_late(text, day):
    """The first and the last day of the calendar raise nothing, and the words said stay in order."""
    written = with_dates(f"{text} next year, in 6 months, tomorrow, last month", day)
    assert len(written) >= len(text)


@pytest.mark.parametrize(
    ("said", "written"),
    [
        (
            "tomorrow and the day after tomorrow",
            "tomorrow (2023-05-09) and the day after tomorrow (2023-05-10)",
        ),
        ("Übermorgen", "Übermorgen (2023-05-10)"),
        ("après-demain, pas demain", "après-demain (2023-05-10), pas demain (2023-05-09)"),
        ("pasado mañana", "pasado mañana (2023-05-10)"),
        ("послезавтра, завтра", "послезавтра (2023-05-10), завтра (2023-05-09)"),
        ("后天 明後日 모레 明日", "后天 (2023-05-10) 明後日 (2023-05-10) 모레 (2023-05-10) 明日"),
        ("next week", "next week (2023-05-15 – 2023-05-21)"),
        ("Next Year", "Next Year (2024)"),
        ("in a week", "in a week (2023-05-15)"),
        ("in 10 days", "in 10 days (2023-05-18)"),
        ("In Six Weeks", "In Six Weeks (2023-06-19)"),
        ("in four days, in five days", "in four days (2023-05-12), in five days (2023-05-13)"),
        ("in 1 month", "in 1 month (2023-06)"),
        ("in three months", "in three months (2023-08)"),
        ("in 7 months", "in 7 months (2023-12)"),
        ("in 8 Months", "in 8 Months (2024-01)"),
        ("下周", "下周 (2023-05-15 – 2023-05-21)"),
        ("来月", "来月 (2023-06)"),
        ("내년", "내년 (2024)"),
        ("다음 주", "다음 주 (2023-05-15 – 2023-05-21)"),
        ("last month", "last month (2023-04)"),
        ("yesterday and yesterday", "yesterday (2023-05-07) and yesterday"),
    ],
)
def test_what_lies_ahead_or_behind_gains_its_date(said, written):
    """Days as days, weeks as their first and last day, months and years as such; three of what lies ahead, each of what lies behind."""
    assert with_dates(said, MONDAY) == written


@pytest.mark.parametrize(
    ("said", "day", "written"),
    [
        ("next month", date(2023, 12, 31), "next month (2024-01)"),
        ("next week", date(2023, 12, 31), "next week (2024-01-01 – 2024-01-07)"),
        ("tomorrow", date(2024, 2, 28), "tomorrow (2024-02-29)"),
        ("in 12 months", date(2023, 11, 30), "in 12 months (2024-11)"),
        ("last month", date(2023, 1, 15), "last month (2022-12)"),
        ("last year", date(2023, 1, 1), "last year (2022)"),
    ],
)
def test_years_and_months_turn_over(said, day, written):
    """From December to January, and over a leap day."""
    assert with_dates(said, day) == written
