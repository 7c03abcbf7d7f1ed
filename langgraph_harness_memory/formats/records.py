r"""Lines of plain JSON that carry their own checksum: what the files of a session are made of.

    {"v":1,"n":3,"id":"…","h":"…", … ,"c":"1f2e3d4c"}\n

The last field of each line is the CRC-32 of the bytes before it, so that a flipped bit, a torn write and two lines that
were glued together are noticed, while any JSON reader still reads the line. Everything is ASCII: other characters,
lone surrogates included, stand as escapes, and a line ends at `\n` and nowhere else.
"""

import json
import re
import zlib
from collections.abc import Iterator
from typing import Any

VERSION = 1
"""Format version of the lines written here; a reader keeps and skips what it does not know."""

_TRAILER_BYTES = len(b',"c":"00000000"}')
_ANY_TRAILER = re.compile(rb',"c":"[0-9a-f]{8}"\}')
_START = re.compile(rb'\{"v":\d')


def render(record: dict[str, Any]) -> bytes:
    """Write a record as its line, checksum and newline included.

    Args:
        record: JSON values only; it holds at least one field, and none named `c`.
    """
    text = json.dumps(record, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    body = text[:-1].encode("ascii")
    return b'%b,"c":"%08x"}\n' % (body, zlib.crc32(body))


def is_whole(line: bytes) -> bool:
    """Say whether a line, without its newline, is a record with the right checksum."""
    return line[-_TRAILER_BYTES:] == b',"c":"%08x"}' % zlib.crc32(line[:-_TRAILER_BYTES])


def parse(line: bytes) -> dict[str, Any] | None:
    """Read a line back; `None` where its checksum or its JSON is wrong. Never raises."""
    if not is_whole(line):
        return None
    try:
        record = json.loads(line.decode("ascii"))
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def pieces(line: bytes) -> Iterator[tuple[int, bytes]]:
    """Find the whole records inside a damaged line: two that lost the newline between them, one after a torn start.

    Yields:
        The offset of each whole record within the line, and its bytes, in order.
    """
    floor = 0
    for trailer in _ANY_TRAILER.finditer(line):
        starts = [m.start() for m in _START.finditer(line, floor, trailer.start())]
        for start in starts:
            if is_whole(line[start : trailer.end()]):
                yield start, line[start : trailer.end()]
                floor = trailer.end()
                break


def parse_all(data: bytes, offset: int) -> list[tuple[int, int, dict[str, Any]]]:
    """Read the whole lines of a stretch of a file.

    Args:
        data: The bytes.
        offset: Where they stand in the file.

    Returns:
        Offset and length of each line, and its record; damaged lines are left out.
    """
    lines = []
    for line in data.split(b"\n"):
        if is_whole(line):
            lines.append((offset, len(line), line))
        offset += len(line) + 1
    try:
        # As one document: a quarter faster than line by line.
        parsed = json.loads((b"[" + b",".join(line for _, _, line in lines) + b"]").decode("ascii"))
    except (ValueError, RecursionError):
        parsed = [parse(line) for _, _, line in lines]
    return [
        (start, length, record)
        for (start, length, _), record in zip(lines, parsed, strict=True)
        if isinstance(record, dict)
    ]
