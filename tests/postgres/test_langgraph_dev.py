"""The example under `langgraph dev`: agent and maintenance load, draw, run and survive time travel."""

import json
import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from langgraph_harness_memory.workspace.postgres import PostgresWorkspace

SERVICE = Path(__file__).parents[2] / "examples" / "service"


def request(port, path, body=None, *, method=None):
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=data, method=method)
    asked.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.load(answer)


@pytest.fixture
def server(postgres_url, schema, tmp_path, unused_port):
    command = shutil.which("langgraph")
    if command is None:
        pytest.skip("needs the command `langgraph` (pip install 'langgraph-cli[inmem]')")
    folder = tmp_path / "service"
    shutil.copytree(SERVICE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    described = json.loads((folder / "langgraph.json").read_text())
    described["env"] = {"HARNESS_WORKSPACE": f"{postgres_url}?schema={schema}", "HARNESS_INTERVAL": "1"}
    (folder / "langgraph.json").write_text(json.dumps(described))
    log = (tmp_path / "log").open("w")
    process = subprocess.Popen(
        [command, "dev", "--no-browser", "--no-reload", "--port", str(unused_port)],
        cwd=folder,
        stdout=log,
        stderr=subprocess.STDOUT,
        env={**os.environ, "LANGSMITH_TRACING": "false"},
        start_new_session=True,
    )
    try:
        until = time.monotonic() + 60
        while True:
            try:
                request(unused_port, "/ok")
                break
            except (urllib.error.URLError, ConnectionError):
                assert process.poll() is None, (tmp_path / "log").read_text()[-3000:]
                assert time.monotonic() < until
                time.sleep(0.3)
        yield unused_port
    finally:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.close()


@pytest.fixture
def unused_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def say(port, thread, text, **more):
    body = {
        "assistant_id": "agent",
        "input": {"messages": [{"role": "user", "content": text}]},
        "config": {"configurable": {"user_id": "alice"}},
        **more,
    }
    return request(port, f"/threads/{thread}/runs/wait", body)


@pytest.mark.timeout(180)
def test_under_langgraph_dev(server, postgres_url, schema):
    """Turns are remembered, a fork goes on from its checkpoint, and a stateless maintenance run curates."""
    assistants = {each["graph_id"]: each["assistant_id"] for each in request(server, "/assistants/search", {})}
    assert set(assistants) == {"agent", "maintenance"}
    for assistant in assistants.values():
        assert request(server, f"/assistants/{assistant}/graph")["nodes"]
    thread = request(server, "/threads", {})["thread_id"]
    assert len(say(server, thread, "I prefer tea over coffee.")["messages"]) == 2
    first = request(server, f"/threads/{thread}/state")["checkpoint"]
    assert len(say(server, thread, "We chose Alembic for the database migration.")["messages"]) == 4
    forked = say(server, thread, "We chose Flyway for the database migration.", checkpoint=first)
    assert len(forked["messages"]) == 4
    assert "Flyway" in json.dumps(forked)
    assert "Alembic" not in json.dumps(forked)
    report = request(server, "/runs/wait", {"assistant_id": "maintenance", "input": {"force": True}})
    assert report["ran"] is True
    assert report["failures"] == []
    with PostgresWorkspace(postgres_url, schema=schema) as workspace:
        log = workspace.read(next(f.path for f in workspace.files("sessions") if f.path.endswith(".log.jsonl"))).data
        assert [log.count(word) > 0 for word in (b"tea over", b"Alembic", b"Flyway")] == [True] * 3
        assert b"tea over coffee" in workspace.read("users/alice/MEMORY.md").data
