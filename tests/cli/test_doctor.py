"""What `doctor` says of each thing that can be wrong, and how it says to mend it."""

import os
import shutil
from collections import namedtuple
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_harness_memory import HarnessMemory, MaintenanceConfig, MemoryConfig
from langgraph_harness_memory.testing import FrozenClock, OpenAIServer, ScriptedChatModel
from langgraph_harness_memory.testing.scripted import Failure


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A memory that was talked to and tended just now."""
    return lived_in(tmp_path / "parent" / "workspace")


def lived_in(folder: Path, *, ago: timedelta = timedelta(0), tended: bool = True, user: str | None = None) -> Path:
    """Have a conversation logged some time ago, flushed and tended unless asked otherwise."""
    clock = FrozenClock((datetime.now(UTC) - ago).isoformat())
    model = ScriptedChatModel(script=["- The team uses Alembic.", "# Memory\n\n- The team uses Alembic."], repeat=True)
    config = MemoryConfig(maintenance=MaintenanceConfig(autostart=False))
    with HarnessMemory(folder, model=model, config=config, clock=clock) as memory:
        from langgraph_harness_memory.identifiers import ThreadRef

        said = [HumanMessage("We use Alembic.", id="m1"), AIMessage("Noted.", id="m2")]
        memory.sessions.append(ThreadRef(thread_id="t1", tenant=user), said)
        if tended:
            memory.maintain()
    return folder


def wrong(command, workspace: Path, *options: str, status: int = 0) -> dict[str, dict[str, str]]:
    """Ask the doctor; what is not well, by its check, but for the model that nobody configured."""
    findings = command.json("doctor", "-w", workspace, *options, status=status)["findings"]
    return {f["check"]: f for f in findings if f["verdict"] != "ok" and not f["what"].startswith("none is configured")}


def test_a_sound_memory_has_nothing_wrong(command, workspace: Path) -> None:
    """The memory that all tests here break."""
    assert wrong(command, workspace) == {}


def test_in_words_each_finding_stands_on_its_line_with_its_remedy(command, workspace: Path) -> None:
    """What a person reads in a terminal."""
    (workspace / "MEMORY.md").chmod(0o644)
    said = command("doctor", "-w", workspace).stdout
    assert "permissions" in said
    assert f"mend: chmod -R go= {workspace}"[:30] in said.replace("\n", "")


def test_messages_that_wait_and_maintenance_that_never_ran_are_told(command, tmp_path: Path) -> None:
    """Three days are long enough to say that nobody runs it, and which command does."""
    found = wrong(command, lived_in(tmp_path / "w", ago=timedelta(days=3), tended=False))
    assert found.keys() == {"flush", "maintenance"}
    assert "2 messages wait since" in found["flush"]["what"]
    assert "has never run; the first message is of" in found["maintenance"]["what"]
    assert found["flush"]["mend"] == "harness-memory maintain"


def test_maintenance_that_ran_once_and_stopped_is_told_with_its_day(command, tmp_path: Path) -> None:
    """The last tick is days old."""
    found = wrong(command, lived_in(tmp_path / "w", ago=timedelta(days=5)))
    assert found.keys() == {"maintenance"}
    day = (datetime.now(UTC) - timedelta(days=5)).date()
    assert f"has not run since {day.isoformat()}" in found["maintenance"]["what"]


def test_a_day_without_maintenance_is_no_trouble(command, tmp_path: Path) -> None:
    """Messages of yesterday may wait."""
    assert wrong(command, lived_in(tmp_path / "w", ago=timedelta(days=1), tended=False)) == {}


def test_a_users_messages_that_wait_are_told_with_the_user(command, tmp_path: Path) -> None:
    """Each user's memory is looked at."""
    folder = lived_in(tmp_path / "w", ago=timedelta(days=3), tended=False, user="ann")
    assert "user ann: 2 messages wait" in wrong(command, folder)["flush"]["what"]


def test_a_full_disk_is_at_fault(command, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a write fails: exit status 1, and the word that nothing is lost."""
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9 - 5_000_000, 5_000_000))
    found = wrong(command, workspace, status=1)
    assert found["disk"]["what"] == "only 4 MB are free"
    assert "nothing is lost" in found["disk"]["mend"]


def test_a_folder_that_cannot_be_written_is_at_fault(command, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write everywhere, so that the system's own answer is given here."""
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != workspace and access(path, mode))
    found = wrong(command, workspace, status=1)
    assert found["workspace"]["what"] == f"{workspace} cannot be written"
    assert found["workspace"]["mend"] == f"chmod u+rwx {workspace}, or run as its owner"


