"""The values of a checkpoint as plain JSON that refers to messages, and back.

value ──► Writing ──► plain JSON, and what it refers to: lines of the session log, forms
plain JSON ──► Reading ──► value, with the message objects that are in memory where they are intact
"""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import cache
from typing import Any

from langchain_core.messages import BaseMessage, RemoveMessage
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.types import Send

from langgraph_harness_memory.errors import DamagedSession
from langgraph_harness_memory.formats import records
from langgraph_harness_memory.formats.checkpoint_log import FormKey, Pointer
from langgraph_harness_memory.formats.forms import form_of
from langgraph_harness_memory.formats.messages import (
    CHUNKS,
    WHOLE,
    Fields,
    fields_of,
    held_by,
    message_and_fields,
    message_from,
    message_json,
    redacted,
    without_parts,
    without_secrets,
)
from langgraph_harness_memory.formats.plain import Special, live, packed, plain, unpacked
from langgraph_harness_memory.formats.session_log import hash_of
from langgraph_harness_memory.sessions.checkpoint_file import CheckpointFile
from langgraph_harness_memory.sessions.collecting import PAUSE
from langgraph_harness_memory.sessions.lists import (
    Element,
    Item,
    Other,
    Piece,
    StoredList,
    changed_from,
    common_start,
    count_of,
    extended,
    item_of,
    laid_out,
)
from langgraph_harness_memory.sessions.live import Held, LiveMessages, Made, Said, token_of
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.sessions.pool import Session
from langgraph_harness_memory.sessions.thread_log import NewMessage

MANY = 256
"""Messages that are built at once from which on the garbage collector waits."""


@cache
def _is_snapshot(kind: type) -> bool:
    """Say whether a type is langgraph's snapshot of a delta channel: a named tuple around one value."""
    fields = getattr(kind, "_fields", None)
    return fields == ("value",) and kind.__module__.startswith("langgraph.checkpoint.")


