"""`ExtractiveChatModel`: a chat model with rules in the place of a model.

    a flush request          ──► bullets, or NO_REPLY                  (rules/facts)
    a consolidation request  ──► the new MEMORY.md                     (rules/merging)
    a summary request        ──► four sections                         (rules/summary)
    anything else            ──► notes what it is told, answers from what it can look up (rules/replying)

It is the offline default and the fallback when models fail. What it writes was said in the conversation, word for word; the
same request has the same answer everywhere, at any time.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCallChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from langgraph_harness_memory.curation.answers import SENTINEL
from langgraph_harness_memory.curation.requests import material
from langgraph_harness_memory.curation.rules.facts import Utterance, facts_of
from langgraph_harness_memory.curation.rules.merging import NewFact, merge
from langgraph_harness_memory.curation.rules.replying import as_message, reply
from langgraph_harness_memory.curation.rules.summary import summarise
from langgraph_harness_memory.curation.rules.transcript import is_summary_request, read_transcript
from langgraph_harness_memory.formats import memory_md
from langgraph_harness_memory.formats.daily_log import bullet_text

SUMMARY_SHARE = 0.5
"""Characters of a summary per character of what it stands for."""
SHORT_SUMMARY = 1_500
"""Characters up to which a summary of little may be nearly as long as it (`SHORT_SHARE`); a longer one than its input is refused."""
SHORT_SHARE = 0.85
MAX_SUMMARY_CHARS = 8_000
"""Characters of a summary, about 2 000 tokens."""
DEFAULT_BUDGET = 16_000
"""Characters of `MEMORY.md` where the request names no budget."""

_NAMED = re.compile(r"(?P<name>[^\W\d_][\w.'-]{0,24}(?: [^\W\d_][\w.'-]{0,24}){0,2}): (?=\S)")
_PIECES = re.compile(r"\S+\s*|\s+")


class ExtractiveChatModel(BaseChatModel):
    """A chat model with no model behind it: summaries, facts and merges by rules.

    It streams, takes tools, and works in any place where a chat model does. As an agent's model it calls `memory_search`
    for a question and `memory_save` for what it is asked to remember, where those tools are bound.

    Example:
        HarnessMemory("workspace", model=ExtractiveChatModel())
    """

    @property
    def _llm_type(self) -> str:
        return "extractive"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": "extractive"}

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,  # noqa: ARG002  rules decide what is called
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offer tools; those of this package are called where they help, others are left alone."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002  the whole answer is there at once
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=_answer(messages, stop, kwargs.get("tools") or ()))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        answer = _answer(messages, stop, kwargs.get("tools") or ())
        for chunk in _chunks(answer):
            piece = ChatGenerationChunk(message=chunk)
            if run_manager and chunk.content:
                run_manager.on_llm_new_token(str(chunk.content), chunk=piece)
            yield piece


def _answer(
    messages: Sequence[BaseMessage], stop: Sequence[str] | None, tools: Sequence[Mapping[str, Any]]
) -> AIMessage:
    text = _curated(messages)
    if text is None:
        answer = reply(messages, tools)
        digits = hashlib.sha256(
            f"{len(messages)}{answer.tool}{answer.arguments}".encode("utf-8", "replace")
        ).hexdigest()
        message = as_message(answer, f"call_{digits[:16]}")
    else:
        message = AIMessage(text)
    ends = [at for word in stop or () if word and (at := message.text.find(word)) >= 0]
    cut = message.model_copy(update={"content": message.text[: min(ends)]}) if ends else message
    cut.response_metadata = {"model_name": "extractive", "finish_reason": "tool_calls" if cut.tool_calls else "stop"}
    return cut


def _chunks(answer: AIMessage) -> Iterator[AIMessageChunk]:
    for piece in _PIECES.findall(answer.text):
        yield AIMessageChunk(content=piece)
    calls = [
        ToolCallChunk(name=call["name"], args=_json(call["args"]), id=call["id"], index=i, type="tool_call_chunk")
        for i, call in enumerate(answer.tool_calls)
    ]
    yield AIMessageChunk(
        content="", tool_call_chunks=calls, response_metadata=answer.response_metadata, chunk_position="last"
    )


def _curated(messages: Sequence[BaseMessage]) -> str | None:
    """Answer one of this package's own requests; `None` for any other conversation."""
    fields = material(messages)
    if fields is not None:
        return _flush(fields) if fields["task"] == "flush" else _consolidation(fields)
    return _summary(messages) if is_summary_request(messages) else None


def _flush(fields: Mapping[str, Any]) -> str:
    known = fields.get("known") or {}
    lines = [fact.text for fact in memory_md.facts(known.get("memory") or "")] + [
        bullet_text(line) for line in known.get("log") or ()
    ]
    entries = [entry for entry in fields.get("messages") or () if isinstance(entry, Mapping)]
    facts = facts_of(_utterances(entries, _day(fields.get("today"))), known=lines)
    return "\n".join(f"- {fact}" for fact in facts) or SENTINEL


def _utterances(entries: Sequence[Mapping[str, Any]], today: date | None) -> list[Utterance]:
    """Read the messages of a flush request; where speakers name themselves again and again (`Alice: …`), by those names."""
    texts = [str(entry.get("text") or "") for entry in entries]
    names = [match["name"] if (match := _NAMED.match(text)) else "" for text in texts]
    utterances: list[Utterance] = []
    for entry, text, name in zip(entries, texts, names, strict=True):
        is_named = bool(name) and names.count(name) > 1
        role = str(entry.get("role") or "user")
        speaker = (
            name
            if is_named
            else str(entry.get("name") or entry.get("repeats") or role.capitalize()).removeprefix("tool:")
        )
        utterances.append(
            Utterance(
                speaker=speaker,
                text=text[len(name) + 2 :] if is_named else text,
                is_person=(role == "user" or is_named) and "repeats" not in entry,
                is_passed_on="repeats" in entry,
                said_on=_day(entry.get("sent")) or today,
            )
        )
    return utterances


def _consolidation(fields: Mapping[str, Any]) -> str:
    new = [
        NewFact(text=str(entry.get("text") or ""), day=_day(entry.get("date")))
        for entry in fields.get("new") or ()
        if isinstance(entry, Mapping)
    ]
    budget = fields.get("budget_characters")
    memory = str(fields.get("memory") or "")
    removed = [str(line) for line in fields.get("removed") or ()]
    return merge(memory, new, budget=budget if isinstance(budget, int) else DEFAULT_BUDGET, removed=removed) or SENTINEL


def _summary(messages: Sequence[BaseMessage]) -> str:
    earlier, turns = read_transcript(messages)
    length = sum(len(turn.text) + sum(map(len, turn.calls)) for turn in turns)
    new = max(int(length * SUMMARY_SHARE), min(int(length * SHORT_SHARE), SHORT_SUMMARY))
    limit = min(MAX_SUMMARY_CHARS, len(earlier) + new)
    return summarise(turns, earlier=earlier, limit=limit)


def _day(text: Any) -> date | None:
    try:
        return date.fromisoformat(text[:10]) if isinstance(text, str) else None
    except ValueError:
        return None


def _json(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)
