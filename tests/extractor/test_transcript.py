"""Which requests ask for a summary, and what conversation each of them holds."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_harness_memory.curation.rules.summary import Turn
from langgraph_harness_memory.curation.rules.transcript import is_summary_request, read_transcript

TALK = [
    HumanMessage("Ask"),
    AIMessage("", tool_calls=[{"name": "ls", "args": {"p": 1}, "id": "1"}]),
    ToolMessage("r", tool_call_id="1", name="ls"),
    SystemMessage("s"),
    AIMessage("Done", name="bot"),
]


def read(text):
    return read_transcript([HumanMessage("not this one"), HumanMessage(text)])


def test_our_own_rendering_is_read_turn_by_turn():
    """Roles, calls, tools by name, errors, and the brackets that were taken from look-alikes; what the system said is left out."""
    text = (
        "Summarise this:\n<messages>\n[user] Hi &lt;b>\nthere\n\n[assistant] Let me look.\n→ called read_file(path=&lt;a)\n→ called ls()\n\n"
        "[result of shell (error)] disk full\n\n[system] rules\n\n[result of ls] a b\n</messages>\nIn four sections."
    )
    assert read(text) == (
        "",
        [
            Turn(role="user", text="Hi <b>\nthere"),
            Turn(role="assistant", text="Let me look.", calls=("read_file(path=<a)", "ls()")),
            Turn(role="tool", name="shell", text="disk full", failed=True),
            Turn(role="tool", name="ls", text="a b"),
        ],
    )


def test_an_earlier_summary_stands_apart():
    """What was said since begins behind it."""
    text = "<previous_summary>\nold &lt;x\nlines\n</previous_summary>\n\n[user] new"
    assert read(text) == ("old <x\nlines", [Turn(role="user", text="new")])
    torn = "<previous_summary>\nold\n[user] new"
    assert read(torn) == ("", [Turn(role="user", text="new")])


def test_langchains_renderings_are_read():
    """`Human:`, and messages as XML; titles of roles in either words."""
    assert read("Human: yes\nAI: no\nTool: x\nSystem: s\nUser: a\nAssistant: b")[1] == [
        Turn(role="user", text="yes"),
        Turn(role="assistant", text="no"),
        Turn(role="tool", text="x"),
        Turn(role="user", text="a"),
        Turn(role="assistant", text="b"),
    ]
    xml = '<message type="human">Hello\nyou</message>\n<message type="ai" name="x">Hi</message>\n<message type="tool">r</message>'
    assert read(xml)[1] == [
        Turn(role="user", text="Hello\nyou"),
        Turn(role="assistant", text="Hi"),
        Turn(role="tool", text="r"),
    ]


def test_a_text_without_marks_was_said_by_the_user():
    """A blank one by nobody."""
    assert read("no marks &lt;here") == ("", [Turn(role="user", text="no marks <here")])
    assert read(" \n") == ("", [])


def test_a_conversation_above_the_request_is_taken_as_it_stands():
    """Names and calls with it; the earlier summary is the one that the request quotes."""
    turns = [
        Turn(role="user", text="Ask"),
        Turn(role="assistant", text="", calls=("ls({'p': 1})",)),
        Turn(role="tool", text="r", name="ls"),
        Turn(role="assistant", text="Done", name="bot"),
    ]
    assert read_transcript([*TALK, HumanMessage("Create a summary of the conversation above:")]) == ("", turns)
    extend = "This is a summary of the conversation so far: earlier\nmore\n\nExtend the summary"
    assert read_transcript([*TALK, HumanMessage(extend)]) == ("earlier\nmore", turns)


SECTIONS = "SESSION INTENT, SUMMARY, ARTIFACTS, NEXT STEPS"


@pytest.mark.parametrize(
    ("messages", "is_one"),
    [
        ([], False),
        ([HumanMessage("hi")], False),
        ([HumanMessage("[user] a\n[assistant] b")], True),
        ([HumanMessage("[user] a")], False),
        ([HumanMessage("Human: a\nAI: b")], False),
        ([HumanMessage(SECTIONS)], True),
        ([SystemMessage("x"), HumanMessage(SECTIONS)], True),
        ([HumanMessage(SECTIONS), HumanMessage("hi")], False),
        ([HumanMessage(SECTIONS.replace(", NEXT STEPS", ""))], False),
        ([HumanMessage("<previous_summary>\nx\n</previous_summary>")], True),
        ([HumanMessage("a"), HumanMessage("[user] a\n[assistant] b")], False),
        ([*TALK, HumanMessage("Please summarize")], True),
        ([*TALK, HumanMessage("Fasse das zusammen: ZUSAMMENFASSUNG")], True),
        ([*TALK, HumanMessage("Did you summarize?")], False),
        ([*TALK, AIMessage("summarize")], False),
        ([HumanMessage("a"), HumanMessage("summarize")], False),
        ([HumanMessage("a"), AIMessage("b"), HumanMessage("summarize")], True),
        ([*TALK, HumanMessage("summarize" + "x" * 391)], True),
        ([*TALK, HumanMessage("summarize" + "x" * 392)], False),
        ([*TALK, HumanMessage("[user] summarize")], False),
        ([*TALK, HumanMessage(f"summary of the conversation so far: {'x ' * 300}\n\nExtend the summary")], True),
    ],
)
def test_a_request_for_a_summary_is_told_from_talk(messages, is_one):
    """The four sections, a rendered conversation in one message, or a short request below a conversation."""
    assert is_summary_request(messages) == is_one
