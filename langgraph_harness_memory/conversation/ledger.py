"""What was counted of a conversation, so that the next look costs what is new and not what is long.

A look at the same messages plus new ones compares, at C speed, what the prefix consists of: objects, contents and tool
calls. Whatever differs is looked up by id *and* content, and counted if that is new. Nothing is ever taken for
unchanged by its id alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import compress, count
from operator import attrgetter, is_, ne
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

KEPT_CONVERSATIONS = 64
"""Conversations whose last look is remembered, the most recent ones."""

KEPT_MESSAGES = 100_000
"""Messages whose count is remembered by id; beyond, remembering starts anew."""

_content = attrgetter("content")
_calls = attrgetter("tool_calls")


@dataclass(frozen=True, kw_only=True, slots=True)
class Ledger:
    """What is known of a list of messages, oldest first."""

    messages: list[BaseMessage]
    """The objects that were looked at."""
    contents: list[Any]
    """Their contents."""
    replies: list[int]
    """Places of the AI messages."""
    calls: list[Any]
    """Their tool calls."""
    sums: list[int]
    """Tokens of the first 0, 1, 2 … messages."""
    notes: dict[str, int] = field(default_factory=dict)
    """Up to which place rules have already found nothing to do, by the rule's name."""

    @property
    def total(self) -> int:
        """Tokens of all messages."""
        return self.sums[-1]

    def between(self, start: int, end: int) -> int:
        """Return the tokens of `messages[start:end]`."""
        return self.sums[end] - self.sums[start]


class Ledgers:
    """The last look at each conversation.

    Args:
        count_message: Counts one message's tokens.
    """

    def __init__(self, count_message: Callable[[BaseMessage], int]) -> None:
        self._count = count_message
        self._last: dict[str, Ledger] = {}
        self._counted: dict[str, tuple[BaseMessage, Any, Any, int]] = {}

    def look(self, messages: Sequence[BaseMessage], conversation: str) -> Ledger:
        """Count what is new among the messages of a conversation."""
        current = list(messages)
        last = self._last.get(conversation)
        same = 0 if last is None else _unchanged(last, current)
        if last is not None and same == len(current) == len(last.messages) and same and current[0] is last.messages[0]:
            return last
        ledger = self._extended(last, current, same)
        self._last.pop(conversation, None)
        self._last[conversation] = ledger
        while len(self._last) > KEPT_CONVERSATIONS:
            self._last.pop(next(iter(self._last)), None)
        return ledger

    def message(self, message: BaseMessage) -> int:
        """Count one message, or recall its count where its content is what it was."""
        known = self._counted.get(message.id) if message.id is not None else None
        calls = (message.tool_calls, message.invalid_tool_calls) if isinstance(message, AIMessage) else None
        content = message.content
        if known is not None and type(known[0]) is type(message) and known[1] == content and known[2] == calls:
            return known[3]
        tokens = self._count(message)
        if message.id is not None:
            if len(self._counted) > KEPT_MESSAGES:
                self._counted.clear()
            self._counted[message.id] = (message, content, calls, tokens)
        return tokens

    def _extended(self, last: Ledger | None, current: list[BaseMessage], same: int) -> Ledger:
        sums = last.sums[: same + 1] if last else [0]
        total = sums[-1]
        for message in current[same:]:
            total += self.message(message)
            sums.append(total)
        kept = 0 if last is None else _count_below(last.replies, same)
        new = [index for index in range(same, len(current)) if isinstance(current[index], AIMessage)]
        replies = [*last.replies[:kept], *new] if last else new
        notes = {rule: min(place, same) for rule, place in last.notes.items()} if last else {}
        return Ledger(
            messages=current,
            contents=[*(last.contents[:same] if last else ()), *map(_content, current[same:])],
            replies=replies,
            calls=[*(last.calls[:kept] if last else ()), *(_calls(current[index]) for index in new)],
            sums=sums,
            notes=notes,
        )


def _unchanged(last: Ledger, current: list[BaseMessage]) -> int:
    """Return how many leading messages are what they were at the last look."""
    same = min(len(last.messages), len(current))
    if not all(map(is_, last.messages, current)):
        same = _first_difference(list(map(type, last.messages[:same])), list(map(type, current[:same])))
    same = _first_difference(last.contents[:same], list(map(_content, current[:same])))
    replies = last.replies[: _count_below(last.replies, same)]
    calls = list(map(_calls, map(current.__getitem__, replies)))
    differs = _first_difference(last.calls[: len(replies)], calls)
    return same if differs == len(replies) else replies[differs]


def _first_difference(old: list[Any], new: list[Any]) -> int:
    """Return the place of the first value that differs, the lists' length where none does."""
    # Comparing lists as a whole is ten times as fast, and nothing differs nearly always.
    return len(new) if old == new else next(compress(count(), map(ne, old, new)), len(new))


def _count_below(places: list[int], end: int) -> int:
    if not places or places[-1] < end:
        return len(places)
    low, high = 0, len(places)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if places[middle] < end else (low, middle)
    return low