def test_a_refused_consolidation_is_named(command, workspace: Path) -> None:
    """The text that was kept aside, and that the memory is as it was."""
    rejected = workspace / "memory" / ".rejected"
    rejected.mkdir(mode=0o700)
    (rejected / "2026-01-01.md").write_text("I cannot help with that.")
    (rejected / "2026-01-01.md").chmod(0o600)
    found = wrong(command, workspace)
    assert found.keys() == {"refused"}
    assert "memory/.rejected/2026-01-01.md" in found["refused"]["what"]
    assert "MEMORY.md is as it was" in found["refused"]["mend"]


def test_torn_lines_that_were_moved_aside_are_named(command, workspace: Path) -> None:
    """A crash left them; a person decides."""
    torn = workspace / "sessions" / "t1.log.jsonl.torn-1"
    torn.write_bytes(b'{"v":1,')
    torn.chmod(0o600)
    found = wrong(command, workspace)
    assert found.keys() == {"torn lines"}
    assert "sessions/t1.log.jsonl.torn-1" in found["torn lines"]["what"]


@pytest.mark.parametrize("path", ["sessions/t1.log.jsonl", "MEMORY.md"])
def test_a_folder_in_the_place_of_a_file_is_at_fault_and_the_other_checks_are_made(
    command, workspace: Path, path: str
) -> None:
    """Such a file counts as one that is not there: only the doctor says why."""
    (workspace / path).unlink()
    (workspace / path).mkdir(mode=0o700)
    findings = command.json("doctor", "-w", workspace, status=1)["findings"]
    (said,) = [f["what"] for f in findings if f["check"] == "folders"]
    assert said == f"1 folders stand where files should be, for example {path}"
    assert {"sqlite", "workspace", "texts", "index"} <= {f["check"] for f in findings if f["verdict"] == "ok"}


def test_a_folder_of_a_user_whom_nobody_knows_is_told(command, workspace: Path) -> None:
    """Its name is a hash, and no session says whose it is."""
    folder = workspace / "users" / "someone~0123456789abcdef"
    folder.mkdir(parents=True, mode=0o700)
    (workspace / "users").chmod(0o700)
    (folder / "MEMORY.md").write_text("- Likes tea\n")
    (folder / "MEMORY.md").chmod(0o600)
    assert "users/someone~0123456789abcdef" in wrong(command, workspace)["users"]["what"]


@pytest.mark.parametrize("asked", [False, True], ids=["only looked up", "asked"])
def test_a_model_that_answers_is_well(
    command, workspace: Path, monkeypatch: pytest.MonkeyPatch, *, asked: bool
) -> None:
    """It is sent a request only where that was wanted."""
    model = ScriptedChatModel(script=["ready"], repeat=True)
    with OpenAIServer(model=model) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "unused")
        options = ["--model", "openai:gpt-5.5", *(["--ask-model"] if asked else [])]
        findings = command.json("doctor", "-w", workspace, *options)["findings"]
    (said,) = [f["what"] for f in findings if f["check"] == "model"]
    assert said == ("answers: 'ready'" if asked else "ChatOpenAI is configured; --ask-model sends it a request")
    assert model.calls == int(asked)


def test_a_model_that_refuses_is_at_fault(command, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the provider said, and what to check."""
    with OpenAIServer(
        model=ScriptedChatModel(script=[Failure(error=ValueError("no such model"))], repeat=True)
    ) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "unused")
        monkeypatch.setenv("OPENAI_MAX_RETRIES", "0")
        found = wrong(command, workspace, "--model", "openai:gpt-5.5", "--ask-model", status=1)
    assert found["model"]["mend"] == "check the key, the address and the name of the model"


def test_a_vocabulary_that_cannot_be_fetched_is_at_fault(
    command, workspace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without a network; tokens are estimated all the same."""
    import tiktoken

    def refuse(_: str) -> None:
        raise ConnectionError("no route to the store of vocabularies")

    monkeypatch.setattr(tiktoken, "get_encoding", refuse)
    found = wrong(command, workspace, "--fetch-vocabulary", status=1)
    assert found["vocabulary"]["what"] == "ConnectionError: no route to the store of vocabularies"
    assert "tokens are estimated" in found["vocabulary"]["mend"]


def test_a_vocabulary_that_is_there_is_well(command, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From then on requests are counted exactly."""
    import tiktoken

    fetched: list[str] = []
    monkeypatch.setattr(tiktoken, "get_encoding", fetched.append)
    findings = command.json("doctor", "-w", workspace, "--fetch-vocabulary")["findings"]
    (said,) = [f["what"] for f in findings if f["check"] == "vocabulary"]
    assert said == f"{fetched[0]} is on this disk: requests to OpenAI models are counted exactly"


def test_nothing_is_changed_by_looking(command, workspace: Path) -> None:
    """Not a byte of what a person or the memory wrote."""
    before = {p: p.read_bytes() for p in workspace.rglob("*") if p.is_file() and ".locks" not in p.parts}
    command("doctor", "-w", workspace)
    assert {p: p.read_bytes() for p in workspace.rglob("*") if p.is_file() and ".locks" not in p.parts} == before
