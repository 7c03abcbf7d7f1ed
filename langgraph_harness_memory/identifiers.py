"""Names that come from outside (thread, user, tool call) and what they become on disk.

Ids are opaque: any string works, two different ids never share a file, and no id reaches a path unescaped.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import PurePosixPath

PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
"""Ids that stand for themselves. Upper case is escaped since some file systems fold case; a dot is escaped so that
the thread `a.log` cannot meet the log of `a`; longer ones since a file name holds 255 bytes at most."""

DEVICE_NAMES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)")
"""Names that are devices on Windows, with any ending."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ThreadRef:
    """Which conversation is meant, and whose it is."""

    thread_id: str
    """The id as LangGraph knows it."""
    tenant: str | None = None
    """The user whose memory it feeds; `None` for the shared root."""
    namespace: str = ""
    """The checkpoint namespace of the sub-graph that speaks; empty for the agent itself."""


def file_stem(identifier: str) -> str:
    """Turn an opaque id into a file name's stem, injectively.

    A short id of lower-case letters, digits, `_` and `-` stays readable. Any other keeps what is readable of it and
    gains `~` and the first 16 hexadecimal digits of its SHA-256, and no plain id holds a `~`.

    Args:
        identifier: The id; any string, also an empty one or one with lone surrogates.

    Returns:
        At most 60 ASCII characters for an escaped id, 100 for a plain one.
    """
    if PLAIN.fullmatch(identifier) and not DEVICE_NAMES.fullmatch(identifier):
        return identifier
    readable = re.sub(r"[^a-z0-9_-]+", "-", identifier.lower())[:40].strip("-")
    digest = hashlib.sha256(identifier.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{readable}~{digest}"


def tenant_root(tenant: str | None) -> PurePosixPath:
    """Return the workspace-relative folder of a tenant's memory; `.` for the shared root."""
    return PurePosixPath(".") if tenant is None else PurePosixPath("users") / file_stem(tenant)


def content_hash(data: bytes) -> str:
    """Return 16 hexadecimal digits that stand for these bytes (the first of their SHA-256)."""
    return hashlib.sha256(data).hexdigest()[:16]
