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
