"""Locks of the local tree: the kernel's, on files that nobody replaces, so that none can ever be stale.

`flock` belongs to an open file description: it excludes other threads as well as other processes, and a killed holder
gives it back. Three traps are closed here: a lock file that was removed or exchanged while somebody waited (compare
after locking), a forked child that inherits a held descriptor (closed in the child), and threads of one process that
would poll each other (they queue on a thread lock first).
"""

import errno
import fcntl
import math
import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from langgraph_harness_memory.errors import LockTimeout, WorkspaceError
from langgraph_harness_memory.workspace.files import Files
from langgraph_harness_memory.workspace.paths import LOCK_FOLDER

FIRST_WAIT = 0.0002
"""Seconds between the first tries; an append holds its lock for about as long."""

LONGEST_WAIT = 0.01
"""Seconds between later tries: what a waiter adds to a section at most."""

IN_VAIN = 0.1
"""Part of its time that an operation waits where another has just waited in vain: a turn has several steps that write, and
whoever held the lock through the first one's time mostly holds it still."""

LOCK_SUFFIXES = (".lock", ".lease-lock")
"""Lock files that stand for one name each; those of paths are few and stay."""

MOST_LOCKS = 512
"""Lock files that may lie about before they are tidied away."""


class _Queue:
    """The threads of this process that want one lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


@dataclass(kw_only=True, eq=False)
class FileLocks:
    """Named locks below one tree."""

    files: Files
    _queues: "weakref.WeakValueDictionary[str, _Queue]" = field(default_factory=weakref.WeakValueDictionary)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _held: set[int] = field(default_factory=set)
    _in_vain: dict[str, float] = field(default_factory=dict)
    """When a lock was last waited for in vain, on the monotonic clock."""

    def __post_init__(self) -> None:
        _watch_forks(self)

    @contextmanager
    def hold(self, stem: str, timeout: timedelta, *, what: str) -> Iterator[None]:
        """Hold a lock for a section.

        Args:
            stem: The lock file's name.
            timeout: How long to wait for others; a tenth of it for as long after somebody waited in vain.
            what: What is locked, for the message.

        Raises:
            LockTimeout: Somebody else held it all the time. The holder of a lock that asks for it again is such a one.
        """
        now = time.monotonic()  # waiting is real, whatever clock a test injects
        with self._guard:
            queue = self._queues.setdefault(stem, _Queue())
            if now < self._in_vain.get(stem, -math.inf) + timeout.total_seconds():
                timeout = timeout * IN_VAIN
        mine = queue.lock
        if not mine.acquire(timeout=max(0.0, timeout.total_seconds())):
            raise self._timed_out(stem, what, timeout)
        try:
            fd = self._locked(stem, now + timeout.total_seconds(), timeout, what)
            try:
                with self._guard:
                    self._in_vain.pop(stem, None)
                yield
            finally:
                self._held.discard(fd)
                os.close(fd)
        finally:
            mine.release()

    def _locked(self, stem: str, deadline: float, timeout: timedelta, what: str) -> int:
        wait = FIRST_WAIT
        while True:
            fd = self.files.open_lock(LOCK_FOLDER, stem)
            self._held.add(fd)
            try:
                while not _try_lock(fd, str(self.files.top)):
                    if time.monotonic() >= deadline:
                        raise self._timed_out(stem, what, timeout)
                    time.sleep(wait)
                    wait = min(LONGEST_WAIT, wait * 1.5)
                if self.files.is_current(LOCK_FOLDER, stem, fd):
                    return fd
            except BaseException:
                self._held.discard(fd)
                os.close(fd)
                raise
            self._held.discard(fd)
            os.close(fd)

    def tidy(self) -> int:
        """Remove lock files of earlier days that nobody holds, where there are many; return how many went.

        Sessions come and go, and each leaves its locks. One is removed only while it is held here, so that whoever waits
        for it notices (`is_current`) and locks the next one.
        """
        gone = 0
        for name in self.files.old_locks(LOCK_FOLDER, LOCK_SUFFIXES, MOST_LOCKS):
            fd = self.files.open_lock(LOCK_FOLDER, name)
            try:
                if _try_lock(fd, str(self.files.top)) and self.files.is_current(LOCK_FOLDER, name, fd):
                    self.files.drop_lock(LOCK_FOLDER, name)
                    gone += 1
            finally:
                os.close(fd)
        return gone

    def _timed_out(self, stem: str, what: str, timeout: timedelta) -> LockTimeout:
        with self._guard:
            self._in_vain[stem] = time.monotonic()
        return LockTimeout(
            f"{what} in {str(self.files.top)!r} was locked by another process or thread for {timeout.total_seconds():g} s"
        )

    def forget_parent(self) -> None:
        """Drop what a forked child inherited: descriptors of locks that its parent holds, and queues of its threads."""
        for fd in self._held:
            os.close(fd)
        self._held = set()
        self._guard = threading.Lock()
        self._in_vain = {}
        self._queues = weakref.WeakValueDictionary()


_watched: "weakref.WeakSet[FileLocks]" = weakref.WeakSet()
"""Every lock holder of this process. Process-wide since a fork copies the whole process, whoever asks for it."""

_fork_hook = threading.Event()


def _watch_forks(locks: FileLocks) -> None:
    _watched.add(locks)
    if not _fork_hook.is_set():
        _fork_hook.set()
        os.register_at_fork(after_in_child=_forget_parent_everywhere)


def _forget_parent_everywhere() -> None:
    for locks in list(_watched):
        locks.forget_parent()


def _try_lock(fd: int, where: str) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
            raise WorkspaceError(
                f"the file system of {where!r} has no locks ({error.strerror}): keep the workspace on a local disk, or use Postgres"
            ) from error
        raise
    return True
