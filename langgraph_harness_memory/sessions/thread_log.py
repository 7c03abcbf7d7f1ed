"""One thread's session log: which messages stand where, and whose it is.

Knows keys and offsets, not messages: those are read from the file when they are asked for. Nothing here is
thread-safe; `SessionLog` hands it out under the session's lock.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol

from langgraph_harness_memory.errors import TenantMismatch, UnreadableFile
from langgraph_harness_memory.formats import records, session_log
from langgraph_harness_memory.formats.plain import packed, unpacked, unsealed
from langgraph_harness_memory.formats.plain import sealed as seal
from langgraph_harness_memory.formats.session_log import LineKey, MessageLine, OwnerLine, SessionStart
from langgraph_harness_memory.sessions.lines import Line, LineFile
from langgraph_harness_memory.workspace import Workspace

NEAR = 64 * 1024
"""Bytes between two records that are rather read along than read apart."""

LARGEST_READ = 16 * 1024 * 1024
"""Bytes that are read at once, if no single line is longer."""

Report = Callable[[str, str], None]
"""Is told of damage: the file's path and what is wrong."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A message of the log and where its line stands."""

    key: LineKey
    offset: int
    length: int


@dataclass(frozen=True, kw_only=True, slots=True)
class NewMessage:
    """A message that is to be logged."""

    message_id: str | None
    content_hash: str
    record: dict[str, Any]
    """Its plain JSON."""
    namespace: str = ""
    logged_at: datetime | None = None
    """When it was first logged, where it is a copy."""


