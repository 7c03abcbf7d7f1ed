"""What of a conversation may hold facts, and whose words they are."""

from datetime import UTC, datetime, timedelta

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_harness_memory.curation.provenance import Said, is_noise, sources, speaker_of
from langgraph_harness_memory.steps import LoggedMessage

AT = datetime(2026, 4, 12, 9, 30, tzinfo=UTC)


def logged(*messages, namespace=""):
    return [
        LoggedMessage(position=n, message=m, logged_at=AT + timedelta(minutes=n), namespace=namespace)
        for n, m in enumerate(messages)
    ]


def tool(text, name="web"):
    return ToolMessage(text, tool_call_id="c1", name=name)


EVERYBODY = frozenset({"user", "assistant", "tool"})


def test_what_was_said_has_its_place_time_and_speaker():
    """A tool's words are its own; a nameless tool is called so."""
    talk = logged(
        HumanMessage(" I live in Oslo "), AIMessage("Nice place."), tool("Rain"), ToolMessage("Sun", tool_call_id="2")
    )
    assert sources(talk, allowed=EVERYBODY) == (
        Said(position=0, role="user", text="I live in Oslo", sent=AT),
        Said(position=1, role="assistant", text="Nice place.", sent=AT + timedelta(minutes=1)),
        Said(position=2, role="tool", text="Rain", sent=AT + timedelta(minutes=2), tools=("web",)),
        Said(position=3, role="tool", text="Sun", sent=AT + timedelta(minutes=3), tools=("unnamed",)),
    )


@pytest.mark.parametrize(
    ("allowed", "roles"),
    [
        (set(), []),
        ({"user"}, ["user"]),
        ({"assistant"}, ["assistant"]),
        ({"tool"}, ["tool:web", "tool:mail"]),
        ({"tool:mail"}, ["tool:mail"]),
        ({"tool:memory_search"}, []),
    ],
)
def test_only_allowed_sources_are_heard(allowed, roles):
    """Our own tools never."""
    talk = logged(
        HumanMessage("I live here"),
        AIMessage("Good to know that."),
        tool("Rain"),
        tool("Post", "mail"),
        tool("x", "memory_search"),
    )
    assert [part.source for part in sources(talk, allowed=frozenset(allowed))] == roles


def test_sub_agents_are_heard_on_request():
    """What they say is listened to all the same, to know what is repeated."""
    talk = logged(HumanMessage("The gate code of the old mill is 4711"), namespace="sub")
    assert sources(talk, allowed=EVERYBODY) == ()
    assert len(sources(talk, allowed=EVERYBODY, subagents=True)) == 1


def test_an_answer_is_parted_into_own_words_and_repeated_ones():
    """Sentence by sentence; short ones go with what stands before them, and what repeats our own tools is nobody's."""
    answer = (
        "I looked it up for you today. The fair in Lisbon starts on May 3rd. Yes, May.\nThe gate of the old mill opens at nine. Sure.\n"
        "My own view is that trains are nicer."
    )
    talk = logged(
        tool("The fair in Lisbon starts on May 3rd"),
        tool("gate of the old mill opens at nine", "memory_get"),
        AIMessage(answer),
    )
    at = AT + timedelta(minutes=2)
    assert sources(talk, allowed=frozenset({"assistant"})) == (
        Said(
            position=2,
            role="assistant",
            text="I looked it up for you today.\nMy own view is that trains are nicer.",
            sent=at,
        ),
        Said(
            position=2,
            role="assistant",
            text="The fair in Lisbon starts on May 3rd.\nYes, May.",
            sent=at,
            tools=("web",),
        ),
    )


@pytest.mark.parametrize(
    ("text", "speaker"),
    [
        ("The fair in Lisbon starts on May 3rd", "tool:web"),
        ("alpha beta gamma delta epsilon", "user"),
        ("I am glad. The fair in Lisbon starts on May 3rd", "tool:web"),
        ("Something else entirely was meant", "user"),
        ("", "user"),
    ],
)
def test_a_text_to_be_saved_is_whose_it_was_first(text, speaker):
    """The user's, unless a tool said it and the user did not."""
    talk = logged(
        HumanMessage("alpha beta gamma delta epsilon"),
        tool("The fair in Lisbon starts on May 3rd. alpha beta gamma delta epsilon"),
    )
    assert speaker_of(text, talk) == speaker


@pytest.mark.parametrize(
    ("text", "noise"),
    [
        ("HEARTBEAT_OK", True),
        ("ping", True),
        (" pong! ", True),
        ("keep-alive", True),
        ("[heartbeat] all fine\nmore", True),
        ("heartbeat: 12", True),
        ("Read HEARTBEAT.md and follow it", True),
        ("NO_REPLY", True),
        ("", True),
        ("the ping is slow", False),
        ("My heartbeat is fast", False),
    ],
)
def test_machines_saying_that_they_live_is_noise(text, noise):
    """A sentence about it is not."""
    assert is_noise(text) == noise