class Messages:
    """Where the messages of one thread are: in memory, in its log, in its file of checkpoints.

    Args:
        session: The thread; its owner holds it, for writing where messages are stored.
        file: Its checkpoints.
        log: Writes and reads the session log.
        serde: Reads what JSON cannot say inside a message.
    """

    def __init__(self, session: Session, file: CheckpointFile, log: SessionLog, serde: SerializerProtocol) -> None:
        self.session = session
        self.file = file
        self.live = LiveMessages()
        self.serde = serde
        self.redact = log.redact
        self._log = log

    # -- storing ------------------------------------------------------------------------------------------------

    def store(
        self, messages: Sequence[BaseMessage], *, namespace: str, tenant: str | None, is_fresh: bool
    ) -> list[Element]:
        """Find or store messages; those that are new go to the log, or to the file of checkpoints, in one write each.

        Args:
            messages: Of LangChain's own classes, removals and parts left out.
            namespace: The sub-graph that they belong to.
            tenant: The owner of a log that is begun here.
            is_fresh: Somebody returned them just now, so an object that was changed is a new version. Otherwise a known
                object stands for what was stored.
        """
        found: list[Held | None] = []
        for message in messages:
            held = self.live.of(message)
            if held is not None and is_fresh and held_by(message) != held.pristine and not self._is_same(message, held):
                held = None
            found.append(held)
        unknown = [i for i, held in enumerate(found) if held is None]
        said = [i for i in unknown if form_of(messages[i]) is None]
        made = [i for i in unknown if form_of(messages[i]) is not None]
        for i, held in zip(said, self._say([messages[i] for i in said], namespace, tenant), strict=True):
            found[i] = held
        for i, held in zip(made, self._make([messages[i] for i in made]), strict=True):
            found[i] = held
        return [held for held in found if held is not None]

    def _is_same(self, message: BaseMessage, held: Held) -> bool:
        """Say whether an object that may have changed unseen still holds what was stored."""
        new = self._log.written(message, "")
        return new.message_id == held.message_id and self._hash(new) == held.content_hash

    def _hash(self, new: NewMessage) -> str:
        salt = self.session.log.salt()
        return hash_of(new.record, salt=salt) if salt else new.content_hash

    def _say(self, messages: Sequence[BaseMessage], namespace: str, tenant: str | None) -> list[Held]:
        if not messages:
            return []
        taken = [self._taken(message, namespace) for message in messages]
        log = self.session.log
        log.begin(tenant, self._log.clock.now(), is_tentative=True)
        entries = self._log.place(log, [new for _, new, _ in taken])
        result = []
        for (message, new, fields), entry in zip(taken, entries, strict=True):
            place = Said(entry.key.position, (entry.offset, entry.length))
            result.append(self._remember(message, entry.key.content_hash, place, new, fields))
        return result

    def _make(self, messages: Sequence[BaseMessage]) -> list[Held]:
        if not messages:
            return []
        taken = [self._taken(message, "") for message in messages]
        keys = [FormKey(new.message_id, self._hash(new)) for _, new, _ in taken]
        missing = {key: new for key, (_, new, _) in zip(keys, taken, strict=True) if self.file.form(key) is None}
        if missing:
            first = self.file.begin(self.session.thread_id, self._log.clock.now())
            self.file.append([(key, {"message": new.record}) for key, new in missing.items()], first=first)
        result = []
        for key, (message, new, fields) in zip(keys, taken, strict=True):
            pointer = self.file.form(key)
            assert pointer is not None
            result.append(self._remember(message, key.content_hash, Made(pointer), new, fields))
        return result

    def say_aside(self, message: BaseMessage, namespace: str, tenant: str | None) -> None:
        """Log a message that no value refers to."""
        self.session.log.begin(tenant, self._log.clock.now(), is_tentative=True)
        self._log.place(self.session.log, [self._log.written(message, namespace)])

    def in_place(self, message: BaseMessage) -> dict[str, Any]:
        """Write a message that stands in place, in full."""
        record = message_json(message, self.serde) | {"id": message.id}
        return record if self._log.redact is None else redacted(record, self._log.redact)

    def _taken(self, message: BaseMessage, namespace: str) -> tuple[BaseMessage, NewMessage, Any]:
        """Write a message and copy what it holds, both of the same moment.

        LangGraph gives a message its id while this thread may be at it.
        """
        while True:
            new = self._log.written(message, namespace)
            fields = fields_of(message)
            if fields[0]["id"] == new.message_id:
                return message, new, fields

    def _remember(
        self, message: BaseMessage, content_hash: str, place: Said | Made, new: NewMessage, fields: Any
    ) -> Held:
        known = (
            self.live.said(place.position, content_hash)
            if isinstance(place, Said)
            else self.live.made(new.message_id, content_hash)
        )
        if known is not None:
            self.live.assign(message, known)
            return known
        if self._log.redact is not None:
            shown, fields = message_and_fields(new.record, self.serde, message_id=new.message_id)
            held = Held(new.message_id, content_hash, place, shown, fields)
            self.live.remember(held)
            self.live.assign(message, held)
            return held
        held = Held(new.message_id, content_hash, place, message, fields)
        self.live.remember(held)
        return held

    # -- finding again ------------------------------------------------------------------------------------------

    def element(self, item: Item) -> list[Element]:
        """Read what an item of a list stands for; a message that is damaged is left out and reported."""
        match item:
            case ["is", value]:
                return [Other(value)]
            case ["made", message_id, content_hash, offset, length]:
                return self._made(message_id, content_hash, (offset, length))
            case ["said", message_id, content_hash, position, offset, length]:
                digest = f"{token_of(message_id, content_hash):016x}"
                return list(self._run(position, 1, digest, (offset, length)))
            case ["run", position, count, digest, offset, length]:
                return list(self._run(position, count, digest, (offset, length)))
            case _:
                raise DamagedSession(f"{self.file.path}: {item!r} is no item of a list of messages")

    def _made(self, message_id: str | None, content_hash: str, pointer: Pointer) -> list[Element]:
        held = self.live.made(message_id, content_hash)
        if held is None:
            body = self.file.body(pointer)
            if body is None or "message" not in body:
                raise DamagedSession(
                    f"{self.file.path}: the form of message {message_id!r} at byte {pointer[0]} cannot be read; "
                    "go on from an earlier checkpoint, the session log holds every message"
                )
            message, fields = message_and_fields(body["message"], self.serde, message_id=message_id)
            held = Held(message_id, content_hash, Made(pointer), message, fields)
            self.live.remember(held)
        return [held]

    def _run(self, first: int, count: int, digest: str, pointer: Pointer) -> Sequence[Held]:
        known = [held for p in range(first, first + count) if (held := self.live.at(p)) is not None]
        if len(known) == count and _digest(known) == digest:
            return known
        with PAUSE if count >= MANY else nullcontext():
            found = self._from_bytes(first, count, pointer)
        if len(found) != count or _digest(found) != digest:
            found = self._from_log(first, count)
        if len(found) != count or _digest(found) != digest:
            self._log.pool.tell_damage(
                self.session,
                f"{count} messages from position {first} on are not what a checkpoint refers to; "
                f"{len(found)} of them were read",
            )
        return found

    def _from_bytes(self, first: int, count: int, pointer: Pointer) -> list[Held]:
        wanted = range(first, first + count)
        lines = records.parse_all(self.session.log.bytes_at(*pointer), pointer[0])
        return [self._held((offset, length), r) for offset, length, r in lines if r.get("n", -1) in wanted]

    def _from_log(self, first: int, count: int) -> list[Held]:
        log = self.session.log
        log.back_to(first)
        entries = [log.entries[p] for p in range(first, first + count) if p in log.entries]
        found = []
        for entry in entries:
            record = records.parse(log.bytes_at(entry.offset, entry.length))
            if record is not None:
                found.append(self._held((entry.offset, entry.length), record))
        return found

    def _held(self, pointer: Pointer, record: dict[str, Any]) -> Held:
        position, content_hash = record["n"], record["h"]
        known = self.live.said(position, content_hash)
        if known is not None:
            return known
        message, fields = self._message(record)
        held = Held(record["id"], content_hash, Said(position, pointer), message, fields)
        self.live.remember(held)
        return held

    def _message(self, record: dict[str, Any]) -> tuple[BaseMessage, Fields]:
        body = record.get("message")
        if body is None:
            body = self.session.log.unsealed(record["sealed"])
        return message_and_fields(body, self.serde, message_id=record["id"])

    def renewed(self, held: Held) -> BaseMessage:
        """Return the object of a stored message, a new one where a caller changed it."""
        if not held.is_intact:
            match held.place:
                case Said(pointer=pointer):
                    record = records.parse(self.session.log.bytes_at(*pointer))
                case Made(pointer=pointer):
                    body = self.file.body(pointer)
                    record = None if body is None else {"id": held.message_id, "message": body["message"]}
            if record is None or record.get("id") != held.message_id:
                raise DamagedSession(
                    f"message {held.message_id!r} of thread {self.session.thread_id!r} was changed in memory and "
                    "its line cannot be read any more"
                )
            held.renew(*self._message(record))
            self.live.remember(held)
        return held.message


