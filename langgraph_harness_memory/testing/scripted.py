"""A real `BaseChatModel` that says what its script says, for tests, demonstrations and notebooks.

    script:  "text" │ AIMessage │ Reply(…) │ Failure(…) │ an exception │ function of the request's messages

One entry is used up by each call, whoever makes it (invoke, stream, their async twins, a bound copy, another thread),
and each request is recorded before it is answered.
"""

import asyncio
import json
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolCall,
    ToolCallChunk,
    UsageMetadata,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict, Field, PrivateAttr

CHARS_PER_TOKEN = 4
"""What a token is to this model's window and usage; a stand-in, the same for every script."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What the model answers."""

    text: str | list[str | dict[str, Any]] = ""
    """Its text, or content blocks."""
    calls: Sequence[tuple[str, dict[str, Any]] | ToolCall] = ()
    """Tools that it calls: name and arguments (an id is made), or whole calls."""
    usage: tuple[int, int] | None = None
    """Input and output tokens that the provider claims; `None` = it claims none."""
    delay: timedelta = timedelta(0)
    """Time before the first token."""
    gap: timedelta = timedelta(0)
    """Time between two streamed pieces."""
    finish_reason: str = "stop"
    """Why it stopped; `length` = cut off."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """More `response_metadata`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """A call that fails."""

    error: BaseException
    """What is raised; cancellation and interrupts too."""
    text: str = ""
    """What is streamed before the failure; empty = it fails before the first token."""
    delay: timedelta = timedelta(0)
    """Time before anything happens."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What was asked of the model."""

    messages: list[BaseMessage]
    """Oldest first, as they stood when the call was made."""
    tools: list[dict[str, Any]]
    """The bound tools in OpenAI's form."""
    options: dict[str, Any]
    """Every other keyword of the call."""

    @property
    def text(self) -> str:
        """All text of the request in one string, for `"fact" in request.text`."""
        return "\n".join(_text(m) for m in self.messages)

    @property
    def tokens(self) -> int:
        """Estimated tokens of messages and tools, by this fake's own measure."""
        return count_tokens(self.messages, self.tools)


Entry = str | AIMessage | Reply | Failure | BaseException | Callable[[list[BaseMessage]], Any]
"""One entry of a script. A function is given the request's messages and returns any other kind of entry."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Whole:
    """An `AIMessage` that the script gives as it is."""

    message: AIMessage
    delay: timedelta = timedelta(0)


class ScriptExhausted(AssertionError):
    """The model was asked more often than its script has entries."""


def echo(messages: list[BaseMessage]) -> str:
    """Answer with the last user message; an entry for `ScriptedChatModel`."""
    return next((_text(m) for m in reversed(messages) if isinstance(m, HumanMessage)), "")


class ScriptedChatModel(BaseChatModel):
    """A chat model that says what its script says.

    Example:
        model = ScriptedChatModel(script=[Reply(calls=[("weather", {"city": "Oslo"})]), "It rains."])
        model.requests[0].messages
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    script: Sequence[Any] = Field(default=(echo,))
    """What it says, call by call; see `Entry`."""
    repeat: bool = False
    """Say the last entry again and again once the others are used up; else a further call raises `ScriptExhausted`."""
    context_window: int | None = None
    """Refuse requests of more estimated tokens with `ContextOverflowError`, and tell the window in the profile; `None` = no window."""
    model_name: str = "scripted"
    """Its name in metadata and traces."""

    _requests: list[Request] = PrivateAttr(default_factory=list)
    _position: list[int] = PrivateAttr(default_factory=lambda: [0])
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    @property
    def requests(self) -> list[Request]:
        """Every request so far, also those that failed, oldest first."""
        return self._requests

    @property
    def calls(self) -> int:
        """How often the model was asked."""
        return len(self._requests)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _resolve_model_profile(self) -> Any:
        return {"max_input_tokens": self.context_window} if self.context_window else None

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools; the bound model shares script and records with this one."""
        bound = [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=bound, **({"tool_choice": tool_choice} if tool_choice else {}), **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002  the base class passes it
        **kwargs: Any,
    ) -> ChatResult:
        entry = self._next(messages, stop, kwargs)
        time.sleep(entry.delay.total_seconds())
        return _result(entry, self._answer(entry))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002  the base class passes it
        **kwargs: Any,
    ) -> ChatResult:
        entry = self._next(messages, stop, kwargs)
        await asyncio.sleep(entry.delay.total_seconds())
        return _result(entry, self._answer(entry))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        entry = self._next(messages, stop, kwargs)
        time.sleep(entry.delay.total_seconds())
        for piece in _pieces(self._answer(entry)):
            chunk = ChatGenerationChunk(message=piece)
            if run_manager:
                run_manager.on_llm_new_token(str(piece.text), chunk=chunk)
            yield chunk
            time.sleep(_gap(entry))
        if isinstance(entry, Failure):
            raise entry.error

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        entry = self._next(messages, stop, kwargs)
        await asyncio.sleep(entry.delay.total_seconds())
        for piece in _pieces(self._answer(entry)):
            chunk = ChatGenerationChunk(message=piece)
            if run_manager:
                await run_manager.on_llm_new_token(str(piece.text), chunk=chunk)
            yield chunk
            await asyncio.sleep(_gap(entry))
        if isinstance(entry, Failure):
            raise entry.error

    def _next(
        self, messages: list[BaseMessage], stop: list[str] | None, options: dict[str, Any]
    ) -> Reply | Failure | _Whole:
        """Record the request, enforce the window and take the script's next entry."""
        rest = {k: v for k, v in options.items() if k != "tools"} | ({"stop": stop} if stop else {})
        request = Request(messages=list(messages), tools=list(options.get("tools") or []), options=rest)
        with self._lock:
            self._requests.append(request)
            if self.context_window and request.tokens > self.context_window:
                return Failure(error=self._overflow(request.tokens))
            at = self._position[0]
            if at >= len(self.script) and not (self.repeat and self.script):
                raise ScriptExhausted(
                    f"call {self.calls} of a script of {len(self.script)} entries: {request.text[-200:]!r}"
                )
            self._position[0] = at + 1
            entry = self.script[min(at, len(self.script) - 1)]
        return _entry(entry, request.messages)

    def _overflow(self, tokens: int) -> ContextOverflowError:
        return ContextOverflowError(f"prompt is too long: {tokens} tokens > {self.context_window} maximum")

    def _answer(self, entry: Reply | Failure | _Whole) -> AIMessage:
        if isinstance(entry, _Whole):
            return entry.message
        if isinstance(entry, Failure):
            return AIMessage(content=entry.text)
        calls = [_call(c, f"call_{self.calls}_{n}") for n, c in enumerate(entry.calls, start=1)]
        usage = None
        if entry.usage is not None:
            given, taken = entry.usage
            usage = UsageMetadata(input_tokens=given, output_tokens=taken, total_tokens=given + taken)
        reason = "tool_calls" if calls and entry.finish_reason == "stop" else entry.finish_reason
        metadata = {"finish_reason": reason, "model_name": self.model_name, **entry.metadata}
        return AIMessage(content=entry.text, tool_calls=calls, usage_metadata=usage, response_metadata=metadata)


