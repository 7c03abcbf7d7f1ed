"""The commands on a workspace in Postgres, by its URL."""

import os
import secrets
from pathlib import Path

import psycopg
import pytest

URL = os.environ.get("HARNESS_TEST_POSTGRES") or "postgresql://postgres@127.0.0.1:5432/test"
DATA = Path(__file__).parent / "data"


@pytest.fixture
def url():
    """A schema of its own, dropped afterwards; skipped without a server, and a failure in CI, where one is promised."""
    try:
        psycopg.connect(URL, connect_timeout=3).close()
    except psycopg.OperationalError as error:
        if os.environ.get("CI") or os.environ.get("HARNESS_TEST_POSTGRES"):
            pytest.fail(f"no Postgres for the tests: {error}")
        pytest.skip(f"no Postgres for the tests (set HARNESS_TEST_POSTGRES): {error}")
    schema = f"hm_cli_{os.getpid()}_{secrets.token_hex(4)}"
    yield f"{URL}{'&' if '?' in URL else '?'}schema={schema}"
    with psycopg.connect(URL, autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')


def test_the_reading_and_keeping_commands(command, url, tmp_path):
    """Replay, search, get, status, maintain, view, doctor, forget: the same as on a folder."""
    told = command.json("replay", DATA / "langchain-dump.json", "-w", url)
    assert told["new_messages"] == 6
    assert command.json("replay", DATA / "langchain-dump.json", "-w", url)["new_messages"] == 0
    hit = command.json("search", "retention of the logs", "-w", url)["hits"][0]
    assert "45 days" in hit["content"]
    lines = command.json("get", f"{hit['path']}#{hit['line_number']}", "-C", "0", "-w", url)["lines"]
    assert lines[0]["content"] == hit["content"]
    assert command.json("status", "-w", url)["memories"][0]["messages"] == 6
    assert command.json("maintain", "-w", url)["failures"] == []
    assert command.json("reindex", "-w", url)["seconds"] >= 0
    assert command.json("view", "-w", url, "-o", tmp_path / "m.html")["sessions"] == 1
    assert {f["verdict"] for f in command.json("doctor", "-w", url)["findings"]} == {"ok", "warning"}
    assert command.json("forget", "retention", "--yes", "-w", url)["report"]["lines"] >= 1
    assert command.json("search", "retention", "-w", url, status=1)["hits"] == []


def test_a_memory_is_copied_there_and_back(command, url, tmp_path):
    """Every file arrives byte by byte, both ways, and search works at each end."""
    command("replay", DATA / "langchain-dump.json", "-w", tmp_path / "w")
    there = command.json("copy", tmp_path / "w", url)["copied"]
    assert command.json("search", "retention", "-w", url)["hits"]
    back = command.json("copy", url, tmp_path / "back")["copied"]
    assert there["files"] == back["files"]
    for name in (
        "MEMORY.md",
        *[p.relative_to(tmp_path / "w").as_posix() for p in (tmp_path / "w" / "sessions").glob("*.log.jsonl")],
    ):
        assert (tmp_path / "back" / name).read_bytes() == (tmp_path / "w" / name).read_bytes()


def test_a_server_that_does_not_answer_is_one_line(command):
    """Status 3, no traceback, and no password on the screen."""
    ran = command("status", "-w", "postgresql://someone:hunter2@127.0.0.1:1/none", status=3)
    assert "error:" in ran.stderr
    assert "hunter2" not in ran.output
