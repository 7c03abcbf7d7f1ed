"""Checkpoints beside a workspace on Postgres: LangGraph's own `PostgresSaver`, in the workspace's schema.

The session log stands in the same schema; nothing depends on the local disk. What is added to LangGraph's class: async
methods in the same class, tables made at the first use, another try where a connection broke, and turns that go on
while the server is away:

    away     a thread that this process knows goes on from the checkpoint that it saw last; what is written waits here
    back     what waits is written in its order, then everything is as if nothing had been
    unknown  a thread that this process never saw cannot be guessed: `Unreachable`

What waits is lost with its process, as the warning says. Two replicas that go on with one thread meanwhile fork it, as
two writers always do; the session log keeps what both said.
"""

import logging
import threading
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_id,
)
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from langgraph_harness_memory.errors import WorkspaceError
from langgraph_harness_memory.outcome import finish_in_thread
from langgraph_harness_memory.workspace.postgres import PostgresWorkspace
from langgraph_harness_memory.workspace.postgres_schema import MIGRATIONS

logger = logging.getLogger(__name__)

SETUP_TIMEOUT = timedelta(seconds=60)
"""How long a replica waits for another one that makes the tables."""

REMEMBERED = 128
"""Threads whose last checkpoint this process keeps, in case the server goes away; some 100 kB each."""

MOST_WAITING = 2_000
"""Writes that wait for the server at most; a run writes some ten."""

CATCH_UP = 1.0
"""Seconds between two tries to write what waits."""


class _Together:
    """Takes the place of `PostgresSaver.lock`: with a pool every operation has a connection of its own, and none waits."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


@dataclass(kw_only=True, slots=True)
class _Last:
    """The last checkpoint of a thread that this process saw, as bytes, so that nobody's later change reaches it."""

    config: RunnableConfig
    data: tuple[str, bytes]
    parent: RunnableConfig | None
    writes: list[tuple[str, bytes]]


