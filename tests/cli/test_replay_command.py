"""`replay`: other people's conversations, each message once, from wherever it was stopped."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from langgraph_harness_memory.curation.extractor import ExtractiveChatModel
from langgraph_harness_memory.formats.conversations import read_conversations
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.testing import OpenAIServer
from langgraph_harness_memory.workspace.local import LocalWorkspace

DATA = Path(__file__).parent / "data"
FILES = [DATA / n for n in ("tau-bench-two.json", "swe-agent-simple.traj", "claude-code.jsonl", "langchain-dump.json")]
SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"
SMALL = ["--trigger-messages", "12", "--trigger-tokens", "6000", "--max-result-chars", "4000"]


def wanted(files=FILES):
    """Return what must be in the session logs: id and text of every message, by thread."""
    readings = [read_conversations(f.read_bytes(), name=str(f), origin=str(f.resolve())) for f in files]
    return {c.thread_id: [(m.id, m.text) for m in c.messages] for r in readings for c in r.conversations}


def logged(folder):
    log = SessionLog(LocalWorkspace(folder))
    return {s.thread_id: [(e.message.id, e.message.text) for e in log.read(s.thread_id)] for s in log.threads()}


def flushed_blocks(folder):
    """Return how often each stretch of each session was flushed."""
    lines = [line for f in (folder / "memory").glob("*.md") for line in f.read_text().splitlines()]
    return Counter(line.split("<!--")[0] for line in lines if line.startswith("## ") and "session" in line)


def test_every_message_of_every_file_is_logged_exactly_once(command, tmp_path):
    """And every request that went out was valid and under the triggers."""
    folder = tmp_path / "w"
    told = command.json("replay", *FILES, "-w", folder, *SMALL)
    assert logged(folder) == wanted()
    assert (told["conversations"], told["messages"], told["new_messages"]) == (5, 71, 71)
    assert (told["invalid_requests"], told["left_out"]) == (0, [])
    assert told["largest_request_tokens"] <= 6_000
    assert told["longest_request_messages"] <= 12
    assert told["compactions"] > 0
    assert told["evictions"] > 0
    assert told["tokens_sent"] < told["tokens_without_memory"]


def test_replaying_twice_adds_nothing(command, tmp_path):
    """No message, no request, no fact, and no byte of a session log."""
    folder = tmp_path / "w"
    command("replay", *FILES, "-w", folder, *SMALL)
    before = {p.name: p.read_bytes() for p in (folder / "sessions").glob("*.log.jsonl")}
    told = command.json("replay", *FILES, "-w", folder, *SMALL)
    assert (told["new_messages"], told["requests"], told["facts"]) == (0, 0, 0)
    assert {p.name: p.read_bytes() for p in (folder / "sessions").glob("*.log.jsonl")} == before


def test_a_fact_of_a_session_is_found_by_its_line(command, tmp_path):
    """In the daily log, with path and line that `get` opens."""
    folder = tmp_path / "w"
    command("replay", *FILES, "-w", folder)
    hits = command.json("search", "how long do we keep the logs, retention", "-w", folder)["hits"]
    hit = next(h for h in hits if "45 days" in h["content"])
    lines = command.json("get", f"{hit['path']}#{hit['line_number']}", "-C", "0", "-w", folder)["lines"]
    assert lines == [{"line_number": hit["line_number"], "content": hit["content"]}]


def test_what_cannot_be_read_is_named_and_the_others_go_on(command, tmp_path):
    """Exit status 1, the reason by file, and everything else in place."""
    notes, torn = tmp_path / "notes.md", tmp_path / "torn.jsonl"
    notes.write_text("# hello")
    torn.write_text(json.dumps({"messages": [{"role": "user", "content": "hi"}]}) + '\n{"mess')
    ran = command("replay", notes, torn, tmp_path / "missing.json", FILES[3], "-w", tmp_path / "w", status=1)
    assert "left out  " in ran.stderr
    for words in ("notes.md: is neither JSON", "torn.jsonl: line 2 is no JSON", "missing.json: No such file"):
        assert words in ran.stderr
    assert len(logged(tmp_path / "w")) == 2


def test_nothing_to_replay_makes_no_memory(command, tmp_path):
    """A mistyped file is named; there is no table of zeros and no folder."""
    ran = command("replay", tmp_path / "typo.json", "-w", tmp_path / "w", status=1)
    assert "typo.json: No such file or directory" in ran.stderr
    assert "there is no conversation to replay" in ran.stderr
    assert ran.stdout == ""
    told = command.json("replay", tmp_path / "typo.json", "-w", tmp_path / "w", status=1)
    assert [left["file"] for left in told["left_out"]] == [str(tmp_path / "typo.json")]
    assert not (tmp_path / "w").exists()


def test_a_folder_is_taken_for_the_conversations_in_it(command, tmp_path):
    """By the endings that conversations have."""
    told = command.json("replay", DATA, "-w", tmp_path / "w")
    assert told["conversations"] == 5


def test_each_user_has_a_memory_of_their_own(command, tmp_path):
    """Facts go under the user's folder and nobody else finds them."""
    folder = tmp_path / "w"
    command("replay", FILES[3], "-w", folder, "--user", "ann")
    assert command.json("search", "retention", "-w", folder, "--user", "ann")["hits"]
    assert command.json("search", "retention", "-w", folder, status=1)["hits"] == []


