"""One thread's checkpoints, stored and read: what `SessionSaver` does once it has the session.

    put         messages that are new ──► log;  what changed since the parent ──► one line
    put_writes  messages that are new ──► log;  a task's writes ──► one line
    read        the newest line ──► the lines that it points at ──► the state

Nothing here locks: the caller holds the session, for writing where something is stored.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    PendingWrite,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.constants import START

from langgraph_harness_memory.errors import DamagedSession
from langgraph_harness_memory.events import ForkSeen
from langgraph_harness_memory.formats.checkpoint_log import CheckpointKey, Pointer, WritesKey
from langgraph_harness_memory.sessions.checkpoint_file import CheckpointPlace, Place
from langgraph_harness_memory.sessions.encoding import Reading, Writing
from langgraph_harness_memory.sessions.lists import StoredList, written
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.sessions.messages import Messages
from langgraph_harness_memory.sessions.pool import Session

LISTS = 16
"""Lists of messages of a thread that are kept laid out in memory."""

LANGGRAPH_FORMAT = 4
"""The `v` of LangGraph's checkpoints that is left out in ours."""

_OWN_FIELDS = frozenset({"v", "id", "ts", "channel_values", "channel_versions", "versions_seen", "updated_channels"})


class ThreadCheckpoints:
    """The checkpoints of one thread, as one checkpointer sees them.

    Args:
        session: The thread.
        log: The session logs.
        serde: The checkpointer's serializer.
        message_serde: Reads what JSON cannot say inside a message.
    """

    def __init__(
        self, session: Session, log: SessionLog, serde: SerializerProtocol, message_serde: SerializerProtocol
    ) -> None:
        self.session = session
        self.workspace = log.workspace
        self.file = session.checkpoints
        self.messages = Messages(session, self.file, log, message_serde)
        self.serde = serde
        self._log = log
        self._reading = Reading(self.messages, serde)
        self._lists: OrderedDict[tuple[int, str], StoredList] = OrderedDict()
        self._returned: OrderedDict[tuple[str, str], set[str]] = OrderedDict()
        """Channels that the tasks of a checkpoint wrote, as far as this process stored them."""

    # -- storing ------------------------------------------------------------------------------------------------

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, *, tenant: str | None
    ) -> None:
        """Store a checkpoint."""
        configurable = config["configurable"]
        namespace = str(configurable.get("checkpoint_ns") or "")
        parent_id = configurable.get("checkpoint_id")
        parent = self.file.find(namespace, parent_id) if parent_id else None
        newest = self.file.latest(namespace)
        lists: dict[str, StoredList] = {}
        body = {
            "ts": checkpoint["ts"],
            **self._values(checkpoint, parent, namespace, tenant, lists),
            "versions": checkpoint["channel_versions"],
        }
        # What most checkpoints agree on is left out.
        if checkpoint["v"] != LANGGRAPH_FORMAT:
            body["format"] = checkpoint["v"]
        if (updated := checkpoint.get("updated_channels")) != sorted(body["values"]):
            body["updated"] = updated
        seen_before = self.seen(parent) if parent is not None else None
        if seen_before is not None and seen_before[1] == checkpoint["versions_seen"]:
            body["seen_at"] = list(seen_before[0])
        else:
            body["seen"] = checkpoint["versions_seen"]
        writing = Writing(self.messages, self.serde, namespace=_stable(namespace), tenant=tenant, is_input=True)
        body["metadata"] = writing.value(dict(get_checkpoint_metadata(config, metadata)))
        if more := {k: v for k, v in checkpoint.items() if k not in _OWN_FIELDS and v not in ([], None)}:
            body["more"] = writing.value(more)
        newest_id = newest.key.checkpoint_id if newest is not None else ""
        # A new id is the newest one; only for another the lines before are asked whether it is there.
        is_new = checkpoint["id"] > newest_id
        stored_writes = self.file.writes_known if is_new else self.file.writes
        if before := stored_writes(namespace, checkpoint["id"]):
            body["earlier"] = [list(place.pointer) for place in before]
        late = newest_id if newest_id > checkpoint["id"] else None
        key = CheckpointKey(namespace, checkpoint["id"], parent_id, late)
        first = self.file.begin(self.session.thread_id, self._log.clock.now())
        (pointer,) = self.file.append([(key, body)], first=first)
        for channel, stored in lists.items():
            stored.stored_at(pointer)
            self._keep(stored.pieces[-1].pointer or pointer, channel, stored)
        self._trim(lists)
        if parent is not None and newest is not None and newest_id != parent_id and newest_id != checkpoint["id"]:
            self._log.pool.tell(ForkSeen(thread_id=self.session.thread_id, parents=(str(parent_id),)))

    def _values(
        self,
        checkpoint: Checkpoint,
        parent: CheckpointPlace | None,
        namespace: str,
        tenant: str | None,
        lists: dict[str, StoredList],
    ) -> dict[str, Any]:
        """Write what changed, and say where the rest stands."""
        inherited = self.pointers(parent)
        before = self.body(parent)["versions"] if parent is not None else {}
        values: dict[str, Any] = {}
        same: dict[str, list[int]] = {}
        for channel, value in checkpoint["channel_values"].items():
            pointer = inherited.get(channel)
            version = checkpoint["channel_versions"].get(channel)
            if pointer is not None and version is not None and before.get(channel) == version:
                same[channel] = list(pointer)
                continue
            writing = Writing(
                self.messages,
                self.serde,
                namespace=_stable(namespace),
                tenant=tenant,
                is_input=channel == START,
            )
            if type(value) is not list or not any(isinstance(item, BaseMessage) for item in value):
                values[channel] = writing.value(value)
                continue
            base = self._list(pointer, channel) if pointer is not None else None
            is_returned = parent is not None and channel not in self._returned.get(
                (namespace, parent.key.checkpoint_id), ()
            )
            stored = writing.channel_list(value, base, is_returned=is_returned)
            lists[channel] = stored
            if stored.pieces[-1].pointer is not None:
                same[channel] = list(stored.pieces[-1].pointer)
            else:
                values[channel] = written(stored)
        return {"values": values, "same": same} if same else {"values": values}

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str,
        *,
        tenant: str | None,
    ) -> None:
        """Store what a task wrote; regular writes that are there stay, special ones are replaced."""
        configurable = config["configurable"]
        namespace = str(configurable.get("checkpoint_ns") or "")
        checkpoint_id = str(configurable["checkpoint_id"])
        known = {(w[0], w[1]) for w in self._writes_of_task(namespace, checkpoint_id, task_id)}
        writing = Writing(self.messages, self.serde, namespace=_stable(namespace), tenant=tenant, is_fresh=True)
        entries = []
        for number, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, number)
            if index < 0 or (task_id, index) not in known:
                entries.append([index, channel, writing.value(value)])
        returned = self._returned.setdefault((namespace, checkpoint_id), set())
        returned.update(channel for channel, _ in writes)
        while len(self._returned) > LISTS:
            self._returned.popitem(last=False)
        if entries:
            key = WritesKey(namespace, checkpoint_id, task_id)
            body = {"path": task_path, "writes": entries}
            first = self.file.begin(self.session.thread_id, self._log.clock.now())
            self.file.append([(key, body)], first=first)

    def _writes_of_task(self, namespace: str, checkpoint_id: str, task_id: str) -> Iterator[tuple[str, int, str]]:
        for place in self.file.writes_known(namespace, checkpoint_id):
            if place.key.task_id == task_id:
                body = self.file.body(place.pointer)
                for index, channel, _ in (body or {}).get("writes", ()):
                    yield task_id, index, channel

    # -- reading ------------------------------------------------------------------------------------------------

    def read(self, place: CheckpointPlace, *, thread_id: Any) -> CheckpointTuple:
        """Read a checkpoint.

        Args:
            place: Where it stands.
            thread_id: The thread as the caller's config names it.

        Raises:
            DamagedSession: It refers to a line that cannot be read.
        """
        body = self.body(place)
        key = place.key
        checkpoint = {
            "v": body.get("format", LANGGRAPH_FORMAT),
            "ts": body["ts"],
            "id": key.checkpoint_id,
            "channel_values": {c: self.channel(p, c) for c, p in self.pointers(place).items()},
            "channel_versions": dict(body["versions"]),
            "versions_seen": {node: dict(seen) for node, seen in self.seen(place)[1].items()},
            "updated_channels": list(updated) if (updated := updated_in(body)) is not None else None,
            **self._reading.value(body.get("more", {})),
        }

        def named(checkpoint_id: str) -> RunnableConfig:
            return {
                "configurable": {
                    "thread_id": thread_id,
                    "checkpoint_ns": key.namespace,
                    "checkpoint_id": checkpoint_id,
                }
            }

        return CheckpointTuple(
            config=named(key.checkpoint_id),
            checkpoint=cast(Checkpoint, checkpoint),
            metadata=self.metadata(place),
            parent_config=named(key.parent_id) if key.parent_id else None,
            pending_writes=self.pending(key.namespace, key.checkpoint_id),
        )

    def seen(self, place: CheckpointPlace) -> tuple[Pointer, dict[str, dict[str, Any]]]:
        """Return the versions that each node has seen, and the line that says so."""
        body = self.body(place)
        if "seen" in body:
            return place.pointer, body["seen"]
        pointer = (body["seen_at"][0], body["seen_at"][1])
        return pointer, self.body(Place(place.key, pointer))["seen"]

    def metadata(self, place: CheckpointPlace) -> CheckpointMetadata:
        """Read a checkpoint's metadata alone."""
        return cast(CheckpointMetadata, self._reading.value(self.body(place)["metadata"]))

    def pending(self, namespace: str, checkpoint_id: str, channels: set[str] | None = None) -> list[PendingWrite]:
        """Read the writes of a checkpoint in the order in which a step applies them.

        Args:
            namespace: The sub-graph.
            checkpoint_id: The checkpoint.
            channels: Only writes to these; `None` = all.
        """
        merged: dict[tuple[str, int], tuple[str, str, Any]] = {}
        for place in self.file.writes(namespace, checkpoint_id):
            body = self.file.body(place.pointer)
            if body is None:
                continue
            task_id = place.key.task_id
            for index, channel, value in body["writes"]:
                if index < 0 or (task_id, index) not in merged:
                    merged[task_id, index] = (body["path"], channel, value)
        ordered = sorted(merged, key=lambda k: writes_sort_key(merged[k][0], k[0], k[1]))
        return [
            (task_id, merged[task_id, index][1], self._reading.value(merged[task_id, index][2]))
            for task_id, index in ordered
            if channels is None or merged[task_id, index][1] in channels
        ]

    def history(self, place: CheckpointPlace | None, channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
        """Collect what each channel's value is made of, from the nearest stored value on."""
        collected: dict[str, list[list[PendingWrite]]] = {channel: [] for channel in channels}
        seeds: dict[str, Any] = {}
        remaining = set(channels)
        ancestor = self.parent(place)
        while ancestor is not None and remaining:
            pointers = self.pointers(ancestor)
            writes = self.pending(ancestor.key.namespace, ancestor.key.checkpoint_id, remaining)
            for channel in tuple(remaining):
                collected[channel].append([w for w in writes if w[1] == channel])
                if channel in pointers:
                    seeds[channel] = self.channel(pointers[channel], channel)
                    remaining.discard(channel)
            ancestor = self.parent(ancestor)
        result: dict[str, DeltaChannelHistory] = {}
        for channel in channels:
            entry: DeltaChannelHistory = {"writes": [w for step in reversed(collected[channel]) for w in step]}
            if channel in seeds:
                entry["seed"] = seeds[channel]
            result[channel] = entry
        return result

    def parent(self, place: CheckpointPlace | None) -> CheckpointPlace | None:
        """Return the checkpoint that another one came from, if it is still there."""
        if place is None or not place.key.parent_id:
            return None
        return self.file.find(place.key.namespace, place.key.parent_id)

    def channel(self, pointer: Pointer, channel: str) -> Any:
        """Read the value of a channel from the line that holds it."""
        value = self.stored_value(pointer, channel)
        if is_list(value):
            return self._reading.values(self._laid_out(pointer, channel, value))
        return self._reading.value(value)

    def stored_value(self, pointer: Pointer, channel: str) -> Any:
        """Return the plain JSON of a channel from the line that holds it.

        Raises:
            DamagedSession: The line cannot be read.
        """
        body = self.file.body(pointer)
        if body is None or channel not in body.get("values", {}):
            raise DamagedSession(
                f"{self.file.path}: the value of channel {channel!r} at byte {pointer[0]} cannot be read; go on from an "
                "earlier checkpoint (configurable.checkpoint_id), the session log holds every message"
            )
        return body["values"][channel]

    def _list(self, pointer: Pointer, channel: str) -> StoredList | None:
        value = self.stored_value(pointer, channel)
        return self._laid_out(pointer, channel, value) if is_list(value) else None

    def _laid_out(self, pointer: Pointer, channel: str, value: dict[str, Any]) -> StoredList:
        key = (pointer[0], channel)
        stored = self._lists.get(key)
        if stored is None:
            stored = self._reading.stored(value, pointer, channel)
            self._keep(pointer, channel, stored)
        self._lists.move_to_end(key)
        return stored

    def _keep(self, pointer: Pointer, channel: str, stored: StoredList) -> None:
        self._lists[pointer[0], channel] = stored
        self._lists.move_to_end((pointer[0], channel))
        while len(self._lists) > LISTS:
            self._lists.popitem(last=False)

    def _trim(self, lists: Mapping[str, StoredList]) -> None:
        for stored in lists.values():
            self.messages.live.trim(stored.elements)

    def body(self, place: CheckpointPlace) -> dict[str, Any]:
        """Return a checkpoint's body; it is shared, and nobody changes it."""
        body = self.file.body(place.pointer)
        if body is None:
            raise DamagedSession(
                f"{self.file.path}: the checkpoint at byte {place.pointer[0]} cannot be read; go on from an earlier one"
            )
        return body

    def pointers(self, place: CheckpointPlace | None) -> dict[str, Pointer]:
        """Say for each channel of a checkpoint which line holds its value."""
        if place is None:
            return {}
        body = self.body(place)
        pointers = dict.fromkeys(body["values"], place.pointer)
        pointers |= {channel: (offset, length) for channel, (offset, length) in body.get("same", {}).items()}
        return pointers


def updated_in(body: dict[str, Any]) -> list[str] | None:
    """Return the channels that a checkpoint's step updated, as LangGraph told them."""
    updated: list[str] | None = body["updated"] if "updated" in body else sorted(body["values"])
    return updated


def is_list(value: Any) -> bool:
    """Say whether a channel's plain JSON is a list of messages."""
    return type(value) is dict and len(value) == 1 and "$messages" in value


def _stable(namespace: str) -> str:
    """Drop the task ids of a namespace, so that it names the sub-graph alone."""
    return "|".join(part.split(":")[0] for part in namespace.split("|") if part)
