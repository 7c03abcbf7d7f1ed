"""Shortening the long arguments of old calls, without asking a model.

What an agent wrote to a file twenty steps ago is in the file; in the conversation its beginning is enough. The part that
is shortened ends at a border that moves in batches, so that between two moves every request begins as the last one did
and a provider's prompt cache holds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from langgraph_harness_memory.config import TruncateArgsConfig
from langgraph_harness_memory.conversation.rewriting import with_arguments
from langgraph_harness_memory.formats.forms import MARKER, form_of, marked

BATCH_MESSAGES = 10
"""Messages by which the border moves at once."""

DEPTH = 32
"""Levels of nesting that are searched for long strings; deeper values are left as they are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Truncation:
    """Messages whose arguments were shortened."""

    forms: tuple[AIMessage, ...]
    """What takes the place of the messages with the same ids."""
    characters_saved: int
    """Characters that left the arguments."""


def border(messages: Sequence[BaseMessage], settings: TruncateArgsConfig, *, sums: Sequence[int]) -> int:
    """Return up to which place arguments are shortened; 0 = not yet.

    Args:
        messages: Oldest first.
        settings: When to begin and what to leave alone.
        sums: Tokens of the first 0, 1, 2 … messages.
    """
    by_count = 0 < settings.trigger_messages <= len(messages)
    by_tokens = 0 < settings.trigger_tokens <= sums[-1]
    if not by_count and not by_tokens:
        return 0
    if settings.keep_tokens <= 0:
        end = len(messages) - settings.keep_messages
    else:
        end = len(messages)
        while end > 0 and sums[-1] - sums[end - 1] <= settings.keep_tokens:
            end -= 1
    # A conversation shorter than a batch has no prefix worth keeping stable.
    return max(0, end if end < BATCH_MESSAGES else end - end % BATCH_MESSAGES)


def truncate(messages: Sequence[BaseMessage], settings: TruncateArgsConfig, *, start: int = 0, end: int) -> Truncation:
    """Shorten the long arguments of `messages[start:end]`.

    Returns:
        Only the messages that became shorter.
    """
    forms, saved = [], 0
    for message in messages[start:end]:
        if not isinstance(message, AIMessage) or not message.tool_calls or form_of(message) == "truncated":
            continue
        cut = shortened(message, limit=settings.max_arg_length, ending=settings.truncation_text)
        if cut is not None:
            forms.append(cut)
            saved += _length([c["args"] for c in message.tool_calls]) - _length([c["args"] for c in cut.tool_calls])
    return Truncation(forms=tuple(forms), characters_saved=saved)


def shortened(message: AIMessage, *, limit: int, ending: str) -> AIMessage | None:
    """Return a message with no string argument longer than a limit; `None` where there is none to shorten.

    Args:
        message: A reply with calls.
        limit: Characters that a string argument may have, nested ones too.
        ending: What stands after the part that is kept.
    """
    if not any(_has_long(call["args"], limit, ending, DEPTH) for call in message.tool_calls):
        return None
    changed = with_arguments(message, lambda arguments: _shorten(arguments, limit, ending, DEPTH))
    earlier = message.additional_kwargs.get(MARKER)
    facts = (
        {key: value for key, value in earlier.items() if key not in ("form", "in_place")}
        if isinstance(earlier, dict)
        else {}
    )
    changed.additional_kwargs = {**changed.additional_kwargs, **marked("truncated", **facts, in_place=True)}
    return changed


def _has_long(value: Any, limit: int, ending: str, depth: int) -> bool:
    if isinstance(value, str):
        return len(value) > limit and len(_clip(value, limit, ending)) < len(value)
    if depth == 0:
        return False
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return any(_has_long(part, limit, ending, depth - 1) for part in parts)


def _shorten(value: Any, limit: int, ending: str, depth: int) -> Any:
    if isinstance(value, str):
        clipped = _clip(value, limit, ending) if len(value) > limit else value
        return clipped if len(clipped) < len(value) else value
    if depth == 0:
        return value
    if isinstance(value, Mapping):
        return {key: _shorten(part, limit, ending, depth - 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_shorten(part, limit, ending, depth - 1) for part in value]
    return value


def _clip(text: str, limit: int, ending: str) -> str:
    # The text that is kept and its ending fit the limit together, so that a second look finds nothing to do.
    kept = limit - len(ending)
    return text[:kept] + ending if kept > 0 else text[:limit]


def _length(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return sum(map(_length, parts))
