"""Checkpoints beside a workspace on Postgres: LangGraph's own `PostgresSaver`, in the workspace's schema.

The session log stands in the same schema; nothing depends on the local disk.
"""

import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from langgraph_harness_memory.outcome import finish_in_thread
from langgraph_harness_memory.workspace.postgres import PostgresWorkspace
from langgraph_harness_memory.workspace.postgres_schema import MIGRATIONS

SETUP_TIMEOUT = timedelta(seconds=60)
"""How long a replica waits for another one that makes the tables."""


class _Together:
    """Takes the place of `PostgresSaver.lock`: with a pool every operation has a connection of its own, and none waits."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


class PostgresSessionSaver(PostgresSaver):
    """LangGraph's `PostgresSaver` with its async methods in the same class, tables made at the first use.

    Args:
        workspace: In whose schema the checkpoints are kept.
        serde: Writes checkpoints; `None` = LangGraph's own.
    """

    def __init__(self, workspace: PostgresWorkspace, *, serde: SerializerProtocol | None = None) -> None:
        self._workspace = workspace
        self._is_ready = threading.Event()
        self._guard = threading.Lock()
        super().__init__(self.conn, serde=serde)
        self.lock = _Together()  # type: ignore[assignment]  # a lock in all but exclusion; see there

    @property
    def conn(self) -> Any:
        """The pool of this process; another one after a fork, or once the workspace was closed and is used again."""
        return self._workspace.connections.lent("checkpoints", self._prepare)

    @conn.setter
    def conn(self, value: Any) -> None:
        """`PostgresSaver` sets what it was given, which is the same."""

    def setup(self) -> None:
        """Make the tables; the first operation does so by itself."""
        self._prepare()

    def _prepare(self) -> None:
        if self._is_ready.is_set():
            return
        connections = self._workspace.connections
        with self._guard:
            if self._is_ready.is_set():
                return
            connections.require(MIGRATIONS)
            with connections.alone("the set-up of checkpoints", SETUP_TIMEOUT) as one:
                PostgresSaver(one).setup()
            self._is_ready.set()

    # -- the async methods: the sync ones in a thread; a caller that is cancelled waits for the outcome -----------------

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Twin of `get_tuple`."""
        return await finish_in_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  LangGraph's own name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Twin of `list`."""
        found = await finish_in_thread(lambda: list(self.list(config, filter=filter, before=before, limit=limit)))
        for each in found:
            yield each

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Twin of `put`."""
        return await finish_in_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Twin of `put_writes`."""
        await finish_in_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Twin of `delete_thread`."""
        await finish_in_thread(self.delete_thread, thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Twin of `prune`."""
        await finish_in_thread(self.prune, thread_ids, strategy=strategy)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Twin of `get_delta_channel_history`."""
        return await finish_in_thread(self.get_delta_channel_history, config=config, channels=channels)
