"""The example service: started by one command, two replicas, one Postgres, maintenance beside them."""

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from langgraph_harness_memory.workspace.postgres import PostgresWorkspace

SERVICE = Path(__file__).parents[2] / "examples" / "service"


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def ask(port, path, text=None):
    data = None if text is None else json.dumps({"text": text}).encode()
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", data=data, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.fixture
def service(postgres_url, schema):
    ports = free_ports(2)
    url = f"{postgres_url}?schema={schema}"
    command = [
        sys.executable,
        str(SERVICE / "run.py"),
        "--postgres",
        url,
        "--ports",
        *map(str, ports),
        "--interval",
        "2",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        started: list[str] = []  # the first tick may be told before the second replica is
        while sum("replica on" in line for line in started) < 2:
            started.append(process.stdout.readline())
            assert started[-1], started
        yield process, ports
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        process.stdout.close()


@pytest.mark.timeout(180)
def test_service(service, postgres_url, schema):
    """A conversation goes on at the other replica, users do not meet, maintenance curates, and a signal ends it all cleanly."""
    process, (one, two) = service
    status, first = ask(one, "/users/alice/threads/t1", "I prefer tea over coffee.")
    assert (status, first["messages"]) == (200, 2)
    status, second = ask(two, "/users/alice/threads/t1", "We chose Alembic for the database migration.")
    assert (status, second["messages"]) == (200, 4)
    assert ask(two, "/users/bob/threads/t1", "let me in")[0] == 403
    assert ask(one, "/users/bob/threads/t2", "I prefer espresso.")[0] == 200
    assert ask(one, "/users/alice/threads/t1")[0] == 404
    with PostgresWorkspace(postgres_url, schema=schema) as workspace:
        until = time.monotonic() + 60
        while workspace.stat("users/alice/MEMORY.md") is None and time.monotonic() < until:
            time.sleep(0.2)
        assert "tea over coffee" in workspace.read("users/alice/MEMORY.md").data.decode()
    hits = ask(two, "/users/alice/search?q=tea")[1]["hits"]
    assert any("tea over coffee" in hit["content"] for hit in hits)
    assert ask(one, "/users/bob/search?q=tea")[1]["hits"] == []
    status, health = ask(one, "/health")
    assert (status, health["writable"]) == (200, True)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    assert process.stdout.read().count("replica drained and closed") == 2


def test_graphs_load_and_draw(postgres_url, schema, monkeypatch):
    """`langgraph.json` names graphs that load, draw and run without a checkpointer of their own."""
    described = json.loads((SERVICE / "langgraph.json").read_text())
    monkeypatch.setenv("HARNESS_WORKSPACE", f"{postgres_url}?schema={schema}")
    monkeypatch.syspath_prepend(str(SERVICE))
    import graphs

    for name, place in described["graphs"].items():
        path, _, attribute = place.partition(":")
        assert (SERVICE / path).is_file()
        graph = getattr(graphs, attribute)()
        assert graph.get_graph().draw_mermaid()
        assert graph.checkpointer in (None, False), name
    report = graphs.maintenance().invoke({"force": True})
    assert report["ran"] is True
