"""Which writes of a step are being stored at this moment, so that the checkpoint after it can wait for them.

LangGraph hands over a task's writes and then the checkpoint that takes them up, each to a thread of its own. The writes
say which messages a node returned; a checkpoint that overtook them would not know.
"""

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langchain_core.runnables import RunnableConfig

PATIENCE = 5.0
"""Seconds that a checkpoint waits at most; after that every changed message counts as returned."""

Key = tuple[str, str, str]
"""Thread, namespace and checkpoint."""


def key_of(config: RunnableConfig) -> Key:
    """Return which checkpoint a config names."""
    configurable: dict[str, Any] = config["configurable"]
    namespace, checkpoint_id = configurable.get("checkpoint_ns"), configurable.get("checkpoint_id")
    return str(configurable["thread_id"]), str(namespace or ""), str(checkpoint_id or "")


class WritesInFlight:
    """Counts the writes that are under way, by the checkpoint that they belong to."""

    def __init__(self) -> None:
        self._start_anew()

    def _start_anew(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._counts: Counter[Key] = Counter()

    def _in_this_process(self) -> None:
        """Forget the writes of the process that this one was forked from: they end there."""
        if self._process != os.getpid():
            self._start_anew()

    @contextmanager
    def storing(self, key: Key) -> Iterator[None]:
        """Hold a checkpoint's successor back for as long as this is open."""
        self._in_this_process()
        with self._changed:
            self._counts[key] += 1
        try:
            yield
        finally:
            with self._changed:
                self._counts[key] -= 1
                if not self._counts[key]:
                    del self._counts[key]
                self._changed.notify_all()

    def wait(self, key: Key) -> None:
        """Wait until no write of a checkpoint is under way. The caller holds no lock."""
        self._in_this_process()
        with self._changed:
            self._changed.wait_for(lambda: key not in self._counts, timeout=PATIENCE)
