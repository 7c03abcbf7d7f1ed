"""What an agent without a language model behind it says: it notes what it is told and answers from what it can look up.

It answers a question with the lines that share its words: of a memory tool's result, of the notes in the system prompt, of
what was said before. It never makes up a sentence about the world.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_harness_memory.curation.rules.facts import Utterance, clip, facts_of, plain_sentences
from langgraph_harness_memory.curation.rules.salience import judge
from langgraph_harness_memory.curation.wording import share, words

SEARCH, SAVE = "memory_search", "memory_save"
"""Tools that it knows how to use where they are bound."""
MAX_LINES = 3
"""Lines that an answer quotes."""
LEAST_SHARE = 0.34
"""Part of the question's words that a line must hold to be quoted."""

_REMEMBER = re.compile(
    r"\s*(?:please\s+)?(?:remember|note|keep in mind|don't forget|merke? dir|denk daran|souviens-toi|recuerda|lembre-se|ricorda|"
    r"запомни|记住|覚えて)(?:\s+that|\s*[:,，]|\s+dass|\s+que)?\s*(?P<what>.+)",
    re.IGNORECASE | re.DOTALL,
)
_ASKS = re.compile(
    r"(?:what|when|where|who|whom|whose|which|why|how|do|does|did|is|are|was|were|can|could|will|would|should|have|has|tell me|"
    r"remind me|wann|wo|wer|wie|welche\w*|quel\w*|quand|où|qui|qué|quién|cuándo|dónde|cómo|что|где|когда|кто|какой)\b",
    re.IGNORECASE,
)
_DECORATION = re.compile(r"^\s*(?:\d+[:.|]\s*|[-*•]\s+|>\s*)+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What is said, or the tool that is called instead."""

    text: str = ""
    tool: str = ""
    """The tool to call; empty = none."""
    arguments: Mapping[str, Any] | None = None


def reply(messages: Sequence[BaseMessage], tools: Sequence[Mapping[str, Any]] = ()) -> Reply:
    """Return the next thing to say in a conversation.

    Args:
        messages: The request, oldest first.
        tools: The bound tools, in OpenAI's form.
    """
    asked_at = max((i for i, m in enumerate(messages) if isinstance(m, HumanMessage)), default=-1)
    asked = messages[asked_at].text.strip() if asked_at >= 0 else ""
    results = [m for m in messages[asked_at + 1 :] if isinstance(m, ToolMessage)]
    bound = {tool["function"]["name"]: tool["function"] for tool in tools if "function" in tool}
    if results:
        return Reply(text=_after_tools(asked, results, messages[:asked_at]))
    remember = _REMEMBER.match(asked)
    if remember and SAVE in bound:
        return _call(bound[SAVE], clip(remember["what"], 2_000))
    if _is_question(asked):
        return (
            _call(bound[SEARCH], clip(asked, 500))
            if SEARCH in bound
            else Reply(text=_from_talk(asked, messages[:asked_at]))
        )
    return Reply(text=_noted(asked))


def _call(function: Mapping[str, Any], value: str) -> Reply:
    """Call a tool with one text: its first required parameter that is one."""
    schema = function.get("parameters") or {}
    properties = schema.get("properties") or {"query": {"type": "string"}}
    name = next(iter([*(p for p in schema.get("required") or () if p in properties), *properties]))
    return Reply(tool=str(function["name"]), arguments={name: value})


def _is_question(text: str) -> bool:
    bare = text.rstrip("\"'”)*_ \n")
    return bare.endswith(("?", "？", "؟")) or _ASKS.match(bare) is not None


def _after_tools(asked: str, results: Sequence[ToolMessage], before: Sequence[BaseMessage]) -> str:
    if any(result.name == SAVE for result in results):
        return "Noted."
    lines = [_DECORATION.sub("", line).strip() for result in results for line in result.text.splitlines()]
    found = _best(asked, [line for line in lines if len(line) > 3])
    if found:
        return "From memory: " + " / ".join(found)
    if any(result.name != SEARCH for result in results):
        return "The tool says: " + clip(results[-1].text, 600)
    return _from_talk(asked, before)


def _from_talk(asked: str, before: Sequence[BaseMessage]) -> str:
    """Answer from the notes in the system prompt and from what was said, the newest first."""
    said = [message for message in before if isinstance(message, SystemMessage | HumanMessage)]
    lines = [line for message in reversed(said) for line in plain_sentences(message.text)]
    found = _best(asked, [line for line in lines if not _is_question(line)])
    return "As noted: " + " / ".join(found) if found else "I have no note about that."


def _best(asked: str, lines: Sequence[str]) -> list[str]:
    """Return the lines that share most of the question's words, best first, each once."""
    question = words(asked)
    ranked = sorted(dict.fromkeys(lines), key=lambda line: -share(question, words(line)))
    return [clip(line, 300) for line in ranked[:MAX_LINES] if share(question, words(line)) >= LEAST_SHARE]


def _noted(asked: str) -> str:
    facts = facts_of([Utterance(speaker="User", text=asked)])
    if facts:
        return "Noted: " + clip(facts[0].removeprefix("User: "), 200)
    return "Hello." if asked and not any(judge(s).score > 1 for s in plain_sentences(asked)) else "Understood."


def as_message(answer: Reply, call_id: str) -> AIMessage:
    """Return a reply as the message that a chat model gives."""
    if not answer.tool:
        return AIMessage(answer.text)
    return AIMessage(
        "", tool_calls=[{"name": answer.tool, "args": dict(answer.arguments or {}), "id": call_id, "type": "tool_call"}]
    )
