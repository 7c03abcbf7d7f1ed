"""What a query asks for."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory.index.query import Query, analyse
from langgraph_harness_memory.index.stems import stem

TODAY = date(2026, 12, 1)


def _asked(text: str) -> Query:
    return analyse(text, TODAY)


def _whole(text: str) -> list[str]:
    return [term for choice in _asked(text).choices for term in choice.whole]


def test_words_that_ask_are_left_out() -> None:
    """A question keeps the words that tell."""
    assert _whole("What did the user say about the database migration?") == [stem("database"), "migrat"]


def test_stop_words_alone_are_kept() -> None:
    """A query of nothing else looks for all of them."""
    assert _whole("what is it") == ["what", "be", "it"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Wo ist die Rechnung vom Zahnarzt?", ["rechnung", "zahnarzt"]),
        ("¿Dónde está la factura del dentista?", ["factura", "dentista"]),
        ("Где лежит счёт от стоматолога?", ["лежит", "счет", "стоматолога"]),
    ],
)
def test_stop_words_of_the_query_s_language(text: str, kept: list[str]) -> None:
    """Each language has its own list, chosen by the query."""
    assert _whole(text) == kept


def test_a_word_of_another_list_stays() -> None:
    """`die` and `war` are words in an English query."""
    assert {"die", "war"} <= set(_whole("how many people did die in the war"))


def test_relative_days_leave_the_terms() -> None:
    """`last week` becomes a period and is not looked for as words."""
    query = _asked("database migration last week")
    assert "last" not in query.terms
    assert "week" not in query.terms
    assert query.periods[0].first == date(2026, 11, 23)
    assert not query.asks_for_days_alone


@pytest.mark.parametrize("text", ["yesterday", "what did I do last week?", "2026-03-04"])
def test_a_day_alone(text: str) -> None:
    """A query of a day and nothing else asks for that day's lines."""
    assert _asked(text).asks_for_days_alone


@pytest.mark.parametrize("text", ["2026", "5", "May", "in 2026", "memory"])
def test_a_number_is_no_day(text: str) -> None:
    """A number or a month alone does not ask for every line of it."""
    assert not _asked(text).asks_for_days_alone


def test_identifier_has_parts_to_fall_back_on() -> None:
    """The whole comes first, its parts stand by."""
    (choice,) = _asked("getUser").choices
    assert (choice.whole, choice.parts) == (("getuser",), ("get", "user"))


def test_particles_of_scripts_without_spaces() -> None:
    """Question words and particles of Chinese are cut out of a run."""
    assert "什么" not in _asked("数据库是什么").terms
    assert "数据" in _asked("数据库是什么").terms


@given(st.text(max_size=300))
def test_any_string(text: str) -> None:
    """No string fails, and terms can be bound as SQL text."""
    for term in _asked(text).terms:
        term.encode()


def test_a_pasted_page() -> None:
    """A query of a million characters is read from its beginning."""
    assert len(_asked("word" + " other" * 200_000).choices) <= 400


def test_lone_surrogates_and_nul() -> None:
    """What no file can hold is taken out of the query."""
    assert _asked("a\0b \ud800 c").literal.encode()
