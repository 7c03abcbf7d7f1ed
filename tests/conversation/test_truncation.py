"""Shortening long arguments."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langgraph_harness_memory.config import TruncateArgsConfig
from langgraph_harness_memory.conversation.truncation import BATCH_MESSAGES, border, shortened, truncate
from langgraph_harness_memory.formats.forms import form_of


def reply(arguments: dict[str, Any], **fields: Any) -> AIMessage:
    return AIMessage(
        **{"content": "", "id": "a", "tool_calls": [{"name": "write", "args": arguments, "id": "c"}], **fields}
    )


def cut(message: AIMessage, limit: int = 2_000, ending: str = "…(argument truncated)") -> AIMessage | None:
    return shortened(message, limit=limit, ending=ending)


def test_nested_strings_are_shortened() -> None:
    """A 50 kB text inside a list of edits counts as much as one at the top."""
    short = cut(reply({"path": "a.py", "edits": [{"old": "x", "new": "y" * 50_000}]}))
    assert short is not None
    new = short.tool_calls[0]["args"]["edits"][0]["new"]
    assert len(new) == 2_000
    assert new.endswith("…(argument truncated)")
    assert short.tool_calls[0]["args"]["path"] == "a.py"


def test_the_original_is_not_touched() -> None:
    """The log still has to get what was said."""
    message = reply({"text": "y" * 9_000})
    cut(message)
    assert len(message.tool_calls[0]["args"]["text"]) == 9_000
    assert form_of(message) is None


def test_content_blocks_stay_in_step_with_the_calls() -> None:
    """Anthropic reads the block, so that a long one there is the long one."""
    arguments = {"text": "y" * 9_000}
    for block in (
        {"type": "tool_use", "id": "c", "name": "write", "input": arguments},
        {"type": "tool_call", "id": "c", "name": "write", "args": arguments},
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "write", "arguments": json.dumps(arguments)},
        {"type": "tool_use", "id": "c", "name": "write", "input": json.dumps(arguments)},
    ):
        short = cut(reply(arguments, content=[{"type": "text", "text": "ok"}, block]))
        assert short is not None
        changed = short.content[1]
        assert isinstance(changed, dict)
        stated = changed.get("input") or changed.get("args") or changed.get("arguments")
        stated = json.loads(stated) if isinstance(stated, str) else stated
        assert stated == short.tool_calls[0]["args"]


def test_legacy_calls_stay_in_step_too() -> None:
    """Old clients keep the calls as JSON in `additional_kwargs`."""
    arguments = {"text": "y" * 9_000}
    legacy = {
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "w", "arguments": json.dumps(arguments)}}]
    }
    short = cut(reply(arguments, additional_kwargs=legacy))
    assert short is not None
    stated = short.additional_kwargs["tool_calls"][0]["function"]["arguments"]
    assert json.loads(stated) == short.tool_calls[0]["args"]


def test_an_argument_never_grows() -> None:
    """With `max_arg_length=10` a 15-character argument became longer by its ending."""
    short = cut(reply({"text": "123456789012345"}), limit=10)
    assert short is not None
    assert short.tool_calls[0]["args"]["text"] == "1234567890"


def test_a_second_look_finds_nothing_to_do() -> None:
    """What was shortened is within the limit."""
    short = cut(reply({"text": "y" * 9_000}))
    assert short is not None
    assert cut(short) is None


def chat(count: int) -> list[BaseMessage]:
    return [HumanMessage(f"m{i}", id=f"m{i}") for i in range(count)]


@pytest.mark.parametrize(("messages", "expected"), [(24, 0), (25, 5), (29, 9), (30, 10), (39, 10), (45, 20)])
def test_the_border_moves_in_batches(messages: int, expected: int) -> None:
    """Between two moves the prefix of every request is the same."""
    sums = list(range(messages + 1))
    assert border(chat(messages), TruncateArgsConfig(), sums=sums) == expected


def test_the_border_can_be_set_by_tokens() -> None:
    """Above 0, `keep_tokens` takes the place of `keep_messages`."""
    settings = TruncateArgsConfig(trigger_messages=0, trigger_tokens=100, keep_tokens=50)
    sums = [i * 10 for i in range(31)]
    assert border(chat(30), settings, sums=sums) == 20
    assert border(chat(9), settings, sums=sums[:10]) == 0


def test_truncation_takes_every_tools_arguments() -> None:
    """Not only those of `write_file`, and each message once."""
    messages = [reply({"text": "y" * 9_000}, id=f"a{i}") for i in range(3)]
    cut_off = truncate(messages, TruncateArgsConfig(), end=2)
    assert [form.id for form in cut_off.forms] == ["a0", "a1"]
    assert cut_off.characters_saved == 2 * 7_000
    assert truncate(cut_off.forms, TruncateArgsConfig(), end=2).forms == ()


def test_the_batch_is_shorter_than_the_default_gap() -> None:
    """With the defaults the border moves before the next compaction."""
    assert BATCH_MESSAGES <= 25


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=60)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=12,
)


def lengths(value: Any) -> list[int]:
    if isinstance(value, str):
        return [len(value)]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [length for part in parts for length in lengths(part)]


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4), st.integers(1, 40), st.text(max_size=30))
def test_any_arguments_become_shorter_or_stay(arguments: dict[str, Any], limit: int, ending: str) -> None:
    """No string is over the limit, none is longer than it was, and the shape is the same."""
    message = reply(arguments)
    short = cut(message, limit=limit, ending=ending)
    before = lengths(arguments)
    if short is None:
        assert all(length <= limit for length in before)
        return
    after = lengths(short.tool_calls[0]["args"])
    assert len(after) == len(before)
    assert all(b <= a and b <= limit for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("abcdefgh", None),
        ("abcdefghi", "abcde..."),
        ("abcdefghijklmnop", "abcde..."),
        (["abcdefghi", "x"], ["abcde...", "x"]),
        (("abcdefghi", 1), ["abcde...", 1]),
        ({"a": {"b": ["abcdefghi"]}}, {"a": {"b": ["abcde..."]}}),
        (123456789, None),
        (None, None),
        ([], None),
    ],
)
def test_what_is_kept_and_its_ending_fit_the_limit(value: Any, expected: Any) -> None:
    """A string of just the limit stays; a longer one becomes as long as it; anything else is left as it is."""
    message = AIMessage("", tool_calls=[{"name": "f", "args": {"v": value}, "id": "c"}], id="a")
    short = shortened(message, limit=8, ending="...")
    assert (short and short.tool_calls[0]["args"]["v"]) == expected


@pytest.mark.parametrize(("ending", "kept"), [("..", "a.."), ("...", "abc"), ("....", "abc")])
def test_an_ending_that_leaves_no_room_is_left_out(ending: str, kept: str) -> None:
    """Then the beginning of the argument has the whole limit."""
    message = AIMessage("", tool_calls=[{"name": "f", "args": {"v": "abcdef"}, "id": "c"}], id="a")
    short = shortened(message, limit=3, ending=ending)
    assert short is not None
    assert short.tool_calls[0]["args"] == {"v": kept}


def test_values_nested_deeper_than_is_searched_stay() -> None:
    """Thirty-two levels are searched; what a model would hardly write is not followed."""
    deep: Any = "x" * 50
    for _ in range(32):
        deep = [deep]
    deeper = [deep]
    found = [
        shortened(AIMessage("", tool_calls=[{"name": "f", "args": {"v": v}, "id": "c"}]), limit=10, ending="...")
        for v in (deep[0], deep, deeper)
    ]
    assert [each is not None for each in found] == [True, False, False]


def test_only_replies_between_the_borders_are_looked_at_and_their_characters_counted() -> None:
    """Neither the first nor the last is touched, nor what was shortened before, nor what has no calls."""
    messages: list[BaseMessage] = [
        AIMessage("", tool_calls=[{"name": "f", "args": {"v": "x" * n, "w": ["y" * n]}, "id": f"c{n}"}], id=f"a{n}")
        for n in (20, 21, 22, 23)
    ]
    messages.insert(2, AIMessage("no call", id="plain"))
    settings = TruncateArgsConfig(max_arg_length=10, truncation_text="...")
    done = truncate(messages, settings, start=1, end=4)
    assert [form.id for form in done.forms] == ["a21", "a22"]
    assert done.characters_saved == 2 * (21 - 10) + 2 * (22 - 10)
    again = truncate(list(done.forms), settings, end=2)
    assert again.forms == ()
    assert again.characters_saved == 0


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"trigger_messages": 30, "trigger_tokens": 0, "keep_messages": 5}, 20),
        ({"trigger_messages": 1, "trigger_tokens": 0, "keep_messages": 5}, 20),
        ({"trigger_messages": 31, "trigger_tokens": 0, "keep_messages": 5}, 0),
        ({"trigger_messages": 0, "trigger_tokens": 300, "keep_messages": 5}, 20),
        ({"trigger_messages": 0, "trigger_tokens": 301, "keep_messages": 5}, 0),
        ({"trigger_messages": 30, "trigger_tokens": 0, "keep_messages": 22}, 8),
        ({"trigger_messages": 30, "trigger_tokens": 0, "keep_messages": 20}, 10),
        ({"trigger_messages": 20, "trigger_tokens": 0, "keep_messages": 19, "keep_tokens": 100}, 20),
        ({"trigger_messages": 20, "trigger_tokens": 0, "keep_messages": 19, "keep_tokens": 99}, 20),
        ({"trigger_messages": 20, "trigger_tokens": 0, "keep_messages": 19, "keep_tokens": 110}, 10),
        ({"trigger_messages": 20, "trigger_tokens": 0, "keep_messages": 19, "keep_tokens": 1_000}, 0),
    ],
)
def test_where_the_border_is(settings: dict[str, int], expected: int) -> None:
    """Thirty messages of ten tokens each: from the trigger on, less what is left alone, in batches of ten."""
    messages = [HumanMessage("x", id=str(n)) for n in range(30)]
    assert border(messages, TruncateArgsConfig(**settings), sums=[10 * n for n in range(31)]) == expected