def test_a_model_of_the_environment_curates_and_the_recording_talks(command, tmp_path, monkeypatch):
    """Summaries, flushes and consolidations go to the model; what was said stays; nothing is done by rules."""
    with OpenAIServer(model=ExtractiveChatModel()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        told = command.json("replay", FILES[0], FILES[3], "-w", tmp_path / "w", *SMALL)
    asked = [json.dumps(r.body["messages"]) for r in server.requests]
    assert {kind for kind in ("flush", "consolidation", "SESSION INTENT") for text in asked if kind in text} == {
        "flush",
        "consolidation",
        "SESSION INTENT",
    }
    assert [r.status for r in server.requests] == [200] * len(server.requests)
    assert logged(tmp_path / "w") == wanted([FILES[0], FILES[3]])
    assert told["compactions"] == sum("SESSION INTENT" in text for text in asked)


def start(program, folder, files=FILES):
    line, environment = program
    arguments = ["replay", *map(str, files), "-w", str(folder), *SMALL]
    return subprocess.Popen([*line, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def logged_lines(folder):
    return sum(p.read_bytes().count(b"\n") for p in (folder / "sessions").glob("*.log.jsonl")) if folder.exists() else 0


@pytest.mark.timeout(400)
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("after", [3, 25])
def test_a_replay_that_is_stopped_goes_on_from_where_it_was(command, program, tmp_path, stop, after):
    """Ctrl-C or kill in the middle, then again: the same logs as without, and no stretch flushed twice."""
    folder = tmp_path / "w"
    with start(program, folder) as process:
        try:
            deadline = time.monotonic() + 150
            while logged_lines(folder) < after and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            os.kill(process.pid, stop)
            _, stderr = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == (130 if stop == signal.SIGINT else -signal.SIGKILL), stderr
    done = sum(len(messages) for messages in logged(folder).values())
    assert 0 < done < 71
    told = command.json("replay", *FILES, "-w", folder, *SMALL)
    assert logged(folder) == wanted()
    assert told["invalid_requests"] == 0
    assert set(flushed_blocks(folder).values()) == {1}


@pytest.mark.timeout(400)
@pytest.mark.skipif(not SHARED.exists(), reason="the shared conversations do not lie beside this checkout")
def test_everything_that_lies_beside_the_checkout_is_replayed_in_one_call(command, tmp_path):
    """50 tau-bench trajectories, SWE-agent runs, Claude Code sessions and a LangChain dump."""
    files = sorted(p for f in ("tau-bench", "swe-agent", "claude-code", "langchain") for p in (SHARED / f).glob("*.*"))
    told = command.json("replay", *files, "-w", tmp_path / "w", *SMALL)
    assert logged(tmp_path / "w") == wanted(files)
    assert (told["conversations"], told["messages"], told["invalid_requests"]) == (56, 1_394, 0)
    assert told["largest_request_tokens"] <= 6_000
    assert told["longest_request_messages"] <= 12
    assert command.json("search", "flight from New York to Seattle on May 20", "-w", tmp_path / "w")["hits"]
