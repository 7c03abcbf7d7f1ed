"""Which relative paths a workspace accepts; pure, no I/O.

A path is POSIX, relative and stays below its root. It comes from models, tools and ids, so every rule refuses with
`PathRefused` and a reason that a model can act on; nothing is repaired by guessing. What the names lead to on disk
(links, devices, hard links) is judged by `files`.
"""

import re
from pathlib import PurePath, PurePosixPath

from langgraph_harness_memory.errors import PathRefused

Parts = tuple[str, ...]
"""A checked path, component by component; empty for the root itself."""

LOCK_FOLDER: Parts = ("memory", ".locks")
"""Where the lock and lease files of a whole workspace lie, its tenants' included."""

TEMPORARY = re.compile(r"\.hm-[0-9a-f]{16}\.tmp")
"""Names of files that are being written; only these are ever cleaned up."""

MAX_NAME_BYTES = 255
"""What ext4, xfs, apfs and ntfs allow for one component."""

MAX_PATH_BYTES = 4_000
"""Below PATH_MAX (4096) with room for temporary names; also an upper bound for database keys."""


def file_parts(path: str | PurePath) -> Parts:
    """Check the path of a file.

    Args:
        path: A relative POSIX path; `.` components and repeated slashes are dropped.

    Raises:
        PathRefused: It leaves the root, names the root itself, or cannot be a path.
    """
    parts = folder_parts(path)
    if not parts:
        raise PathRefused(
            f"{path!r} names no file: give a path below the workspace, for example 'memory/2026-01-31.md'"
        )
    return parts


def folder_parts(path: str | PurePath) -> Parts:
    """Check the path of a folder; `""` and `.` stand for the root.

    Raises:
        PathRefused: It leaves the root or cannot be a path.
    """
    text = _text_of(path)
    if text.startswith("/") or re.match(r"[A-Za-z]:[\\/]", text):
        raise PathRefused(f"{path!r} is absolute: give a path relative to the workspace")
    parts = tuple(part for part in text.split("/") if part not in ("", "."))
    for part in parts:
        _check_name(path, part)
    if len(text.encode()) > MAX_PATH_BYTES:
        raise PathRefused(f"{text[:60]!r}… is longer than {MAX_PATH_BYTES} bytes")
    if parts[: len(LOCK_FOLDER)] == LOCK_FOLDER:
        raise PathRefused(f"{path!r} belongs to the workspace's own locks")
    return parts


def joined(parts: Parts) -> str:
    """Return the text of a checked path; `""` for the root."""
    return "/".join(parts)


def is_listed(name: str) -> bool:
    """Say whether a name found on disk is one that this package would accept and show."""
    try:
        _check_name(name, name)
    except PathRefused:
        return False
    return True


def linked(parts: Parts, at: int, target: str, *, root: PurePosixPath, least: int) -> Parts:
    """Rewrite a path of which one component is a symbolic link.

    Args:
        parts: The path from the tree's top; what stands before `at` holds no links.
        at: Which component is the link.
        target: What the link says.
        root: The real path of the tree's top, to understand an absolute link.
        least: Components that the result must keep: those of the workspace's own root.

    Raises:
        PathRefused: The link leads out of the workspace.
    """
    goal = list(parts[:at])
    rest = PurePosixPath(target)
    if rest.is_absolute():
        if not rest.is_relative_to(root):
            raise PathRefused(f"{joined(parts)!r} is a link to {target!r}, outside the workspace")
        goal, rest = [], rest.relative_to(root)
    for part in rest.parts:
        if part != "..":
            goal.append(part)
        elif goal:
            goal.pop()
        else:
            raise PathRefused(f"{joined(parts)!r} is a link to {target!r}, outside the workspace")
    if tuple(goal[:least]) != parts[:least] or len(goal) <= least:
        raise PathRefused(f"{joined(parts)!r} is a link to {target!r}, outside the workspace")
    whole = (*goal, *parts[at + 1 :])
    folder_parts("/".join(whole))
    return whole


def _text_of(path: str | PurePath) -> str:
    text = path.as_posix() if isinstance(path, PurePath) else path
    if not isinstance(text, str):
        raise PathRefused(f"{path!r} is no path: give a string")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise PathRefused(f"{text!r} holds half a character and cannot be a path") from error
    return text


def _check_name(path: object, name: str) -> None:
    if name == "..":
        raise PathRefused(f"{path!r} leads out of its folder: '..' is not allowed")
    if any(ord(c) < 32 or c in "\\\x7f" for c in name):
        raise PathRefused(f"{path!r} holds a backslash or a control character")
    try:
        size = len(name.encode())
    except UnicodeEncodeError as error:
        raise PathRefused(f"{path!r} is not valid Unicode") from error
    if size > MAX_NAME_BYTES:
        raise PathRefused(f"the name {name[:40]!r}… is longer than {MAX_NAME_BYTES} bytes")
    if TEMPORARY.fullmatch(name):
        raise PathRefused(f"{path!r} is the name of a temporary file")
