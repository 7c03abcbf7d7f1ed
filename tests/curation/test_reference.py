"""What of the memory is shown beside a stretch that is flushed: what concerns it, in proportion to it."""

import pytest

from langgraph_harness_memory.config import FlushConfig
from langgraph_harness_memory.curation import extraction
from langgraph_harness_memory.curation.flush import flush
from langgraph_harness_memory.curation.screening import Screening
from langgraph_harness_memory.formats import daily_log

TODAY = "memory/2026-04-12.md"


@pytest.fixture
def known(world, thread):
    """Flush what was said and return what the first call showed as known."""

    def ask(*said, memory="", log=(), **settings):
        if memory:
            world.put("MEMORY.md", memory)
        if log:
            world.put(TODAY, "".join(f"- {line}\n" for line in log))
        world.hear(*said)
        world.run(flush(thread, settings=FlushConfig(min_new_tokens=0, **settings), screening=Screening()))
        return world.asked[0]["known"]

    return ask


def test_what_fits_is_shown_as_it_stands(known):
    """A short memory keeps its headings, and the log its order."""
    memory = "# Memory\n\n## People\n- Ann is the sister\n"
    assert known("hello", memory=memory, log=["one", "two"]) == {"memory": memory, "log": ["one", "two"]}


def test_lines_that_share_most_words_with_the_stretch_come_first(known):
    """Of a memory that does not fit, what the stretch speaks of is shown; order and place stay those of the files."""
    other = [
        f"Fact {n} concerns shipments from warehouse {n * 7} and nothing else at all, as far as known"
        for n in range(60)
    ]
    memory = "## Facts\n" + "".join(f"- {line}\n" for line in [*other[:20], "Ivy is a cat from Bergen", *other[20:30]])
    log = [*other[30:40], "The cat Ivy was at the vet in Bergen", *other[40:]]
    shown = known("My cat Ivy moves to Bergen with me", memory=memory, log=log)
    assert "- Ivy is a cat from Bergen" in shown["memory"].split("\n")
    assert "The cat Ivy was at the vet in Bergen" in shown["log"]
    assert [line for line in log if line in shown["log"]] == shown["log"]


def test_then_the_newest_lines_come(known):
    """What contradicts a stretch may share no word with it, and was most likely said last."""
    log = [f"Order {n} went out by the northern route with parcel number {n * 13}" for n in range(100)]
    shown = known("Something else entirely", log=log)
    assert 0 < len(shown["log"]) < len(log)
    assert shown["log"] == log[-len(shown["log"]) :]
    assert shown["memory"] == ""


def cost(shown):
    return sum(len(line) // 4 + 4 for line in [*shown["log"], *filter(None, shown["memory"].split("\n"))])


@pytest.mark.parametrize(
    ("said", "most", "least"),
    [(40, extraction.LEAST_REFERENCE, 180), (8_000, 857, 830), (80_000, 1_200, 1_170)],
    ids=["short", "proportionate", "share of the call"],
)
def test_the_reference_grows_with_the_stretch(known, said, most, least):
    """200 tokens at least, three for seven of what was said, and no more than its share of the call."""
    log = [f"Order {n} went out by the northern route with parcel number {n * 13}" for n in range(400)]
    text = "word " * (said // 5)
    assert least <= cost(known(text, log=log, max_input_tokens=4_000)) <= most


def test_a_line_that_is_too_long_gives_way_to_shorter_ones(known):
    """One huge line does not take the place of all others."""
    shown = known("About the order", log=["small", "the order " * 2_000, "smaller"])
    assert shown["log"] == ["small", "smaller"]


def test_only_the_newest_lines_of_a_long_day_are_looked_at(known, monkeypatch):
    """A day of thousands of lines costs a flush no more than one of hundreds."""
    monkeypatch.setattr(extraction, "NEWEST_LINES", 3)
    log = [f"the cat {n} of all cats" for n in range(10)]
    assert known("the cat 1", log=log)["log"] == log[-3:]


def test_words_of_tools_are_chosen_for_words_of_tools_alone(world, known):
    """However alike they are."""
    heading = daily_log.BlockHeading(at=world.at, session="t0", sources=("tool:web",))
    world.put(
        TODAY, daily_log.render_block([(heading, [f"The cat Ivy {n}, says the page of cats" for n in range(80)])])
    )
    assert known("The cat Ivy")["log"] == []
