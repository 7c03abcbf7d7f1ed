"""Where the messages of one thread are: in memory, in its log, in its file of checkpoints.

store    object ──► in memory? ► in the log, or among the forms? ► written there ──► Held
element  what a checkpoint refers to ──► in memory? ► read from the disk ──► Held
"""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.base import SerializerProtocol

from langgraph_harness_memory.errors import DamagedSession
from langgraph_harness_memory.formats import records
from langgraph_harness_memory.formats.checkpoint_log import FormKey, Pointer
from langgraph_harness_memory.formats.forms import form_of
from langgraph_harness_memory.formats.messages import (
    Fields,
    fields_of,
    held_by,
    message_and_fields,
    message_json,
    redacted,
)
from langgraph_harness_memory.formats.session_log import hash_of
from langgraph_harness_memory.sessions.checkpoint_file import CheckpointFile
from langgraph_harness_memory.sessions.collecting import PAUSE
from langgraph_harness_memory.sessions.lists import Element, Item, Other
from langgraph_harness_memory.sessions.live import Held, LiveMessages, Made, Said, token_of
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.sessions.pool import Session
from langgraph_harness_memory.sessions.thread_log import NewMessage

MANY = 256
"""Messages that are built at once from which on the garbage collector waits."""


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
            generation = self.session.log.generation
            self.session.log.refresh()
            if self.session.log.generation != generation:
                raise DamagedSession(f"{self.session.log.path} was rewritten or deleted while it was read")
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
