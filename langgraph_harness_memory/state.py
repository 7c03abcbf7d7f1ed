"""The graph state of an agent with memory, and how its messages merge.

`memory_messages` is `add_messages` that also knows the forms that memory makes of messages, so that what happens at the same
time as a compaction ends well:

* a summary takes the place of exactly the messages that it folded; what arrived meanwhile stays;
* two compactions at once leave one summary, a retried one changes nothing, and an outdated one is ignored;
* a form of a message that was folded meanwhile is ignored, and so is a folded message that a client sends again;
* the removal of an unknown message does nothing.

On a plain `MessagesState` the same updates have the same end where none of this happens.
"""

import uuid
from typing import Annotated, Any, NotRequired

from langchain_core.messages import (
    AnyMessage,
    BaseMessage,
    BaseMessageChunk,
    RemoveMessage,
    convert_to_messages,
    message_chunk_to_message,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from typing_extensions import TypedDict

from langgraph_harness_memory.conversation.folding import apply_update

MEMORY_KEY = "harness_memory"
"""Key of the state under which memory keeps plain JSON of its own."""


def memory_messages(left: Any, right: Any) -> list[BaseMessage]:
    """Merge what was written into the messages of a conversation.

    Args:
        left: The messages so far, oldest first; anything that `add_messages` takes, or `None`.
        right: One write (a message, or a list of messages, in any form that `add_messages` takes), or a list of writes
            in their order, as `DeltaChannel` gives them: a list is a list of writes where one of its items is a list.

    Returns:
        A new list. As with `add_messages`, a message without an id is given one, one with a known id takes the old one's
        place, and `RemoveMessage` removes.
    """
    messages = _typed(left if isinstance(left, list) else [] if left is None else [left])
    for write in _writes(right):
        messages = _merged(messages, _typed(write))
    return messages


def latest(left: dict[str, Any] | None, right: dict[str, Any] | None) -> dict[str, Any]:
    """Merge memory's private values: the newest of each name stands, `None` removes it."""
    merged = {**(left or {}), **(right or {})}
    return {name: value for name, value in merged.items() if value is not None}


class MemoryState(TypedDict):
    """State of an agent with memory."""

    messages: Annotated[list[AnyMessage], memory_messages]
    """The conversation, oldest first."""
    harness_memory: NotRequired[Annotated[dict[str, Any], latest]]
    """What memory keeps of the thread: plain JSON, private to it."""


def _writes(right: Any) -> list[list[Any]]:
    if not isinstance(right, list):
        return [[] if right is None else [right]]
    if not any(isinstance(item, list) and not _is_pair(item) for item in right):
        return [right]
    return [item if isinstance(item, list) and not _is_pair(item) else [item] for item in right]


def _is_pair(item: list[Any]) -> bool:
    """Say whether a list is a message in short: a role and a text."""
    return len(item) == 2 and item[0] in ROLES and isinstance(item[1], str)


ROLES = ("human", "user", "ai", "assistant", "system", "developer")
"""Roles by which a list of two strings is taken for one message."""


def _typed(items: list[Any]) -> list[BaseMessage]:
    # A long history is of few types, so that they are checked and not each item.
    if not all(
        issubclass(kind, BaseMessage) and not issubclass(kind, BaseMessageChunk) for kind in set(map(type, items))
    ):
        items = [
            message_chunk_to_message(item) if isinstance(item, BaseMessageChunk) else item
            for item in convert_to_messages(items)
        ]
    for message in items:
        if message.id is None:
            # As `add_messages` does, in place: the caller's object and the state's then are the same message.
            message.id = str(uuid.uuid4())
    return items


def _merged(messages: list[BaseMessage], write: list[BaseMessage]) -> list[BaseMessage]:
    resets = [i for i, m in enumerate(write) if isinstance(m, RemoveMessage) and m.id == REMOVE_ALL_MESSAGES]
    if resets:
        return apply_update([], write[resets[-1] + 1 :])
    return apply_update(messages, write)
