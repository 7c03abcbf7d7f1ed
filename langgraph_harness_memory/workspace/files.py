"""Every call on a file of the local tree: open, append, replace, rename, remove, list, flock.

Nothing else in the package opens, writes or renames a file of a workspace, so that durability and containment are
decided once and every failing system call can be provoked by a test.

    a path ─► descend component by component (dir_fd, O_NOFOLLOW) ─► open (O_NONBLOCK) ─► regular file, one link
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Protocol, cast

from langgraph_harness_memory.errors import PathRefused, UnreadableFile, VersionConflict, WorkspaceError
from langgraph_harness_memory.identifiers import content_hash
from langgraph_harness_memory.workspace import FileInfo
from langgraph_harness_memory.workspace.paths import TEMPORARY, Parts, is_listed, joined, linked

FILE_MODE = 0o600
"""Memories are private, whatever the umask."""

FOLDER_MODE = 0o700

MAX_LINKS = 8
"""Links that one path may lead through; more is a circle or a trick."""

STALE_AFTER = 3600.0
"""Seconds after which a temporary file has no writer any more: one write takes milliseconds."""

TAIL_CHUNK = 65_536
"""Bytes per read when the start of a torn line is looked for."""

RENAME_TRIES = 6
"""Windows and some network shares refuse a rename while a virus scanner or reader holds the target; it passes soon."""

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
_APPEND = os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW


class SystemCalls(Protocol):
    """The calls of `os` that change a tree or can fail in the middle; a test passes its own that fail on demand."""

    open: Callable[..., int]
    write: Callable[..., int]
    fsync: Callable[..., None]
    fdatasync: Callable[..., None]
    ftruncate: Callable[..., None]
    fchmod: Callable[..., None]
    rename: Callable[..., None]
    replace: Callable[..., None]
    unlink: Callable[..., None]
    rmdir: Callable[..., None]
    mkdir: Callable[..., None]


SYSTEM: SystemCalls = cast("Any", os)
"""The real ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Torn:
    """A fragment of a line that was moved aside before an append."""

    path: str
    """Where it lies now, relative to the top of the tree."""
    size: int
    """Bytes."""


