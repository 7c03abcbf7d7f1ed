"""One chat message, as other systems write it: OpenAI, Anthropic and LangChain, told apart by its keys.

    {"role": "user", "content": …}                             OpenAI; with content blocks also Anthropic
    {"lc": 1, "id": [… "HumanMessage"], "kwargs": {…}}         LangChain, `dumpd`
    {"type": "human", "data": {…}} or {"type": "human", …}     LangChain, `messages_to_dict` and `model_dump`

Nothing is loaded by a class name that a file gives: each kind is built by this table's own hand. What a message holds
beyond its kind's fields goes to `additional_kwargs["origin"]`, so that no file can forge a marker of ours.
"""

import json
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from pydantic import ValidationError

Json = dict[str, Any]

_ROLES = frozenset({"system", "developer", "user", "human", "assistant", "ai", "model", "tool", "function"})
_TYPES = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "function",
    "chat": "chat",
}
_CLASSES = {
    f"{name}Message{ending}": _TYPES[name.lower()]
    for name in ("Human", "AI", "System", "Tool", "Function", "Chat")
    for ending in ("", "Chunk")
}
_FIELDS = frozenset(
    {
        *("role", "content", "id", "name", "type", "tool_calls", "invalid_tool_calls", "tool_call_id", "tool_call_ids"),
        *("function_call", "usage_metadata", "response_metadata", "additional_kwargs", "artifact", "status", "example"),
        *("tool_call_chunks", "chunk_position"),
    }
)


def is_message(value: Any) -> bool:
    """Say whether a JSON value is a chat message of a known kind."""
    return isinstance(value, dict) and _normal(value) is not None


def read_message(value: Json) -> list[BaseMessage]:
    """Read one chat message.

    Args:
        value: A value for which `is_message` holds.

    Returns:
        Usually one message; an Anthropic user message gives one tool message for each result that it carries, and then
        one for the rest. Ids are those of the file, or `None`.

    Raises:
        ValueError: Its fields do not fit its kind; the message says which.
    """
    fields = _normal(value)
    if fields is None:
        raise ValueError(f"is no chat message: {_short(value)}")
    try:
        return _build(fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"has a field {place!r} that does not fit: {first['msg']}") from error


def _normal(value: Json) -> Json | None:
    """Bring the dialects to one: OpenAI's keys, LangChain's calls; `None` for what is no message."""
    if value.get("lc") == 1 and value.get("type") == "constructor":
        path, kwargs = value.get("id"), value.get("kwargs")
        kind = _CLASSES.get(str(path[-1])) if isinstance(path, list) and path else None
        return _typed(kind, kwargs) if kind and isinstance(kwargs, dict) else None
    role = value.get("role")
    if isinstance(role, str) and role in _ROLES:
        body = "content" in value or bool(value.get("tool_calls")) or bool(value.get("function_call"))
        return value if body else None
    named = value.get("type")
    kind = (_TYPES.get(named) or _CLASSES.get(named)) if isinstance(named, str) else None
    if kind is None:
        return None
    data = value.get("data")
    if isinstance(data, dict) and "content" in data:
        return _typed(kind, data)
    return _typed(kind, value) if "content" in value and role is None else None


def _typed(kind: str, fields: Json) -> Json:
    role = str(fields.get("role") or "user") if kind == "chat" else kind
    return {**fields, "role": role if role in _ROLES else "user"}


def _build(fields: Json) -> list[BaseMessage]:
    content = _content(fields.get("content"))
    common: Json = {"id": _text(fields.get("id")), "name": _text(fields.get("name"))}
    common["additional_kwargs"] = _extras(fields)
    match fields["role"]:
        case "system":
            return [SystemMessage(content, **common)]
        case "developer":
            common["additional_kwargs"]["__openai_role__"] = "developer"
            return [SystemMessage(content, **common)]
        case "assistant" | "ai" | "model":
            return [_assistant(content, fields, common)]
        case "tool" | "function":
            return [_tool_result(content, fields, common)]
        case _:
            return _user(content, common)