def _digest(helds: Iterable[Held]) -> str:
    return f"{sum(held.token for held in helds) % 2**64:016x}"


class Writing:
    """Turns the values of one checkpoint, or of one task's writes, into plain JSON.

    Args:
        messages: Where messages are.
        serde: Takes what JSON cannot say.
        namespace: The sub-graph, for messages that are new to the log.
        tenant: The owner of a log that is begun here.
        is_fresh: Every message was returned by somebody just now.
        is_input: What the graph was given; messages without an id get theirs later and stand here in full.
    """

    def __init__(
        self,
        messages: Messages,
        serde: SerializerProtocol,
        *,
        namespace: str,
        tenant: str | None,
        is_fresh: bool = False,
        is_input: bool = False,
    ) -> None:
        self._messages = messages
        self._serde = serde
        self._namespace = namespace
        self._tenant = tenant
        self._is_fresh = is_fresh
        self._is_input = is_input

    def value(self, value: Any) -> Any:
        """Write a value."""
        if self._messages.redact is not None:
            value = without_secrets(value, self._messages.redact)
        return plain(value, self._serde, self._special)

    def channel_list(self, values: Sequence[Any], base: StoredList | None, *, is_returned: bool = False) -> StoredList:
        """Lay out a channel's list of messages against the one that its parent holds.

        Args:
            values: The list.
            base: The parent's.
            is_returned: Nothing says which messages a node returned, so that an object that was changed counts as one.
        """
        if base is None:
            return changed_from(None, self._elements(values))
        shared = common_start(base, values, self._messages.live.moved)
        if is_returned and (changed := base.changed_objects()) and changed[0] < shared:
            return changed_from(base, self._elements(values, is_fresh=True))
        return changed_from(base, self._elements(values[shared:]), same=shared)

    def _special(self, kind: type) -> Special | None:
        if kind is list:
            return self._nested_list
        if kind is Send:
            return self._send
        if issubclass(kind, BaseMessage):
            return self._message
        return self._snapshot if _is_snapshot(kind) else None  # type: ignore[arg-type] # classes are hashable

    def _nested_list(self, values: list[Any]) -> Any:
        if not any(isinstance(value, BaseMessage) for value in values):
            return [self.value(value) for value in values]
        return {"$messages": [None, *extended([], self._elements(values), last=None)]}

    def _elements(self, values: Sequence[Any], *, is_fresh: bool = False) -> list[Element]:
        shared = [i for i, value in enumerate(values) if self._is_stored(value)]
        stored = self._messages.store(
            [values[i] for i in shared],
            namespace=self._namespace,
            tenant=self._tenant,
            is_fresh=is_fresh or self._is_fresh,
        )
        elements = dict(zip(shared, stored, strict=True))
        return [elements[i] if i in elements else Other(self.value(value)) for i, value in enumerate(values)]

    def _is_stored(self, value: Any) -> bool:
        """Say whether a value is a message that stands in the log or as a form, and not in place."""
        if type(value) not in WHOLE:
            return False
        return value.id is not None or not (self._is_input or self._is_fresh)

    def _message(self, message: BaseMessage) -> Any:
        if self._is_stored(message):
            (element,) = self._elements([message])
            return {"$message": item_of(element)}
        if type(message) not in {*WHOLE, RemoveMessage}:
            self._log_whole(message)
        if type(message) in {*WHOLE, *CHUNKS, RemoveMessage}:
            return {"$message": ["is", self._messages.in_place(message)]}
        return {"$serde": packed(message, self._serde)}

    def _log_whole(self, message: BaseMessage) -> None:
        """Log what a streamed part, or a message of the application's own class, says."""
        whole = without_parts(message)
        if whole.id is not None and form_of(whole) is None:
            self._messages.say_aside(whole, self._namespace, self._tenant)

    def _send(self, send: Send) -> Any:
        if send.timeout is not None:
            return {"$serde": packed(send, self._serde)}
        return {"$send": [send.node, self.value(send.arg)]}

    def _snapshot(self, snapshot: Any) -> Any:
        return {"$snapshot": [packed(snapshot._replace(value=None), self._serde), self.value(snapshot.value)]}


