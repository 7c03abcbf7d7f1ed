"""Counting."""

import random as random_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)
from langchain_core.tools import tool

from langgraph_harness_memory.conversation.estimate import estimate_tokens
from langgraph_harness_memory.conversation.tokens import TokenCounter
from langgraph_harness_memory.formats.forms import marked
from langgraph_harness_memory.testing.conversations import conversation


def usage(tokens: int, out: int = 5) -> Any:
    return {"input_tokens": tokens, "output_tokens": out, "total_tokens": tokens + out}


def test_chinese_is_not_four_characters_a_token() -> None:
    """820 Chinese characters are about 600 tokens; by length alone they were 205."""
    text = ("我们决定把数据库迁移到新的服务器并且在周五之前完成全部测试工作" * 40)[:820]
    assert 500 <= estimate_tokens(text) <= 720


@pytest.mark.parametrize("text", ["", " ", "\n", "a", "🚀" * 3, "\ud800", "\x00", "é", "x" * 200_000, "=" * 10_000])
def test_any_text_has_an_estimate(text: str) -> None:
    """Nothing raises, and only nothing costs nothing."""
    assert (estimate_tokens(text) > 0) == bool(text)


def test_a_sampled_text_costs_what_its_parts_cost() -> None:
    """Above the sampling size the estimate stays in proportion."""
    part = "The migration of the orders table was finished on Friday at 17:40.\n"
    small, large = estimate_tokens(part * 100), estimate_tokens(part * 10_000)
    assert large == pytest.approx(small * 100, rel=0.03)


def test_a_long_text_without_a_space_is_counted_quickly() -> None:
    """Five megabytes in one line are sampled."""
    assert estimate_tokens("A" * 5_000_000) > 100_000


