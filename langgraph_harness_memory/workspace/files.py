"""Every call on a file of the local tree: append, replace, rename, remove, list.

Nothing else in the package opens, writes or renames a file of a workspace, so that durability and containment
(`descent`) are decided once and every failing system call can be provoked by a test.

    append   lock (locks.py) ─► repair the tail ─► one buffer ─► fdatasync        fails: cut back to the old size
    replace  lock ─► temporary file in the same folder ─► fsync ─► rename ─► fsync the folder     fails: old file stands

Order matters: bytes exist before a file is opened, a file is synced before it is renamed, a folder after.
"""

import contextlib
import errno
import os
import secrets
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from langgraph_harness_memory.errors import PathRefused, VersionConflict, WorkspaceError
from langgraph_harness_memory.identifiers import content_hash
from langgraph_harness_memory.workspace.descent import (
    APPEND,
    FILE_MODE,
    FOLDER,
    READ,
    SYSTEM,
    Place,
    SystemCalls,
)
from langgraph_harness_memory.workspace.paths import TEMPORARY, Parts, joined
from langgraph_harness_memory.workspace.reading import Reading, fingerprint, read_range

__all__ = ["PART_VERSION", "SYSTEM", "Files", "SystemCalls", "Torn"]

PART_VERSION = "part:"
"""How the version of a file that was read in part begins: its fingerprint, since its content is not known."""

STALE_AFTER = 3600.0
"""Seconds after which a temporary file has no writer any more: one write takes milliseconds."""

LOCK_AGE = 86_400.0
"""Seconds after which a lock file may be tidied away: it stands for a session of an earlier day."""

TAIL_CHUNK = 65_536
"""Bytes per read when the start of a torn line is looked for."""

