"""A curating or summarising model's answer, within a deadline that always holds.

A model that never answers must not hang a turn, so no call is waited for by joining a thread or by awaiting a
cancelled task: when the time is over the call is abandoned and its answer is dropped.
"""

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from langgraph_harness_memory.errors import ModelUnavailable
from langgraph_harness_memory.events import ModelAsked
from langgraph_harness_memory.steps import Answer, AskModel

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

T = TypeVar("T")

SOURCES: Mapping[str, str] = {
    "summary": "summarization",
    "flush": "memory_flush",
    "consolidation": "memory_consolidation",
}
"""`lc_source` by purpose; the first is the name that LangChain's own summaries carry, so that dashboards find ours."""

LENGTH_ENDS = frozenset({"length", "max_tokens", "MAX_TOKENS", "model_length", "incomplete"})
"""What providers call an answer that stopped at its length limit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Models:
    """Who answers which question."""

    curates: "BaseChatModel | None" = None
    """Flushes and consolidates; `None` = the agent's own model."""
    summarises: "BaseChatModel | None" = None
    """Summarises; `None` = the agent's own model."""
    agent: "BaseChatModel | None" = None
    """The model of the agent whose turn it is; `None` outside a turn."""
    rules: "BaseChatModel | None" = None
    """The model-free extractor, for where no model exists and where a rule asks for it."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Merged into the metadata of each internal call, for tracing."""

    def choose(self, step: AskModel) -> "BaseChatModel":
        """Return the model that answers a step.

        Raises:
            ModelUnavailable: No model was given and there is no extractor either.
        """
        own = self.summarises if step.purpose == "summary" else self.curates
        order = (self.rules,) if step.by_rules else (own, self.agent, self.curates, self.rules)
        chosen = next((model for model in order if model is not None), None)
        if chosen is None:
            raise ModelUnavailable(f"no chat model for {step.purpose}: pass model= to HarnessMemory")
        return chosen

    def are_rules(self, model: "BaseChatModel") -> bool:
        """Say whether a model is the extractor, chosen or passed by the user."""
        return self.rules is not None and isinstance(model, type(self.rules))

    def config(self, step: AskModel) -> RunnableConfig:
        """Return the config of an internal call: invisible in the user's stream, recognisable in a trace."""
        metadata = {"lc_source": SOURCES[step.purpose], "harness_memory": step.purpose, **self.metadata}
        return {"tags": [TAG_NOSTREAM], "metadata": metadata, "run_name": f"memory_{step.purpose}"}


def ask(models: Models, step: AskModel) -> Answer:
    """Ask the model that a step is for.

    Raises:
        TimeoutError: The time was over; the call is abandoned.
    """
    model = models.choose(step)
    message = _within(step.timeout, functools.partial(_invoke, model, step.messages, models.config(step)))
    return _answer(message, by_rules=models.are_rules(model))


async def aask(models: Models, step: AskModel) -> Answer:
    """Ask the model that a step is for, on the event loop; the twin of `ask`."""
    model = models.choose(step)
    config = models.config(step)
    if _is_native_async(model):
        message = await _awithin(step.timeout, _ainvoke(model, step.messages, config))
    else:
        # A thread of our own: one of the loop's executor would hold up the interpreter's exit if the model never returns.
        call = _start(functools.partial(_invoke, model, step.messages, config))
        message = await _awithin(step.timeout, _outcome(call))
    return _answer(message, by_rules=models.are_rules(model))


CHARACTERS_PER_TOKEN = 4
"""For the cost of a call whose provider tells none: right within a third for most scripts, and it decides nothing."""


