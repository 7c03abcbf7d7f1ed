"""A checkpointer whose files grow with what was said.

    SessionSaver("dir")      dir/<thread>.log.jsonl   every raw message, once
                             dir/<thread>.jsonl       checkpoints, which refer to the messages

Through `HarnessMemory` the files lie in the workspace's `sessions/`; `SessionSaver("workspace/sessions")` opens the
same ones. A put that returned survives a killed process, and with `fsync` a power cut.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_id,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.constants import START

from langgraph_harness_memory.clock import Clock
from langgraph_harness_memory.errors import DamagedSession, SettingError
from langgraph_harness_memory.events import OnEvent
from langgraph_harness_memory.identifiers import file_stem
from langgraph_harness_memory.outcome import finish_in_thread
from langgraph_harness_memory.sessions.checkpoint_file import CheckpointPlace
from langgraph_harness_memory.sessions.coming_ids import ComingIds
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.sessions.pool import Session
from langgraph_harness_memory.sessions.rewriting import copy_checkpoints, keep
from langgraph_harness_memory.sessions.thread_checkpoints import ThreadCheckpoints
from langgraph_harness_memory.sessions.turnstile import Ticket
from langgraph_harness_memory.workspace.local import LocalWorkspace

SESSIONS = "sessions"
"""Name of the folder of a workspace that holds its sessions."""

SERIALIZERS = 8
"""Serializers for which a session is kept decoded; LangGraph derives one per compiled graph under strict msgpack."""

T = TypeVar("T")

_Listed = list[tuple[CheckpointPlace, Any]]
_Ids = list[str]


class SessionSaver(BaseCheckpointSaver[int]):
    """Checkpoints in files that a person can read, sync and async, from any thread and event loop.

    Args:
        directory: The folder of the files; the first write creates it.
        fsync: Wait for the disk at each write. `False` keeps every acknowledged put through a killed process and loses
            the last seconds in a power cut.
        serde: Takes what JSON cannot say. One that encrypts, or any of your own, seals whole lines.
        redact: Takes secrets out of messages before they are written; what is read back holds the placeholders.
        clock: Dates the lines.
        on_event: Hears of damage and of forks.
    """

    def __init__(
        self,
        directory: Path | str,
        *,
        fsync: bool = True,
        serde: SerializerProtocol | None = None,
        redact: Callable[[str], str] | None = None,
        clock: Clock | None = None,
        on_event: OnEvent | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self._ids = ComingIds()
        folder = Path(directory).expanduser().absolute()
        is_part = folder.name == SESSIONS
        workspace = LocalWorkspace(folder.parent if is_part else folder, fsync=fsync, clock=clock, on_event=on_event)
        self.log = SessionLog(
            workspace,
            clock=clock,
            redact=redact,
            on_event=on_event,
            sealer=None if isinstance(self.serde, JsonPlusSerializer) else self.serde,
            folder=SESSIONS if is_part else "",
        )

    @classmethod
    def over(cls, log: SessionLog, *, serde: SerializerProtocol | None = None) -> Self:
        """Return a checkpointer over session logs that others write to as well.

        Args:
            log: The logs, of any workspace.
            serde: As for the class; a sealing one must be the log's own `sealer`.
        """
        saver = cls.__new__(cls)
        BaseCheckpointSaver.__init__(saver, serde=serde)
        saver.log = log
        saver._ids = ComingIds()
        return saver

    def get_next_version(self, current: Any, channel: None) -> Any:  # noqa: ARG002 - the contract's parameter
        """Return the version after another: the next whole number, or for a thread of another checkpointer the next string.

        Args:
            current: The version before; `None` = there was none.
            channel: Not used any more.
        """
        if isinstance(current, str):
            return f"{int(current.split('.')[0]) + 1:032}.{0:016}"
        return 1 if current is None else int(current) + 1

    # -- storing ------------------------------------------------------------------------------------------------

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,  # noqa: ARG002 - told by the versions themselves, against the parent's
    ) -> RunnableConfig:
        """Store a checkpoint durably: its new messages in the log first, then what changed in one line."""
        return self._put(self.log.pool.join(_thread_id(config)), config, checkpoint, metadata)

    def _put(
        self, place: Ticket, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
    ) -> RunnableConfig:
        with place:
            self._ids.wait_for_input(checkpoint["channel_values"].get(START))
            with self._writing(config) as thread:
                thread.put(config, checkpoint, metadata, tenant=_tenant(config))
        configurable = config["configurable"]
        return {
            "configurable": {
                "thread_id": configurable["thread_id"],
                "checkpoint_ns": configurable.get("checkpoint_ns", ""),
                "checkpoint_id": checkpoint["id"],
            }
        }

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote durably, its new messages in the log first."""
        self._put_writes(self.log.pool.join(_thread_id(config)), config, writes, task_id, task_path)

    def _put_writes(
        self, place: Ticket, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> None:
        with place:
            self._ids.wait_for(writes)
            with self._writing(config) as thread:
                thread.put_writes(config, writes, task_id, task_path, tenant=_tenant(config))

    # -- reading ------------------------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a checkpoint: the one that the config names, or the newest of its namespace."""

        def read(thread: ThreadCheckpoints) -> CheckpointTuple | None:
            place = _place(thread, config)
            return None if place is None else thread.read(place, thread_id=config["configurable"]["thread_id"])

        return self._read(config, read)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the contract's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Read checkpoints, newest first; no lock is held between two of them.

        Args:
            config: Of which thread, namespace or checkpoint; `None` = of all threads.
            filter: Metadata that they must have.
            before: Only those before this one's `checkpoint_id`.
            limit: At most so many.
        """
        remaining = limit
        for found, thread_id in self._matching(config, before):
            if remaining is not None and remaining <= 0:
                return
            value = self._matched(found, thread_id, filter)
            if value is not None:
                remaining = None if remaining is None else remaining - 1
                yield value

    def _matching(self, config: RunnableConfig | None, before: RunnableConfig | None) -> _Listed:
        """Find the checkpoints that a listing may hold, newest first, with the thread as its caller names it."""
        thread_ids = self._thread_ids() if config is None else [config["configurable"]["thread_id"]]
        namespace = None if config is None else config["configurable"].get("checkpoint_ns")
        only = None if config is None else get_checkpoint_id(config)
        end = None if before is None else get_checkpoint_id(before)
        found: _Listed = []
        for thread_id in thread_ids:
            with self._reading(thread_id, config) as thread:
                namespaces = thread.file.namespaces() if namespace is None else [namespace]
                places = [place for name in namespaces for place in thread.file.checkpoints(name)]
            found += [(place, thread_id) for place in places]
        wanted = (
            pair
            for pair in found
            if (only is None or pair[0].key.checkpoint_id == only) and (end is None or pair[0].key.checkpoint_id < end)
        )
        return sorted(wanted, key=lambda pair: pair[0].key.checkpoint_id, reverse=True)

    def _matched(self, place: CheckpointPlace, thread_id: Any, wanted: dict[str, Any] | None) -> CheckpointTuple | None:
        """Read one checkpoint of a listing; `None` where it does not match or is gone by now."""

        def read(thread: ThreadCheckpoints) -> CheckpointTuple | None:
            now = thread.file.find(place.key.namespace, place.key.checkpoint_id)
            if now is None or now.key.is_ancestor:
                return None
            if wanted:
                metadata: Mapping[str, Any] = thread.metadata(now)
                if any(metadata.get(key) != value for key, value in wanted.items()):
                    return None
            return thread.read(now, thread_id=thread_id)

        return self._read({"configurable": {"thread_id": thread_id}}, read)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Collect what the values of delta channels are made of; see the base class."""
        if not channels:
            return {}
        return self._read(config, lambda thread: thread.history(_place(thread, config), channels))

    # -- removing and copying -------------------------------------------------------------------------------------

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread with all that belongs to it: log, checkpoints, marks, evicted results."""
        self.log.delete(str(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints and writes of runs; the log stays.

        What a later checkpoint needs to rebuild a `DeltaChannel` stays too, out of listings.
        """
        wanted = frozenset(map(str, run_ids))
        if not wanted:
            return
        for thread_id in self._thread_ids():
            with self._writing({"configurable": {"thread_id": thread_id}}) as thread:
                places = [p for name in thread.file.namespaces() for p in thread.file.checkpoints(name)]
                kept = [p for p in places if thread.metadata(p).get("run_id") not in wanted]
                if len(kept) < len(places):
                    keep(thread, kept, self.log.clock)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete checkpoints and give their disk space back; the log stays.

        Args:
            thread_ids: The threads.
            strategy: `keep_latest` keeps the newest checkpoint of each namespace, and out of listings what it needs to
                rebuild a `DeltaChannel`; `delete` keeps none.
        """
        if strategy not in {"keep_latest", "delete"}:
            raise SettingError.refused("strategy", strategy, "give 'keep_latest' or 'delete'")
        for thread_id in thread_ids:
            with self._writing({"configurable": {"thread_id": thread_id}}) as thread:
                newest = (thread.file.latest(name) for name in thread.file.namespaces())
                kept = [place for place in newest if place is not None and strategy == "keep_latest"]
                keep(thread, kept, self.log.clock)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread, its log and marks included, to another one, after what that one holds."""
        source, target = str(source_thread_id), str(target_thread_id)
        if source == target:
            return
        with self.log.pool.writing(source, target) as (origin, copy):
            moved = self.log.copy_held(origin, copy)
            copy_checkpoints(self._thread(origin, None), self._thread(copy, None), moved, self.log.clock)

    # -- the same without blocking the event loop -----------------------------------------------------------------

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,  # noqa: ARG002 - as for `put`
    ) -> RunnableConfig:
        """Twin of `put`; when cancelled, the outcome is waited for first."""
        place = self.log.pool.join(_thread_id(config))
        try:
            return await finish_in_thread(self._put, place, config, checkpoint, metadata)
        finally:
            place.leave()

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Twin of `put_writes`; when cancelled, the outcome is waited for first."""
        place = self.log.pool.join(_thread_id(config))
        try:
            await finish_in_thread(self._put_writes, place, config, writes, task_id, task_path)
        finally:
            place.leave()

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Twin of `get_tuple`."""
        return await finish_in_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the contract's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Twin of `list`."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (value := await finish_in_thread(next, found, None)) is not None:
            yield value

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Twin of `get_delta_channel_history`."""
        return await finish_in_thread(self.get_delta_channel_history, config=config, channels=channels)

    async def adelete_thread(self, thread_id: str) -> None:
        """Twin of `delete_thread`; when cancelled, the outcome is waited for first."""
        await finish_in_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Twin of `delete_for_runs`; when cancelled, the outcome is waited for first."""
        await finish_in_thread(self.delete_for_runs, run_ids)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Twin of `prune`; when cancelled, the outcome is waited for first."""
        await finish_in_thread(self.prune, thread_ids, strategy=strategy)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Twin of `copy_thread`; when cancelled, the outcome is waited for first."""
        await finish_in_thread(self.copy_thread, source_thread_id, target_thread_id)

    # -- below: threads -------------------------------------------------------------------------------------------

    @contextmanager
    def _writing(self, config: RunnableConfig) -> Iterator[ThreadCheckpoints]:
        with self.log.pool.writing(_thread_id(config)) as (session,):
            yield self._thread(session, config)

    @contextmanager
    def _reading(self, thread_id: Any, config: RunnableConfig | None) -> Iterator[ThreadCheckpoints]:
        with self.log.pool.session(str(thread_id)) as session:
            session.checkpoints.refresh()
            session.log.refresh()
            yield self._thread(session, config)

    def _read(self, config: RunnableConfig, read: Callable[[ThreadCheckpoints], T]) -> T:
        with self._reading(_thread_id(config), config) as thread:
            session = thread.session
            before = _state(session)
            try:
                return read(thread)
            except DamagedSession:
                session.checkpoints.refresh()
                session.log.refresh()
                if _state(session) == before:
                    raise
                # Another process pruned or deleted the thread while it was read.
                return read(self._thread(session, config))

    def _thread(self, session: Session, config: RunnableConfig | None) -> ThreadCheckpoints:
        tenant = _tenant(config)
        if tenant is not None:
            session.log.check_owner(tenant)
        state = _state(session)
        kept = session.cached.get(id(self.serde))
        if kept is None or kept[0] != state:
            thread = ThreadCheckpoints(session, self.log, self.serde, self._message_serde())
            kept = session.cached[id(self.serde)] = (state, thread)
            while len(session.cached) > SERIALIZERS:
                del session.cached[next(iter(session.cached))]
        return kept[1]

    def _message_serde(self) -> SerializerProtocol:
        """Return the serializer that reads what JSON cannot say inside a message."""
        if isinstance(self.serde, JsonPlusSerializer):
            return self.serde
        if isinstance(self.serde, EncryptedSerializer) and isinstance(self.serde.serde, JsonPlusSerializer):
            return self.serde.serde
        return JsonPlusSerializer(allowed_msgpack_modules=None)

    def _thread_ids(self) -> _Ids:
        ids = []
        for stem in self.log.pool.stems()[1]:
            if file_stem(stem) == stem:
                ids.append(stem)
                continue
            thread_id = self.log.pool.thread_id_of(stem)
            if thread_id is not None:
                ids.append(thread_id)
        return ids


def _state(session: Session) -> tuple[int, int]:
    """Return what changes when one of a session's files is another one than before."""
    return session.checkpoints.generation, session.log.generation


def _thread_id(config: RunnableConfig) -> str:
    thread_id = config["configurable"]["thread_id"]
    if thread_id is None:
        raise SettingError.refused("configurable.thread_id", None, "give a string or a whole number")
    return str(thread_id)


def _tenant(config: RunnableConfig | None) -> str | None:
    """Return the user that a config names outright.

    The run's context, which counts for more, is not known here; the front doors check it.
    """
    user = (config or {}).get("configurable", {}).get("user_id")
    return str(user) if isinstance(user, str | int) and not isinstance(user, bool) else None


def _place(thread: ThreadCheckpoints, config: RunnableConfig) -> CheckpointPlace | None:
    namespace = str(config["configurable"].get("checkpoint_ns") or "")
    checkpoint_id = get_checkpoint_id(config)
    return thread.file.find(namespace, checkpoint_id) if checkpoint_id else thread.file.latest(namespace)
