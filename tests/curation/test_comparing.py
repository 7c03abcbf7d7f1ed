"""What a rewrite of `MEMORY.md` is said to have done to each line."""

from datetime import date

import pytest

from langgraph_harness_memory.curation.comparing import Contradiction, compare, contradictions
from langgraph_harness_memory.curation.requests import NewLine
from langgraph_harness_memory.formats.changes import Change

LOG = "memory/2026-04-12.md"


def lines(*texts, source="user"):
    """Lines of one day's log, numbered from 2 as below a heading."""
    return [
        NewLine(text=text, day=date(2026, 4, 12), source=source, path=LOG, number=number, key=text.encode())
        for number, text in enumerate(texts, start=2)
    ]


def memory(*facts):
    return "# Memory\n\n" + "".join(f"- {fact}\n" for fact in facts)


def test_equal_memories_have_no_changes():
    """Bullets, order, case and punctuation make no difference, and neither do headings."""
    old = "# Memory\n\n- Lives in Oslo\n- Works at Acme\n"
    new = "# Facts\n\n* works at ACME.\n* Lives in: Oslo\n"
    assert compare(old, new, ()) == ()
    assert compare("", "", ()) == ()


def test_each_line_is_told_once_changed_ones_first():
    """Changed, added, dropped, left, each in the order of its text; where a line came from is named."""
    old = memory("Ada lives in Rome", "Works at Acme", "Owns a red bicycle")
    new = memory("Ada lives in Oslo", "Works at Acme", "Plays chess every Sunday")
    merged = lines("Ada lives in Oslo", "Plays chess on Sunday", "Dentist at nine")
    assert compare(old, new, merged) == (
        Change(
            kind="changed",
            text="Ada lives in Oslo",
            before="Ada lives in Rome",
            origin=f"{LOG}#2, user",
            supersedes=True,
        ),
        Change(kind="added", text="Plays chess every Sunday", origin=f"{LOG}#3, user"),
        Change(kind="dropped", text="Owns a red bicycle"),
        Change(kind="left", text="Dentist at nine", origin=f"{LOG}#4, user"),
    )


def test_a_line_that_only_lost_words_was_superseded_by_none():
    """Nothing came in, so that no merged line is its origin."""
    (change,) = compare(memory("Ada lives in sunny Rome"), memory("Ada lives in Rome"), lines("Ada lives in Rome"))
    assert change == Change(kind="changed", text="Ada lives in Rome", before="Ada lives in sunny Rome")


def test_a_line_that_only_gained_words_is_no_later_wording():
    """What stood there still does: it is told where the new words came from, and that nothing had to give way."""
    (change,) = compare(memory("Ada lives in Rome"), memory("Ada lives in sunny Rome"), lines("Rome is sunny"))
    assert change == Change(
        kind="changed", text="Ada lives in sunny Rome", before="Ada lives in Rome", origin=f"{LOG}#2, user"
    )


def test_a_change_that_no_line_explains_has_no_origin():
    """A model that made it up supersedes nothing."""
    (change, *_) = compare(memory("Ada lives in Rome"), memory("Ada lives in Oslo"), lines("Dentist at nine"))
    assert (change.kind, change.origin, change.supersedes) == ("changed", "", False)


def test_the_most_alike_lines_are_one_line():
    """Each line is paired once, with the one that is most like it, wherever it stands; equals in order."""
    old = memory("Ada has a red car", "Ada has a green boat", "Bob has a dog")
    new = memory("Bob has a dog", "Ada has a green sailing boat", "Ada has a red sports car")
    found = [(c.before, c.text) for c in compare(old, new, ())]
    assert found == [
        ("Ada has a red car", "Ada has a red sports car"),
        ("Ada has a green boat", "Ada has a green sailing boat"),
    ]
    twins = compare(memory("Alpha one", "Alpha two"), memory("Alpha three", "Alpha four"), ())
    assert [(c.before, c.text) for c in twins] == [("Alpha one", "Alpha three"), ("Alpha two", "Alpha four")]


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        ("alpha beta", "alpha gamma", ["changed"]),
        ("alpha beta", "alpha gamma delta", ["added", "dropped"]),
        ("alpha beta gamma", "alpha beta delta", ["changed"]),
    ],
)
def test_a_third_of_the_words_makes_it_the_same_line(old, new, kinds):
    """One of three words in common is enough, one of four is not."""
    assert [c.kind for c in compare(memory(old), memory(new), ())] == kinds


def test_a_line_came_from_the_one_that_holds_most_of_it():
    """The later one where two hold as much; none that holds less than half."""
    merged = lines("alpha beta", "alpha beta gamma", "gamma beta alpha", "alpha delta")
    added = compare("", memory("alpha beta gamma delta"), merged)[0]
    assert added.origin == f"{LOG}#4, user"
    assert compare("", memory("alpha beta"), lines("alpha zeta"))[0].origin == f"{LOG}#2, user"
    assert compare("", memory("alpha beta gamma"), lines("alpha zeta"))[0].origin == ""


def test_an_origin_names_the_source_where_one_is_known():
    """A line of the memory itself has none."""
    assert compare("", memory("alpha beta"), lines("alpha beta", source=""))[0].origin == f"{LOG}#2"


