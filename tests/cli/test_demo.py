"""The demonstration runs with nothing configured, shows everything, and proves what was recalled."""

import json
import subprocess
from pathlib import Path

from langgraph_harness_memory.cli.demo_script import QUESTIONS, TALKS
from langgraph_harness_memory.testing.scripted import Reply


def test_every_fact_is_recalled_and_was_absent_before(command, tmp_path):
    """For each: neither said nor injected in its session, and the file and line that brought it back hold it."""
    folder = tmp_path / "w"
    told = command.json("demo", "-w", folder)
    assert told["facts_recalled"] == told["facts_asked"] == len(QUESTIONS)
    for recall in told["recalled"]:
        assert recall["absent_from_live_context"]
        assert recall["needle"] in recall["answer"]
        line = (folder / recall["hit"]["path"]).read_text().splitlines()[recall["hit"]["line_number"] - 1]
        assert line == recall["hit"]["content"]
        assert recall["needle"] in line
    assert any(not recall["in_memory_md"] for recall in told["recalled"])


def test_the_figures_are_those_of_the_sessions(command, tmp_path):
    """Messages add up, something was folded and something evicted, and every request was valid."""
    told = command.json("demo", "-w", tmp_path / "w")
    for talk, session in zip(TALKS, told["sessions"], strict=True):
        results = sum(len(s.calls) for e in talk.exchanges for s in e.steps if isinstance(s, Reply))
        assert session["messages"] == len(talk.exchanges) + sum(len(e.steps) for e in talk.exchanges) + results
        assert session["faults"] == []
        assert session["in_context"] <= 20
    assert sum(s["compactions"] for s in told["sessions"]) >= 2
    assert sum(s["evictions"] for s in told["sessions"]) == 2
    assert sum(s["tokens_with"] for s in told["sessions"]) < sum(s["tokens_without"] for s in told["sessions"])
    assert told["failures"] == []


def test_it_shows_each_step_and_ends_with_the_tables(command, tmp_path):
    """Readable without colour: what was said, called, evicted, compacted, flushed, consolidated, found."""
    shown = command("demo", "-w", tmp_path / "w").stdout
    for word in (
        "you    ",
        "agent  →",
        "tool   ←",
        "evicted",
        "compacted",
        "flushed",
        "consolidated",
        "MEMORY.md",
        "New sessions",
    ):
        assert word in shown, word
    end = shown.splitlines()[-20:]
    assert any("together" in line for line in end)
    assert any("facts recalled" in line for line in end)
    assert "\x1b" not in shown


def test_it_needs_no_home_no_key_and_no_network(program, tmp_path):
    """In a process whose every connection to another machine fails."""
    line, environment = program
    block = (
        "import socket\n"
        "def refuse(self, address, *rest):\n"
        "    raise OSError(f'no network here: {address}')\n"
        "socket.socket.connect = refuse\n"
        "import sys; sys.argv = ['harness-memory', 'demo', '--json']\n"
    )
    environment = {"PATH": environment["PATH"], "HOME": str(tmp_path / "nowhere"), "TMPDIR": str(tmp_path)}
    ran = subprocess.run(
        [line[0], "-c", block + line[2]],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["facts_recalled"] == len(QUESTIONS)
    assert Path(told["workspace"]).is_relative_to(tmp_path)


def test_a_workspace_of_an_earlier_run_is_used_again(command, tmp_path):
    """A second run in the same folder goes on and finds the same facts."""
    command("demo", "-w", tmp_path / "w")
    assert command.json("demo", "-w", tmp_path / "w")["facts_recalled"] == len(QUESTIONS)
