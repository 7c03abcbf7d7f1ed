"""Which lines speak of what is to be forgotten."""

from datetime import UTC, datetime

import pytest

from langgraph_harness_memory.curation.finding import Found, Target, comes_from, find, is_about, is_gone, said_lines
from langgraph_harness_memory.curation.removing import lines_of
from langgraph_harness_memory.curation.wording import words
from langgraph_harness_memory.errors import SettingError
from langgraph_harness_memory.formats.daily_log import BlockHeading, render_block
from langgraph_harness_memory.formats.tombstones import Tombstones

AT = datetime(2026, 4, 12, 9, 30, tzinfo=UTC)
LOG = "memory/2026-04-12.md"
STONES = Tombstones(key="ab" * 8).with_stone(words("Has a cat called Ivy"), at=AT)


def block(*facts, sources=("user",), at=AT, session="t1", positions=(0,)):
    heading = BlockHeading(at=at, session=session, positions=frozenset(positions), sources=sources)
    return render_block([(heading, facts)])


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ({}, "give either query, or path and lines"),
        ({"query": "cat", "path": LOG, "lines": (1, 1)}, "give either query, or path and lines"),
        ({"query": " ?! "}, "forget.query=' ?! ' cannot be used: name at least one word"),
        ({"path": "notes.md", "lines": (1, 1)}, "give MEMORY.md or a daily log such as memory/2026-04-12.md"),
        ({"path": LOG}, "forget.lines=None cannot be used: give the first and the last line, from 1"),
        ({"path": LOG, "lines": (0, 1)}, "give the first and the last line, from 1"),
        ({"path": LOG, "lines": (2, 1)}, "give the first and the last line, from 1"),
    ],
)
def test_a_target_that_names_nothing_says_what_to_give(target, said):
    """One of two ways, each whole."""
    with pytest.raises(SettingError) as refused:
        Target(**target)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "target", [{"path": "MEMORY.md", "lines": (1, 1)}, {"path": LOG, "lines": (2, 7)}, {"query": "it"}]
)
def test_a_target_names_lines_or_words(target):
    """A single line, a range, a query of small words alone."""
    assert Target(**target)


def test_lines_that_say_something_have_their_place():
    """A person's headings too, which come first; ours give the heading of the lines below them."""
    text = "# Title\n\n" + block("one", "two") + "## By hand\n- three\nfour\n"
    found = [(each.number, each.text, each.heading and each.heading.session) for each in said_lines(LOG, text)]
    assert found == [
        (1, "Title", None),
        (7, "By hand", None),
        (4, "one", "t1"),
        (5, "two", "t1"),
        (8, "three", None),
        (9, "four", None),
    ]
    assert {each.path for each in said_lines(LOG, text)} == {LOG}


def test_a_range_takes_its_first_and_last_line_and_those_between(world):
    """Of the one file that it names."""
    world.put(LOG, "- one\n- two\n- three\n- four\n")
    world.put("MEMORY.md", "- two\n")
    found = world.run(find(None, Target(path=LOG, lines=(2, 3))))
    assert found == (Found(path=LOG, number=2, text="two"), Found(path=LOG, number=3, text="three"))
    assert world.run(find(None, Target(path="memory/2026-04-13.md", lines=(2, 3)))) == ()


def test_a_query_takes_lines_of_both_layers_and_the_archive(world):
    """Every line that holds all of its words."""
    for path in ("MEMORY.md", LOG, "memory/archive/2026-01-01.md", "memory/CHANGES.md"):
        world.put(path, "- a red cat\n- a cat\n")
    found = world.run(find(None, Target(query="cat red")))
    assert [(each.path, each.number) for each in found] == [
        ("MEMORY.md", 1),
        (LOG, 1),
        ("memory/archive/2026-01-01.md", 1),
    ]


def test_what_a_target_takes_is_what_it_names_and_what_says_the_same():
    """A range takes by the stones of its lines alone."""
    assert is_about("red cat")("a cat, red")
    assert not is_about("red cat")("a cat")
    by_query = is_gone(Target(query="dog"), STONES)
    by_lines = is_gone(Target(path=LOG, lines=(1, 1)), STONES)
    assert [by_query(text) for text in ("the dog", "a cat called Ivy", "a cat")] == [True, True, False]
    assert [by_lines(text) for text in ("the dog", "a cat called Ivy", "a cat")] == [False, True, False]


def test_half_of_a_facts_words_make_a_message_its_origin():
    """Less does not."""
    assert comes_from("alpha beta", "alpha zeta")
    assert not comes_from("alpha beta gamma", "alpha zeta")


@pytest.mark.parametrize(
    ("text", "lines"),
    [("", [""]), ("a", ["a"]), ("a\n", ["a\n", ""]), ("a\n\nb", ["a\n", "\n", "b"]), ("a\r\nb", ["a\r\n", "b"])],
)
def test_lines_keep_their_endings(text, lines):
    """Put together they are the text again."""
    assert lines_of(text) == lines
    assert "".join(lines_of(text)) == text