class PostgresSessionSaver(PostgresSaver):
    """LangGraph's `PostgresSaver`, sync and async in one class, whose turns outlive an outage of the server.

    Args:
        workspace: In whose schema the checkpoints are kept.
        serde: Writes checkpoints; `None` = LangGraph's own.
    """

    def __init__(self, workspace: PostgresWorkspace, *, serde: SerializerProtocol | None = None) -> None:
        self._workspace = workspace
        self._is_ready = threading.Event()
        self._guard = threading.Lock()
        self._last: OrderedDict[tuple[str, str], _Last] = OrderedDict()
        self._waiting: deque[Callable[[], Any]] = deque()
        self._order = threading.RLock()
        super().__init__(self.conn, serde=serde)
        self.lock = _Together()  # type: ignore[assignment]  # a lock in all but exclusion; see there

    @property
    def conn(self) -> Any:
        """The pool of this process; another one after a fork, or once the workspace was closed and is used again."""
        return self._workspace.connections.lent("checkpoints", self._prepare)

    @conn.setter
    def conn(self, value: Any) -> None:
        """`PostgresSaver` sets what it was given, which is the same."""

    @property
    def waiting(self) -> int:
        """Writes that wait for the server to come back."""
        return len(self._waiting)

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

    # -- reading -----------------------------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a checkpoint; while the server is away, the last one that this process saw."""
        try:
            self._catch_up()
            found = self._workspace.connections.guarded(lambda: super(PostgresSessionSaver, self).get_tuple(config))
        except WorkspaceError:
            remembered = self._remembered(config)
            if remembered is None:
                raise
            return remembered
        if found is not None and get_checkpoint_id(config) is None:
            self._remember(found.config, found.checkpoint, found.metadata, found.parent_config)
            self._remember_writes(
                found.config, [(task, channel, value) for task, channel, value in found.pending_writes or ()]
            )
        return found

    # -- writing -----------------------------------------------------------------------------------------------------

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint; while the server is away it waits here."""
        named = config["configurable"]
        written: RunnableConfig = {
            "configurable": {
                "thread_id": named["thread_id"],
                "checkpoint_ns": named.get("checkpoint_ns", ""),
                "checkpoint_id": checkpoint["id"],
            }
        }
        data = self._remember(written, checkpoint, metadata, config if named.get("checkpoint_id") else None)

        def write() -> None:
            kept, described = self.serde.loads_typed(data)
            super(PostgresSessionSaver, self).put(config, kept, described, new_versions)

        self._now_or_later(
            lambda: super(PostgresSessionSaver, self).put(config, checkpoint, metadata, new_versions), write
        )
        return written

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Write what a task gave; while the server is away it waits here."""
        data = self._remember_writes(config, [(task_id, channel, value) for channel, value in writes])

        def write() -> None:
            kept = [(channel, value) for _, channel, value in map(self.serde.loads_typed, data)]
            super(PostgresSessionSaver, self).put_writes(config, kept, task_id, task_path)

        self._now_or_later(
            lambda: super(PostgresSessionSaver, self).put_writes(config, writes, task_id, task_path), write
        )

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread's checkpoints."""
        for key in [key for key in self._last if key[0] == str(thread_id)]:
            self._last.pop(key, None)
        self._catch_up()
        self._workspace.connections.guarded(lambda: super(PostgresSessionSaver, self).delete_thread(thread_id))

    # -- while the server is away ------------------------------------------------------------------------------------

    def _now_or_later(self, now: Callable[[], Any], later: Callable[[], Any]) -> None:
        """Write, or keep what was to be written; all of LangGraph's writes may happen twice."""
        try:
            if self._waiting:
                self._catch_up()
            self._workspace.connections.guarded(now)
        except WorkspaceError as error:
            with self._order:
                if len(self._waiting) >= MOST_WAITING:
                    raise
                is_first = not self._waiting
                self._waiting.append(later)
            if is_first:
                logger.warning(
                    "checkpoints are kept in this process until they can be written, and are lost with it: %s", error
                )
                threading.Thread(target=self._keep_trying, daemon=True, name="harness-memory-checkpoints").start()

    def _catch_up(self) -> None:
        """Write what waits, in its order; raises while the server is away."""
        with self._order:
            while self._waiting:
                self._workspace.connections.guarded(self._waiting[0])
                self._waiting.popleft()
                if not self._waiting:
                    logger.warning("the checkpoints that waited are written")

    def _keep_trying(self) -> None:
        pause = threading.Event()
        while self._waiting:
            pause.wait(CATCH_UP)
            try:
                self._catch_up()
            except WorkspaceError as error:
                logger.debug("checkpoints still wait: %s", error)

    def _remember(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        parent: RunnableConfig | None,
    ) -> tuple[str, bytes]:
        data = self.serde.dumps_typed((checkpoint, metadata))
        key = _key(config)
        with self._guard:
            self._last[key] = _Last(config=config, data=data, parent=parent, writes=[])
            self._last.move_to_end(key)
            while len(self._last) > REMEMBERED:
                self._last.popitem(last=False)
        return data

    def _remember_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, str, Any]]
    ) -> list[tuple[str, bytes]]:
        data = [self.serde.dumps_typed(write) for write in writes]
        last = self._last.get(_key(config))
        if last is not None and get_checkpoint_id(last.config) == get_checkpoint_id(config):
            last.writes += data
        return data

    def _remembered(self, config: RunnableConfig) -> CheckpointTuple | None:
        last = self._last.get(_key(config))
        wanted = get_checkpoint_id(config)
        if last is None or wanted not in (None, get_checkpoint_id(last.config)):
            return None
        checkpoint, metadata = self.serde.loads_typed(last.data)
        writes = [tuple(self.serde.loads_typed(write)) for write in last.writes]
        return CheckpointTuple(
            config=last.config,
            checkpoint=checkpoint,
            metadata=metadata,
            parent_config=last.parent,
            pending_writes=writes,
        )

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


def _key(config: RunnableConfig) -> tuple[str, str]:
    named = config["configurable"]
    return str(named["thread_id"]), named.get("checkpoint_ns", "")