RENAME_TRIES = 6
"""Windows and some network shares refuse a rename while a virus scanner or reader holds the target; it passes soon."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Torn:
    """A fragment of a line that was moved aside before an append."""

    path: str
    """Where it lies now, relative to the top of the tree."""
    size: int
    """Bytes."""


@dataclass(frozen=True, kw_only=True)
class Files(Reading):
    """The files below one folder, by checked paths (`Parts`) from its top."""

    wall: Callable[[], float] = time.time
    """Seconds since the epoch, to judge the age of temporary files."""
    swept: set[Parts] = field(default_factory=set)
    """Folders that this process has cleaned of stale temporary files."""

    def append(
        self, parts: Parts, data: bytes, *, base: int, is_whole_line: Callable[[bytes], bool] | None
    ) -> tuple[int, Torn | None]:
        """Append to a file durably; see `Workspace.append`.

        Returns:
            The offset of `data`, and the fragment that was moved aside, if any.
        """
        with self._telling("append to", parts), self._parent(parts, base=base, create=True) as place:
            place = cast("Place", place)
            fd, created = self._open_or_create(place, parts)
            try:
                size, torn, join = self._mended(fd, place, parts, is_whole_line)
                if join or data:
                    self._write_or_cut(fd, join + data, size, place if created else None)
                return size + len(join), torn
            finally:
                os.close(fd)

    def replace(self, parts: Parts, data: bytes, *, base: int, expect: str | None = None, create: bool = False) -> str:
        """Replace a file durably and atomically; see `Workspace.replace`.

        Args:
            parts: The file.
            data: The whole new content.
            base: Components of the workspace's own root.
            expect: The version that must be there.
            create: Nothing may be there.

        Returns:
            The hash of the new content.
        """
        with self._telling("write", parts), self._parent(parts, base=base, create=True) as place:
            place = cast("Place", place)
            self._sweep(place.fd, parts[:-1])
            old = self._open_regular(place, READ, parts, one_link=True)
            try:
                if old is None and expect is not None:
                    raise VersionConflict(f"{joined(parts)!r} was deleted since it was read: read it again")
                if old is not None and create:
                    raise VersionConflict(f"{joined(parts)!r} exists already")
                if old is not None and expect is not None and _version_like(expect, old) != expect:
                    raise VersionConflict(f"{joined(parts)!r} changed since it was read: read it again")
                mode = FILE_MODE if old is None else stat.S_IMODE(os.fstat(old).st_mode)
                self._write_aside_and_swap(place, data, mode, old)
            finally:
                if old is not None:
                    os.close(old)
        return content_hash(data)

    def move(self, source: Parts, target: Parts, *, base: int) -> None:
        """Rename a file to a name that is free; across file systems the bytes are copied first."""
        with self._telling("move", source), self._parent(source, base=base) as old:
            fd = None if old is None else self._open_regular(old, READ, source)
            if old is None or fd is None:
                raise WorkspaceError(f"{joined(source)!r} cannot be moved: there is no such file")
            try:
                with self._parent(target, base=base, create=True) as new:
                    new = cast("Place", new)
                    if _exists(new):
                        raise VersionConflict(f"{joined(target)!r} exists already; {joined(source)!r} was not moved")
                    self._rename_or_copy(old, new, fd)
            finally:
                os.close(fd)

    def remove(self, parts: Parts, *, base: int) -> bool:
        """Delete a file or link, or a folder and all that is in it; `False` where there was nothing."""
        with self._telling("delete", parts), self._parent(parts, base=base, follow_last=False) as place:
            if place is None:
                return False
            gone = self._remove_at(place.fd, place.name)
            if gone:
                self._sync_folder(place.fd)
            return gone

    def open_lock(self, folder: Parts, name: str) -> int:
        """Open (create) a lock file for `flock`; the caller closes it."""
        with self._telling("lock", (*folder, name)), self._folder(folder, base=0, create=True) as fd:
            flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
            lock = self.calls.open(name, flags, FILE_MODE, dir_fd=fd)
            try:
                found = os.fstat(lock)
                if not stat.S_ISREG(found.st_mode):
                    raise PathRefused(f"{joined((*folder, name))!r} is no regular file and cannot be locked")
                if stat.S_IMODE(found.st_mode) != FILE_MODE:
                    self.calls.fchmod(lock, FILE_MODE)
            except BaseException:
                os.close(lock)
                raise
            return lock

    def old_locks(self, folder: Parts, suffixes: tuple[str, ...], most: int) -> list[str]:
        """List lock files that were made more than a day ago, where there are more than `most` of them in all."""
        oldest = self.wall() - LOCK_AGE
        with self._folder(folder, base=0) as fd:
            if fd is None:
                return []
            with os.scandir(fd) as entries:
                locks = [entry for entry in entries if entry.name.endswith(suffixes)]
                return [entry.name for entry in locks if _older(entry, oldest)] if len(locks) > most else []

    def drop_lock(self, folder: Parts, name: str) -> None:
        """Remove a lock file; the caller holds it, so that whoever waits for it finds that it is another one."""
        with self._telling("remove", (*folder, name)), self._folder(folder, base=0) as fd:
            if fd is not None:
                self.calls.unlink(name, dir_fd=fd)

    def is_current(self, folder: Parts, name: str, lock: int) -> bool:
        """Say whether an open lock file is still the one that its name leads to."""
        with self._telling("lock", (*folder, name)), self._folder(folder, base=0) as fd:
            if fd is None:
                return False
            try:
                found = os.stat(name, dir_fd=fd, follow_symlinks=False)
            except FileNotFoundError:
                return False
        mine = os.fstat(lock)
        return (found.st_ino, found.st_dev) == (mine.st_ino, mine.st_dev)

    def _open_or_create(self, place: "Place", parts: Parts) -> tuple[int, bool]:
        for _ in range(3):  # deleted by hand between the two, or made by hand: look again
            fd = self._open_regular(place, APPEND, parts, one_link=True)
            if fd is not None:
                return fd, False
            with contextlib.suppress(FileExistsError):
                return self._create(place, FILE_MODE), True
        raise WorkspaceError(f"{joined(parts)!r} appears and disappears while it is opened")

    def _mended(
        self, fd: int, place: "Place", parts: Parts, is_whole_line: Callable[[bytes], bool] | None
    ) -> tuple[int, Torn | None, bytes]:
        """Look at what follows the last newline; return the size to append at, what was moved aside, what to put between."""
        size = os.fstat(fd).st_size
        if size == 0 or os.pread(fd, 1, size - 1) == b"\n":
            return size, None, b""
        begin = _start_of_last_line(fd, size)
        if is_whole_line is None or is_whole_line(read_range(fd, begin, size)):
            return size, None, b"\n"
        fragment = read_range(fd, begin, size)
        name = self._keep_aside(place, fragment)
        self.calls.ftruncate(fd, begin)
        return begin, Torn(path=joined((*parts[:-1], name)), size=len(fragment)), b""

    def _keep_aside(self, place: "Place", fragment: bytes) -> str:
        for number in range(1, 10_000):
            aside = Place(fd=place.fd, name=f"{place.name}.torn-{number}")
            try:
                fd = self._create(aside, FILE_MODE)
            except FileExistsError:
                continue
            try:
                self._write_all(fd, fragment)
                self._sync(fd)
            finally:
                os.close(fd)
            self._sync_folder(place.fd)
            return aside.name
        raise WorkspaceError(f"{place.name!r} has 9,999 torn tails beside it: something else is wrong")

    def _write_or_cut(self, fd: int, data: bytes, size: int, made: "Place | None") -> None:
        """Write and sync; whatever goes wrong, the file is as it was and the error goes on."""
        try:
            self._write_all(fd, data)
            self._sync_data(fd)
            if made is not None:
                self._sync_folder(made.fd)
        except BaseException:
            with contextlib.suppress(OSError):
                self.calls.ftruncate(fd, size)
            if made is not None:
                with contextlib.suppress(OSError):
                    self.calls.unlink(made.name, dir_fd=made.fd)
            raise

    def _write_aside_and_swap(self, place: "Place", data: bytes, mode: int, old: int | None) -> None:
        aside = Place(fd=place.fd, name=f".hm-{secrets.token_hex(8)}.tmp")
        fd = self._create(aside, mode)
        try:
            try:
                _keep_owner(fd, old)
                self._write_all(fd, data)
                self._sync(fd)
            finally:
                os.close(fd)
            try:
                self._swap(aside, place)
            except OSError as error:
                if old is None or error.errno not in (errno.EBUSY, errno.EXDEV):
                    raise
                self._overwrite(place, data, old)  # a bind-mounted file cannot be renamed over
                self.calls.unlink(aside.name, dir_fd=aside.fd)
        except BaseException:
            with contextlib.suppress(OSError):
                self.calls.unlink(aside.name, dir_fd=aside.fd)
            raise
        self._sync_folder(place.fd)

    def _swap(self, aside: "Place", place: "Place") -> None:
        for attempt in range(RENAME_TRIES):
            try:
                self.calls.replace(aside.name, place.name, src_dir_fd=aside.fd, dst_dir_fd=place.fd)
            except PermissionError:
                if attempt == RENAME_TRIES - 1:
                    raise
                time.sleep(0.002 * 2**attempt)
            else:
                return

    def _overwrite(self, place: "Place", data: bytes, old: int) -> None:
        """Write a file in place, with a copy of the old content beside it until the new one is on disk."""
        before = read_range(old, 0, os.fstat(old).st_size)
        backup = Place(fd=place.fd, name=f"{place.name}.before-{secrets.token_hex(4)}")
        kept = self._create(backup, FILE_MODE)
        try:
            self._write_all(kept, before)
            self._sync(kept)
        finally:
            os.close(kept)
        self._sync_folder(place.fd)
        fd = self.calls.open(place.name, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=place.fd)
        try:
            self.calls.ftruncate(fd, 0)
            self._write_all(fd, data)
            self._sync(fd)
        except BaseException:
            with contextlib.suppress(OSError):
                os.lseek(fd, 0, os.SEEK_SET)
                self.calls.ftruncate(fd, 0)
                self._write_all(fd, before)
                self._sync(fd)
                self.calls.unlink(backup.name, dir_fd=backup.fd)
            raise
        finally:
            os.close(fd)
        self.calls.unlink(backup.name, dir_fd=backup.fd)

    def _rename_or_copy(self, old: "Place", new: "Place", fd: int) -> None:
        try:
            self.calls.rename(old.name, new.name, src_dir_fd=old.fd, dst_dir_fd=new.fd)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            found = os.fstat(fd)
            self._write_aside_and_swap(new, read_range(fd, 0, found.st_size), stat.S_IMODE(found.st_mode), None)
            self.calls.unlink(old.name, dir_fd=old.fd)
        self._sync_folder(new.fd)
        self._sync_folder(old.fd)

    def _remove_at(self, fd: int, name: str) -> bool:
        try:
            self.calls.unlink(name, dir_fd=fd)
        except FileNotFoundError:
            return False
        except (IsADirectoryError, PermissionError) as error:
            # Linux says EISDIR for a folder, others EPERM.
            if not _is_folder(fd, name):
                raise
            inner = self.calls.open(name, FOLDER, dir_fd=fd)
            try:
                with os.scandir(inner) as entries:
                    names = [entry.name for entry in entries]
                for entry in names:
                    self._remove_at(inner, entry)
            finally:
                os.close(inner)
            try:
                self.calls.rmdir(name, dir_fd=fd)
            except FileNotFoundError:
                return False
            except OSError:
                raise error from None
        return True

    def _sweep(self, fd: int, parts: Parts) -> None:
        """Remove temporary files that a killed process left, once per folder and process."""
        if parts in self.swept:
            return
        self.swept.add(parts)
        oldest = self.wall() - STALE_AFTER
        with os.scandir(fd) as entries:
            stale = [e.name for e in entries if TEMPORARY.fullmatch(e.name) and _older(e, oldest)]
        for name in stale:
            with contextlib.suppress(OSError):
                self.calls.unlink(name, dir_fd=fd)


def _exists(place: Place) -> bool:
    try:
        os.stat(place.name, dir_fd=place.fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _is_folder(fd: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _older(entry: "os.DirEntry[str]", moment: float) -> bool:
    try:
        return entry.stat(follow_symlinks=False).st_mtime < moment
    except FileNotFoundError:
        return False


def _keep_owner(fd: int, old: int | None) -> None:
    """Give a new version its predecessor's owner, where this process may."""
    if old is None:
        return
    before, now = os.fstat(old), os.fstat(fd)
    if (before.st_uid, before.st_gid) != (now.st_uid, now.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(fd, before.st_uid, before.st_gid)


def _start_of_last_line(fd: int, size: int) -> int:
    at = size
    while at > 0:
        begin = max(0, at - TAIL_CHUNK)
        newline = read_range(fd, begin, at).rfind(b"\n")
        if newline >= 0:
            return begin + newline + 1
        at = begin
    return 0


def _version_like(expect: str, fd: int) -> str:
    """Return the version of an open file in the kind that is expected: of the whole content, or of a part."""
    found = os.fstat(fd)
    if expect.startswith(PART_VERSION):
        return PART_VERSION + fingerprint(found)
    return content_hash(read_range(fd, 0, found.st_size, to_end=True))
