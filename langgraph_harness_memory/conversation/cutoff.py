"""Where a conversation is cut: what is folded into the summary and what stays.

    system   question   ···folded···   │ tail
    stays    stays                     cut

The cut never parts a call from its results, however many run in parallel and wherever they stand; system messages stay in
place and the last question of the user stays word for word. Where the wanted tail is itself over the budget, the cut
moves towards the end, down to the last question and the exchange that the model has not answered yet.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from langgraph_harness_memory.conversation.exchanges import exchanges, last_question, open_exchange
from langgraph_harness_memory.formats.forms import form_of

LEAST_TOKENS = 400
"""A single message is worth a summary from this size on; below, the summary would be as long."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tail:
    """What the settings want to keep and what the budget allows."""

    keep_messages: int
    """Newest messages that should stay."""
    keep_tokens: int = 0
    """Tokens of the newest part that should stay; above 0 it takes the place of `keep_messages`."""
    most_messages: int | None = None
    """Messages that may be left in all; `None` = any number."""
    most_tokens: int | None = None
    """Tokens that may be left in all, without the summary; `None` = any number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """A cut and what it folds."""

    at: int
    """Place of the first message of the tail."""
    folded: tuple[int, ...]
    """Places of the messages that the summary takes in, in order."""


def safe_cuts(messages: Sequence[BaseMessage]) -> list[int]:
    """Return every place where a conversation can be cut without parting a call from its results, ascending, 0 included."""
    held = [0] * (len(messages) + 2)
    for exchange in exchanges(messages):
        held[exchange.start + 1] += 1
        held[min(exchange.end, len(messages) + 1)] -= 1
    safe, depth = [], 0
    for place in range(len(messages) + 1):
        depth += held[place]
        if depth == 0:
            safe.append(place)
    return safe


def cut(
    messages: Sequence[BaseMessage], tail: Tail, *, sums: Sequence[int], held: frozenset[int] = frozenset()
) -> Cut | None:
    """Choose where to cut.

    Args:
        messages: Oldest first.
        tail: What should stay and what may stay.
        sums: Tokens of the first 0, 1, 2 … messages.
        held: Places of messages that cannot be folded.

    Returns:
        The cut that keeps most of what fits; where nothing fits, the one that keeps least; `None` where there is nothing
        to fold that would be worth a summary.
    """
    wanted = _wanted(messages, tail, sums)
    open_part = open_exchange(messages)
    last = len(messages) - 1 if open_part is None else open_part.start
    places = [place for place in safe_cuts(messages) if place <= last]
    first = max((place for place in places if place <= wanted), default=0)
    stays = held | _staying(messages)
    choices = (_cut_at(place, stays) for place in places if place >= first)
    worth = [choice for choice in choices if _is_worth(messages, choice, sums)]
    fitting = (choice for choice in worth if _fits(messages, choice, tail, sums))
    return next(fitting, worth[-1] if worth else None)


def _wanted(messages: Sequence[BaseMessage], tail: Tail, sums: Sequence[int]) -> int:
    if tail.keep_tokens <= 0:
        return max(0, len(messages) - tail.keep_messages)
    place = len(messages)
    while place > 0 and sums[-1] - sums[place - 1] <= tail.keep_tokens:
        place -= 1
    return place


def _staying(messages: Sequence[BaseMessage]) -> frozenset[int]:
    question = last_question(messages)
    return frozenset(i for i, message in enumerate(messages) if i == question or message.type == "system")


def _cut_at(place: int, stays: frozenset[int]) -> Cut:
    return Cut(at=place, folded=tuple(i for i in range(place) if i not in stays))


def _is_worth(messages: Sequence[BaseMessage], choice: Cut, sums: Sequence[int]) -> bool:
    new = [i for i in choice.folded if form_of(messages[i]) != "summary"]
    return len(new) > 1 or (len(new) == 1 and sums[new[0] + 1] - sums[new[0]] >= LEAST_TOKENS)


def _fits(messages: Sequence[BaseMessage], choice: Cut, tail: Tail, sums: Sequence[int]) -> bool:
    left = len(messages) - len(choice.folded) + 1
    tokens = sums[-1] - sum(sums[i + 1] - sums[i] for i in choice.folded)
    few = tail.most_messages is None or left <= tail.most_messages
    return few and (tail.most_tokens is None or tokens <= tail.most_tokens)
