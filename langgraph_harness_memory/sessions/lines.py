"""A file of checksummed lines, read from its end as far as needed and kept current against other writers.

What is known of the file is one stretch that reaches to its end. It grows backwards when something older is asked for
and forwards when somebody, in this process or another, has appended:

    file   ────────────────────────────────────────────►
                        low ├── known lines ──┤ high
              earlier() ◄───┘                 └───► news()

A file that is not the one that was known (rewritten, cut, deleted) starts anew. Nothing here is thread-safe; the
session that owns it holds its lock.
"""

from dataclasses import dataclass

from langgraph_harness_memory.formats import records
from langgraph_harness_memory.workspace import Workspace

CHUNK = 128 * 1024
"""Bytes of the first step backwards; each further one doubles it."""

LARGEST_CHUNK = 32 * 1024 * 1024
ANCHOR = 64
"""Bytes before the end of what is known that must be unchanged for the rest to count as the same file."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line and where it stands."""

    offset: int
    data: bytes
    """Its bytes, without the newline."""


@dataclass(frozen=True, slots=True)
class News:
    """What happened to a file since the last look."""

    is_new: bool
    """It is another file than before (or the first look at it): everything that was known of it is void."""
    lines: tuple[Line, ...]
    """What was appended; empty where the file is new, since `earlier` reads it."""


class LineFile:
    """One file of lines.

    Args:
        workspace: Where it lies.
        path: Its path there.
    """

    def __init__(self, workspace: Workspace, path: str) -> None:
        self.path = path
        self._workspace = workspace
        self.forget()

    def forget(self) -> None:
        """Know nothing any more."""
        self.low = 0
        self.high = 0
        self._size = 0
        self._fingerprint: str | None = None
        self._anchor = b""
        self._chunk = CHUNK
        self._is_open = False

    @property
    def is_whole(self) -> bool:
        """All of the file is known."""
        return self.low == 0

    def news(self) -> News:
        """Look at the file's end."""
        info = self._workspace.stat(self.path)
        if info is None:
            was_known = self._size > 0 or not self._is_open
            self.forget()
            self._is_open = True
            return News(was_known, ())
        if self._is_open and info.fingerprint == self._fingerprint:
            return News(False, ())
        # A change without growth is an edit: a line was redacted in place, or somebody was here with an editor.
        is_edited = info.size == self._size
        if self._is_open and self.high > 0 and info.size >= self.high and not is_edited:
            start = self.high - len(self._anchor)
            stored = self._workspace.read(self.path, start=start)
            if stored is not None and stored.data.startswith(self._anchor):
                lines, used = _split(stored.data[len(self._anchor) :], self.high)
                self._advance(used, stored.data[: used - start])
                self._size, self._fingerprint = start + len(stored.data), info.fingerprint
                return News(False, lines)
        self.forget()
        self._is_open, self._size, self._fingerprint = True, info.size, info.fingerprint
        self.low = self.high = info.size
        return News(True, ())

    def earlier(self) -> tuple[Line, ...]:
        """Read further back; empty where nothing is before.

        The first step back also decides where the last whole line ends; what stands behind it is a torn line, which the
        next append moves aside.
        """
        is_first = self.low == self._size and self.high == self._size
        while self.low > 0:
            start = max(0, self.low - self._chunk)
            stored = self._workspace.read(self.path, start=start, end=self.low)
            data = b"" if stored is None else stored.data
            if start > 0:
                cut = data.find(b"\n") + 1
                if cut in {0, len(data)}:
                    self._chunk *= 2  # one line is longer than the step
                    continue
                data, start = data[cut:], start + cut
            lines, used = _split(data, start)
            if is_first:
                self._advance(used, data[: used - start])
            self.low = start
            self._chunk = max(self._chunk, min(self._chunk * 2, LARGEST_CHUNK))
            return lines
        return ()

    def append(self, data: bytes) -> int:
        """Append whole lines, durably. The caller holds the session's lock and has just seen `news`.

        Returns:
            The offset at which they stand.
        """
        offset = self._workspace.append(self.path, data, is_whole_line=records.is_whole)
        self._size = self.high = offset + len(data)
        self.low = min(self.low, offset)
        self._anchor = data[-ANCHOR:]
        info = self._workspace.stat(self.path)
        self._fingerprint = info.fingerprint if info is not None and info.size == self._size else None
        self._is_open = True
        return offset

    def next_offset(self) -> int:
        """Return where the next append will stand: behind the last whole line, which gains its newline if it lacks it."""
        if self.high == 0:
            return 0
        return self.high if self.read_at(self.high - 1, 1) == b"\n" else self.high + 1

    def read_at(self, offset: int, length: int) -> bytes:
        """Read bytes at an offset; fewer where the file is shorter."""
        stored = self._workspace.read(self.path, start=offset, end=offset + length)
        return b"" if stored is None else stored.data

    def _advance(self, end: int, behind: bytes) -> None:
        self.high = end
        self._anchor = (self._anchor + behind)[-ANCHOR:] if behind else self._anchor


def _split(data: bytes, offset: int) -> tuple[tuple[Line, ...], int]:
    """Cut bytes into lines; an unfinished last line counts if it lacks nothing but its newline."""
    lines = []
    start = 0
    parts = data.split(b"\n")
    rest = parts.pop()
    for part in parts:
        if part:
            lines.append(Line(offset + start, part))
        start += len(part) + 1
    if rest and records.is_whole(rest):
        lines.append(Line(offset + start, rest))
        start += len(rest)
    return tuple(lines), offset + start
