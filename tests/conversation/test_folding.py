"""Which of two summaries stands, and what an update may bring back."""

import pytest
from langchain_core.messages import HumanMessage, RemoveMessage

from langgraph_harness_memory.conversation.folding import (
    KEPT_IDS,
    KEPT_KEYS,
    apply_update,
    fold_facts,
    fold_key,
    fold_update,
)
from langgraph_harness_memory.formats.forms import marked


def said(*ids):
    return [HumanMessage(f"text {i}", id=i) for i in ids]


def fold(messages, text="S", **more):
    return fold_update(messages, text, tail=None, by_rules=False, facts={}, **more)


def texts(messages):
    return [message.text for message in messages]


HISTORY = said("a", "b", "c", "d")


def test_a_summary_takes_the_first_place_and_removes_the_others() -> None:
    summary, *removals = fold(HISTORY[:3])
    assert summary.id == "a"
    assert [(type(removal), removal.id) for removal in removals] == [(RemoveMessage, "b"), (RemoveMessage, "c")]
    assert texts(apply_update(HISTORY, [summary, *removals])) == ["S", "text d"]
    assert fold(HISTORY[:3], removals=False) == [summary]
    assert texts(apply_update(HISTORY, [summary])) == ["S", "text d"]


def test_the_same_fold_again_changes_nothing() -> None:
    """A retried node sends its update twice; the first one stands."""
    once = apply_update(HISTORY, fold(HISTORY[:3], "first"))
    assert texts(apply_update(once, fold(HISTORY[:3], "second"))) == ["first", "text d"]


def test_of_two_summaries_at_once_the_one_that_folds_more_stands_whichever_comes_first() -> None:
    small, large = fold(HISTORY[:2], "small"), fold(HISTORY[:3], "large")
    assert texts(apply_update(apply_update(HISTORY, small), large)) == ["large", "text d"]
    assert texts(apply_update(apply_update(HISTORY, large), small)) == ["large", "text d"]


def test_a_late_summary_gives_way_to_the_one_that_was_made_from_it() -> None:
    """The second summary knows the first by its key, though it names other ids."""
    first = fold(HISTORY[:2], "first")
    state = apply_update(HISTORY, first)
    second = fold(state[:2], "second")
    state = apply_update(state, second)
    assert texts(state) == ["second", "text d"]
    assert fold_facts(second[0])["chain"] == [fold_facts(first[0])["key"]]
    assert texts(apply_update(state, first)) == ["second", "text d"]


def test_a_summary_that_was_made_from_the_standing_one_replaces_it() -> None:
    first = fold(HISTORY[:2], "first")
    state = apply_update(HISTORY, first)
    third = fold([state[0]], "again")
    assert texts(apply_update(state, third)) == ["again", "text c", "text d"]


@pytest.mark.parametrize("generations", [1, 3, 30])
def test_what_was_folded_does_not_come_back_with_the_whole_history(generations) -> None:
    """A client that sends all that it knows again, after any number of compactions that are still remembered."""
    state, everything = list(HISTORY), list(HISTORY)
    for generation in range(generations):
        state = apply_update(state, fold(state[:-1], f"S{generation}"))
        new = said(f"n{generation}")
        everything += new
        state = apply_update(state, new)
    assert texts(apply_update(state, everything)) == texts(state)
    facts = fold_facts(state[0])
    assert len(facts["chain"]) == min(generations - 1, KEPT_KEYS)
    assert len(facts["earlier"]) <= KEPT_IDS


@pytest.mark.parametrize(
    ("update", "end"),
    [
        ([HumanMessage("short", id="b", additional_kwargs=marked("truncated", in_place=True))], ["text a", "short"]),
        ([HumanMessage("short", id="z", additional_kwargs=marked("truncated", in_place=True))], ["text a", "text b"]),
        (
            [
                RemoveMessage(id="b"),
                HumanMessage("short", id="b", additional_kwargs=marked("truncated", in_place=True)),
            ],
            ["text a"],
        ),
        ([RemoveMessage(id="b"), HumanMessage("new", id="b")], ["text a", "new"]),
        ([RemoveMessage(id="z")], ["text a", "text b"]),
        ([HumanMessage("end", id="z"), RemoveMessage(id="z")], ["text a", "text b"]),
        ([HumanMessage("end", id="z")], ["text a", "text b", "end"]),
    ],
)
def test_a_form_made_in_place_never_adds_a_message(update, end) -> None:
    """A message that left meanwhile does not come back as its truncated self; the application's own word counts."""
    given = said("a", "b")
    assert texts(apply_update(given, update)) == end
    assert texts(given) == ["text a", "text b"]


def test_a_fold_of_what_is_gone_is_dropped() -> None:
    assert texts(apply_update(said("d"), fold(said("a", "b")))) == ["text d"]


def test_the_key_tells_ids_and_texts_apart() -> None:
    variants = [
        said("a", "b"),
        said("b", "a"),
        [HumanMessage("text a", id="a"), HumanMessage("other", id="b")],
    ]
    assert len({fold_key(messages) for messages in variants}) == len(variants)
    assert fold_key(said("a", "b")) == fold_key(said("a", "b"))
    assert len(fold_key([HumanMessage("\ud800", id="a")])) == 16
