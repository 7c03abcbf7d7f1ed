"""When a compaction is due, and how much may stay after it."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_harness_memory.config import CompactionConfig
from langgraph_harness_memory.conversation.cutoff import Tail
from langgraph_harness_memory.conversation.due import Due, due, room, token_limit
from langgraph_harness_memory.formats.forms import marked


def config(**settings):
    off = {"trigger_messages": 0, "trigger_tokens": 0, "trigger_fraction": 0.0}
    return CompactionConfig(**{**off, **settings})


def talk(count):
    return [HumanMessage(f"m{n}", id=str(n)) for n in range(count)]


def decided(messages, settings, *, tokens=100, counted=100, overhead=0, window=None, **more):
    return due(messages, settings, tokens=tokens, counted=counted, overhead=overhead, window=window, **more)


def folded_before(**facts):
    """A conversation whose first message is the summary of a compaction that left so much."""
    summary = HumanMessage("s", id="s", additional_kwargs=marked("summary", folded=["a"], **facts))
    return [summary, *talk(9)]


@pytest.mark.parametrize(
    ("settings", "window", "limit"),
    [
        ({}, 1_000, None),
        ({"trigger_tokens": 500}, None, 500),
        ({"trigger_fraction": 0.8}, 1_000, 800),
        ({"trigger_fraction": 0.8}, None, None),
        ({"trigger_fraction": 0.1}, 3, 1),
        ({"trigger_tokens": 500, "trigger_fraction": 0.8}, 1_000, 500),
        ({"trigger_tokens": 900, "trigger_fraction": 0.8}, 1_000, 800),
    ],
)
def test_the_earliest_token_trigger_is_the_limit(settings, window, limit):
    """A fraction counts only where the window is known."""
    assert token_limit(config(**settings), window) == limit


def test_messages_trigger_from_their_number_on():
    """One below it may stay; nothing is on the brink."""
    settings = config(trigger_messages=10, keep_messages=4, keep_tokens=70)
    assert decided(talk(9), settings) is None
    assert decided(talk(10), settings) == Due(
        tail=Tail(keep_messages=4, keep_tokens=70, most_messages=9, most_tokens=None), on_the_brink=False
    )
    assert decided(talk(3), config(trigger_messages=1)).tail.most_messages is None


def test_tokens_trigger_from_their_limit_on():
    """Any number of messages may stay, and as many tokens as there is room for."""
    settings = config(trigger_tokens=1_000, keep_messages=4, max_summary_tokens=50)
    assert decided(talk(3), settings, tokens=999) is None
    assert decided(talk(3), settings, tokens=1_000, counted=1_000) == Due(
        tail=Tail(keep_messages=4, keep_tokens=0, most_messages=None, most_tokens=550), on_the_brink=False
    )


def test_nothing_triggers_where_all_is_off():
    """But somebody may ask for it."""
    assert decided(talk(1_000), config(), tokens=10**6) is None
    assert decided(talk(3), config(keep_messages=2), forced=True) == Due(tail=Tail(keep_messages=2), on_the_brink=False)


def test_after_a_compaction_messages_must_have_grown():
    """By more than one beyond what it left."""
    settings = config(trigger_messages=10, keep_messages=4)
    assert decided(folded_before(messages_after=9), settings) is None
    assert decided(folded_before(messages_after=8), settings) is not None
    assert decided(folded_before(), settings) is not None


def test_after_a_compaction_tokens_must_have_grown_by_a_fifth_of_the_limit():
    """Where the last one could not bring the request below its limit, the next does not fire at once."""
    settings = config(trigger_tokens=1_000)
    assert decided(folded_before(tokens_after=1_000), settings, tokens=1_199) is None
    assert decided(folded_before(tokens_after=1_000), settings, tokens=1_200) is not None
    assert decided(folded_before(), settings, tokens=1_000) is not None


@pytest.mark.parametrize(
    ("tokens", "window", "brink"), [(949, 1_000, False), (950, 1_000, True), (1_499, None, False), (1_500, None, True)]
)
def test_a_request_near_its_window_is_on_the_brink(tokens, window, brink):
    """Without a known window half as much again as the limit is."""
    settings = config(trigger_tokens=900 if window else 1_000)
    assert decided([HumanMessage("a"), AIMessage("b")], settings, tokens=tokens, window=window).on_the_brink == brink


@pytest.mark.parametrize(
    ("numbers", "free"),
    [
        ({}, 500),
        ({"overhead": 100}, 400),
        ({"overhead": 900}, 150),
        ({"max_summary_tokens": 60}, 540),
        ({"counted": 500}, 250),
        ({"counted": 400, "overhead": 100}, 200),
        ({"counted": 2_000}, 500),
        ({"counted": 0, "tokens": 0}, 500),
    ],
)
def test_six_tenths_of_the_limit_are_left_for_what_stays(numbers, free):
    """Less what goes beside it and the summary, an eighth or so in any case; where the provider counts more, its count counts."""
    given = {"tokens": 1_000, "counted": 1_000, "overhead": 0, "max_summary_tokens": 5_000, **numbers}
    settings = config(max_summary_tokens=given.pop("max_summary_tokens"))
    assert room(1_000, settings, **given) == free
