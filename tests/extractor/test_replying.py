"""What an agent without a model says next, and which tool it calls instead."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_harness_memory.curation.rules.replying import Reply, as_message, reply


def tool(name, **parameters):
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


SEARCH = tool(
    "memory_search",
    properties={"limit": {"type": "integer"}, "query": {"type": "string"}},
    required=["gone", "query"],
)
SAVE = tool("memory_save", properties={"text": {"type": "string"}, "source": {"type": "string"}})
OURS = [{"type": "web_search"}, SEARCH, SAVE]
ASKED = HumanMessage("Where does Ada live?")


def result(text, name="memory_search"):
    return ToolMessage(text, tool_call_id="1", name=name)


@pytest.mark.parametrize(
    ("said", "tools", "answer"),
    [
        ("Please remember that I like tea", OURS, Reply(tool="memory_save", arguments={"text": "I like tea"})),
        ("Remember: tea,\ngreen", OURS, Reply(tool="memory_save", arguments={"text": "tea, green"})),
        ("remember x", [{"function": {"name": "memory_save"}}], Reply(tool="memory_save", arguments={"query": "x"})),
        ("Remember that I like tea", [SEARCH], Reply(text="Noted: Remember that I like tea")),
        ("I don't remember Ada", [SEARCH, SAVE], Reply(text="Noted: I don't remember Ada")),
        ("Where does Ada live?", OURS, Reply(tool="memory_search", arguments={"query": "Where does Ada live?"})),
        ("Ada lives where？", OURS, Reply(tool="memory_search", arguments={"query": "Ada lives where？"})),
        ('Ada? "** ', OURS, Reply(tool="memory_search", arguments={"query": 'Ada? "**'})),
        ("tell me about Ada", OURS, Reply(tool="memory_search", arguments={"query": "tell me about Ada"})),
        ("Where does Ada live?", [SAVE], Reply(text="I have no note about that.")),
        ("I live in Oslo. Hi!", OURS, Reply(text="Noted: I live in Oslo.")),
        ("hi", OURS, Reply(text="Hello.")),
        ("the garden bench rests", OURS, Reply(text="Hello.")),
        ("the garden bench rests yesterday", OURS, Reply(text="Understood.")),
        ("", OURS, Reply(text="Understood.")),
    ],
)
def test_what_is_said_decides_what_comes_next(said, tools, answer):
    """What shall be remembered is saved, a question is looked up, a fact is noted; without the tool it says what it can."""
    assert reply([SystemMessage("You help."), HumanMessage(said)], tools) == answer


def test_a_long_text_is_cut_for_a_tool():
    """2,000 characters of what shall be remembered, 500 of a question."""
    saved = reply([HumanMessage("Remember " + "tea " * 1_000)], OURS).arguments["text"]
    asked = reply([HumanMessage("tea " * 1_000 + "?")], OURS).arguments["query"]
    assert (saved, asked) == ("tea " * 499 + "tea…", "tea " * 124 + "tea…")


def test_nothing_said_is_understood():
    """An empty conversation is answered too."""
    assert reply([]) == Reply(text="Understood.")
    assert reply([SystemMessage("You help.")]) == Reply(text="Understood.")


@pytest.mark.parametrize(
    ("results", "text"),
    [
        ([result("saved", "memory_save"), result("x")], "Noted."),
        (
            [result("1: - Ada lives in Oslo\n2| > Ada lives in Oslo\n* Bob lives in Rome\n12: Ada does live")],
            "From memory: Ada does live / Ada lives in Oslo",
        ),
        ([result("Ada"), result("Ada knows\nAda does live")], "From memory: Ada does live / Ada knows"),
        ([result("the weather is fine"), result("it rains", "web")], "The tool says: it rains"),
        ([result("the weather is fine")], "As noted: Ada was seen in Oslo"),
        ([result("")], "As noted: Ada was seen in Oslo"),
    ],
)
def test_results_are_quoted(results, text):
    """The lines that hold most of the question's words, each once, without their decoration; else what was noted before."""
    messages = [SystemMessage("Ada was seen in Oslo"), ASKED, AIMessage("", tool_calls=[]), *results]
    assert reply(messages, OURS) == Reply(text=text)


def test_results_of_an_earlier_question_are_not_quoted():
    """Only what came since the last question."""
    messages = [HumanMessage("Who is Bob?"), result("Ada lives in Oslo"), ASKED]
    assert reply(messages) == Reply(text="I have no note about that.")


def test_without_tools_the_newest_note_is_quoted_first():
    """Of what the user and the system said; questions are no notes, and what comes later is none either."""
    messages = [
        SystemMessage("Ada lives in Oslo."),
        HumanMessage("Ada lives in Rome. Where does Ada live now?"),
        AIMessage("Ada lives in Turin."),
        ASKED,
        AIMessage("Ada lives in Bergen."),
    ]
    assert reply(messages) == Reply(text="As noted: Ada lives in Rome. / Ada lives in Oslo.")


def test_three_lines_are_quoted_each_in_short():
    """What shares less than a third of the question's words is not."""
    lines = [f"Ada lives in {city} {'x' * 400}" for city in ("Oslo", "Rome", "Turin", "Graz")]
    text = reply([ASKED, result("\n".join(lines))]).text
    assert [part[:16] for part in text.removeprefix("From memory: ").split(" / ")] == [
        "Ada lives in Osl",
        "Ada lives in Rom",
        "Ada lives in Tur",
    ]
    assert all(len(part) <= 301 for part in text.removeprefix("From memory: ").split(" / "))
    question = HumanMessage("alpha beta gamma?")
    assert reply([question, result("alpha only")]).text == "I have no note about that."
    assert reply([question, result("alpha beta")]).text == "From memory: alpha beta"


def test_a_reply_becomes_the_message_of_a_chat_model():
    """Text, or one call with its id."""
    assert as_message(Reply(text="Hi"), "c1") == AIMessage("Hi")
    call = {"name": "web", "args": {"q": 1}, "id": "c1", "type": "tool_call"}
    assert as_message(Reply(tool="web", arguments={"q": 1}), "c1") == AIMessage("", tool_calls=[call])
    assert as_message(Reply(tool="web"), "c1").tool_calls[0]["args"] == {}
