"""Every error this package raises on purpose, in one tree.

    HarnessMemoryError
    ├── SettingError            a setting, id or argument that cannot be used (also a ValueError)
    ├── MissingExtra            an optional package is needed for this (also an ImportError)
    ├── ModelUnavailable        an operation needs a chat model and none was given
    ├── TenantMismatch          a thread belongs to another tenant
    ├── PathRefused             a path would leave the workspace, or is no regular file
    ├── WorkspaceError          the workspace could not do what was asked (also an OSError)
    │   ├── UnreadableFile      a file is there and cannot be read as what it should be
    │   ├── VersionConflict     the file changed since the version that the caller read
    │   └── LockTimeout         another process held a lock for longer than the caller would wait
    ├── DamagedSession          a session's checkpoints cannot be read as asked
    ├── ConversationUnreadable  a file given to `replay` or `import` holds no conversation that is understood
    └── WriteRefused            a scanner or a rule refused what was to be remembered

A message says what happened, where (setting, file or id), and what to do about it. Errors of the user's own model or
tools are never wrapped.
"""


class HarnessMemoryError(Exception):
    """Base of every error of this package."""


class SettingError(HarnessMemoryError, ValueError):
    """A setting, id or argument cannot be used."""

    @classmethod
    def refused(cls, name: str, value: object, allowed: str) -> "SettingError":
        """Build the message that every refused setting shares.

        Args:
            name: The setting as the user types it, with its group.
            value: What was given.
            allowed: What would have been accepted, as a phrase.
        """
        return cls(f"{name}={value!r} cannot be used: {allowed}")


class MissingExtra(HarnessMemoryError, ImportError):
    """An optional package is needed for this.

    Args:
        what: The feature, as the user knows it.
        extra: The extra of this package that brings what is missing.
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra {extra!r}: pip install 'langgraph-harness-memory[{extra}]'")


class ModelUnavailable(HarnessMemoryError):
    """An operation needs a chat model and none was given."""


class TenantMismatch(HarnessMemoryError):
    """A thread belongs to another tenant than the one this run names."""


class PathRefused(HarnessMemoryError):
    """A path would leave the workspace, or is no regular file."""


class WorkspaceError(HarnessMemoryError, OSError):
    """The workspace could not do what was asked; nothing was lost by it."""


class UnreadableFile(WorkspaceError):
    """A file is there and cannot be read as what it should be; it is never taken for an empty one."""


class VersionConflict(WorkspaceError):
    """A file changed since the version that the caller read; the newer version stands."""


class LockTimeout(WorkspaceError, TimeoutError):
    """Another process or thread held a lock for longer than the caller would wait."""


class DamagedSession(HarnessMemoryError):
    """A session's checkpoints cannot be read as asked; the files are left as they are."""


class ConversationUnreadable(HarnessMemoryError):
    """A file holds no conversation in a format that is understood."""


class WriteRefused(HarnessMemoryError):
    """A scanner or a rule refused what was to be remembered."""