def _content(content: Any) -> Any:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(block, str | dict) for block in content):
        return content
    if isinstance(content, dict) and "type" in content:
        return [content]
    # A number, or any other JSON, said in its own words.
    return json.dumps(content, ensure_ascii=False)


def _assistant(content: Any, fields: Json, common: Json) -> AIMessage:
    calls: list[Json] = []
    invalid: list[Json] = [_invalid_call(c) for c in _objects(fields.get("invalid_tool_calls"))]
    for call in _all_calls(content, fields):
        (calls if isinstance(call["args"], dict) else invalid).append(call)
    more = {k: fields[k] for k in ("usage_metadata", "response_metadata") if fields.get(k)}
    return AIMessage(content, tool_calls=calls, invalid_tool_calls=invalid, **more, **common)


def _all_calls(content: Any, fields: Json) -> list[Json]:
    given = [_call(c, n) for n, c in enumerate(_objects(fields.get("tool_calls")))]
    legacy = fields.get("function_call")
    if not given and isinstance(legacy, dict):
        # Before calls had ids, a result named its function; the id is made so that the two still find each other.
        given = [_call({"id": f"function_{legacy.get('name')}", "function": legacy}, 0)]
    known = {c["id"] for c in given}
    uses = [b for b in _objects(content) if b.get("type") == "tool_use" and _text(b.get("id")) not in known]
    return given + [_call({"id": b.get("id"), "name": b.get("name"), "args": b.get("input")}, 0) for b in uses]


def _call(call: Json, place: int) -> Json:
    function = call.get("function") if isinstance(call.get("function"), dict) else None
    name = (function or call).get("name")
    args = function.get("arguments") if function else call.get("args", call.get("arguments"))
    call_id = _text(call.get("id")) or f"call_{place}"
    parsed = _parsed(args)
    if isinstance(parsed, dict):
        return {"type": "tool_call", "id": call_id, "name": str(name or ""), "args": parsed}
    return _invalid_call({"id": call_id, "name": name, "args": args, "error": "its arguments are no JSON object"})


def _invalid_call(call: Json) -> Json:
    texts = {key: None if call.get(key) is None else str(call[key]) for key in ("id", "name", "args", "error")}
    return {"type": "invalid_tool_call", **texts}


def _objects(value: Any) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _parsed(args: Any) -> Any:
    if args is None or args == "":
        return {}
    if not isinstance(args, str):
        return args
    try:
        return json.loads(args)
    except (ValueError, RecursionError):
        return None


def _tool_result(content: Any, fields: Json, common: Json) -> ToolMessage:
    ids = fields.get("tool_call_ids")
    several = ids[0] if isinstance(ids, list) and ids else None
    legacy = f"function_{fields.get('name')}" if fields["role"] == "function" else None
    call_id = _text(fields.get("tool_call_id")) or _text(several) or legacy or ""
    status = "error" if fields.get("status") == "error" else "success"
    more = {"artifact": fields["artifact"]} if fields.get("artifact") is not None else {}
    return ToolMessage(content, tool_call_id=call_id, status=status, **more, **common)


def _user(content: Any, common: Json) -> list[BaseMessage]:
    """Part Anthropic's tool results from what the user says beside them."""
    results = [b for b in _objects(content) if b.get("type") == "tool_result"]
    if not results:
        return [HumanMessage(content, **common)]
    out: list[BaseMessage] = []
    for block in results:
        status = "error" if block.get("is_error") else "success"
        call_id = str(block.get("tool_use_id") or "")
        out.append(ToolMessage(_content(block.get("content")), tool_call_id=call_id, status=status))
    rest = [b for b in content if b not in results]
    if rest:
        out.append(HumanMessage(rest))
    first = out[0]
    first.id, first.additional_kwargs = common["id"], common["additional_kwargs"]
    return out


def _extras(fields: Json) -> Json:
    """Keep what a message holds beyond its kind's fields, out of the way of every key that has a meaning here."""
    given = fields.get("additional_kwargs")
    extras = {k: v for k, v in fields.items() if k not in _FIELDS and v is not None}
    return ({"origin": extras} if extras else {}) | (
        {"origin_kwargs": given} if isinstance(given, dict) and given else {}
    )


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) and value != "" else None


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:80]
