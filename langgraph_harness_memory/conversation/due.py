"""Whether a compaction is due, and how much may stay after it.

A trigger fires by messages, by tokens, or by a part of the model's window; the earliest wins. After a compaction the next
one is far away: the request shrinks to well below its limit, and where it cannot (a system prompt that is itself over it),
nothing fires again until the conversation has grown.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from langgraph_harness_memory.config import CompactionConfig
from langgraph_harness_memory.conversation.cutoff import Tail
from langgraph_harness_memory.conversation.folding import fold_facts
from langgraph_harness_memory.conversation.tokens import summary_in

TARGET = 0.6
"""Part of the token limit that a request may fill after a compaction, the summary in it."""

LEAST_TARGET = 0.15
"""Part of the limit that messages may fill after a compaction even where the system prompt takes up the rest."""

GROWTH = 0.2
"""Part of the limit by which a request must have grown since the last compaction before tokens trigger another one."""

SUMMARY_SHARE = 0.1
"""Part of the limit that is set aside for the summary, where its budget is larger."""

BRINK = 0.95
"""Part of the window from which on a request is about to overflow."""

BRINK_WITHOUT_WINDOW = 1.5
"""Times the token limit from which on a request is taken to be about to overflow where the window is not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """A compaction is due."""

    tail: Tail
    """What should stay and what may stay."""
    on_the_brink: bool
    """The request is about to overflow."""


def token_limit(config: CompactionConfig, window: int | None) -> int | None:
    """Return the tokens of a request at which a compaction is due; `None` where no trigger counts tokens.

    Args:
        config: The triggers.
        window: Tokens that the agent's model takes in; `None` = not known.
    """
    limits = [config.trigger_tokens] if config.trigger_tokens > 0 else []
    if config.trigger_fraction > 0 and window is not None:
        limits.append(max(1, int(config.trigger_fraction * window)))
    return min(limits, default=None)


def due(
    messages: Sequence[BaseMessage],
    config: CompactionConfig,
    *,
    tokens: int,
    counted: int,
    overhead: int,
    window: int | None,
    forced: bool = False,
) -> Due | None:
    """Decide whether a compaction is due.

    Args:
        messages: What the model sees, oldest first.
        config: The triggers and what to keep.
        tokens: Tokens of the request by the best evidence.
        counted: Tokens of the messages by our own count, in which `tail` is measured.
        overhead: Tokens of what is sent beside the messages.
        window: Tokens that the agent's model takes in; `None` = not known.
        forced: Somebody asks for it, whatever the triggers say.
    """
    limit = token_limit(config, window)
    summary = summary_in(messages)
    facts = (fold_facts(summary) if summary is not None else None) or {}
    by_count = 0 < config.trigger_messages <= len(messages) and len(messages) > facts.get("messages_after", 0) + 1
    by_tokens = limit is not None and tokens >= limit and tokens - facts.get("tokens_after", -limit) >= GROWTH * limit
    if not (by_count or by_tokens or forced):
        return None
    most = config.trigger_messages - 1 if by_count and config.trigger_messages > 1 else None
    tail = Tail(
        keep_messages=config.keep_messages,
        keep_tokens=config.keep_tokens,
        most_messages=most,
        most_tokens=None if limit is None else room(limit, config, tokens=tokens, counted=counted, overhead=overhead),
    )
    return Due(tail=tail, on_the_brink=_is_on_the_brink(tokens, limit, window))


def room(limit: int, config: CompactionConfig, *, tokens: int, counted: int, overhead: int) -> int:
    """Return the tokens, by our own count, that messages may have after a compaction, without the summary."""
    summary = min(config.max_summary_tokens, int(limit * SUMMARY_SHARE))
    free = max(limit * TARGET - overhead - summary, limit * LEAST_TARGET)
    # Where the provider counts more than we do, its count is the one that has to fit.
    scale = max(1.0, tokens / max(1, counted + overhead))
    return int(free / scale)


def _is_on_the_brink(tokens: int, limit: int | None, window: int | None) -> bool:
    if window is not None:
        return tokens >= BRINK * window
    return limit is not None and tokens >= BRINK_WITHOUT_WINDOW * limit
