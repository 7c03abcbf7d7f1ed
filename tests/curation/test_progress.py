"""What a person removed, put back and wrote by hand, and when a memory is rebuilt."""

import pytest

from langgraph_harness_memory.curation.progress import Present, same_as_any, with_removals
from langgraph_harness_memory.formats.consolidation_state import ConsolidationState, Written
from langgraph_harness_memory.steps import TextFile


def state(*facts, removed=(), by_hand=(), writer="model"):
    text = "".join(f"- {fact}\n" for fact in facts)
    return ConsolidationState(memory=Written(text=text, writer=writer), removed=removed, by_hand=by_hand)


def test_what_is_gone_was_removed_and_what_is_new_was_written_by_hand():
    """From then on the memory is compared with what the person left."""
    text = "# Mine\n\n- Lives in Oslo\n- Likes tea\n"
    after = with_removals(state("Lives in Oslo", "Works at Acme"), text)
    assert after == ConsolidationState(
        memory=Written(text=text, writer="model"), removed=("Works at Acme",), by_hand=("Likes tea",)
    )
    assert with_removals(after, text) == after


def test_a_line_in_other_words_was_edited():
    """Half of the words in common are enough, fewer are not."""
    before = state("alpha beta gamma", "Lives in Oslo")
    assert with_removals(before, "- alpha beta\n- Lives in Oslo\n").removed == ()
    assert with_removals(before, "- alpha beta delta\n- Lives in Oslo\n").removed == ()
    assert with_removals(before, "- alpha delta\n- Lives in Oslo\n").removed == ("alpha beta gamma",)


def test_what_is_put_back_is_no_longer_removed_and_what_goes_again_no_longer_by_hand():
    """In any case and punctuation."""
    before = state("Lives in Oslo", removed=("Likes tea", "Owns a van"), by_hand=("Lives in Oslo", "Plays chess"))
    after = with_removals(before, "- lives in Oslo!\n- likes TEA.\n")
    assert after.removed == ("Owns a van",)
    assert after.by_hand == ("Lives in Oslo", "likes TEA.")


def test_a_line_is_removed_once():
    """However often it stood there."""
    after = with_removals(
        state("Likes tea", "likes tea!", "Lives in Oslo", removed=("Owns a van",)), "- Lives in Oslo\n"
    )
    assert after.removed == ("Owns a van", "Likes tea")


@pytest.mark.parametrize("text", ["", "# Memory\n\n", " \n"])
def test_a_blank_memory_was_lost_and_not_removed_line_by_line(text):
    """Where facts stood in it; it is rebuilt."""
    before = state("Lives in Oslo", removed=("Owns a van",))
    after = with_removals(before, text)
    assert (after.is_lost, after.removed, after.memory.text) == (True, ("Owns a van",), text)
    nothing_written = ConsolidationState(removed=("Owns a van",))
    assert with_removals(nothing_written, text) == nothing_written
    assert not with_removals(state(), text).is_lost


def test_without_a_memory_of_ours_nothing_is_compared():
    """A person's own file has neither removals nor lines by hand."""
    assert with_removals(ConsolidationState(), "- Lives in Oslo\n") == ConsolidationState()


def test_at_most_five_hundred_lines_by_hand_are_known():
    """The first ones."""
    text = "- Lives in Oslo\n" + "".join(f"- number{n} line{n}\n" for n in range(501))
    after = with_removals(state("Lives in Oslo"), text)
    assert (len(after.by_hand), after.by_hand[-1]) == (500, "number499 line499")


@pytest.mark.parametrize(
    ("line", "is_same"),
    [
        ("alpha beta gamma delta", True),
        ("ALPHA: beta, gamma delta!", True),
        ("alpha beta gamma delta epsilon", True),
        ("alpha beta gamma epsilon", False),
        ("zeta", False),
    ],
)
def test_four_fifths_of_the_words_make_it_the_same_fact(line, is_same):
    """Of any of several."""
    assert same_as_any(["x y", "alpha beta gamma delta"])(line) == is_same
    assert not same_as_any([])(line)


@pytest.mark.parametrize(
    ("text", "fields", "rebuilt"),
    [
        ("", {}, True),
        ("# Memory\n", {}, True),
        ("- a\n", {}, False),
        ("", {"merged": frozenset({b"k"})}, False),
        ("", {"memory": Written(text="", writer="model")}, False),
        ("- a\n", {"is_lost": True, "merged": frozenset({b"k"})}, True),
    ],
)
def test_a_memory_is_rebuilt_where_it_was_lost_or_nobody_knows(text, fields, rebuilt):
    """Not where lines were seen and none was ever written."""
    present = Present(memory=TextFile(text=text, version="v"), state=ConsolidationState(**fields))
    assert present.is_to_be_rebuilt == rebuilt
    assert (present.text, present.version) == (text, "v")
    assert (Present(memory=None, state=present.state).text, Present(memory=None, state=present.state).version) == (
        "",
        None,
    )
