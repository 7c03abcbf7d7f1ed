"""One thread's file of checkpoints: which line holds what, read from the end as far as needed."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from langgraph.checkpoint.serde.base import SerializerProtocol

from langgraph_harness_memory.formats import checkpoint_log, records
from langgraph_harness_memory.formats.checkpoint_log import CheckpointKey, FormKey, Key, Pointer, WritesKey
from langgraph_harness_memory.formats.plain import sealed, unsealed
from langgraph_harness_memory.sessions.lines import Line, LineFile
from langgraph_harness_memory.workspace import Workspace

BODIES = 256
"""Bodies of lines that are kept parsed."""


K = TypeVar("K", bound=Key)


@dataclass(frozen=True, slots=True)
class Place(Generic[K]):
    """A line that is known."""

    key: K
    pointer: Pointer


CheckpointPlace = Place[CheckpointKey]
WritesPlace = Place[WritesKey]


class CheckpointFile:
    """The checkpoints of one thread. Not thread-safe; the session's owner holds its lock.

    Args:
        workspace: Where it lies.
        path: Its path there.
        sealer: Seals each line's body; `None` = they stand as plain JSON.
        report: Is told of damaged lines, once each.
    """

    def __init__(
        self,
        workspace: Workspace,
        path: str,
        *,
        sealer: SerializerProtocol | None,
        report: Callable[[str, str], None],
    ) -> None:
        self.path = path
        self._file = LineFile(workspace, path)
        self._sealer = sealer
        self._report = report
        self.generation = 0
        """Counts the times that the file turned out to be another one; pointers of before are void then."""
        self._forget()

    def _forget(self) -> None:
        self.generation += 1
        self._checkpoints: dict[str, dict[str, CheckpointPlace]] = {}
        self._ancestors: dict[tuple[str, str], CheckpointPlace] = {}
        self._latest: dict[str, str] = {}
        self._writes: dict[tuple[str, str], list[WritesPlace]] = {}
        self._forms: dict[FormKey, Pointer] = {}
        self._bodies: OrderedDict[int, dict[str, Any]] = OrderedDict()
        self._reported: set[int] = set()

    # -- what is known ------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Take in what others wrote since the last look."""
        news = self._file.news()
        if news.is_new:
            self._forget()
        self._take(news.lines, is_earlier=False)

    def _further_back(self) -> bool:
        lines = self._file.earlier()
        self._take(reversed(lines), is_earlier=True)
        return bool(lines)

    def forget(self) -> None:
        """Know nothing any more: the file was rewritten."""
        self._file.forget()
        self._forget()

    def whole(self) -> None:
        """Know every line."""
        while self._further_back():
            pass

    def exists(self) -> bool:
        """Say whether anything is in the file."""
        return self._file.high > 0

    def latest(self, namespace: str) -> CheckpointPlace | None:
        """Return the newest checkpoint of a namespace, by its id."""
        while namespace not in self._latest and self._further_back():
            pass
        checkpoint_id = self._latest.get(namespace)
        return None if checkpoint_id is None else self.find(namespace, checkpoint_id) or self._newest(namespace)

    def _newest(self, namespace: str) -> CheckpointPlace | None:
        """Return the newest checkpoint that can be read, where the one that a line calls newest is damaged."""
        self.whole()
        known = self._checkpoints.get(namespace)
        return known[max(known)] if known else None

    def find(self, namespace: str, checkpoint_id: str) -> CheckpointPlace | None:
        """Return a checkpoint, or what remains of it for those that come after it."""
        while (found := self._known(namespace, checkpoint_id)) is None and self._further_back():
            pass
        return found

    def _known(self, namespace: str, checkpoint_id: str) -> CheckpointPlace | None:
        found = self._checkpoints.get(namespace, {}).get(checkpoint_id)
        return found if found is not None else self._ancestors.get((namespace, checkpoint_id))

    def namespaces(self) -> list[str]:
        """Return the namespaces that hold checkpoints."""
        self.whole()
        return list(self._checkpoints)

    def checkpoints(self, namespace: str) -> list[CheckpointPlace]:
        """Return the checkpoints of a namespace, newest first."""
        self.whole()
        known = self._checkpoints.get(namespace, {})
        return [known[checkpoint_id] for checkpoint_id in sorted(known, reverse=True)]

    def writes(self, namespace: str, checkpoint_id: str) -> list[WritesPlace]:
        """Return the lines of writes of a checkpoint, in the order in which they were stored.

        Those that stand after the checkpoint are known once it is; it lists those before.
        """
        place = self.find(namespace, checkpoint_id)
        found = {p.pointer[0]: p for p in self._writes.get((namespace, checkpoint_id), ())}
        if place is not None and (body := self.body(place.pointer)) is not None:
            for offset, length in body.get("earlier", ()):
                key = checkpoint_log.peek(self._file.read_at(offset, length)) if offset not in found else None
                if isinstance(key, WritesKey):
                    found[offset] = Place(key, (offset, length))
        return [found[offset] for offset in sorted(found)]

    def writes_known(self, namespace: str, checkpoint_id: str) -> list[WritesPlace]:
        """Return the lines of writes of a checkpoint that are among the known lines, in their order."""
        return sorted(self._writes.get((namespace, checkpoint_id), ()), key=lambda place: place.pointer)

    def form(self, key: FormKey) -> Pointer | None:
        """Return where a form stands, if it is among the lines that are known."""
        return self._forms.get(key)

    def body(self, pointer: Pointer) -> dict[str, Any] | None:
        """Read a line's body; it is shared, and nobody changes it. `None` where the line is damaged."""
        offset, length = pointer
        body = self._bodies.get(offset)
        if body is None:
            body = self._read_body(offset, length)
            if body is None:
                return None
            self._keep(offset, body)
        self._bodies.move_to_end(offset)
        return body

    def _read_body(self, offset: int, length: int) -> dict[str, Any] | None:
        content = checkpoint_log.content_of(self._file.read_at(offset, length))
        if content is None:
            generation = self.generation
            self.refresh()
            # Another process may have pruned the thread in this moment; then nothing is damaged.
            if self.generation == generation:
                self._damage(offset, f"the line at byte {offset} is damaged")
            return None
        if content[0] == "body":
            return content[1]
        if self._sealer is None:
            self._damage(offset, f"the line at byte {offset} is sealed, and this saver's serializer seals nothing")
            return None
        return unsealed(content[1], self._sealer)

    def thread_id(self) -> str | None:
        """Return the id of the thread that the first line names; `None` where it is damaged or missing."""
        size = 4096
        while b"\n" not in (head := self._file.read_at(0, size)) and len(head) == size:
            size *= 8
        return checkpoint_log.thread_of(head.split(b"\n", 1)[0])

    # -- writing ------------------------------------------------------------------------------------------------

    def begin(self, thread_id: str, at: datetime) -> bytes:
        """Return the first line where the file has none yet, else nothing."""
        return b"" if self.exists() else self.start_line(thread_id, at)

    @staticmethod
    def start_line(thread_id: str, at: datetime) -> bytes:
        """Return the first line of a file."""
        return checkpoint_log.render_start(thread_id, at)

    def next_offset(self) -> int:
        """Return where the next line will stand."""
        return self._file.next_offset()

    def append_bytes(self, data: bytes) -> None:
        """Append lines that were rendered for `next_offset`, in one durable write."""
        self._file.append(data)
        self.forget()
        self.refresh()

    def ancestors(self) -> list[CheckpointPlace]:
        """Return what remains of pruned checkpoints."""
        self.whole()
        return list(self._ancestors.values())

    def render(self, key: Key, body: dict[str, Any]) -> bytes:
        """Write a line, sealed where this file's lines are."""
        if self._sealer is None:
            return checkpoint_log.render(key, ("body", body))
        return checkpoint_log.render(key, ("sealed", sealed(body, self._sealer)))

    def append(self, entries: Iterable[tuple[Key, dict[str, Any]]], *, first: bytes = b"") -> list[Pointer]:
        """Append lines in one durable write.

        Args:
            entries: What they hold; the bodies are kept and must not change any more.
            first: Bytes that go before them.
        """
        rendered = [(key, body, self.render(key, body)) for key, body in entries]
        offset = self._file.append(first + b"".join(data for _, _, data in rendered)) + len(first)
        pointers = []
        for key, body, data in rendered:
            pointer = (offset, len(data) - 1)
            self._enter(key, pointer, is_earlier=False)
            self._keep(offset, body)
            pointers.append(pointer)
            offset += len(data)
        return pointers

    # -- below: taking lines in ---------------------------------------------------------------------------------

    def _take(self, lines: Iterable[Line], *, is_earlier: bool) -> None:
        for line in lines:
            if records.is_whole(line.data):
                self._take_whole(line.offset, line.data, is_earlier=is_earlier)
                continue
            found = list(records.pieces(line.data))
            for start, piece in reversed(found) if is_earlier else found:
                self._take_whole(line.offset + start, piece, is_earlier=is_earlier)
            rescued = f"; {len(found)} whole records in it were read" if found else ""
            self._damage(line.offset, f"the line at byte {line.offset} is damaged and was skipped{rescued}")

    def _take_whole(self, offset: int, data: bytes, *, is_earlier: bool) -> None:
        key = checkpoint_log.peek(data)
        if key is not None:
            self._enter(key, (offset, len(data)), is_earlier=is_earlier)

    def _enter(self, key: Key, pointer: Pointer, *, is_earlier: bool) -> None:
        match key:
            case CheckpointKey(is_ancestor=True):
                self._ancestors.setdefault((key.namespace, key.checkpoint_id), Place(key, pointer))
            case CheckpointKey():
                self._enter_checkpoint(key, pointer, is_earlier=is_earlier)
            case WritesKey():
                places = self._writes.setdefault((key.namespace, key.checkpoint_id), [])
                places.append(Place(key, pointer))
            case FormKey():
                self._forms.setdefault(key, pointer)

    def _enter_checkpoint(self, key: CheckpointKey, pointer: Pointer, *, is_earlier: bool) -> None:
        known = self._checkpoints.setdefault(key.namespace, {})
        newest = max(key.checkpoint_id, key.late or "")
        if is_earlier:
            # What stands later in the file was written later, and holds.
            known.setdefault(key.checkpoint_id, Place(key, pointer))
            self._latest.setdefault(key.namespace, newest)
        else:
            known[key.checkpoint_id] = Place(key, pointer)
            self._latest[key.namespace] = max(newest, self._latest.get(key.namespace, ""))

    def _keep(self, offset: int, body: dict[str, Any]) -> None:
        self._bodies[offset] = body
        while len(self._bodies) > BODIES:
            self._bodies.popitem(last=False)

    def _damage(self, offset: int, reason: str) -> None:
        if offset not in self._reported:
            self._reported.add(offset)
            self._report(self.path, reason)
