"""Whether a token of the agent's own call had left."""

import asyncio

import pytest
from langchain_core.messages import HumanMessage

from langgraph_harness_memory.performers.calling import watch_tokens
from langgraph_harness_memory.testing import ScriptedChatModel
from langgraph_harness_memory.testing.scripted import Failure, Reply


def test_streamed_token_is_seen_and_an_invoked_one_is_none() -> None:
    """Only what left as a stream counts, whoever makes the call."""
    model = ScriptedChatModel(script=["hello"], repeat=True)
    with watch_tokens() as tokens:
        model.invoke([HumanMessage("?")])
        assert not tokens.seen
        list(model.stream([HumanMessage("?")]))
        assert tokens.seen


def test_call_without_text_that_streams_a_tool_call_counts() -> None:
    """A tool call that was streamed in part has been seen."""
    model = ScriptedChatModel(script=[Reply(calls=[("f", {"a": 1})])])
    with watch_tokens() as tokens:
        list(model.stream([HumanMessage("?")]))
    assert tokens.seen


def test_failure_before_the_first_token_leaves_nothing_seen() -> None:
    """An error in place of the first token has shown nothing."""
    model = ScriptedChatModel(
        script=[Failure(error=ValueError("too long")), Failure(error=ValueError("torn"), text="ab")]
    )
    with watch_tokens() as tokens, pytest.raises(ValueError, match="too long"):
        list(model.stream([HumanMessage("?")]))
    assert not tokens.seen
    with watch_tokens() as tokens, pytest.raises(ValueError, match="torn"):
        list(model.stream([HumanMessage("?")]))
    assert tokens.seen


@pytest.mark.asyncio
async def test_parallel_calls_are_watched_apart() -> None:
    """Two turns at once on one loop do not see each other's tokens."""

    async def run(*, streams: bool) -> bool:
        model = ScriptedChatModel(script=["some words here"])
        with watch_tokens() as tokens:
            await asyncio.sleep(0)
            if streams:
                async for _ in model.astream([HumanMessage("?")]):
                    await asyncio.sleep(0)
            else:
                await model.ainvoke([HumanMessage("?")])
            return tokens.seen

    assert await asyncio.gather(run(streams=True), run(streams=False), run(streams=True)) == [True, False, True]
