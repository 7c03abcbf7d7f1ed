"""Checkpoints written anew: what a prune keeps, what a copy takes along.

    kept checkpoints ──► what they point at ──► lines with new offsets ──► one replaced or appended file

Works on the plain JSON alone, so that its cost follows what is kept and no message is built.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langgraph_harness_memory.clock import Clock
from langgraph_harness_memory.formats.checkpoint_log import CheckpointKey, FormKey, Pointer
from langgraph_harness_memory.sessions.checkpoint_file import CheckpointFile, CheckpointPlace
from langgraph_harness_memory.sessions.lists import Element, Item, Piece, extended, pieces_after
from langgraph_harness_memory.sessions.live import Said, Stored
from langgraph_harness_memory.sessions.thread_checkpoints import ThreadCheckpoints, is_list, updated_in
from langgraph_harness_memory.sessions.thread_log import Entry, ThreadLog


def keep(thread: ThreadCheckpoints, kept: Sequence[CheckpointPlace], clock: Clock) -> None:
    """Replace a thread's file of checkpoints by one that holds some of them.

    The session is held for writing.

    Args:
        thread: The thread.
        kept: The checkpoints that stay; without any the file is deleted.
        clock: Dates the new file.
    """
    workspace = thread.workspace
    if not thread.file.exists():
        return
    if not kept:
        workspace.delete(thread.file.path)
    else:
        copying = _Copying(thread, thread.file.start_line(thread.session.thread_id, clock.now()))
        kept_ids = {(p.key.namespace, p.key.checkpoint_id) for p in kept}
        ancestors = _needed(thread, kept)
        for place in sorted([*kept, *ancestors], key=lambda p: p.pointer):
            if (place.key.namespace, place.key.checkpoint_id) in kept_ids:
                copying.checkpoint(place)
            else:
                copying.ancestor(place, ancestors[place])
        workspace.replace(thread.file.path, bytes(copying.data))
    thread.file.forget()
    thread.file.refresh()


def _needed(thread: ThreadCheckpoints, kept: Sequence[CheckpointPlace]) -> dict[CheckpointPlace, set[str]]:
    """Find the ancestors whose writes a kept checkpoint needs to rebuild its delta channels.

    LangGraph counts in a checkpoint's metadata how far its delta channels are from their last snapshot; those that are
    counted and have no value are rebuilt from the ancestors, back to the nearest value.

    Returns:
        The channels that each is needed for; those that are kept anyway are left out.
    """
    kept_ids = {(p.key.namespace, p.key.checkpoint_id) for p in kept}
    needed: dict[CheckpointPlace, set[str]] = {}
    for place in kept:
        counted = thread.metadata(place).get("counters_since_delta_snapshot") or {}
        remaining = set(counted) - thread.pointers(place).keys()
        ancestor = thread.parent(place)
        while ancestor is not None and remaining:
            if (ancestor.key.namespace, ancestor.key.checkpoint_id) not in kept_ids:
                needed.setdefault(ancestor, set()).update(remaining)
            remaining = remaining - thread.pointers(ancestor).keys()
            ancestor = thread.parent(ancestor)
    return needed


def copy_checkpoints(
    source: ThreadCheckpoints, target: ThreadCheckpoints, moved: Mapping[int, int], clock: Clock
) -> None:
    """Append all checkpoints of a thread to another's file; both sessions are held for writing.

    Args:
        source: The thread.
        target: The other one, whose log holds the messages already.
        moved: Position in the target's log by position in the source's.
        clock: Dates a new file.
    """
    places = [p for name in source.file.namespaces() for p in source.file.checkpoints(name)]
    places += source.file.ancestors()
    if not places:
        return
    start = b"" if target.file.exists() else target.file.start_line(target.session.thread_id, clock.now())
    logs = _Logs(source.session.log, target.session.log, moved)
    copying = _Copying(source, start, into=target.file, offset=target.file.next_offset(), logs=logs)
    for place in sorted(places, key=lambda p: p.pointer):
        if place.key.is_ancestor:
            copying.ancestor(place, None)
        else:
            copying.checkpoint(place)
    target.file.append_bytes(bytes(copying.data))


@dataclass(frozen=True, slots=True)
class _Logs:
    """Two logs, and where the messages of one stand in the other."""

    source: ThreadLog
    target: ThreadLog
    moved: Mapping[int, int]

    def stored(self, position: int) -> Element | None:
        there = self.moved.get(position)
        entry: Entry | None = None if there is None else self.target.entries.get(there)
        if entry is None:
            return None
        return Stored(
            entry.key.message_id, entry.key.content_hash, Said(entry.key.position, (entry.offset, entry.length))
        )


@dataclass(slots=True)
class _List:
    """A channel's list as it was written last."""

    items: list[Item]
    pieces: list[Piece]


