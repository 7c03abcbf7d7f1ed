"""Waits a moment for the ids that LangGraph is about to give to messages.

LangGraph hands a task's writes over before its reducer gives ids to messages without one, a fraction of a millisecond
later, on another thread. A message with its id goes to the log at once and is referred to; one without must stand in
full beside the checkpoint and goes to the log with the next one.
"""

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.constants import START

LONGEST = 0.01
"""Seconds; a reducer is done long before, unless the machine is busy or a parallel task of the same step still runs."""

STEP = 0.0002


PATIENCE = 3
"""Times in a row that a channel may give no id before it is left alone for a while."""

LEFT_ALONE = 20
"""Times that it is not waited for then."""


class ComingIds:
    """Remembers which channels give ids, so that others are not waited for again and again."""

    def __init__(self) -> None:
        self._misses: Counter[str] = Counter()

    def wait_for(self, writes: Sequence[tuple[str, Any]]) -> None:
        """Return when every written message has its id, or a moment has passed. No lock is held."""
        nameless = {channel: messages for channel, value in writes if (messages := _nameless(value))}
        coming = {channel: messages for channel, messages in nameless.items() if self._is_hopeful(channel)}
        waited = 0.0
        while waited < LONGEST and any(m.id is None for messages in coming.values() for m in messages):
            time.sleep(STEP)  # in a thread of LangGraph's that has nothing else to do
            waited += STEP
        for channel, messages in coming.items():
            is_missed = any(m.id is None for m in messages)
            self._misses[channel] = self._misses[channel] + 1 if is_missed else 0

    def _is_hopeful(self, channel: str) -> bool:
        misses = self._misses[channel]
        if misses >= PATIENCE:
            self._misses[channel] = 0 if misses >= PATIENCE + LEFT_ALONE else misses + 1
        return misses < PATIENCE

    def wait_for_input(self, value: Any) -> None:
        """Wait likewise for the messages that a graph was given, which its first step takes up."""
        if isinstance(value, dict):
            self.wait_for([(START, [m for each in value.values() for m in _nameless(each)])])


def _nameless(value: Any) -> list[BaseMessage]:
    values = value if isinstance(value, list) else [value]
    return [m for m in values if isinstance(m, BaseMessage) and m.id is None]
