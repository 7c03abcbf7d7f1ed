"""A conversation as text for the model that summarises it: data, bounded, and unable to leave its block.

User and assistant speak in full up to a limit; calls show their tool and their arguments in short; results their head and
tail; media their kind and, where they have one, their address. What a provider attached (`response_metadata`, signatures,
reasoning) is never shown.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from langgraph_harness_memory.conversation.preview import block_text
from langgraph_harness_memory.conversation.tokens import CALL_BLOCKS, MEDIA_TOKENS

BLOCK_NAMES = (
    "messages",
    "conversation",
    "summary",
    "previous_summary",
    "session_context",
    "memory",
    "system",
    "instructions",
)
"""Names of the blocks in which prompts of ours and of others put text; a look-alike in a text is disarmed."""

_JSON = json.JSONEncoder(ensure_ascii=False, default=str)

_TAG = re.compile(r"<(?=\s*/?\s*(?:" + "|".join(BLOCK_NAMES) + r")\b)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Characters that each part of a message may have in the text."""

    said: int = 8_000
    """What user and assistant said."""
    arguments: int = 400
    """All arguments of one call."""
    result: int = 1_500
    """A tool's result."""


def disarm(text: str) -> str:
    """Return a text that cannot open or close a block of a prompt."""
    return _TAG.sub("&lt;", text) if "<" in text else text


def render(messages: Sequence[BaseMessage], limits: Limits) -> list[str]:
    """Render messages, a text for each; an empty one for a message that says nothing."""
    return [render_message(message, limits) for message in messages]


def render_message(message: BaseMessage, limits: Limits) -> str:
    """Render one message; an empty string where it says nothing."""
    kind, content = message.type, message.content
    said = content if type(content) is str else _said(message)
    if kind == "tool":
        name = message.name or "tool"
        status = " (error)" if getattr(message, "status", "") == "error" else ""
        return disarm(f"[result of {name}{status}] {shorten(said, limits.result)}")
    text = said if len(said) <= limits.said else shorten(said, limits.said)
    if kind == "ai" and isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls):
        calls = [_call(call, limits.arguments) for call in [*message.tool_calls, *message.invalid_tool_calls]]
        text = "\n".join([text, *calls] if text else calls)
    return disarm(f"[{ROLES.get(kind, kind)}] {text}") if text else ""


ROLES = {"human": "user", "ai": "assistant", "system": "system"}
"""How the speakers are called in the text."""


def shorten(text: str, limit: int) -> str:
    """Return a text of at most about `limit` characters: its head and its tail."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head]} […{len(text) - head - tail:,} characters…] {text[-tail:]}"


def _said(message: BaseMessage) -> str:
    content = message.content
    if isinstance(content, str):
        return content
    return "\n".join(part for part in map(_block, content) if part)


def _block(block: Any) -> str:
    text = block_text(block)
    if text is not None:
        return text
    kind = str(block.get("type") or "")
    if kind in MEDIA_TOKENS:
        return f"[{kind.removesuffix('_url').removeprefix('input_')}{_address(block)}]"
    if kind in CALL_BLOCKS or kind in HIDDEN_BLOCKS:
        return ""
    return f"[{kind or 'block'}] {json.dumps(block, ensure_ascii=False, default=str)[:200]}"


HIDDEN_BLOCKS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
"""Blocks with a model's reasoning: it was not said, and signatures in it are long."""


def _address(block: Mapping[str, Any]) -> str:
    """Return where a medium is to be had and what it is: an address survives a summary, base64 does not."""
    holders = [
        block,
        *(block[key] for key in ("image_url", "source", "file", "input_audio") if isinstance(block.get(key), Mapping)),
    ]
    facts = []
    for key in ("url", "file_id", "filename", "name", "mime_type", "media_type"):
        value = next((str(holder[key]) for holder in holders if isinstance(holder.get(key), str)), "")
        if value and not value.startswith("data:"):
            facts.append(value[:300])
    direct = block.get("image_url")
    if isinstance(direct, str) and not direct.startswith("data:"):
        facts.append(direct[:300])
    return (": " + ", ".join(facts)) if facts else ""


def _call(call: Mapping[str, Any], limit: int) -> str:
    arguments = call.get("args")
    if isinstance(arguments, Mapping):
        short = {key: shorten(value, 160) if isinstance(value, str) else value for key, value in arguments.items()}
        arguments = _JSON.encode(short)
    return f"→ called {call.get('name') or 'a tool'}({shorten(str(arguments or ''), limit)})"
