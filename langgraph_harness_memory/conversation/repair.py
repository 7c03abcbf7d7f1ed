"""Making a request valid, as the last step before the model.

Interrupts, crashes, edits and other writers leave calls without results, results without calls, and both twice; providers
refuse the whole request for any of them. Repair changes the request alone, never the state:

* a call without a result gets one that says so, also a call whose arguments could not be read;
* a result without a call is left out; of two results for one call the newer stands;
* a result that stands apart from its call moves behind it;
* a call block that the message's calls do not know is left out, and so is a second call under the same id.

A request that is valid goes out as the same objects.
"""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langgraph_harness_memory.conversation.exchanges import call_ids
from langgraph_harness_memory.conversation.rewriting import block_id, with_calls
from langgraph_harness_memory.formats.forms import marked

NO_RESULT = "This call was interrupted and has no result."
"""Stands for the result of a call that never got one."""

UNREADABLE_CALL = "This call could not be carried out: its arguments were not valid JSON ({error})."
"""Stands for the result of a call that nobody could carry out."""


def sound_until(messages: Sequence[BaseMessage], *, start: int = 0) -> int:
    """Return up to which place a conversation is valid and closed, so that it may be cut there.

    Args:
        messages: Oldest first.
        start: Up to where that is already known.

    Returns:
        The place; the number of messages where all is valid.
    """
    place, waiting = start, set[str]()
    for index in range(start, len(messages)):
        message = messages[index]
        kind = message.type
        if kind == "tool":
            identifier = getattr(message, "tool_call_id", "")
            if identifier not in waiting:
                return place
            waiting.discard(identifier)
        elif waiting:
            return place
        elif kind == "ai":
            ids = _sound_ids(message)
            if ids is None:
                return place
            waiting = ids
        if not waiting:
            place = index + 1
    return place


def repair(messages: Sequence[BaseMessage], *, sound: int = 0) -> list[BaseMessage]:
    """Return a valid request with everything in it that can be kept.

    Args:
        messages: Oldest first.
        sound: Up to where the messages are known to be valid and closed, see `sound_until`.
    """
    repaired = list(messages[:sound])
    part = list(messages[sound:])
    results = _assigned(part)
    for index, message in enumerate(part):
        if message.type == "tool":
            continue
        if not isinstance(message, AIMessage):
            repaired.append(message)
            continue
        reply = _with_known_calls(message)
        if reply is None:
            continue
        repaired.append(reply)
        errors = {call.get("id") or "": call.get("error") for call in reply.invalid_tool_calls}
        given = results.get(index, {})
        repaired += given.values()
        repaired += [_invented(reply, i, errors) for i in call_ids(reply) if i not in given]
    return repaired


def _sound_ids(message: BaseMessage) -> set[str] | None:
    """Return the ids a reply calls; `None` where the reply itself needs repair."""
    if not isinstance(message, AIMessage):
        return set()
    ids = call_ids(message)
    unique = set(ids)
    has_nameless = "" in unique and any(c.get("id") is None for c in [*message.tool_calls, *message.invalid_tool_calls])
    if len(unique) != len(ids) or has_nameless:
        return None
    if not isinstance(message.content, str):
        blocks = [identifier for block in message.content if (identifier := block_id(block)) is not None]
        if len(set(blocks)) != len(blocks) or not unique.issuperset(blocks):
            return None
    return unique


def _assigned(part: Sequence[BaseMessage]) -> dict[int, dict[str, ToolMessage]]:
    """Give each result to the nearest reply before it that calls its id, in order; a later one of the same call replaces it."""
    asked: dict[str, int] = {}
    results: dict[int, dict[str, ToolMessage]] = {}
    for index, message in enumerate(part):
        if message.type == "ai":
            asked.update(dict.fromkeys(call_ids(message), index))
        elif isinstance(message, ToolMessage) and message.tool_call_id in asked:
            results.setdefault(asked[message.tool_call_id], {})[message.tool_call_id] = message
    return results


def _with_known_calls(message: AIMessage) -> AIMessage | None:
    """Return the reply with each of its calls once and no others; `None` where nothing is left of it."""
    if _sound_ids(message) is not None:
        return message
    named = message
    if any(call.get("id") is None for call in [*message.tool_calls, *message.invalid_tool_calls]):
        named = _with_ids(message)
    known = with_calls(named, frozenset(call_ids(named)))
    return known if known.content or call_ids(known) else None


def _with_ids(message: AIMessage) -> AIMessage:
    """Name calls that have no id, since no result could refer to them."""
    calls = [
        {**call, "id": f"call_{message.id or 'unnamed'}_{place}"} if call.get("id") is None else call
        for place, call in enumerate(message.tool_calls)
    ]
    # A call that could neither be read nor named has nothing that a result could answer.
    invalid = [call for call in message.invalid_tool_calls if call.get("id") is not None]
    return message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": invalid})


def _invented(reply: AIMessage, identifier: str, errors: dict[str, str | None]) -> ToolMessage:
    text = NO_RESULT
    if identifier in errors:
        text = UNREADABLE_CALL.format(error=errors[identifier] or "cut off")
    names = {call.get("id") or "": call.get("name") for call in [*reply.tool_calls, *reply.invalid_tool_calls]}
    return ToolMessage(
        content=text,
        tool_call_id=identifier,
        name=names.get(identifier) or None,
        status="error",
        additional_kwargs=marked("repair"),
    )
