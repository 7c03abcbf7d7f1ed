"""Which messages belong together: a reply with its calls, and the results of them, wherever they stand.

    0 human
    1 ai  calls a, b   ┐
    2 tool a           │ one exchange, 1 to 4: nothing may be cut inside it
    3 human            │
    4 tool b           ┘
    5 ai  calls c        pending: its result is still to come, so that the exchange reaches past the end

A call without a result is pending while no later reply follows; after one it was abandoned and holds nothing back.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage

from langgraph_harness_memory.formats.forms import form_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """A reply that calls tools, and its results."""

    start: int
    """Place of the reply."""
    end: int
    """Place after the last result; one past the end of the conversation while a call is pending."""
    results: tuple[int, ...]
    """Places of the results, in order."""
    pending: frozenset[str]
    """Ids of calls without a result."""


def call_ids(message: BaseMessage) -> list[str]:
    """Return the ids of a message's calls, also of those whose arguments could not be read."""
    if not isinstance(message, AIMessage) or not (message.tool_calls or message.invalid_tool_calls):
        return []
    calls = [*message.tool_calls, *message.invalid_tool_calls]
    return [call.get("id") or "" for call in calls]


def exchanges(messages: Sequence[BaseMessage]) -> list[Exchange]:
    """Find the exchanges of a conversation, oldest first.

    A result belongs to the nearest reply before it that calls its id and has no result for it yet: ids such as `call_0`
    come back in every turn.
    """
    waiting: dict[str, list[int]] = {}
    results: dict[int, list[int]] = {}
    pending: dict[int, set[str]] = {}
    last_reply = -1
    for index, message in enumerate(messages):
        kind = message.type
        if kind == "ai":
            last_reply = index
            ids = call_ids(message)
            if ids:
                results[index], pending[index] = [], set(ids)
                for identifier in ids:
                    waiting.setdefault(identifier, []).append(index)
        elif kind == "tool":
            identifier = getattr(message, "tool_call_id", "") or ""
            asked = waiting.get(identifier)
            if asked:
                start = asked.pop()
                results[start].append(index)
                pending[start].discard(identifier)
    past = len(messages) + 1
    found = []
    for start, places in results.items():
        is_pending = bool(pending[start]) and start == last_reply
        end = past if is_pending else max([start, *places]) + 1
        waits_for = frozenset(pending[start]) if is_pending else frozenset()
        found.append(Exchange(start=start, end=end, results=tuple(places), pending=waits_for))
    return found


def last_question(messages: Sequence[BaseMessage]) -> int | None:
    """Return the place of the last message that a user wrote; a summary of ours is none."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].type == "human" and form_of(messages[index]) not in ("summary", "context"):
            return index
    return None


def open_exchange(messages: Sequence[BaseMessage], found: Sequence[Exchange] | None = None) -> Exchange | None:
    """Return the exchange that the model has yet to answer; `None` where there is none.

    It is pending, or the conversation ends with its results. Where a user spoke after the results, they are history.

    Args:
        messages: Oldest first.
        found: The conversation's exchanges; `None` = look for them.
    """
    found = exchanges(messages) if found is None else found
    if not found:
        return None
    last = found[-1]
    ends_with_results = all(message.type == "tool" for message in messages[last.start + 1 :])
    return last if last.pending or ends_with_results else None
