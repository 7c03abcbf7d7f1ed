"""When a line is taken for another one again, and when it must not be."""

import pytest

from langgraph_harness_memory.curation.rules.repeats import Repeats


def is_repeated(line: str, standing: str) -> bool:
    repeats = Repeats()
    repeats.add("User: something else entirely about sailing boats")
    repeats.add(standing)
    return repeats.find(line) == 1


@pytest.mark.parametrize(
    ("line", "standing"),
    [
        ("User: I live in Oslo", "User: I live in Oslo."),
        ("User: I really live in Oslo now!", "User: I live in Oslo."),
        ("User: I live in Oslo.", "User: I live in Oslo with my sister Ada."),
        ("User: I LIVE in oslo", "User: I live in Oslo"),
        ("User: 我对花生过敏！", "User: 我对花生过敏"),
    ],
)
def test_a_repeat_is_found(line, standing):
    """Other punctuation, case, endings and small words; or less than what stands there."""
    assert is_repeated(line, standing)


@pytest.mark.parametrize(
    ("line", "standing"),
    [
        ("User: I prefer spaces over tabs.", "User: I prefer tabs over spaces."),
        ("User: I do not like tea.", "User: I like tea."),
        ("User: I like tea.", "User: I never like tea in the morning."),
        ("User: 我不喜欢喝茶", "User: 我喜欢喝茶"),
        (
            "User: The button on the settings page of the mobile app should be blue.",
            "User: The button on the settings page of the mobile app should be red.",
        ),
        (
            "User: The staging database of the billing team runs on db-8.",
            "User: The staging database of the billing team runs on db-7.",
        ),
        ("User: I live in Oslo with my sister Ada.", "User: I live in Oslo."),
        ("Bob: we moved to Oslo with both kids", "Ann: we moved to Oslo with both kids"),
    ],
)
def test_a_line_that_differs_in_what_matters_is_none(line, standing):
    """Order, negation, one value, one name, something more: each is a fact of its own."""
    assert not is_repeated(line, standing)


def test_a_line_without_words_repeats_nothing():
    """Punctuation alone has nothing to compare."""
    assert not is_repeated("", "")
