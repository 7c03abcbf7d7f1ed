"""Take what was said out of a line of a session log, and leave everything that refers to the line in order.

The line keeps its length (blanks stand before its checksum), its position, its id and its hash: checkpoints find it
where they look for it, and a message that is logged again is recognised and not written anew.
"""

import json
import zlib
from typing import Any

from langgraph_harness_memory.formats import records

FORGOTTEN = "[forgotten]"
"""What a message says whose content was taken out; nothing at all where it was shorter than this."""

_KEPT = ("type", "tool_call_id", "name", "role")


def redact_line(line: bytes) -> bytes | None:
    """Return a message's line without what the message said, as long as it was.

    Args:
        line: The line without its newline.

    Returns:
        `None` where there is nothing to take out: no message, a sealed one, a damaged line, or one redacted before.
    """
    record = records.parse(line)
    if record is None or not isinstance(record.get("message"), dict):
        return None
    for content in (FORGOTTEN, ""):
        redacted = _padded({**record, "message": _emptied(record["message"], content)}, len(line))
        if redacted is not None:
            return None if redacted == line else redacted
    return None


def _emptied(message: dict[str, Any], content: str) -> dict[str, Any]:
    kept: dict[str, Any] = {key: message[key] for key in _KEPT if key in message}
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        kept["tool_calls"] = [{**call, "args": {}} if isinstance(call, dict) else call for call in calls]
    return {**kept, "content": content}


def _padded(record: dict[str, Any], length: int) -> bytes | None:
    """Write a record as a line of a length; `None` where it does not fit."""
    record.pop("c", None)
    text = json.dumps(record, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    body = text[:-1].encode("ascii")
    missing = length - len(body) - len(b',"c":"00000000"}')
    if missing < 0:
        return None
    body += b" " * missing
    return b'%b,"c":"%08x"}' % (body, zlib.crc32(body))
