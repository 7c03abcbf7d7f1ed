"""Guards that no fault test of another room would miss: what must have happened before a caller is answered."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from langgraph_harness_memory.workspace.local import LocalWorkspace


class Recorded:
    """`os`, and the order in which a tree was changed through it."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        call = getattr(os, name)

        def recorded(*args: Any, **kwargs: Any) -> Any:
            if name in {"fsync", "fdatasync"}:
                self.calls.append(f"{name} {'folder' if stat.S_ISDIR(os.fstat(args[0]).st_mode) else 'file'}")
            elif name in {"write", "replace", "rename"}:
                self.calls.append(name)
            return call(*args, **kwargs)

        return recorded


@pytest.fixture
def disk() -> Recorded:
    return Recorded()


@pytest.fixture
def workspace(tmp_path: Path, disk: Recorded) -> LocalWorkspace:
    workspace = LocalWorkspace(tmp_path, system_calls=disk)
    workspace.append("log", b"old\n")
    workspace.replace("state", b"old")
    disk.calls.clear()
    return workspace


def test_an_append_is_on_the_disk_before_it_is_acknowledged(workspace: LocalWorkspace, disk: Recorded) -> None:
    """The bytes, and for a new file also its name."""
    workspace.append("log", b"new\n")
    assert disk.calls == ["write", "fdatasync file"]
    disk.calls.clear()
    workspace.append("other", b"new\n")
    assert disk.calls == ["write", "fdatasync file", "fsync folder"]


def test_a_new_version_is_on_the_disk_before_it_has_its_name(workspace: LocalWorkspace, disk: Recorded) -> None:
    """First the bytes, then the name, then the folder: a power cut leaves the old file or the new one."""
    workspace.replace("state", b"new")
    assert disk.calls == ["write", "fsync file", "replace", "fsync folder"]


def test_a_moved_file_has_its_new_name_on_the_disk(workspace: LocalWorkspace, disk: Recorded) -> None:
    """Both folders are told."""
    workspace.move("state", "archive/state")
    assert disk.calls[-3:] == ["rename", "fsync folder", "fsync folder"]


def test_what_is_deleted_is_gone_from_the_disk(workspace: LocalWorkspace, disk: Recorded) -> None:
    """What was forgotten must not be back after a power cut."""
    workspace.delete("state")
    assert disk.calls == ["fsync folder"]