class _Copying:
    """Lines that are being written anew.

    Args:
        thread: Whose they are.
        start: What goes before them.
        into: The file that they are for; `None` = the thread's own.
        offset: Where `start` will stand in it.
        logs: Where messages are to be found instead; `None` = where they were.
    """

    def __init__(
        self,
        thread: ThreadCheckpoints,
        start: bytes,
        *,
        into: CheckpointFile | None = None,
        offset: int = 0,
        logs: _Logs | None = None,
    ) -> None:
        self.thread = thread
        self.data = bytearray(start)
        self.into = into or thread.file
        self.offset = offset
        self.logs = logs
        self._values: dict[tuple[Pointer, str], Pointer] = {}  # where a channel's value stands, by where it stood
        self._forms: dict[int, list[int]] = {}
        self._lists: dict[tuple[str, str], _List] = {}

    def checkpoint(self, place: CheckpointPlace) -> None:
        """Write a checkpoint and its writes."""
        body = dict(self.thread.body(place))
        body.pop("earlier", None)
        body.pop("seen_at", None)
        body |= {"seen": self.thread.seen(place)[1], "updated": updated_in(body)}
        body |= {name: self._translated(body[name]) for name in ("metadata", "more") if name in body}
        self._write(replace(place.key, late=None), body, place, set(self.thread.pointers(place)))
        self._write_writes(place, None)

    def ancestor(self, place: CheckpointPlace, channels: set[str] | None) -> None:
        """Write what others need of a checkpoint: the values and writes of some channels; `None` = of all that it has."""
        body = dict(self.thread.body(place))
        body.pop("earlier", None)
        body.pop("more", None)
        body.pop("seen_at", None)
        body |= {"metadata": {}, "seen": {}, "updated": None}
        if channels is not None:
            body["versions"] = {c: v for c, v in body["versions"].items() if c in channels}
        kept = set(self.thread.pointers(place)) if channels is None else channels
        self._write(replace(place.key, late=None, is_ancestor=True), body, place, kept)
        self._write_writes(place, channels)

    def _write(self, key: CheckpointKey, body: dict[str, Any], place: CheckpointPlace, channels: set[str]) -> None:
        values: dict[str, Any] = {}
        same: dict[str, list[int]] = {}
        lists: list[_List] = []
        fresh: list[tuple[Pointer, str]] = []
        for channel, pointer in self.thread.pointers(place).items():
            if channel not in channels:
                continue
            standing = self._values.get((pointer, channel))
            if standing is not None:
                same[channel] = list(standing)
                continue
            value = self.thread.stored_value(pointer, channel)
            fresh.append((pointer, channel))
            if not is_list(value):
                values[channel] = self._translated(value)
                continue
            laid = self._list(place.key.namespace, channel, self._all_items(pointer, channel, value))
            last = laid.pieces[-1].pointer
            if last is not None:
                same[channel] = list(last)
                self._values[pointer, channel] = last
                fresh.pop()
                continue
            lists.append(laid)
            values[channel] = _last_piece(laid)
        body["values"] = values
        body.pop("same", None)
        if same:
            body["same"] = same
        written = self._append(key, body)
        for pointer, channel in fresh:
            self._values[pointer, channel] = written
        for laid in lists:
            laid.pieces = [p if p.pointer is not None else Piece(written, p.end) for p in laid.pieces]

    def _write_writes(self, place: CheckpointPlace, channels: set[str] | None) -> None:
        for stored in self.thread.file.writes(place.key.namespace, place.key.checkpoint_id):
            body = self.thread.file.body(stored.pointer)
            if body is None:
                continue
            writes = [w for w in body["writes"] if channels is None or w[1] in channels]
            if writes:
                moved = [[index, channel, self._translated(value)] for index, channel, value in writes]
                self._append(stored.key, {**body, "writes": moved})

    def _append(self, key: Any, body: dict[str, Any]) -> Pointer:
        line = self.into.render(key, body)
        pointer = (self.offset + len(self.data), len(line) - 1)
        self.data += line
        return pointer

    # -- what values refer to -------------------------------------------------------------------------------------

    def _all_items(self, pointer: Pointer, channel: str, value: dict[str, Any]) -> list[Item]:
        """Gather the items of all pieces of a list."""
        items: list[Item] = []
        while True:
            before, *part = value["$messages"]
            items = [*part, *items]
            if before is None:
                return self._moved(items)
            pointer = (before[0], before[1])
            value = self.thread.stored_value(pointer, channel)

    def _list(self, namespace: str, channel: str, items: list[Item]) -> _List:
        before = self._lists.get((namespace, channel))
        if before is None:
            laid = _List(items, [Piece(None, len(items))])
        else:
            shared = 0
            for one, other in zip(before.items, items, strict=False):
                if one != other:
                    break
                shared += 1
            laid = _List(items, pieces_after(before.pieces, shared, len(items)))
        self._lists[namespace, channel] = laid
        return laid

    def _translated(self, value: Any) -> Any:
        """Give everything that a value refers to its new place."""
        if type(value) is list:
            return [self._translated(item) for item in value]
        if type(value) is not dict:
            return value
        if len(value) == 1:
            if "$message" in value:
                moved = self._moved([value["$message"]])
                return {"$message": moved[0] if moved else value["$message"]}
            if "$messages" in value:
                _, *items = value["$messages"]
                return {"$messages": [None, *self._moved(items)]}
        return {key: self._translated(item) for key, item in value.items()}

    def _moved(self, items: Sequence[Item]) -> list[Item]:
        moved: list[Item] = []
        for item in items:
            match item:
                case ["is", value]:
                    moved.append(["is", self._translated(value)])
                case ["made", message_id, content_hash, offset, length]:
                    moved.append(
                        [
                            "made",
                            message_id,
                            content_hash,
                            *self._form(FormKey(message_id, content_hash), (offset, length)),
                        ]
                    )
                case ["said", _, _, position, *_] if self.logs is not None:
                    moved += self._relogged(position, 1)
                case ["run", position, count, *_] if self.logs is not None:
                    moved += self._relogged(position, count)
                case _:
                    moved.append(item)
        return moved

    def _relogged(self, position: int, count: int) -> list[Item]:
        assert self.logs is not None
        found = [self.logs.stored(p) for p in range(position, position + count)]
        return extended([], [stored for stored in found if stored is not None], last=None)

    def _form(self, key: FormKey, pointer: Pointer) -> list[int]:
        place = self._forms.get(pointer[0])
        if place is None:
            body = self.thread.file.body(pointer)
            if body is None:
                return list(pointer)
            place = self._forms[pointer[0]] = list(self._append(key, body))
        return place


def _last_piece(laid: _List) -> dict[str, Any]:
    before = laid.pieces[-2] if len(laid.pieces) > 1 else None
    start = 0 if before is None else before.end
    return {"$messages": [None if before is None else list(before.pointer or ()), *laid.items[start:]]}
