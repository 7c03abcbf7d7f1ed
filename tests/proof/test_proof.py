"""The quick form of the proof: a part of each kind of crash, fault, bad answer, damage and crowd."""

import logging

import pytest

from benchmarks import _faults, _fuzz, _kills, _storms


@pytest.fixture(autouse=True, scope="module")
def server_of_children():
    """Children are forked from a server that has imported everything; the log of what they suffer is not of interest."""
    _kills.CONTEXT.set_forkserver_preload([*_kills.PRELOAD, "benchmarks._faults", "benchmarks._storms"])
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("operation", _kills.OPERATIONS, ids=lambda o: o.name.replace(" ", "-"))
def test_a_process_that_is_killed_within_an_operation_loses_nothing(operation) -> None:
    """Ended before some of its system calls; the next process finds every promise kept."""
    tried = _kills.kill_at_every_call(operation, most=3, stride=29)
    assert tried.tries > 0
    assert tried.lost == ()


def test_a_process_that_is_killed_at_a_random_moment_loses_nothing() -> None:
    """What it acknowledged over its pipe is there, once."""
    tried = _kills.kill_at_random(8, seed=3)
    assert tried.lost == ()


@pytest.mark.parametrize("name", _faults.FAULTS, ids=lambda n: n.replace(" ", "-"))
def test_a_fault_costs_no_turn_and_loses_nothing(name) -> None:
    """Turns go on under it, and once it is over every promise holds."""
    assert _faults.suffer(name, seed=11) == []


@pytest.mark.parametrize("purpose", ["summary", "flush", "consolidation"])
@pytest.mark.parametrize("answer", _faults.ANSWERS, ids=lambda n: n.replace(" ", "-"))
def test_a_model_that_misbehaves_costs_no_turn_and_loses_nothing(purpose, answer) -> None:
    """Whatever one of the three internal calls answers."""
    assert _faults.misbehave(purpose, answer) == []


def test_damaged_input_is_answered_or_refused_with_an_error_of_ours() -> None:
    """Every reader on mutated real files, hostile ids, paths and queries."""
    assert [line for tried in _fuzz.fuzz(2_000, seed=5) for line in tried.lost] == []


def test_everything_at_once_loses_nothing() -> None:
    """Three processes with threads and tasks for a second and a half."""
    tried = _storms.storm(1.5, seed=5)
    assert tried.tries > 3
    assert tried.lost == ()


def test_every_fault_says_which_end_state_it_asserts() -> None:
    """Each row of the proof, beside what is asserted of everything."""
    assert _faults.END_STATES.keys() == _faults.FAULTS.keys()
    assert all(_faults.END_STATES.values())
    assert all(operation.ends for operation in _kills.OPERATIONS)


def test_a_temporary_file_that_nobody_removes_is_seen(tmp_path) -> None:
    """What a killed process left is swept an hour later by the next write to its folder, and not before."""
    from datetime import UTC, datetime, timedelta

    from benchmarks._life import LaterClock, Life, open_agent, open_memory
    from langgraph_harness_memory.testing import FrozenClock

    life = Life(root=tmp_path)
    with open_memory(tmp_path) as memory:
        life.turn(open_agent(memory), "t1", "a0")
    left = tmp_path / "parent" / "workspace" / "memory" / f".hm-{'0' * 16}.tmp"
    left.write_text("half")
    too_soon = FrozenClock((datetime.now(UTC) + timedelta(minutes=50)).isoformat())
    assert [fault for fault in life.faults(clock=too_soon) if "left over" in fault] == [f"{left.name} is left over"]
    assert life.faults(clock=LaterClock()) == []


def test_a_broken_promise_is_seen() -> None:
    """The checker is no rubber stamp: a lost, a doubled and a forgotten line are each told."""
    import tempfile
    from pathlib import Path

    from benchmarks._life import Life, open_agent, open_memory

    with tempfile.TemporaryDirectory() as folder:
        life = Life(root=Path(folder))
        with open_memory(life.root) as memory:
            for n in range(2):
                life.turn(open_agent(memory), "t1", f"a{n}")
        workspace = life.root / "parent" / "workspace"
        (log,) = list(workspace.glob("memory/2*.md"))
        log.write_text(log.read_text() + "- Codeword t1-a0 belongs to itema0.\n")
        life.acknowledged["t1"].append("id-never-logged")
        life.forgotten.add("t1-a1")
        told = " ".join(life.faults())
        assert "t1-a0 stands 2 times" in told
        assert "id-never-logged" in told
        assert "t1-a1 was forgotten and is back" in told
