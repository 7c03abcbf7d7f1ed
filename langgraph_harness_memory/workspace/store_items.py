"""How a file stands in a store's items; pure."""

import base64
from dataclasses import dataclass
from typing import Any

from langgraph.store.base import Item

from langgraph_harness_memory.workspace import FileInfo


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """What a file's item says."""

    content: str
    version: str
    parts: tuple[int, ...]
    """Size of each part item."""
    tail: bytes
    modified: float

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return sum(self.parts) + len(self.tail)


def label(part: str) -> str:
    """Write a folder's name as a namespace label, which may hold no dot."""
    return part.replace("%", "%25").replace(".", "%2E")


def plain(text: str) -> str:
    """Read a namespace label as a folder's name."""
    return text.replace("%2E", ".").replace("%25", "%")


def value_of(data: bytes) -> dict[str, Any]:
    """Write bytes as JSON: as text where they are text that every store takes, else as base64."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
    return {"base64": base64.b64encode(data).decode()} if "\0" in text else {"text": text}


def bytes_of(value: dict[str, Any]) -> bytes:
    """Read what `value_of` wrote."""
    return value["text"].encode() if "text" in value else base64.b64decode(value["base64"])


def head_value(head: Head) -> dict[str, Any]:
    """Write a file's item."""
    return {
        **value_of(head.tail),
        "content": head.content,
        "version": head.version,
        "parts": list(head.parts),
        "modified": head.modified,
        "size": head.size,
    }


def head_of(item: Item) -> Head:
    """Read a file's item."""
    value = item.value
    return Head(
        content=value["content"],
        version=value["version"],
        parts=tuple(value["parts"]),
        tail=bytes_of(value),
        modified=value["modified"],
    )


def info_of(path: str, head: Head) -> FileInfo:
    """Describe a file by its item."""
    return FileInfo(path=path, size=head.size, modified=head.modified, fingerprint=head.version)