def count_tokens(messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]] = ()) -> int:
    """Estimate tokens as this fake's window does: characters of everything that is sent, divided by four, and four a message."""
    chars = sum(len(json.dumps(tool, ensure_ascii=False)) for tool in tools)
    for message in messages:
        content = message.content
        chars += len(content) if isinstance(content, str) else len(json.dumps(content, ensure_ascii=False))
        if isinstance(message, AIMessage) and message.tool_calls:
            chars += sum(len(json.dumps(c["args"], ensure_ascii=False)) + len(c["name"]) for c in message.tool_calls)
    return -(-chars // CHARS_PER_TOKEN) + 4 * len(messages)


def _entry(entry: Entry, messages: list[BaseMessage]) -> Reply | Failure | _Whole:
    match entry:
        case Reply() | Failure():
            return entry
        case str():
            return Reply(text=entry)
        case AIMessage():
            return _Whole(message=entry)
        case BaseException():
            return Failure(error=entry)
        case function:
            return _entry(function(messages), messages)


def _result(entry: Reply | Failure | _Whole, answer: AIMessage) -> ChatResult:
    if isinstance(entry, Failure):
        raise entry.error
    return ChatResult(generations=[ChatGeneration(message=answer.model_copy())])


def _gap(entry: Reply | Failure | _Whole) -> float:
    return entry.gap.total_seconds() if isinstance(entry, Reply) else 0.0


def _call(call: tuple[str, dict[str, Any]] | ToolCall, call_id: str) -> ToolCall:
    if isinstance(call, tuple):
        return ToolCall(name=call[0], args=call[1], id=call_id, type="tool_call")
    return call


def _pieces(message: AIMessage) -> Iterator[AIMessageChunk]:
    """Cut an answer into what a provider streams: words, calls in two halves, then usage and the reason to stop."""
    common: dict[str, Any] = {"id": message.id} if message.id else {}
    if isinstance(message.content, str):
        for word in re.findall(r"\S+\s*|\s+", message.content):
            yield AIMessageChunk(content=word, **common)
    else:
        for place, block in enumerate(message.content):
            part = {"type": "text", "text": block} if isinstance(block, str) else block
            yield AIMessageChunk(content=[{**part, "index": place}], **common)
    for place, call in enumerate(message.tool_calls):
        args = json.dumps(call["args"], ensure_ascii=False)
        half = len(args) // 2
        head = ToolCallChunk(name=call["name"], args=args[:half], id=call["id"], index=place, type="tool_call_chunk")
        tail = ToolCallChunk(name=None, args=args[half:], id=None, index=place, type="tool_call_chunk")
        yield AIMessageChunk(content="", tool_call_chunks=[head], **common)
        yield AIMessageChunk(content="", tool_call_chunks=[tail], **common)
    yield AIMessageChunk(
        content="",
        usage_metadata=message.usage_metadata,
        response_metadata=message.response_metadata,
        additional_kwargs=message.additional_kwargs,
        chunk_position="last",
        **common,
    )


def _text(message: BaseMessage) -> str:
    said = str(message.text)
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return "\n".join([said, *(f"{c['name']}({json.dumps(c['args'], ensure_ascii=False)})" for c in calls)])