@dataclass(frozen=True, kw_only=True)
class Files:
    """The files below one folder, by checked paths (`Parts`) from its top."""

    top: Path
    """The folder; it is created by the first write."""
    fsync: bool = True
    """Wait for the disk."""
    calls: SystemCalls = SYSTEM
    wall: Callable[[], float] = time.time
    """Seconds since the epoch, to judge the age of temporary files."""
    swept: set[Parts] = field(default_factory=set)
    """Folders that this process has cleaned of stale temporary files."""

    # -- reading ------------------------------------------------------------------------------------------------

    def read(self, parts: Parts, *, base: int, start: int = 0, end: int | None = None) -> tuple[bytes, str] | None:
        """Read bytes `[start, end)` of a file and its fingerprint; `None` where there is none."""
        with self._telling("read", parts, unreadable=True), self._parent(parts, base=base) as place:
            if place is None:
                return None
            fd = self._open_regular(place, _READ, parts)
            if fd is None:
                return None
            try:
                before = os.fstat(fd)
                stop = before.st_size if end is None else end
                return _read_range(fd, start, stop, to_end=end is None), _fingerprint(before)
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
            _check_regular(found, parts)
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

    # -- writing: the caller holds the path's lock ---------------------------------------------------------------

    def append(
        self, parts: Parts, data: bytes, *, base: int, is_whole_line: Callable[[bytes], bool] | None
    ) -> tuple[int, Torn | None]:
        """Append to a file durably; see `Workspace.append`.

        Returns:
            The offset of `data`, and the fragment that was moved aside, if any.
        """
        with self._telling("append to", parts), self._parent(parts, base=base, create=True) as place:
            place = cast("_Place", place)
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
            place = cast("_Place", place)
            self._sweep(place.fd, parts[:-1])
            old = self._open_regular(place, _READ, parts, one_link=True)
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
            fd = None if old is None else self._open_regular(old, _READ, source)
            if old is None or fd is None:
                raise WorkspaceError(f"{joined(source)!r} cannot be moved: there is no such file")
            try:
                with self._parent(target, base=base, create=True) as new:
                    new = cast("_Place", new)
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

    # -- lock and lease files --------------------------------------------------------------------------------------

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

    # -- below: how it is done ---------------------------------------------------------------------------------------

    @contextmanager
    def _telling(self, doing: str, parts: Parts, *, unreadable: bool = False) -> Iterator[None]:
        """Turn what the system says into this package's errors."""
        try:
            yield
        except (WorkspaceError, PathRefused):
            raise
        except OSError as error:
            where = f"{joined(parts) or '.'!r} in {str(self.top)!r}"
            if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO):
                raise PathRefused(
                    f"could not {doing} {where}: {error.strerror}; it is no regular file there"
                ) from error
            kind = UnreadableFile if unreadable else WorkspaceError
            raise _with_errno(kind(f"could not {doing} {where}: {error.strerror or error}"), error) from error

    def _open_top(self, *, create: bool) -> int | None:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        try:
            return self.calls.open(str(self.top), flags)
        except FileNotFoundError:
            if not create:
                return None
        self._make_top(self.top)
        return self.calls.open(str(self.top), flags)

    def _make_top(self, folder: Path) -> None:
        if not folder.parent.exists():
            self._make_top(folder.parent)
        with contextlib.suppress(FileExistsError):
            self.calls.mkdir(str(folder), FOLDER_MODE)
            for path in (folder, folder.parent):
                fd = self.calls.open(str(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    if path == folder:
                        self._own(fd)
                    self._sync_folder(fd)
                finally:
                    os.close(fd)

    def _own(self, fd: int) -> None:
        """Give a new folder the mode that it was made with, of which a umask may have taken the owner's own bits."""
        if stat.S_IMODE(os.fstat(fd).st_mode) != FOLDER_MODE:
            self.calls.fchmod(fd, FOLDER_MODE)

    def _enter(self, fd: int, name: str, *, create: bool) -> "int | str | None":
        """Open a sub-folder; `None` where there is none, the target of the link where it is one."""
        try:
            return self.calls.open(name, _FOLDER, dir_fd=fd)
        except FileNotFoundError:
            if not create:
                return None
            return self._make_folder(fd, name)
        except NotADirectoryError:
            target = _link_target(fd, name)
            if target is None:
                raise
            return target

    def _make_folder(self, fd: int, name: str) -> int:
        try:
            self.calls.mkdir(name, FOLDER_MODE, dir_fd=fd)
        except FileExistsError:
            return self.calls.open(name, _FOLDER, dir_fd=fd)
        made = self.calls.open(name, _FOLDER, dir_fd=fd)
        try:
            self._own(made)
            self._sync_folder(fd)
        except BaseException:
            os.close(made)
            raise
        return made

    def _descend(self, parts: Parts, *, create: bool) -> "int | tuple[int, str] | None":
        """Open a folder; `None` where there is none, `(component, target)` where a link is in the way."""
        fd = self._open_top(create=create)
        if fd is None:
            return None
        for at, name in enumerate(parts):
            try:
                inner = self._enter(fd, name, create=create)
            finally:
                os.close(fd)
            if inner is None:
                return None
            if isinstance(inner, str):
                return at, inner
            fd = inner
        return fd

    @contextmanager
    def _folder(self, parts: Parts, *, base: int, create: bool = False) -> Iterator[int | None]:
        for _ in range(MAX_LINKS):
            found = self._descend(parts, create=create)
            if isinstance(found, tuple):
                parts = self._around(parts, found, base)
                continue
            try:
                yield found
            finally:
                if found is not None:
                    os.close(found)
            return
        raise PathRefused(f"{joined(parts)!r} leads through more than {MAX_LINKS} links")

    @contextmanager
    def _parent(
        self, parts: Parts, *, base: int, create: bool = False, follow_last: bool = True
    ) -> "Iterator[_Place | None]":
        """Open the folder that a file is in, links that stay inside resolved; `None` where there is no such folder."""
        for _ in range(MAX_LINKS):
            found = self._descend(parts[:-1], create=create)
            if isinstance(found, tuple):
                parts = self._around(parts, found, base)
                continue
            if found is None:
                yield None
                return
            try:
                target = _link_target(found, parts[-1]) if follow_last else None
                if target is None:
                    yield _Place(fd=found, name=parts[-1])
                    return
            finally:
                os.close(found)
            parts = self._around(parts, (len(parts) - 1, target), base)
        raise PathRefused(f"{joined(parts)!r} leads through more than {MAX_LINKS} links")

    def _around(self, parts: Parts, link: tuple[int, str], base: int) -> Parts:
        real = PurePosixPath(self.top.resolve().as_posix())
        return linked(parts, link[0], link[1], root=real, least=base)

    def _open_regular(self, place: "_Place", flags: int, parts: Parts, *, one_link: bool = False) -> int | None:
        try:
            fd = self.calls.open(place.name, flags, dir_fd=place.fd)
        except FileNotFoundError:
            return None
        try:
            _check_regular(os.fstat(fd), parts, one_link=one_link)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _open_or_create(self, place: "_Place", parts: Parts) -> tuple[int, bool]:
        for _ in range(3):  # deleted by hand between the two, or made by hand: look again
            fd = self._open_regular(place, _APPEND, parts, one_link=True)
            if fd is not None:
                return fd, False
            with contextlib.suppress(FileExistsError):
                return self._create(place, FILE_MODE), True
        raise WorkspaceError(f"{joined(parts)!r} appears and disappears while it is opened")

    def _create(self, place: "_Place", mode: int) -> int:
        fd = self.calls.open(place.name, _CREATE, FILE_MODE, dir_fd=place.fd)
        try:
            if stat.S_IMODE(os.fstat(fd).st_mode) != mode:
                self.calls.fchmod(fd, mode)
        except BaseException:
            os.close(fd)
            with contextlib.suppress(OSError):
                self.calls.unlink(place.name, dir_fd=place.fd)
            raise
        return fd

    def _mended(
        self, fd: int, place: "_Place", parts: Parts, is_whole_line: Callable[[bytes], bool] | None
    ) -> tuple[int, Torn | None, bytes]:
        """Look at what follows the last newline; return the size to append at, what was moved aside, what to put between."""
        size = os.fstat(fd).st_size
        if size == 0 or os.pread(fd, 1, size - 1) == b"\n":
            return size, None, b""
        begin = _start_of_last_line(fd, size)
        if is_whole_line is None or is_whole_line(_read_range(fd, begin, size)):
            return size, None, b"\n"
        fragment = _read_range(fd, begin, size)
        name = self._keep_aside(place, fragment)
        self.calls.ftruncate(fd, begin)
        return begin, Torn(path=joined((*parts[:-1], name)), size=len(fragment)), b""

    def _keep_aside(self, place: "_Place", fragment: bytes) -> str:
        for number in range(1, 10_000):
            aside = _Place(fd=place.fd, name=f"{place.name}.torn-{number}")
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

    def _write_or_cut(self, fd: int, data: bytes, size: int, made: "_Place | None") -> None:
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

    def _write_aside_and_swap(self, place: "_Place", data: bytes, mode: int, old: int | None) -> None:
        aside = _Place(fd=place.fd, name=f".hm-{secrets.token_hex(8)}.tmp")
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

    def _swap(self, aside: "_Place", place: "_Place") -> None:
        for attempt in range(RENAME_TRIES):
            try:
                self.calls.replace(aside.name, place.name, src_dir_fd=aside.fd, dst_dir_fd=place.fd)
            except PermissionError:
                if attempt == RENAME_TRIES - 1:
                    raise
                time.sleep(0.002 * 2**attempt)
            else:
                return

    def _overwrite(self, place: "_Place", data: bytes, old: int) -> None:
        """Write a file in place, with a copy of the old content beside it until the new one is on disk."""
        before = _read_range(old, 0, os.fstat(old).st_size)
        backup = _Place(fd=place.fd, name=f"{place.name}.before-{secrets.token_hex(4)}")
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

    def _rename_or_copy(self, old: "_Place", new: "_Place", fd: int) -> None:
        try:
            self.calls.rename(old.name, new.name, src_dir_fd=old.fd, dst_dir_fd=new.fd)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            found = os.fstat(fd)
            self._write_aside_and_swap(new, _read_range(fd, 0, found.st_size), stat.S_IMODE(found.st_mode), None)
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
            inner = self.calls.open(name, _FOLDER, dir_fd=fd)
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
                inner = self.calls.open(name, _FOLDER, dir_fd=fd)
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

    def _write_all(self, fd: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            written = self.calls.write(fd, view)
            view = view[written:]

    def _sync(self, fd: int) -> None:
        if self.fsync:
            self.calls.fsync(fd)

    def _sync_data(self, fd: int) -> None:
        if self.fsync:
            self.calls.fdatasync(fd)

    def _sync_folder(self, fd: int) -> None:
        if self.fsync:
            self.calls.fsync(fd)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    """An open folder and a name in it."""

    fd: int
    name: str


def _link_target(fd: int, name: str) -> str | None:
    try:
        return os.readlink(name, dir_fd=fd)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT):
            return None
        raise


def _exists(place: _Place) -> bool:
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


def _check_regular(found: os.stat_result, parts: Parts, *, one_link: bool = False) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no regular file"
        raise PathRefused(f"{joined(parts)!r} is {kind}")
    if one_link and found.st_nlink > 1:
        raise PathRefused(f"{joined(parts)!r} has {found.st_nlink} hard links and is not written: replace it by a copy")


def _keep_owner(fd: int, old: int | None) -> None:
    """Give a new version its predecessor's owner, where this process may."""
    if old is None:
        return
    before, now = os.fstat(old), os.fstat(fd)
    if (before.st_uid, before.st_gid) != (now.st_uid, now.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(fd, before.st_uid, before.st_gid)


def _read_range(fd: int, start: int, stop: int, *, to_end: bool = False) -> bytes:
    """Read `[start, stop)`; with `to_end` also what was appended meanwhile."""
    pieces: list[bytes] = []
    at = start
    while to_end or at < stop:
        piece = os.pread(fd, max(stop - at, TAIL_CHUNK) if to_end else stop - at, at)
        if not piece:
            break
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces)


def _start_of_last_line(fd: int, size: int) -> int:
    at = size
    while at > 0:
        begin = max(0, at - TAIL_CHUNK)
        newline = _read_range(fd, begin, at).rfind(b"\n")
        if newline >= 0:
            return begin + newline + 1
        at = begin
    return 0


def _fingerprint(found: os.stat_result) -> str:
    return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}-{found.st_ctime_ns}"


def _info(path: str, found: os.stat_result) -> FileInfo:
    return FileInfo(path=path, size=found.st_size, modified=found.st_mtime, fingerprint=_fingerprint(found))


def _version_like(expect: str, fd: int) -> str:
    """Return the version of an open file in the kind that is expected: of the whole content, or of a part."""
    found = os.fstat(fd)
    if expect.startswith(PART_VERSION):
        return PART_VERSION + _fingerprint(found)
    return content_hash(_read_range(fd, 0, found.st_size, to_end=True))


PART_VERSION = "part:"
"""How the version of a file that was read in part begins: its fingerprint, since its content is not known."""


def _with_errno(error: WorkspaceError, cause: OSError) -> WorkspaceError:
    error.errno = cause.errno
    return error
