"""Guards that no fault test of another room would miss: what must have happened before a caller is answered, or must not."""

import os
import sqlite3
import stat
import warnings
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt

from benchmarks._life import curator, on, open_agent, settings
from langgraph_harness_memory import CompactionConfig, HarnessMemory, MemoryIndex
from langgraph_harness_memory.testing import Failure, ScriptedChatModel
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


def test_an_interrupt_in_an_internal_call_ends_the_run(tmp_path: Path) -> None:
    """A summary model that is an agent itself may ask a person: the run stops there, and no other summary takes its place."""
    asks = ScriptedChatModel(script=[Failure(error=GraphInterrupt((Interrupt(value="may I?"),)))], repeat=True)
    config = settings(compaction=CompactionConfig(trigger_messages=4, keep_messages=2, model=asks))
    with HarnessMemory(tmp_path / "workspace", model=curator(), config=config) as memory:
        agent = open_agent(memory)
        said = [agent.invoke({"messages": [HumanMessage(f"question {n}")]}, on("t1")) for n in range(3)]
    assert [part.value for part in said[-1]["__interrupt__"]] == ["may I?"]
    assert asks.calls == 1


def test_a_lock_ends_with_its_section_though_a_child_was_forked_within(workspace: LocalWorkspace) -> None:
    """The child inherits the descriptor and lives on: who asks for the lock behind the section gets it at once."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads, which is what is tested
        with workspace.lock("a"):
            child = os.fork()
            if child == 0:
                os.close(writer)
                os.read(reader, 1)  # until the parent is done
                os._exit(0)
    try:
        with workspace.lock("a", timeout=timedelta(seconds=0.2)):
            pass
    finally:
        os.close(writer)
        os.close(reader)
        os.waitpid(child, 0)


def test_half_a_character_is_saved_as_a_question(tmp_path: Path) -> None:
    """No text of a model can make a write fail: what cannot be encoded stands as U+FFFD, and the rest of the line stays."""
    with HarnessMemory(tmp_path / "workspace", model=curator(), config=settings()) as memory:
        saved = memory.save("the tea is \ud800 green")
        stored = memory.workspace.read(saved.path)
    assert stored is not None
    assert "the tea is \ufffd green" in stored.data.decode()


def test_an_index_that_was_removed_while_open_is_back_at_its_place(tmp_path: Path) -> None:
    """A search that goes on in a file without a name would answer, and whoever opens the index next would find none."""
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "MEMORY.md").write_text("- Likes green tea\n", encoding="utf-8")
    with MemoryIndex(tmp_path / "w", path=tmp_path / "index.db") as index:
        (tmp_path / "index.db").unlink()
        assert [hit.content for hit in index.search("tea", 1)] == ["- Likes green tea"]
        with closing(sqlite3.connect(tmp_path / "index.db")) as other:
            assert other.execute("SELECT count(*) FROM line").fetchone() == (1,)
