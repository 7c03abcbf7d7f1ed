"""The values of a checkpoint as plain JSON that refers to messages, and back.

value ──► Writing ──► plain JSON, and what it refers to: lines of the session log, forms
plain JSON ──► Reading ──► value, with the message objects that are in memory where they are intact
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from langchain_core.messages import BaseMessage, RemoveMessage
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.types import Send

from langgraph_harness_memory.errors import DamagedSession
from langgraph_harness_memory.formats.checkpoint_log import Pointer
from langgraph_harness_memory.formats.forms import form_of
from langgraph_harness_memory.formats.messages import (
    CHUNKS,
    WHOLE,
    message_from,
    without_parts,
    without_secrets,
)
from langgraph_harness_memory.formats.plain import Special, live, packed, plain, unpacked
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
from langgraph_harness_memory.sessions.live import Held
from langgraph_harness_memory.sessions.messages import Messages


@cache
def _is_snapshot(kind: type) -> bool:
    """Say whether a type is langgraph's snapshot of a delta channel: a named tuple around one value."""
    fields = getattr(kind, "_fields", None)
    return fields == ("value",) and kind.__module__.startswith("langgraph.checkpoint.")


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
