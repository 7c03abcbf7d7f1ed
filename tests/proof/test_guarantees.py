"""The page of guarantees names every guarantee, and tests that exist; and what no other room tests."""

import ast
import fcntl
import re
import time
from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks import _guards
from benchmarks._life import curator, open_agent, settings
from langgraph_harness_memory import HarnessMemory, SessionLog, StorageConfig
from langgraph_harness_memory.formats import records
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.workspace.local import LocalWorkspace

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "guarantees.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`([a-z_/]+\.py)::(\w+)`")
ENTRY = re.compile(r"^\*\*(G\d+)\*\* (.*?)(?=^\*\*G\d+\*\*|^## )", re.MULTILINE | re.DOTALL)
ENTRIES = dict(ENTRY.findall(PAGE))


CONTRACTS = {
    "workspace/test_local_contract.py": "../langgraph_harness_memory/testing/workspace_contract.py",
    "index/test_sqlite_contract.py": "../langgraph_harness_memory/testing/index_contract.py",
}
"""Files whose tests are inherited from a suite of the package."""


@cache
def named_in(path: str) -> frozenset[str]:
    """The tests of a file, methods of classes included, without importing it."""
    tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(n.name for n in ast.walk(tree) if isinstance(n, functions) and n.name.startswith("test_"))


def test_every_guarantee_is_on_the_page() -> None:
    """G1 to G41, in order, each once."""
    assert [name for name, _ in ENTRY.findall(PAGE)] == [f"G{n}" for n in range(1, 42)]


@pytest.mark.parametrize("name", ENTRIES)
def test_a_guarantee_names_a_test(name: str) -> None:
    """One that is not promised says so beside the test of what is."""
    assert NAMED.search(ENTRIES[name])


def test_every_bad_input_names_a_test() -> None:
    """Each row of the table."""
    table = PAGE.split("## Bad input")[1].split("## ")[0]
    rows = [line for line in table.split("\n") if line.startswith("| ") and not line.startswith("| input")]
    assert len(rows) >= 13
    assert [row for row in rows if not NAMED.search(row)] == []


@pytest.mark.parametrize(("path", "name"), sorted(set(NAMED.findall(PAGE))), ids=lambda part: part)
def test_a_test_that_the_page_names_exists(path: str, name: str) -> None:
    """A test that was renamed or removed takes its place on the page along."""
    assert name in named_in(path)


@pytest.mark.parametrize("guard", _guards.GUARDS, ids=lambda guard: guard.name)
def test_what_the_benchmark_of_guards_names_exists(guard: _guards.Guard) -> None:
    """The tests of each guard are there, and its guarantees are on the page; `benchmarks guards` sees them fail."""
    assert guard.tests
    for test in guard.tests:
        file, *_, name = test.removeprefix("tests/").split("::")
        inherited = CONTRACTS.get(file)
        assert name.partition("[")[0] in named_in(file) | (named_in(inherited) if inherited else frozenset())
    promised = re.findall(r"G\d+", guard.keeps)
    assert set(promised) <= set(ENTRIES)
    assert promised or guard.keeps.startswith("promise ")


def test_a_turn_does_not_wait_for_a_lock_that_somebody_keeps(tmp_path: Path) -> None:
    """Another program holds every lock: the turn is answered soon, and its message is logged once, by a later turn."""
    config = settings(storage=StorageConfig(lock_timeout=timedelta(seconds=0.05)))
    with HarnessMemory(tmp_path / "workspace", model=curator(), config=config) as memory:
        agent = open_agent(memory, checkpointer=InMemorySaver())
        thread = {"configurable": {"thread_id": "t1"}}
        agent.invoke({"messages": [HumanMessage("first", id="m1")]}, thread)
        held = [path.open("rb+") for path in (tmp_path / "workspace" / "memory" / ".locks").iterdir()]
        try:
            for file in held:
                fcntl.flock(file, fcntl.LOCK_EX)
            begun = time.monotonic()
            told = agent.invoke({"messages": [HumanMessage("second", id="m2")]}, thread)
            assert time.monotonic() - begun < 5
        finally:
            for file in held:
                file.close()
        assert told["messages"][-1].text == "Noted."
        assert "m2" not in [entry.message.id for entry in memory.sessions.read("t1")]
        agent.invoke({"messages": [HumanMessage("third", id="m3")]}, thread)
        said = [entry.message.id for entry in memory.sessions.read("t1") if entry.message.type == "human"]
    assert sorted(said) == ["m1", "m2", "m3"]


def test_a_record_of_a_later_release_is_kept_and_skipped(tmp_path: Path) -> None:
    """A kind and a version that this release does not know: what it knows is read, and not a byte of the rest is lost."""
    workspace = LocalWorkspace(tmp_path)
    thread = ThreadRef(thread_id="t1")
    SessionLog(workspace).append(thread, [HumanMessage("before", id="m1")])
    later = records.render({"v": 7, "kind": "hologram", "data": [1, 2]})
    workspace.append("sessions/t1.log.jsonl", later)
    log = SessionLog(workspace)
    log.append(thread, [HumanMessage("after", id="m2")])
    assert [entry.message.id for entry in SessionLog(workspace).read("t1")] == ["m1", "m2"]
    stored = workspace.read("sessions/t1.log.jsonl")
    assert stored is not None
    assert later in stored.data
