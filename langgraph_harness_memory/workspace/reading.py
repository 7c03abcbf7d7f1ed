"""Reading the local tree: bytes, descriptions and listings; nothing here changes a file."""

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from langgraph_harness_memory.errors import PathRefused, UnreadableFile
from langgraph_harness_memory.workspace import FileInfo
from langgraph_harness_memory.workspace.descent import FOLDER, READ, Descent, check_regular
from langgraph_harness_memory.workspace.paths import Parts, is_listed, joined

READ_CHUNK = 65_536
"""Bytes per read of a file that may grow meanwhile."""


@dataclass(frozen=True, kw_only=True)
class Reading(Descent):
    """What can be read below one folder."""

    def read(self, parts: Parts, *, base: int, start: int = 0, end: int | None = None) -> tuple[bytes, str] | None:
        """Read bytes `[start, end)` of a file and its fingerprint; `None` where there is none."""
        with self._telling("read", parts, unreadable=True), self._parent(parts, base=base) as place:
            if place is None:
                return None
            fd = self._open_regular(place, READ, parts)
            if fd is None:
                return None
            try:
                before = os.fstat(fd)
                stop = before.st_size if end is None else end
                return read_range(fd, start, stop, to_end=end is None), fingerprint(before)
            finally:
                os.close(fd)

    def info(self, parts: Parts, *, base: int) -> FileInfo | None:
        """Describe a file; `None` where there is none."""
        with self._telling("look at", parts, unreadable=True), self._parent(parts, base=base) as place:
            if place is None:
                return None
            try:
                found = os.stat(place.name, dir_fd=place.fd, follow_symlinks=False)
            except FileNotFoundError:
                return None
            check_regular(found, parts)
            return _info(joined(parts[base:]), found)

    def listed(self, parts: Parts, *, base: int, recursive: bool, skip: Parts) -> Iterator[FileInfo]:
        """Describe the regular files of a folder, in no order; names that no path may have are left out.

        Args:
            parts: The folder.
            base: Components of the workspace's own root; results are relative to it.
            recursive: Also what lies in its sub-folders.
            skip: A folder that is left out, from the top of the tree.
        """
        with self._telling("list", parts, unreadable=True), self._folder(parts, base=base) as fd:
            if fd is not None:
                yield from self._walk(fd, parts, base=base, recursive=recursive, skip=skip)

    def folder_names(self, parts: Parts, *, base: int) -> list[str]:
        """Return the names of a folder's sub-folders, sorted."""
        with self._telling("list", parts, unreadable=True), self._folder(parts, base=base) as fd:
            if fd is None:
                return []
            with os.scandir(fd) as entries:
                return sorted(e.name for e in entries if e.is_dir(follow_symlinks=False) and is_listed(e.name))

    def _walk(self, fd: int, parts: Parts, *, base: int, recursive: bool, skip: Parts) -> Iterator[FileInfo]:
        folders: list[str] = []
        with os.scandir(fd) as entries:
            for entry in entries:
                if not is_listed(entry.name) or (*parts, entry.name) == skip:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                    continue
                found = self._seen(entry, parts, base)
                if found is not None:
                    yield found
        for name in folders if recursive else ():
            try:
                inner = self.calls.open(name, FOLDER, dir_fd=fd)
            except (FileNotFoundError, NotADirectoryError):
                continue  # gone or exchanged since it was listed
            try:
                yield from self._walk(inner, (*parts, name), base=base, recursive=True, skip=skip)
            finally:
                os.close(inner)

    def _seen(self, entry: "os.DirEntry[str]", parts: Parts, base: int) -> FileInfo | None:
        whole = (*parts, entry.name)
        if entry.is_symlink():
            with contextlib.suppress(PathRefused, UnreadableFile):
                return self.info(whole, base=base)
            return None
        try:
            found = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return None
        return _info(joined(whole[base:]), found) if stat.S_ISREG(found.st_mode) else None


def read_range(fd: int, start: int, stop: int, *, to_end: bool = False) -> bytes:
    """Read `[start, stop)`; with `to_end` also what was appended meanwhile."""
    pieces: list[bytes] = []
    at = start
    while to_end or at < stop:
        piece = os.pread(fd, max(stop - at, READ_CHUNK) if to_end else stop - at, at)
        if not piece:
            break
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces)


def fingerprint(found: os.stat_result) -> str:
    """Return what differs after any change that the file system notices."""
    return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}-{found.st_ctime_ns}"


def _info(path: str, found: os.stat_result) -> FileInfo:
    return FileInfo(path=path, size=found.st_size, modified=found.st_mtime, fingerprint=fingerprint(found))
