"""The message objects of one thread that are in memory, and which stored message each stands for.

A graph's messages are shared: the list that a reader gets holds the very objects that an earlier one got, since copying
thousands of them at each step costs more than the step. So each object is remembered with a copy of what it held when
it was stored:

    object ──► Held ──► the stored message (log position, or a form's line)
                 └────► what it held then

A caller may change an object. The next reader notices, by comparing, and gets a new object built from the disk; the
stored message never changes. A changed object that a node returns is a write, and becomes a new version.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage

from langgraph_harness_memory.formats.checkpoint_log import Pointer
from langgraph_harness_memory.formats.messages import Fields, held_by

SPARE = 4096
"""Objects beyond twice the live ones that are remembered before the rest is forgotten."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the session log."""

    position: int
    pointer: Pointer


@dataclass(frozen=True, slots=True)
class Made:
    """A form that we made, in the file of checkpoints."""

    pointer: Pointer


@dataclass(eq=False, slots=True)
class Stored:
    """A stored message: what names it and where it is."""

    message_id: str | None
    content_hash: str
    place: Said | Made
    token: int = field(init=False)
    """Its share of a run's digest."""

    def __post_init__(self) -> None:
        self.token = token_of(self.message_id, self.content_hash)


@dataclass(eq=False, slots=True)
class Held(Stored):
    """A stored message and the object that stands for it now."""

    message: BaseMessage
    pristine: Fields
    """What the object held when it was stored or built."""

    @property
    def is_intact(self) -> bool:
        """The object still holds what was stored."""
        return held_by(self.message) == self.pristine

    def renew(self, message: BaseMessage, fields: Fields) -> None:
        """Take another object for the same stored message."""
        self.message, self.pristine = message, fields


def token_of(message_id: str | None, content_hash: str) -> int:
    """Return a number that stands for a message's id and content; a run's digest is the sum of them."""
    return (int(content_hash, 16) * 1_000_003 + zlib.crc32((message_id or "").encode("utf-8", "surrogatepass"))) % 2**64


class LiveMessages:
    """What one thread's message objects stand for. Not thread-safe; the session's owner holds its lock."""

    def __init__(self) -> None:
        self._by_position: dict[int, Held] = {}
        self._by_form: dict[tuple[str | None, str], Held] = {}
        self._known: dict[int, tuple[BaseMessage, Held]] = {}
        self.moved: set[int] = set()
        """Objects, by `id`, that stand for another version than some list that holds them was stored with."""

    def said(self, position: int, content_hash: str) -> Held | None:
        """Return the message at a log position."""
        held = self._by_position.get(position)
        return held if held is not None and held.content_hash == content_hash else None

    def at(self, position: int) -> Held | None:
        """Return what is remembered of a log position."""
        return self._by_position.get(position)

    def made(self, message_id: str | None, content_hash: str) -> Held | None:
        """Return a form."""
        return self._by_form.get((message_id, content_hash))

    def of(self, message: BaseMessage) -> Held | None:
        """Return what an object stands for; `None` for one that was never seen."""
        known = self._known.get(id(message))
        return known[1] if known is not None and known[0] is message else None

    def remember(self, held: Held, message: BaseMessage | None = None) -> None:
        """Remember that an object, by default the message's own, stands for a stored message."""
        match held.place:
            case Said(position=position):
                self._by_position.setdefault(position, held)
            case Made():
                self._by_form.setdefault((held.message_id, held.content_hash), held)
        self.assign(held.message if message is None else message, held)

    def assign(self, message: BaseMessage, held: Held) -> None:
        """Say what an object stands for from now on."""
        before = self.of(message)
        if before is not None and before is not held:
            self.moved.add(id(message))
        self._known[id(message)] = (message, held)

    def trim(self, live: Sequence[Any]) -> None:
        """Forget objects that are not of a live list's elements, when they are many."""
        if len(self._known) <= 2 * len(live) + SPARE:
            return
        keep = {id(held) for held in live}
        self._known = {k: (m, h) for k, (m, h) in self._known.items() if id(h) in keep}
        self._by_position = {p: h for p, h in self._by_position.items() if id(h) in keep}
        self._by_form = {f: h for f, h in self._by_form.items() if id(h) in keep}
        self.moved &= self._known.keys()