class ThreadLog:
    """The log of one thread.

    Args:
        workspace: Where it lies.
        path: Its path there.
        thread_id: The thread, as LangGraph knows it.
        sealer: Seals each message; `None` = they stand as plain JSON.
        report: Is told of damaged lines, once each.
    """

    def __init__(
        self, workspace: Workspace, path: str, thread_id: str, *, sealer: SerializerProtocol | None, report: Report
    ) -> None:
        self.path = path
        self.thread_id = thread_id
        self._workspace = workspace
        self._file = LineFile(workspace, path)
        self._sealer = sealer
        self._report = report
        self.generation = 0
        """Counts the times that the file turned out to be another one; positions and offsets of before are void then."""
        self._forget()

    def _forget(self) -> None:
        self.generation += 1
        self.entries: dict[int, Entry] = {}
        self._reported: set[int] = set()
        self._by_id: dict[str | None, dict[str, int]] = {}
        self._owners: dict[int, OwnerLine] = {}
        self._start: SessionStart | None = None
        self._salt: bytes | None = None

    # -- what is known ------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Take in what others wrote since the last look."""
        news = self._file.news()
        if news.is_new:
            self._forget()
        self._take(news.lines)

    def whole(self) -> None:
        """Know every line."""
        while lines := self._file.earlier():
            self._take(lines)

    def back_to(self, position: int) -> None:
        """Know every line from a position on."""
        while (not self.entries or min(self.entries) > position) and (lines := self._file.earlier()):
            self._take(lines)

    def next_position(self) -> int:
        """Return the position of the next message."""
        while not self.entries and (lines := self._file.earlier()):
            self._take(lines)
        return max(self.entries) + 1 if self.entries else 0

    def find(self, message_id: str | None, content_hash: str) -> Entry | None:
        """Find a message by its id and content hash; the whole log must be known."""
        position = self._by_id.get(message_id, {}).get(content_hash)
        return None if position is None else self.entries[position]

    def entry(self, message_id: str | None, content_hash: str) -> Entry:
        """Return a message that is there; the whole log must be known."""
        return self.entries[self._by_id[message_id][content_hash]]

    def start(self) -> SessionStart | None:
        """Return the first line; `None` where there is no log, or its first line is damaged."""
        if self._start is None:
            size = 4096
            while b"\n" not in (head := self._file.read_at(0, size)) and len(head) == size:
                size *= 8
            parsed = session_log.parse(head.split(b"\n", 1)[0])
            self._start = parsed if isinstance(parsed, SessionStart) else None
        return self._start

    @property
    def damaged_lines(self) -> int:
        """How many damaged lines were met so far."""
        return len(self._reported)

    def exists(self) -> bool:
        """Say whether there is a log with anything in it."""
        return self._file.high > 0

    def owner(self) -> tuple[str | None, bool]:
        """Return whose thread it is, and whether that is settled.

        A thread without a log belongs to nobody yet; one whose first line is damaged to whom its messages name.
        """
        start = self.start()
        if start is not None and not start.is_tentative:
            return start.tenant, True
        if not self.exists():
            return None, False
        self.whole()
        if self._owners:
            return self._owners[min(self._owners)].tenant, True
        if start is not None:
            return start.tenant, False
        for _, line in self.read(sorted(self.entries)):
            if line.tenant is not None:
                return line.tenant, True
        return None, False

    def check_owner(self, tenant: str | None) -> None:
        """Refuse every tenant but the owner.

        Raises:
            TenantMismatch: The thread belongs to another tenant.
        """
        owner, is_settled = self.owner()
        if owner != tenant and (is_settled or owner is not None):
            raise TenantMismatch(
                f"thread {self.thread_id!r} belongs to {'the shared root' if owner is None else f'tenant {owner!r}'} "
                f"and was asked for by {'the shared root' if tenant is None else f'tenant {tenant!r}'}: "
                "use another thread_id"
            )

    def salt(self) -> bytes:
        """Return what hashes begin with: nothing, unless the log is sealed."""
        if self._sealer is None:
            return b""
        if self._salt is None:
            start = self.start()
            if start is None or start.salt is None:
                raise UnreadableFile(f"{self.path}: a sealed log without its salt; its first line is damaged")
            self._salt = unpacked(start.salt, self._sealer)
        return self._salt

    # -- writing ------------------------------------------------------------------------------------------------

    def begin(self, tenant: str | None, at: datetime, *, is_tentative: bool) -> None:
        """Write the first line if there is no log yet, and settle whose a tentative one is."""
        if not self.exists():
            salt = None if self._sealer is None else packed(secrets.token_bytes(16), self._sealer)
            start = SessionStart(
                thread_id=self.thread_id, tenant=tenant, begun_at=at, is_tentative=is_tentative, salt=salt
            )
            self._file.append(session_log.render_start(start))
            self._start = start
        elif not is_tentative and not self.owner()[1]:
            line = OwnerLine(tenant=tenant, at=at)
            data = session_log.render_owner(line)
            self._owners[self._file.append(data)] = line

    def append(self, messages: Sequence[NewMessage], tenant: str | None, at: datetime) -> list[Entry]:
        """Append messages, which are not there yet, in one durable write; the whole log must be known.

        Returns:
            Their entries, in order.
        """
        position = self.next_position()
        lines: list[tuple[LineKey, bytes]] = []
        for number, new in enumerate(messages, position):
            sealed = None if self._sealer is None else seal(new.record, self._sealer)
            line = MessageLine(
                position=number,
                message_id=new.message_id,
                content_hash=new.content_hash,
                logged_at=new.logged_at or at,
                namespace=new.namespace,
                tenant=tenant,
                message=new.record if sealed is None else None,
                sealed=sealed,
            )
            lines.append((LineKey(number, new.message_id, new.content_hash), session_log.render_message(line)))
        if not lines:
            return []
        offset = self._file.append(b"".join(data for _, data in lines))
        added = []
        for key, data in lines:
            added.append(self._enter(key, offset, len(data) - 1))
            offset += len(data)
        return added

    # -- reading ------------------------------------------------------------------------------------------------

    def read(self, positions: Sequence[int]) -> Iterator[tuple[Entry, MessageLine]]:
        """Read the lines of known positions, ascending; what turns out to be damaged is left out."""
        entries = [self.entries[p] for p in positions if p in self.entries]
        for group in _neighbours(entries):
            first = group[0].offset
            data = self._file.read_at(first, group[-1].offset + group[-1].length - first)
            for entry in group:
                line = session_log.parse(data[entry.offset - first : entry.offset - first + entry.length])
                if isinstance(line, MessageLine):
                    yield entry, line
                else:
                    self._damage(entry.offset, "a message's line changed under its reader")

    def body(self, line: MessageLine) -> dict[str, Any]:
        """Return the plain JSON of a message.

        Raises:
            ValueError: It is sealed, and not for this log's serializer.
        """
        if line.message is not None:
            return line.message
        if line.sealed is None:
            raise ValueError(f"{self.path}: message {line.position} holds nothing")
        return self.unsealed(line.sealed)

    def unsealed(self, sealed: list[str]) -> dict[str, Any]:
        """Return the plain JSON of a sealed message.

        Raises:
            ValueError: This log has no serializer that unseals.
        """
        if self._sealer is None:
            raise ValueError(f"{self.path} is sealed and was opened without its serializer")
        return unsealed(sealed, self._sealer)

    def bytes_at(self, offset: int, length: int) -> bytes:
        """Read raw bytes, where a checkpoint says that messages stand."""
        return self._file.read_at(offset, length)

    # -- below: taking lines in ---------------------------------------------------------------------------------

    def _take(self, lines: Iterable[Line]) -> None:
        for line in lines:
            if records.is_whole(line.data):
                self._take_whole(line.offset, line.data)
                continue
            found = list(records.pieces(line.data))
            for start, piece in found:
                self._take_whole(line.offset + start, piece)
            rescued = f"; {len(found)} whole records in it were read" if found else ""
            self._damage(line.offset, f"the line at byte {line.offset} is damaged and was skipped{rescued}")

    def _take_whole(self, offset: int, data: bytes) -> None:
        key = session_log.peek(data)
        if key is not None:
            self._enter(key, offset, len(data))
            return
        parsed = session_log.parse(data)
        if isinstance(parsed, OwnerLine):
            self._owners[offset] = parsed

    def _enter(self, key: LineKey, offset: int, length: int) -> Entry:
        entry = Entry(key, offset, length)
        standing = self.entries.get(key.position)
        # Two lines of one position come from hands, not from here; the earlier one keeps it.
        if standing is None or standing.offset > offset:
            self.entries[key.position] = entry
        versions = self._by_id.setdefault(key.message_id, {})
        if key.content_hash not in versions or versions[key.content_hash] > key.position:
            versions[key.content_hash] = key.position
        return entry

    def _damage(self, offset: int, reason: str) -> None:
        if offset not in self._reported:
            self._reported.add(offset)
            self._report(self.path, reason)


def _neighbours(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    group: list[Entry] = []
    for entry in entries:
        if group and (
            not 0 <= entry.offset - (group[-1].offset + group[-1].length) <= NEAR
            or entry.offset - group[0].offset > LARGEST_READ
        ):
            yield group
            group = []
        group.append(entry)
    if group:
        yield group
