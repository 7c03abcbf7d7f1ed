"""What each part of a message costs, with a counter that counts characters."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from langgraph_harness_memory.conversation.tokens import TokenCounter, is_base64
from langgraph_harness_memory.formats.forms import marked


@pytest.fixture
def counter():
    return TokenCounter(text=len)


def call(name="work", identifier="c1", **args):
    return {"name": name, "args": args, "id": identifier}


def reply(text="", *, tokens=None, **more):
    usage = {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1} if tokens is not None else None
    return AIMessage(text, usage_metadata=usage, **more)


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (HumanMessage("abc"), 4 + 3),
        (HumanMessage(""), 4),
        (HumanMessage(["abc", {"type": "text", "text": "de"}]), 4 + 3 + 2),
        (HumanMessage([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]), 4 + 1_000),
        (HumanMessage([{"type": "image", "text": "abc"}]), 4 + 1_000 + 3),
        (
            HumanMessage([{"type": "odd", "id": "no", "a": "abc", "b": ["de", {"c": "f"}], "n": None, "k": 7}]),
            4 + 3 + 2 + 1 + 1,
        ),
        (
            HumanMessage([{"type": "odd", "signature": "no", "cache_control": {"a": "no"}, "index": 1, "t": "abc"}]),
            4 + 3,
        ),
        (HumanMessage([{"type": "odd", "inner": {"type": "image", "data": "x"}}]), 4 + 1_000),
        (HumanMessage([{"type": "odd", "data": "data:a/b;base64,AA"}]), 4 + 1_000),
        (HumanMessage([{"type": "tool_result", "content": [{"type": "text", "text": "abc"}, "de"]}]), 4 + 5),
        (ToolMessage("abc", tool_call_id="c1"), 4 + 3 + 4),
        (AIMessage("ab", tool_calls=[call(q=1)]), 4 + 2 + 9 + 4 + len('{"q": 1}')),
        (AIMessage("", tool_calls=[call(q="é"), call("x", "c2")]), 4 + 9 + 4 + len('{"q": "é"}') + 9 + 1 + len("{}")),
        (
            AIMessage(
                "",
                invalid_tool_calls=[
                    {"name": "work", "args": "{", "id": "c1", "error": None, "type": "invalid_tool_call"}
                ],
            ),
            4 + 9 + len("work {"),
        ),
        (
            AIMessage(
                "",
                invalid_tool_calls=[
                    {"name": None, "args": None, "id": "c1", "error": None, "type": "invalid_tool_call"}
                ],
            ),
            4 + 9 + len(" "),
        ),
        (
            AIMessage([{"type": "tool_use", "id": "c1", "name": "work", "input": {"q": 1}}], tool_calls=[call(q=1)]),
            4 + 9 + 4 + len('{"q": 1}'),
        ),
        (AIMessage([{"type": "tool_use", "id": "c1", "name": "work", "input": {"q": "ab"}}]), 4 + 4 + 2),
        (
            AIMessage("", additional_kwargs={"function_call": {"n": 1}, "other": "no"}),
            4 + len('{"function_call": {"n": 1}}'),
        ),
    ],
)
def test_a_message_costs_its_text_and_what_frames_it(counter, message, tokens):
    """Calls, results and media have their price; ids, signatures and what repeats a call have none."""
    assert counter.message(message) == tokens
    assert counter.messages([message, message]) == 2 * tokens


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("data:image/png;base64,AAAA", True),
        ("data:text/plain,AAAA", False),
        ("x data:image/png;base64,AAAA", False),
        ("Ab1+/-_" * 200, True),
        ("Ab1+/-_" * 200 + "==", True),
        ("Ab1 " * 400, False),
        ("é" * 2_000, False),
        ("Ab1", False),
    ],
)
def test_base64_is_told_from_text(text, is_one):
    """By its letters from a length on, or by the URL that holds it."""
    assert is_base64(text) == is_one


def test_schemas_cost_what_is_sent_of_them(counter):
    """Dicts as they are, tools in OpenAI's form; what has no schema by its name and description."""

    @tool
    def look(query: str) -> str:
        """Look it up."""
        return query

    class Odd:
        name = "odd"
        description = "strange"

    assert counter.schemas([{"a": 1}]) == 9 + len('{"a": 1}')
    assert counter.schemas([Odd()]) == 9 + len('{"name": "odd", "description": "strange"}')
    assert counter.schemas([{"a": 1}, {"b": 22}]) == 2 * 9 + len('{"a": 1}') + len('{"b": 22}')
    assert counter.schemas([look]) == counter.schemas([look]) > 100
    assert counter.schemas([]) == 0


def test_a_users_counter_is_asked_for_one_message_at_a_time():
    """And texts are counted by the estimate."""
    asked = []
    counter = TokenCounter(messages=lambda messages: asked.append(len(messages)) or 7)
    assert counter.messages([HumanMessage("a"), HumanMessage("b")]) == 14
    assert set(asked) == {1}
    assert counter.text("") == 0
    assert counter.text("hello") == 1


@pytest.mark.parametrize(
    ("tokens", "believed"),
    [(100, 100), (400, 400), (401, 400), (5_000, 400), (101, 101), (99, 100), (1, 100)],
)
def test_a_providers_count_is_believed_within_reason(counter, tokens, believed):
    """Between half and twice what it covered by our own count; what came since is counted."""
    messages = [HumanMessage("a" * 146), reply("bc", tokens=tokens), HumanMessage("de")]
    assert counter.request(messages, overhead=50) == believed + (4 + 2) + (4 + 2)
    assert counter.request(messages[:1], overhead=50) == 200
    assert counter.request(messages[:1], overhead=None) == 150


def test_two_replies_that_agree_on_a_surplus_are_believed(counter):
    """A long system prompt that nobody told us of: as much as the earlier reply counted beyond, and a quarter more."""
    first = [HumanMessage("a" * 96), reply("b" * 96, tokens=1_100)]
    covered, surplus = 200, 1_000
    for tokens, believed in ((1_200, 1_200), (covered + surplus * 1.25, 1_450), (1_451, 1_450), (9_000, 1_450)):
        assert counter.request([*first, reply("c", tokens=int(tokens))]) == believed + 5
    assert counter.request([HumanMessage("a" * 96), reply("b" * 96), reply("c", tokens=1_200)]) == 400 + 5


def test_only_the_newest_count_among_the_last_64_messages_tells(counter):
    """One of nothing, or from before a compaction, tells nothing."""
    counted = reply("b", tokens=150)
    later = [HumanMessage("x") for _ in range(64)]
    assert counter.request([HumanMessage("a" * 96), counted, *later[:63]]) == 150 + 5 + 63 * 5
    assert counter.request([HumanMessage("a" * 96), counted, *later]) == 100 + 5 + 64 * 5
    assert counter.request([HumanMessage("a" * 96), counted, reply("c", tokens=0)]) == 100 + 5 + 5
    for tail, tokens in (("r", 100 + 5), ("z", 199 + 5), (None, 199 + 5)):
        summary = HumanMessage("a" * 96, id="s", additional_kwargs=marked("summary", folded=["s"], tail=tail))
        assert counter.request([summary, reply("b", tokens=199, id="r")]) == tokens
