"""How a path is opened without ever leaving the tree.

    a path ─► the top ─► component by component (dir_fd, O_NOFOLLOW) ─► open (O_NONBLOCK) ─► regular file, one link
                                   └─ a symbolic link that stays inside: around it, and again

Every name is looked up in an open folder, so that an exchange of folders and links under our feet leads nowhere else.
Folders are made 0700 and files 0600 whatever the umask, and what the system says becomes this package's errors.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Protocol, cast

from langgraph_harness_memory.errors import PathRefused, UnreadableFile, WorkspaceError
from langgraph_harness_memory.workspace.paths import Parts, joined, linked

FILE_MODE = 0o600
"""Memories are private, whatever the umask."""

FOLDER_MODE = 0o700

MAX_LINKS = 8
"""Links that one path may lead through; more is a circle or a trick."""

READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
APPEND = os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
"""How files and folders are opened: never through a link, never waiting for the other end of a pipe."""


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
class Place:
    """An open folder and a name in it."""

    fd: int
    name: str


@dataclass(frozen=True, kw_only=True)
class Descent:
    """The way into one folder's tree, by checked paths (`Parts`) from its top."""

    top: Path
    """The folder; it is created by the first write."""
    fsync: bool = True
    """Wait for the disk."""
    calls: SystemCalls = SYSTEM

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
            return self.calls.open(name, FOLDER, dir_fd=fd)
        except FileNotFoundError:
            if not create:
                return None
            return self._make_folder(fd, name)
        except NotADirectoryError:
            target = link_target(fd, name)
            if target is None:
                raise
            return target

    def _make_folder(self, fd: int, name: str) -> int:
        try:
            self.calls.mkdir(name, FOLDER_MODE, dir_fd=fd)
        except FileExistsError:
            return self.calls.open(name, FOLDER, dir_fd=fd)
        made = self.calls.open(name, FOLDER, dir_fd=fd)
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
    ) -> "Iterator[Place | None]":
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
                target = link_target(found, parts[-1]) if follow_last else None
                if target is None:
                    yield Place(fd=found, name=parts[-1])
                    return
            finally:
                os.close(found)
            parts = self._around(parts, (len(parts) - 1, target), base)
        raise PathRefused(f"{joined(parts)!r} leads through more than {MAX_LINKS} links")

    def _around(self, parts: Parts, link: tuple[int, str], base: int) -> Parts:
        real = PurePosixPath(self.top.resolve().as_posix())
        return linked(parts, link[0], link[1], root=real, least=base)

    def _open_regular(self, place: "Place", flags: int, parts: Parts, *, one_link: bool = False) -> int | None:
        try:
            fd = self.calls.open(place.name, flags, dir_fd=place.fd)
        except FileNotFoundError:
            return None
        try:
            check_regular(os.fstat(fd), parts, one_link=one_link)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _create(self, place: "Place", mode: int) -> int:
        fd = self.calls.open(place.name, CREATE, FILE_MODE, dir_fd=place.fd)
        try:
            if stat.S_IMODE(os.fstat(fd).st_mode) != mode:
                self.calls.fchmod(fd, mode)
        except BaseException:
            os.close(fd)
            with contextlib.suppress(OSError):
                self.calls.unlink(place.name, dir_fd=place.fd)
            raise
        return fd

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


def link_target(fd: int, name: str) -> str | None:
    """Return what a symbolic link says; `None` for anything else and for nothing."""
    try:
        return os.readlink(name, dir_fd=fd)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT):
            return None
        raise


def check_regular(found: os.stat_result, parts: Parts, *, one_link: bool = False) -> None:
    """Refuse what is no regular file; with `one_link` also a file that has a second name."""
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no regular file"
        raise PathRefused(f"{joined(parts)!r} is {kind}")
    if one_link and found.st_nlink > 1:
        raise PathRefused(f"{joined(parts)!r} has {found.st_nlink} hard links and is not written: replace it by a copy")


def _with_errno(error: WorkspaceError, cause: OSError) -> WorkspaceError:
    error.errno = cause.errno
    return error
