"""Changing the calls of a message, in every place where it states them.

Providers read a call from `tool_calls`, from content blocks (`tool_use`, `tool_call`, `function_call`) or from
`additional_kwargs`, so that all of them have to say the same.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.messages import AIMessage

from langgraph_harness_memory.conversation.tokens import CALL_BLOCKS

_CHUNK_FIELDS = ("tool_call_chunks",)


def block_id(block: Any) -> str | None:
    """Return the id of the call that a content block states; `None` for any other block."""
    if not isinstance(block, Mapping) or block.get("type") not in CALL_BLOCKS:
        return None
    # Responses API blocks have an id of their own beside the call's.
    return block.get("call_id") or block.get("id")


def with_arguments(message: AIMessage, change: Callable[[Any], Any]) -> AIMessage:
    """Return the message with `change` applied to the arguments of every call, wherever they stand."""
    calls = [{**call, "args": change(call["args"])} for call in message.tool_calls]
    return _copy(
        message,
        calls=calls,
        content=_map_blocks(message.content, lambda block: _changed_block(block, change)),
        kwargs=_map_legacy(message.additional_kwargs, lambda call: _changed_legacy(call, change)),
    )


def with_calls(message: AIMessage, keep: frozenset[str]) -> AIMessage:
    """Return the message with only the calls that have one of these ids, each once, wherever they stand."""
    calls = _first_of_each(message.tool_calls, keep)
    known = {call.get("id") or "" for call in calls}
    return _copy(
        message,
        calls=calls,
        invalid=[
            call for call in _first_of_each(message.invalid_tool_calls, keep) if (call.get("id") or "") not in known
        ],
        content=_keep_blocks(message.content, keep),
        kwargs=_map_legacy(message.additional_kwargs, lambda call: call if (call.get("id") or "") in keep else None),
    )


def _first_of_each(calls: list[Any], keep: frozenset[str]) -> list[Any]:
    seen: set[str] = set()
    kept = []
    for call in calls:
        identifier = call.get("id") or ""
        if identifier in keep and identifier not in seen:
            seen.add(identifier)
            kept.append(call)
    return kept


def _copy(
    message: AIMessage, *, calls: list[Any], content: Any, kwargs: dict[str, Any], invalid: Any = None
) -> AIMessage:
    update: dict[str, Any] = {"tool_calls": calls, "content": content, "additional_kwargs": kwargs}
    if invalid is not None:
        update["invalid_tool_calls"] = invalid
    return message.model_copy(update=update)


def _map_blocks(content: Any, change: Callable[[Any], Any]) -> Any:
    return content if isinstance(content, str) else [change(block) for block in content]


def _keep_blocks(content: Any, keep: frozenset[str]) -> Any:
    if isinstance(content, str):
        return content
    kept, seen = [], set()
    for block in content:
        identifier = block_id(block)
        if identifier is not None:
            if identifier not in keep or identifier in seen:
                continue
            seen.add(identifier)
        kept.append(block)
    return kept


def _changed_block(block: Any, change: Callable[[Any], Any]) -> Any:
    if block_id(block) is None:
        return block
    changed = dict(block)
    for key in ("input", "args"):
        if isinstance(changed.get(key), Mapping):
            changed[key] = change(changed[key])
    for key in ("arguments", "partial_json", "input"):
        if isinstance(changed.get(key), str):
            changed[key] = _changed_json(changed[key], change)
    return changed


def _map_legacy(kwargs: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    calls = kwargs.get("tool_calls")
    if not isinstance(calls, list):
        return dict(kwargs)
    changed = [
        after for after in (change(call) if isinstance(call, Mapping) else call for call in calls) if after is not None
    ]
    return {
        **{key: value for key, value in kwargs.items() if key != "tool_calls"},
        **({"tool_calls": changed} if changed else {}),
    }


def _changed_legacy(call: Any, change: Callable[[Any], Any]) -> Any:
    function = call.get("function")
    if not isinstance(function, Mapping) or not isinstance(function.get("arguments"), str):
        return call
    return {**call, "function": {**function, "arguments": _changed_json(function["arguments"], change)}}


def _changed_json(text: str, change: Callable[[Any], Any]) -> str:
    try:
        arguments = json.loads(text)
    except ValueError:
        return text
    changed = json.dumps(change(arguments), ensure_ascii=False)
    return changed if len(changed) < len(text) else text
