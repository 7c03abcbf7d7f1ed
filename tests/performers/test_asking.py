"""A curating model's answer: in time or not at all, invisible, whatever the model is like."""

import asyncio
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langgraph.constants import TAG_NOSTREAM

from langgraph_harness_memory.errors import ModelUnavailable
from langgraph_harness_memory.performers.asking import Models, aask, ask
from langgraph_harness_memory.steps import AskModel
from langgraph_harness_memory.testing import ScriptedChatModel
from langgraph_harness_memory.testing.scripted import Failure, Reply


def question(purpose: Any = "summary", *, seconds: float = 10, by_rules: bool = False) -> AskModel:
    return AskModel(
        purpose=purpose, messages=[HumanMessage("?")], timeout=timedelta(seconds=seconds), by_rules=by_rules
    )


def both(models: Models, step: AskModel) -> list[Any]:
    return [ask(models, step), asyncio.run(aask(models, step))]


class OnlyStreams(BaseChatModel):
    """A model behind a gateway that refuses everything but streams."""

    @property
    def _llm_type(self) -> str:
        return "only-streams"

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        raise ValueError("This model only support stream mode, please enable the stream parameter")

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        for piece in ("a ", "summary"):
            yield ChatGenerationChunk(message=AIMessageChunk(piece))


class NeverAnswers(BaseChatModel):
    """A sync model that hangs until it is released."""

    released: Any = None

    @property
    def _llm_type(self) -> str:
        return "never-answers"

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        self.released.wait(20)
        raise AssertionError("nobody waits for this")


def test_answer_holds_text_usage_and_no_reasoning() -> None:
    """The answer's text joins text blocks and leaves reasoning out; the provider's count is passed on."""
    reply = Reply(text=[{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "facts"}], usage=(10, 5))
    for answer in both(Models(agent=ScriptedChatModel(script=[reply], repeat=True)), question()):
        assert (answer.text, answer.total_tokens, answer.truncated, answer.has_tool_calls) == (
            "facts",
            15,
            False,
            False,
        )


def test_answer_says_when_it_was_cut_off_or_called_a_tool() -> None:
    """A truncated answer and a call that nobody offered are told to the rule."""
    cut = Reply(text="half a li", finish_reason="length")
    calls = Reply(calls=[("search", {})])
    for script, seen in (([cut], (True, False)), ([calls], (False, True))):
        for answer in both(Models(agent=ScriptedChatModel(script=script, repeat=True)), question()):
            assert (answer.truncated, answer.has_tool_calls) == seen


def test_model_that_only_streams_is_streamed() -> None:
    """A gateway's wish for streaming is granted within the same step."""
    assert [answer.text for answer in both(Models(agent=OnlyStreams()), question())] == ["a summary", "a summary"]


def test_model_that_never_answers_is_abandoned_in_time() -> None:
    """A sync model that hangs costs the deadline, sync and async, and does not hold up the loop's end."""
    released = threading.Event()
    models = Models(agent=NeverAnswers(released=released))
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        ask(models, question(seconds=0.1))
    with pytest.raises(TimeoutError, match="no answer within"):
        asyncio.run(aask(models, question(seconds=0.1)))
    assert time.monotonic() - start < 5
    released.set()


def test_async_model_that_ignores_cancellation_is_abandoned_in_time() -> None:
    """A coroutine that swallows its cancellation is not waited for."""
    ended = []

    class Stubborn(ScriptedChatModel):
        async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
            for _ in range(3):
                try:
                    await asyncio.sleep(0.2)
                except asyncio.CancelledError:
                    continue
            ended.append(True)
            raise ValueError("late")

    async def run() -> float:
        start = time.monotonic()
        with pytest.raises(TimeoutError):
            await aask(Models(agent=Stubborn()), question(seconds=0.05))
        waited = time.monotonic() - start
        await asyncio.sleep(0.6)
        return waited

    assert asyncio.run(run()) < 0.15
    assert ended


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError()])
def test_interrupt_inside_the_model_propagates(error: BaseException) -> None:
    """What ends a run ends it from inside an internal call too."""
    models = Models(agent=ScriptedChatModel(script=[Failure(error=error)], repeat=True))
    with pytest.raises(type(error)):
        ask(models, question())


@pytest.mark.asyncio
async def test_cancelling_the_caller_cancels_the_call() -> None:
    """A cancelled turn does not go on paying for its summary."""
    model = ScriptedChatModel(script=[Reply(text="late", delay=timedelta(seconds=30))])
    task = asyncio.create_task(aask(Models(agent=model), question(seconds=60)))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.01)
    assert len(asyncio.all_tasks()) == 1


def test_internal_calls_are_tagged() -> None:
    """The call carries the no-stream tag and says what it is for in its metadata."""
    seen: list[tuple[list[str], dict[str, Any]]] = []

    class Watch(BaseCallbackHandler):
        def on_chat_model_start(
            self, serialized: Any, messages: Any, *, tags: Any, metadata: Any, **kwargs: Any
        ) -> None:
            seen.append((tags, metadata))

    model = ScriptedChatModel(script=["x"], repeat=True, callbacks=[Watch()])
    both(Models(agent=model, metadata={"team": "blue"}), question("flush"))
    assert len(seen) == 2
    for tags, metadata in seen:
        assert TAG_NOSTREAM in tags
        assert (metadata["lc_source"], metadata["harness_memory"], metadata["team"]) == (
            "memory_flush",
            "flush",
            "blue",
        )


def test_each_question_goes_to_its_model() -> None:
    """A given model comes before the agent's own, and rules answer only where asked or where there is nothing else."""

    class Rules(ScriptedChatModel):
        """Stands for the extractor."""

    curates, summarises, agent = (ScriptedChatModel(script=[name], repeat=True) for name in "csa")
    rules = Rules(script=["r"], repeat=True)

    def who(models: Models, purpose: Any, *, by_rules: bool = False) -> str:
        return ask(models, question(purpose, by_rules=by_rules)).text

    full = Models(curates=curates, summarises=summarises, agent=agent, rules=rules)
    assert [who(full, p) for p in ("summary", "flush", "consolidation")] == ["s", "c", "c"]
    bound = Models(agent=agent, rules=rules)
    assert [who(bound, p) for p in ("summary", "flush", "consolidation")] == ["a", "a", "a"]
    assert who(Models(curates=curates, rules=rules), "summary") == "c"
    assert who(full, "flush", by_rules=True) == "r"
    assert not ask(full, question("flush")).by_rules
    alone = ask(Models(rules=rules), question("flush"))
    assert (alone.text, alone.by_rules) == ("r", True)
    with pytest.raises(ModelUnavailable, match="pass model="):
        ask(Models(), question("flush"))


def test_answer_that_is_no_text_is_text() -> None:
    """An answer without content is empty text, not an error."""
    for answer in both(Models(agent=ScriptedChatModel(script=[AIMessage("")], repeat=True)), question()):
        assert answer.text == ""
