"""Where a conversation is cut: what is folded into the summary and what stays.

    system   question   ···folded···   │ tail
    stays    stays                     cut

The cut never parts a call from its results, however many run in parallel and wherever they stand; system messages stay in
place and the last question of the user stays word for word. Where the wanted tail is itself over the budget, the cut
moves towards the end, down to the last question and the exchange that the model has not answered yet.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from langgraph_harness_memory.conversation.exchanges import Exchange, exchanges, last_question, open_exchange
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


def safe_cuts(messages: Sequence[BaseMessage], found: Sequence[Exchange] | None = None) -> list[int]:
    """Return every place where a conversation can be cut without parting a call from its results, ascending, 0 included.

    Args:
        messages: Oldest first.
        found: The conversation's exchanges; `None` = look for them.
    """
    held = [0] * (len(messages) + 2)
    for exchange in exchanges(messages) if found is None else found:
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
    found = exchanges(messages)
    open_part = open_exchange(messages, found)
    last = len(messages) - 1 if open_part is None else open_part.start
    places = [place for place in safe_cuts(messages, found) if place <= last]
    first = max((place for place in places if place <= wanted), default=0)
    stays = held | _staying(messages)
    chosen, reached, folds = None, 0, _Folds()
    for place in places[bisect_left(places, first) :]:
        folds = folds.up_to(place, messages, stays, sums, start=reached)
        reached = place
        fits = _fits(folds, tail, total=sums[-1], messages=len(messages))
        if folds.is_worth_a_summary:
            chosen = place
        elif fits and place == wanted:
            # What should stay may stay, and there is nothing before it.
            return None
        if fits and chosen is not None:
            break
    if chosen is None:
        return None
    return Cut(at=chosen, folded=tuple(i for i in range(chosen) if i not in stays))


def _wanted(messages: Sequence[BaseMessage], tail: Tail, sums: Sequence[int]) -> int:
    if tail.keep_tokens <= 0:
        return max(0, len(messages) - tail.keep_messages)
    # The first place from which on the tokens are within the budget: the sums only grow.
    return bisect_left(sums, sums[-1] - tail.keep_tokens)


def _staying(messages: Sequence[BaseMessage]) -> frozenset[int]:
    question = last_question(messages)
    return frozenset(i for i, message in enumerate(messages) if i == question or message.type == "system")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Folds:
    """What a cut at some place folds."""

    count: int = 0
    tokens: int = 0
    new: int = 0
    largest: int = 0

    @property
    def is_worth_a_summary(self) -> bool:
        return self.new > 1 or self.largest >= LEAST_TOKENS

    def up_to(
        self, place: int, messages: Sequence[BaseMessage], stays: frozenset[int], sums: Sequence[int], *, start: int
    ) -> "_Folds":
        """Add the messages from `start` to a later place."""
        added = [i for i in range(start, place) if i not in stays]
        sizes = [sums[i + 1] - sums[i] for i in added]
        fresh = [size for i, size in zip(added, sizes, strict=True) if form_of(messages[i]) != "summary"]
        return _Folds(
            count=self.count + len(added),
            tokens=self.tokens + sum(sizes),
            new=self.new + len(fresh),
            largest=max([self.largest, *fresh]),
        )


def _fits(folds: _Folds, tail: Tail, *, total: int, messages: int) -> bool:
    left = messages - folds.count + min(1, folds.count)
    few = tail.most_messages is None or left <= tail.most_messages
    return few and (tail.most_tokens is None or total - folds.tokens <= tail.most_tokens)
