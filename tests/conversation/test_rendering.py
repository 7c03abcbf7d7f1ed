"""What the model that summarises sees of each kind of message."""

import pytest
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_harness_memory.conversation.rendering import Limits, disarm, render, render_message, shorten

LIMITS = Limits()


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (HumanMessage("hi"), "[user] hi"),
        (AIMessage("hello"), "[assistant] hello"),
        (SystemMessage("rules"), "[system] rules"),
        (ChatMessage("aside", role="critic"), "[chat] aside"),
        (HumanMessage(""), ""),
        (ToolMessage("42", tool_call_id="c", name="add"), "[result of add] 42"),
        (ToolMessage("no", tool_call_id="c", status="error"), "[result of tool (error)] no"),
        (
            AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1, "b": "ü"}, "id": "c"}]),
            '[assistant] → called add({"a": 1, "b": "ü"})',
        ),
        (
            AIMessage("so", invalid_tool_calls=[{"name": None, "args": "{a", "id": "c", "error": "bad"}]),
            "[assistant] so\n→ called a tool({a)",
        ),
    ],
)
def test_a_message_speaks_under_its_role(message, text) -> None:
    assert render_message(message, LIMITS) == text
    assert render([message], LIMITS) == [text]


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}, "[image: https://x.example/a.png]"),
        ({"type": "image_url", "image_url": "https://x.example/a.png"}, "[image: https://x.example/a.png]"),
        ({"type": "input_image", "image_url": "data:image/png;base64,AAAA"}, "[image]"),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, "[image]"),
        (
            {"type": "file", "file_id": "f1", "filename": "a.pdf", "mime_type": "application/pdf", "base64": "AAAA"},
            "[file: f1, a.pdf, application/pdf]",
        ),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
            "[image: image/png]",
        ),
        ({"type": "thinking", "thinking": "hm", "signature": "AAAA"}, ""),
        ({"type": "tool_use", "id": "u", "name": "f", "input": {}}, ""),
        ({"type": "citation", "at": "ü"}, '[citation] {"type": "citation", "at": "ü"}'),
        ({"at": 1}, '[block] {"at": 1}'),
    ],
)
def test_a_block_keeps_its_address_and_loses_its_bytes(block, text) -> None:
    assert render_message(HumanMessage([block]), LIMITS) == (f"[user] {text}" if text else "")


def test_blocks_stand_on_lines_of_their_own() -> None:
    blocks = [{"type": "text", "text": "see"}, {"type": "image", "url": "https://x.example/" + "a" * 400}, "end"]
    assert (
        render_message(HumanMessage(blocks), LIMITS)
        == f"[user] see\n[image: {('https://x.example/' + 'a' * 400)[:300]}]\nend"
    )


def test_what_is_too_long_shows_its_head_and_tail() -> None:
    """Two thirds of the limit from the head; the number that is left out is said."""
    assert shorten("a" * 9, 9) == "a" * 9
    assert shorten("abcdefghij", 6) == "abcd […4 characters…] ij"
    assert shorten("x" * 12_000, 3_000) == f"{'x' * 2_000} […9,000 characters…] {'x' * 1_000}"


def test_each_part_has_its_limit() -> None:
    limits = Limits(said=60, arguments=40, result=30)
    assert len(render_message(HumanMessage("x" * 9_000), limits)) < 110
    assert len(render_message(ToolMessage("x" * 9_000, tool_call_id="c", name="f"), limits)) < 90
    call = AIMessage("", tool_calls=[{"name": "f", "args": {"text": "x" * 9_000, "n": 5}, "id": "c"}])
    assert len(render_message(call, limits)) < 110
    assert "[…8,840 characters…]" in render_message(call, Limits(arguments=1_000))


@pytest.mark.parametrize("tag", ["</messages>", "< / Summary>", "<session_context a='b'>", "<MEMORY"])
def test_no_text_opens_or_closes_a_block(tag) -> None:
    assert disarm(f"a {tag} b") == f"a {tag.replace('<', '&lt;')} b"
    assert tag not in render_message(HumanMessage(tag), LIMITS)


@pytest.mark.parametrize("text", ["a < b", "<div>", "<summaries>", "memory>"])
def test_other_text_stays_as_it_is(text) -> None:
    assert disarm(text) == text


def test_a_call_is_shown_with_its_arguments_in_short() -> None:
    """Strings by head and tail, all of them within a limit; what could not be read as it came, and nothing as nothing."""
    calls = [{"name": "w", "args": {"a": "x" * 161, "b": 1, "c": "é" * 160}, "id": "1"}]
    invalid = [
        {"name": None, "args": "{x", "id": "2", "error": None, "type": "invalid_tool_call"},
        {"name": "v", "args": None, "id": "3", "error": None, "type": "invalid_tool_call"},
    ]
    message = AIMessage("hi", tool_calls=calls, invalid_tool_calls=invalid)
    short = "x" * 106 + " […1 characters…] " + "x" * 54
    assert render_message(message, Limits(arguments=1_000)) == (
        f'[assistant] hi\n→ called w({{"a": "{short}", "b": 1, "c": "{"é" * 160}"}})\n→ called a tool({{x)\n→ called v()'
    )
    (_, call, *_) = render_message(message, Limits(arguments=30)).split("\n")
    assert call == f'→ called w({{"a": "{"x" * 13} […334 characters…] {"é" * 8}"}})'
