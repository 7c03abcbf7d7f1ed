"""Checkpoints beside a workspace on Postgres: LangGraph's own `PostgresSaver`, in the workspace's schema.

The session log stands in the same schema; nothing depends on the local disk. What is added to LangGraph's class: async
methods in the same class, tables made at the first use, another try where a connection broke, and turns that go on
while the server is away:

    away     a thread that this process knows goes on from the checkpoint that it saw last; the newest one waits here
    back     what waits is written, one checkpoint for each thread: of the steps between there is no history
    unknown  a thread that this process never saw cannot be guessed: `Unreachable`

What waits is lost with its process, as the warning says. Two replicas that go on with one thread meanwhile fork it, as
two writers always do; the session log keeps what both said.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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

Key = tuple[str, str]
"""Thread and checkpoint namespace."""

REMEMBERED = 128
"""Threads whose last checkpoint this process keeps, in case the server goes away; some 100 kB each."""

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


@dataclass(frozen=True, kw_only=True, slots=True)
class _Writes:
    """What a task gave, as bytes."""

    config: RunnableConfig
    data: list[tuple[str, bytes]]
    task_id: str
    task_path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class _Waiting:
    """What waits for the server, of one thread: its newest checkpoint, on top of the last one that is written."""

    config: RunnableConfig
    """Names the checkpoint that is written."""
    data: tuple[str, bytes] | None = None
    """The newest checkpoint and its metadata; `None` = there are writes alone."""
    channels: frozenset[str] = frozenset()
    """Channels that changed since."""
    writes: tuple[_Writes, ...] = ()


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
        self._last: OrderedDict[Key, _Last] = OrderedDict()
        self._waiting: dict[Key, _Waiting] = {}
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
        """Threads whose newest checkpoint waits for the server to come back."""
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
            self._write_waiting(_key(config))
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
        key = _key(config)

        def later(waiting: _Waiting | None) -> _Waiting:
            known = waiting or _Waiting(config=config)
            return replace(known, data=data, channels=known.channels | new_versions.keys(), writes=())

        self._now_or_later(
            key, lambda: super(PostgresSessionSaver, self).put(config, checkpoint, metadata, new_versions), later
        )
        return written

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Write what a task gave; while the server is away it waits here."""
        data = self._remember_writes(config, [(task_id, channel, value) for channel, value in writes])
        given = _Writes(config=config, data=data, task_id=task_id, task_path=task_path)

        def later(waiting: _Waiting | None) -> _Waiting:
            known = waiting or _Waiting(config=config)
            return replace(known, writes=(*known.writes, given))

        key = _key(config)
        self._now_or_later(
            key, lambda: super(PostgresSessionSaver, self).put_writes(config, writes, task_id, task_path), later
        )

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread's checkpoints."""
        with self._guard:
            for known in (self._last, self._waiting):
                for key in [key for key in known if key[0] == str(thread_id)]:
                    del known[key]
        self._workspace.connections.guarded(lambda: super(PostgresSessionSaver, self).delete_thread(thread_id))

    # -- while the server is away ------------------------------------------------------------------------------------

    def _now_or_later(self, key: Key, now: Callable[[], Any], later: Callable[[_Waiting | None], _Waiting]) -> None:
        """Write, or keep what was to be written; all of LangGraph's writes may happen twice."""
        if key not in self._waiting:
            try:
                self._workspace.connections.guarded(now)
            except WorkspaceError as error:
                logger.debug("a checkpoint waits: %s", error)
            else:
                return
        with self._guard:
            is_first = not self._waiting
            self._waiting[key] = later(self._waiting.get(key))
        if is_first:
            logger.warning(
                "Postgres cannot be written: the newest checkpoints wait in this process and are lost with it"
            )
            threading.Thread(target=self._keep_trying, daemon=True, name="harness-memory-checkpoints").start()

    def _write_waiting(self, key: Key) -> None:
        """Write what waits of a thread; raises while the server is away."""
        waiting = self._waiting.get(key)
        if waiting is None:
            return
        self._workspace.connections.guarded(lambda: self._write(waiting))
        with self._guard:
            if self._waiting.get(key) is waiting:  # nothing was added meanwhile
                del self._waiting[key]

    def _write(self, waiting: _Waiting) -> None:
        if waiting.data is not None:
            checkpoint, metadata = self.serde.loads_typed(waiting.data)
            versions = {
                name: checkpoint["channel_versions"][name]
                for name in waiting.channels
                if name in checkpoint["channel_versions"]
            }
            super().put(waiting.config, checkpoint, metadata, versions)
        for given in waiting.writes:
            values = [(channel, value) for _, channel, value in map(self.serde.loads_typed, given.data)]
            super().put_writes(given.config, values, given.task_id, given.task_path)

    def _keep_trying(self) -> None:
        pause = threading.Event()
        while self._waiting:
            pause.wait(CATCH_UP)
            try:
                for key in list(self._waiting):
                    self._write_waiting(key)
            except WorkspaceError as error:
                logger.debug("checkpoints still wait: %s", error)
        logger.warning("the checkpoints that waited are written")

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


def _key(config: RunnableConfig) -> Key:
    named = config["configurable"]
    return str(named["thread_id"]), named.get("checkpoint_ns", "")
