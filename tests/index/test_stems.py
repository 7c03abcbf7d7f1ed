"""English words brought to a common form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory.index.stems import stem


@pytest.mark.parametrize(
    "forms",
    [
        "deploy deployed deploying deploys",
        "run running ran runs",
        "go went gone goes going",
        "child children",
        "city cities",
        "adopt adopted adopting",
        "hop hopped hopping",
        "care cared caring",
        "relate related relation",
        "organize organized organization",
        "buy bought buying",
        "photo photos picture pictures",
        "database databases db",
    ],
)
def test_forms_of_one_word_meet(forms: str) -> None:
    """Every form of a word has one stem."""
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize("pair", ["hop hope", "news new", "business bus", "leaf leave"])
def test_different_words_stay_apart(pair: str) -> None:
    """Words that only look alike keep different stems."""
    first, second = map(stem, pair.split())
    assert first != second


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyzäßж", max_size=30))
def test_any_word_has_a_stem(word: str) -> None:
    """A stem is never empty and never longer than its word and an `e`, unless the word is a listed form."""
    assert bool(stem(word)) == bool(word)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("consignment", "consign"),
        ("consistency", "consist"),
        ("knightly", "knight"),
        ("generously", "generous"),
        ("skies", "sky"),
        ("dying", "die"),
        ("agreed", "agre"),
        ("yes", "yes"),
        ("youth", "youth"),
        ("cry", "cri"),
        ("by", "by"),
        ("say", "say"),
        ("sensational", "sensat"),
        ("controll", "control"),
        ("falling", "fall"),
    ],
)
def test_published_examples(word: str, expected: str) -> None:
    """The suffix rules give the stems that the published algorithm names."""
    assert stem(word) == expected