def asked(step: AskModel, answer: Answer | None, *, seconds: float, run_id: str | None) -> ModelAsked:
    """Say what an internal call cost.

    Args:
        step: What was asked.
        answer: What came; `None` = it failed.
        seconds: How long it took.
        run_id: The run whose turn it was asked for.
    """
    characters = sum(len(str(message.text)) for message in step.messages) + len(answer.text if answer else "")
    counted = answer.total_tokens if answer else None
    by_rules = step.by_rules or (answer is not None and answer.by_rules)
    return ModelAsked(
        purpose=step.purpose,
        tokens=0 if by_rules else counted if counted is not None else -(-characters // CHARACTERS_PER_TOKEN),
        is_estimate=not by_rules and counted is None,
        seconds=seconds,
        failed=answer is None,
        by_rules=by_rules,
        turn_run_id=run_id,
    )


def _is_native_async(model: "BaseChatModel") -> bool:
    from langchain_core.language_models import BaseChatModel  # noqa: PLC0415  loaded with the first chat model

    kind = type(model)
    return kind._agenerate is not BaseChatModel._agenerate or kind._astream is not BaseChatModel._astream


def _invoke(model: "BaseChatModel", messages: Sequence[BaseMessage], config: RunnableConfig) -> BaseMessage:
    try:
        return model.invoke(list(messages), config)
    except Exception as error:
        if not _wants_streaming(error):
            raise
    return _joined(list(model.stream(list(messages), config)))


async def _ainvoke(model: "BaseChatModel", messages: Sequence[BaseMessage], config: RunnableConfig) -> BaseMessage:
    try:
        return await model.ainvoke(list(messages), config)
    except Exception as error:
        if not _wants_streaming(error):
            raise
    return _joined([chunk async for chunk in model.astream(list(messages), config)])


def _wants_streaming(error: Exception) -> bool:
    """Tell a model that only streams (some gateways answer 400 to anything else) from one that failed."""
    return isinstance(error, NotImplementedError) or "stream" in str(error).lower()


def _joined(chunks: Sequence[AIMessageChunk | AIMessage]) -> BaseMessage:
    if not chunks:
        raise ValueError("the model streamed no answer")
    first, rest = chunks[0], [chunk for chunk in chunks[1:] if isinstance(chunk, AIMessageChunk)]
    return first.__add__(rest) if rest and isinstance(first, AIMessageChunk) else first


def _start(function: Callable[[], T]) -> "Future[T]":
    """Run a function in a daemon thread of its own that sees the caller's context variables."""
    call: Future[T] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        if not call.set_running_or_notify_cancel():
            return
        try:
            call.set_result(context.run(function))
        except BaseException as error:  # noqa: BLE001  whoever waits for the call gets it, interrupts too
            call.set_exception(error)

    threading.Thread(target=run, daemon=True, name="harness-memory-call").start()
    return call


def _within(deadline: timedelta, function: Callable[[], T]) -> T:
    return _start(function).result(deadline.total_seconds())


async def _outcome(call: "Future[T]") -> T:
    return await asyncio.wrap_future(call)


async def _awithin(deadline: timedelta, work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait([task], timeout=deadline.total_seconds())
    except BaseException:
        task.cancel()
        raise
    if not done:
        task.cancel()
        task.add_done_callback(_drop)
        raise TimeoutError(f"no answer within {deadline.total_seconds():g} s")
    return task.result()


def _drop(task: "asyncio.Task[Any]") -> None:
    if not task.cancelled():
        task.exception()


def _answer(message: BaseMessage, *, by_rules: bool) -> Answer:
    usage = message.usage_metadata if isinstance(message, AIMessage) else None
    return Answer(
        text=str(message.text),
        truncated=_stopped_at_length(message.response_metadata),
        has_tool_calls=isinstance(message, AIMessage) and bool(message.tool_calls or message.invalid_tool_calls),
        total_tokens=usage["total_tokens"] if usage else None,
        by_rules=by_rules,
    )


def _stopped_at_length(metadata: Mapping[str, Any]) -> bool:
    ends = (metadata.get(key) for key in ("finish_reason", "stop_reason", "stopReason", "status", "done_reason"))
    return any(end in LENGTH_ENDS for end in ends if isinstance(end, str))