@pytest.mark.parametrize(
    "block",
    [
        {"type": "file", "base64": "JVBERi0x" * 130_000, "mime_type": "application/pdf"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0K" * 390_000}},
        {"type": "image", "source": {"type": "base64", "data": "iVBORw0K" * 390_000}},
        {"type": "input_audio", "input_audio": {"data": "UklGRg" * 100_000, "format": "wav"}},
        {"type": "custom", "payload": "iVBORw0K" * 100_000},
        {"type": "tool_result", "content": [{"type": "image", "data": "iVBORw0K" * 100_000}]},
    ],
)
def test_media_have_a_flat_price(block: dict[str, Any]) -> None:
    """A 1 MB PDF counted by its length was 333 000 tokens."""
    assert 100 < TokenCounter().message(HumanMessage([{"type": "text", "text": "look"}, block])) < 5_000


def test_calls_count_whatever_the_contents_shape() -> None:
    """A reply with blocks and 40 kB of arguments counted 6 tokens."""
    calls = [{"name": "write", "args": {"text": "words and words " * 2_500}, "id": "c"}]
    counter = TokenCounter()
    with_blocks = counter.message(AIMessage([{"type": "text", "text": "ok"}], tool_calls=calls))
    with_text = counter.message(AIMessage("ok", tool_calls=calls))
    assert with_blocks == pytest.approx(with_text, rel=0.01)
    assert with_text > 4_000


def test_blocks_that_repeat_the_calls_are_counted_once() -> None:
    """Anthropic states a call in the content and langchain again in `tool_calls`."""
    arguments = {"text": "words and words " * 500}
    calls = [{"name": "write", "args": arguments, "id": "c"}]
    block = {"type": "tool_use", "id": "c", "name": "write", "input": arguments}
    counter = TokenCounter()
    assert counter.message(AIMessage([block], tool_calls=calls)) == counter.message(AIMessage("", tool_calls=calls))


def test_calls_of_old_clients_and_broken_calls_count() -> None:
    """Arguments count wherever a client keeps them."""
    text = "words and words " * 500
    counter = TokenCounter()
    legacy = AIMessage("", additional_kwargs={"function_call": {"name": "f", "arguments": text}})
    broken = AIMessage("", invalid_tool_calls=[{"name": "f", "args": text, "id": "x", "error": "no"}])
    assert counter.message(legacy) > 1_000
    assert counter.message(broken) > 1_000


def test_signatures_are_no_text() -> None:
    """What a provider signs its reasoning with is long and costs nothing of the kind."""
    block = {"type": "thinking", "thinking": "short", "signature": "c2lnbmF0dXJl" * 1_000}
    assert TokenCounter().message(AIMessage([block])) < 20


def test_the_providers_count_is_the_best_evidence() -> None:
    """What it covered is believed, and what came after is estimated."""
    counter = TokenCounter()
    before = [HumanMessage("word " * 100)]
    reply = AIMessage("answer", usage_metadata=usage(150))
    after = HumanMessage("word " * 50)
    expected = 150 + counter.message(reply) + counter.message(after)
    assert counter.request([*before, reply, after], overhead=20) == expected


def test_an_absurd_count_is_kept_within_reason() -> None:
    """A first reply that reports 10 000 tokens for 50 visible ones does not fire a trigger of 5 000."""
    messages = [HumanMessage("word " * 45), AIMessage("yes", usage_metadata=usage(10_000))]
    assert TokenCounter().request(messages) < 300


def test_a_surplus_that_two_replies_agree_on_is_believed() -> None:
    """A system prompt that nobody told us of shows in every reply."""
    messages = [
        HumanMessage("word " * 45),
        AIMessage("yes", usage_metadata=usage(9_000)),
        HumanMessage("word " * 45),
        AIMessage("yes", usage_metadata=usage(9_060)),
    ]
    assert TokenCounter().request(messages, overhead=None) > 8_900


@pytest.mark.parametrize("tokens", [0, -5])
def test_a_count_of_nothing_is_no_evidence(tokens: int) -> None:
    """Streaming clients report zero where they know nothing."""
    counter = TokenCounter()
    messages = [HumanMessage("word " * 500), AIMessage("yes", usage_metadata=usage(tokens))]
    assert counter.request(messages, overhead=7) == counter.messages(messages) + 7


def test_a_count_from_before_a_compaction_is_no_evidence() -> None:
    """A kept reply that reports 9 100 tokens made each check compact again."""
    summary = HumanMessage("short", id="s", additional_kwargs=marked("summary", folded=["s"], tail="r"))
    reply = AIMessage("kept", id="r", usage_metadata=usage(9_100))
    counter = TokenCounter()
    assert counter.request([summary, reply]) == counter.messages([summary, reply])
    later = AIMessage("new", id="n", usage_metadata=usage(40))
    assert counter.request([summary, reply, HumanMessage("x", id="h"), later]) < 60


def test_tool_schemas_and_system_prompt_are_part_of_the_request() -> None:
    """40 000 characters of schemas were counted as nothing."""

    @tool(description="does things " * 1_000)
    def work(text: str) -> str:
        return text

    counter = TokenCounter()
    assert counter.schemas([work]) > 1_500
    assert counter.schemas([work, {"name": "x", "description": "y", "parameters": {}}]) > counter.schemas([work])
    assert counter.schemas([object()]) > 0


def test_a_counter_of_the_users_counts_instead() -> None:
    """It is asked for each message once."""
    asked: list[str] = []

    def count(messages: list[BaseMessage]) -> int:
        asked.extend(str(m.id) for m in messages)
        return 100 * len(messages)

    counter = TokenCounter(messages=count)
    messages: list[BaseMessage] = [HumanMessage("a", id="1"), AIMessage("b", id="2")]
    assert counter.messages(messages) == 200
    assert counter.messages([*messages, HumanMessage("c", id="3")]) == 300
    assert asked == ["1", "2", "3"]


def test_each_message_is_counted_once() -> None:
    """Growing, reloading and cutting a conversation never counts a message again."""
    asked: list[str] = []

    def count(text: str, /) -> int:
        asked.append(text)
        return len(text)

    counter = TokenCounter(text=count)
    messages: list[BaseMessage] = [HumanMessage(f"text {i}", id=str(i)) for i in range(50)]
    counter.messages(messages)
    counter.messages(messages)
    counter.messages(messages_from_dict(messages_to_dict(messages)))
    counter.messages(messages[10:])
    counter.messages([messages[3], *messages[20:]])
    assert len(asked) == 50


def _replacement(message: BaseMessage, random: random_module.Random) -> BaseMessage:
    """Another object of the same id: as it was, longer, of the same length, with other calls, or of another type."""
    kind = random.randrange(5)
    if kind == 0:
        return message.model_copy()
    if kind == 1:
        return message.model_copy(update={"content": f"{message.content} and more words"})
    if kind == 2 and isinstance(message.content, str):
        return message.model_copy(update={"content": "数" * len(message.content)})
    if kind == 3:
        return AIMessage(
            "", id=message.id, tool_calls=[{"name": "n", "args": {"a": "b " * random.randrange(99)}, "id": "c"}]
        )
    return ToolMessage(message.content, id=message.id, tool_call_id="c")


def test_a_remembered_count_equals_a_fresh_one_after_a_thousand_changes() -> None:
    """Removals, and replacements by other objects of the same id, never leave a stale count."""
    random = random_module.Random(7)
    counter, window = TokenCounter(), 4_000
    messages = conversation(random, turns=30)
    for step in range(1_000):
        change = random.randrange(4)
        place = random.randrange(len(messages))
        if change == 0 and len(messages) > 5:
            messages = [*messages[:place], *messages[place + 1 :]]
        elif change == 1:
            messages = [*messages[:place], _replacement(messages[place], random), *messages[place + 1 :]]
        elif change == 2:
            messages = messages_from_dict(messages_to_dict(messages))
        else:
            messages = [*messages, HumanMessage("new words " * random.randrange(20), id=f"new{step}")]
        seen, fresh = counter.request(messages, conversation="t"), TokenCounter().request(messages)
        assert seen == fresh
        assert (seen >= window) == (fresh >= window)


def test_a_message_that_is_changed_in_place_is_counted_anew() -> None:
    """A node may mutate a message and return it."""
    counter = TokenCounter()
    messages: list[BaseMessage] = [HumanMessage("short", id="1"), AIMessage("short", id="2")]
    counter.messages(messages)
    messages[0].content = "word " * 400
    messages[1] = messages[1].model_copy()
    assert isinstance(messages[1], AIMessage)
    messages[1].tool_calls = [{"name": "n", "args": {"a": "word " * 400}, "id": "c", "type": "tool_call"}]
    assert counter.messages(messages) == TokenCounter().messages(messages)


def test_conversations_do_not_share_counts_by_id() -> None:
    """Two threads may use the same message ids for different texts."""
    counter = TokenCounter()
    one: list[BaseMessage] = [HumanMessage("word " * 10, id="1")]
    other: list[BaseMessage] = [HumanMessage("word " * 900, id="1")]
    for _ in range(2):
        assert counter.messages(one, conversation="a") < 50
        assert counter.messages(other, conversation="b") > 700


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_sums_are_those_of_the_messages(random: random_module.Random) -> None:
    """The ledger's prefix sums equal single counts."""
    messages = conversation(random, pending=True, disorder=True)
    ledger = TokenCounter().look(messages)
    counter = TokenCounter()
    assert ledger.total == sum(map(counter.message, messages))
    assert ledger.between(0, len(messages) // 2) == sum(map(counter.message, messages[: len(messages) // 2]))