class Reading:
    """Turns plain JSON of a file of checkpoints back into values."""

    def __init__(self, messages: Messages, serde: SerializerProtocol) -> None:
        self._messages = messages
        self._serde = serde
        self._special: dict[str, Special] = {
            "$messages": lambda content: self.values(self.stored({"$messages": content})),
            "$message": self._message,
            "$send": lambda content: Send(content[0], self.value(content[1])),
            "$snapshot": lambda content: unpacked(content[0], serde)._replace(value=self.value(content[1])),
        }

    def value(self, value: Any) -> Any:
        """Read a value.

        Raises:
            DamagedSession: It refers to a line that cannot be read.
        """
        return live(value, self._serde, self._special)

    def stored(self, value: dict[str, Any], pointer: Pointer | None = None, channel: str | None = None) -> StoredList:
        """Read how a list of messages is stored, all its pieces.

        Args:
            value: Its last piece.
            pointer: The line that this piece stands in, for a channel's own list.
            channel: The channel; the pieces before are under the same name.
        """
        pieces: list[tuple[Pointer | None, list[Item]]] = []
        while True:
            before, *items = value["$messages"]
            pieces.append((pointer, items))
            if before is None:
                break
            pointer = (before[0], before[1])
            body = self._messages.file.body(pointer)
            if body is None or channel not in body.get("values", {}):
                raise DamagedSession(
                    f"{self._messages.file.path}: the messages at byte {pointer[0]} cannot be read; go on from an "
                    "earlier checkpoint, the session log holds every message"
                )
            value = body["values"][channel]
        return self._laid_out(list(reversed(pieces)))

    def _laid_out(self, pieces: list[tuple[Pointer | None, list[Item]]]) -> StoredList:
        elements: list[Element] = []
        items: list[Item] = []
        ends = []
        for pointer, part in pieces:
            for item in part:
                found = self._messages.element(item)
                elements += found
                items += [item] if len(found) == count_of(item) else extended([], found, last=None)
            ends.append(Piece(pointer, len(items)))
        return laid_out(elements, items, ends)

    def values(self, stored: StoredList) -> list[Any]:
        """Return the values of a list, message objects that a caller changed replaced by new ones."""
        for index in stored.changed_objects():
            element = stored.elements[index]
            if isinstance(element, Held):
                stored.objects[index] = self._messages.renewed(element)
                stored.pristine[index] = element.pristine
        if stored.is_plain:
            return list(stored.objects)
        return [
            self.value(element.value) if isinstance(element, Other) else message
            for element, message in zip(stored.elements, stored.objects, strict=True)
        ]

    def _message(self, item: Item) -> Any:
        if item[0] == "is":
            return message_from(item[1], self._messages.serde, message_id=item[1].get("id"))
        found = self._messages.element(item)
        if not found or not isinstance(found[0], Held):
            raise DamagedSession(f"message {item[1]!r} of {self._messages.file.path} cannot be read")
        return self._messages.renewed(found[0])