@pytest.mark.parametrize(
    ("merged", "is_left"),
    [
        ("alpha beta", False),
        ("alpha zeta", False),
        ("alpha zeta eta", True),
        ("alpha beta 17", True),
        ("alpha beta 42", False),
        ("alpha beta v2", True),
    ],
)
def test_half_of_the_words_and_all_numbers_make_it_taken_over(merged, is_left):
    """A number that is nowhere in the memory was not taken over, however much of the rest was."""
    memory_now = memory("alpha beta gamma 42")
    left = [c for c in compare(memory_now, memory_now, lines(merged)) if c.kind == "left"]
    assert left == ([Change(kind="left", text=merged, origin=f"{LOG}#2, user")] if is_left else [])


@pytest.mark.parametrize("length", [400, 401])
def test_long_lines_are_shown_in_short(length):
    """400 characters of a line, the last of them a mark where it goes on; in every kind of change."""
    long, other = "a" * length, "b " * (length // 2) + "b" * (length % 2)
    shown = long if length == 400 else "a" * 399 + "…"
    assert compare("", memory(long), ())[0].text == shown
    assert compare(memory(long), "", ())[0].text == shown
    assert compare("", "", lines(long))[0].text == shown
    (changed,) = compare(memory(f"{other}"), memory(f"{other}c"), ())
    assert (len(changed.text) <= 400, len(changed.before) <= 400) == (True, True)


def told(old, new, merged):
    return list(contradictions(memory(*old), memory(*new), lines(*merged)))


def test_an_answer_that_keeps_the_earlier_line_contradicts_the_later_one():
    """The earlier one stands in the memory, or among the merged lines before it."""
    pair = Contradiction(earlier="Ada lives in Rome", later="Ada lives in Oslo")
    assert told(["Ada lives in Rome"], ["Ada lives in Rome"], ["Ada lives in Oslo"]) == [pair]
    assert told([], ["Ada lives in Rome"], ["Ada lives in Rome", "Ada lives in Oslo"]) == [pair]


def test_one_contradiction_is_told_of_each_later_line():
    """The first earlier line that it contradicts."""
    facts = ["Ada lives in Rome", "Ada lives in Turin"]
    assert told(facts, facts, ["Ada lives in Oslo", "Bob plays chess"]) == [
        Contradiction(earlier="Ada lives in Rome", later="Ada lives in Oslo")
    ]
    assert [pair.later for pair in told(facts, facts, ["Ada lives in Oslo", "Ada lives in Bergen"])] == [
        "Ada lives in Oslo",
        "Ada lives in Bergen",
    ]


@pytest.mark.parametrize(
    ("old", "new", "merged"),
    [
        (["Ada lives in Rome"], ["Ada lives in Oslo"], ["Ada lives in Oslo"]),
        (["Ada lives in Rome"], ["Ada lives in Rome", "Ada lives in Oslo now"], ["Ada lives in Oslo"]),
        (["Ada lives in Rome"], [], ["Ada lives in Oslo"]),
        (["Ada lives in Rome"], ["Ada lives in Rome"], ["Bob works at Acme"]),
        (["Ada lives"], ["Ada lives"], ["Ada lives in Oslo"]),
        (["Ada lives in Oslo city"], ["Ada lives in Oslo city"], ["Ada lives"]),
        ([], ["Ada lives in Oslo"], ["Ada lives in Oslo", "Ada lives in Rome, Oslo"]),
        ([], ["Ada lives in Rome"], ["Ada lives in Rome"]),
    ],
    ids=["replaced", "both", "neither", "other matter", "more of it", "less of it", "more, later", "itself"],
)
def test_what_is_no_contradiction(old, new, merged):
    """The later line stands, the earlier one does not, or the two can both hold."""
    assert told(old, new, merged) == []


@pytest.mark.parametrize(
    ("earlier", "later", "is_one"),
    [
        ("alpha beta gamma delta one two", "alpha beta gamma delta three four", True),
        ("alpha beta gamma delta one two", "alpha beta gamma delta three four five", False),
        ("alpha beta gamma delta epsilon one two three", "alpha beta gamma delta epsilon four", False),
        ("alpha beta one", "alpha beta two", True),
        ("alpha one", "alpha two", False),
        ("alpha beta one two", "alpha beta three", True),
        ("alpha beta one two", "alpha beta three four", False),
        ("alpha beta gamma delta epsilon one", "alpha beta gamma delta epsilon two", True),
    ],
)
def test_one_matter_in_which_a_word_or_two_differ(earlier, later, is_one):
    """At most two words on either side, and two fifths of all words in common."""
    assert bool(told([earlier], [earlier], [later])) == is_one


def test_three_quarters_of_a_later_line_stand_for_it():
    """It was taken over in other words; at less it was not, and neither by what it has in common with the earlier one."""
    old, later = "Ada lives near Rome", "Ada lives near Oslo"
    assert told([old], [old, "lives near Oslo since May"], [later]) == []
    assert told([old], [old, "near Oslo"], [later]) == [Contradiction(earlier=old, later=later)]
    assert told([old], [old, "Bob lives near Ada"], [later]) == [Contradiction(earlier=old, later=later)]
