"""System calls that fail on demand, for `LocalWorkspace(…, system_calls=…)`.

FaultyCalls(nth=3, error=errno.ENOSPC)            the third call fails, whatever it is
FaultyCalls("fsync", error=errno.EIO)             the first fsync fails
FaultyCalls("write", keep=1500, error=…)          the first write gets 1 500 bytes onto the disk and fails
FaultyCalls(nth=n, ends_process=True)             the process is gone before the n-th call, as by `kill -9`
"""

import errno
import os
from collections.abc import Callable
from typing import Any

WATCHED = (
    "open",
    "write",
    "fsync",
    "fdatasync",
    "ftruncate",
    "fchmod",
    "rename",
    "replace",
    "unlink",
    "rmdir",
    "mkdir",
)
"""The calls that are counted."""


class FaultyCalls:
    """Stands in for `os` and lets one call, or all from one on, fail.

    Args:
        only: The name of the calls that are counted; `None` = all of them.
        nth: Which of them fails, from 1; 0 = none.
        error: The errno it fails with.
        forever: All after it fail too.
        keep: Bytes that a failing write leaves on the disk.
        short: Every write takes at most this many bytes, without failing; 0 = as many as it is given.
        ends_process: The process ends at once instead of an error, with status 9.
    """

    def __init__(
        self,
        only: str | None = None,
        *,
        nth: int = 1,
        error: int = errno.EIO,
        forever: bool = False,
        keep: int = 0,
        short: int = 0,
        ends_process: bool = False,
    ) -> None:
        self.only, self.nth, self.error, self.forever = only, nth, error, forever
        self.keep, self.short, self.ends_process = keep, short, ends_process
        self.count = 0
        """Calls so far, of those that are counted."""
        self.failed = 0
        """Of those, how many failed."""

    def __getattr__(self, name: str) -> Any:
        if name not in WATCHED:
            raise AttributeError(f"os.{name} is not a call that files are changed by")
        return lambda *args, **kwargs: self._call(name, getattr(os, name), *args, **kwargs)

    def _call(self, name: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self.only in (None, name):
            self.count += 1
            if self.nth and (self.count == self.nth or (self.forever and self.count > self.nth)):
                self._fail(name, call, *args)
        if name == "write" and self.short:
            return call(args[0], args[1][: self.short])
        return call(*args, **kwargs)

    def _fail(self, name: str, call: Callable[..., Any], *args: Any) -> None:
        self.failed += 1
        if name == "write" and self.keep:
            call(args[0], args[1][: self.keep])
        if self.ends_process:
            os._exit(9)
        raise OSError(self.error, os.strerror(self.error))
