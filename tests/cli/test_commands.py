"""Each command does what its help says, with text for people and one JSON document for programs."""

import json
import os
import pty
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_harness_memory.cli.app import app
from langgraph_harness_memory.curation.extractor import ExtractiveChatModel
from langgraph_harness_memory.memory import HarnessMemory
from langgraph_harness_memory.testing import FrozenClock
from langgraph_harness_memory.workspace.opening import open_workspace

COMMANDS = [c.name or c.callback.__name__.strip("_") for c in app.registered_commands]
TODAY = datetime.now(UTC)


@pytest.fixture
def workspace(tmp_path):
    """A memory of two users with a MEMORY.md that has one earlier version."""
    folder = tmp_path / "workspace"
    clock = FrozenClock(TODAY - timedelta(hours=3))
    with HarnessMemory(folder, model=ExtractiveChatModel(), clock=clock) as memory:
        talk = [
            HumanMessage("We decided to use Alembic for the database migration.", id="1"),
            AIMessage("Noted, Alembic it is.", id="2"),
            HumanMessage("My phone number is 0664 1234567, remember that.", id="3"),
        ]
        memory.flush(talk, thread_id="t1")
        memory.consolidate()
        clock.advance(hours=1)
        memory.flush([HumanMessage("Deployments go out on Tuesdays at 10:00.", id="4")], thread_id="t2")
        memory.consolidate()
        memory.flush([HumanMessage("I prefer tea, never coffee.", id="5")], thread_id="t3", user_id="ann")
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_an_example(command, name):
    """`--help` names an example and, but for the interactive ones, `--json`."""
    shown = command(name, "--help").stdout
    assert f"Example: harness-memory {name}" in shown
    assert ("--json" in shown) == (name != "chat")


def test_the_command_lists_all_the_commands(command):
    """The fifteen that the documentation names."""
    names = "demo replay chat search get status view maintain cron reindex forget restore import copy doctor"
    assert set(COMMANDS) == set(names.split())
    assert all(name in command("--help").stdout for name in COMMANDS)


def test_search_finds_lines_with_their_place(command, workspace):
    """Best first; a line that a person writes is found at once."""
    hits = command.json("search", "which tool for the database migration", "-w", workspace)["hits"]
    assert "Alembic" in hits[0]["content"]
    assert Path(workspace, hits[0]["path"]).read_text().splitlines()[hits[0]["line_number"] - 1] == hits[0]["content"]
    (workspace / "knowledge").mkdir()
    (workspace / "knowledge" / "kiln.md").write_text("The kiln reaches 1260 degrees.\n")
    assert "knowledge/kiln.md#1" in command("search", "kiln", "-w", workspace).stdout


def test_search_keeps_to_days_and_limits(command, workspace):
    """Days are whole; a bad one is refused by name."""
    assert command.json("search", "Alembic", "-w", workspace, "--until", "2020-01-01", status=1)["hits"] == []
    assert len(command.json("search", "the", "-w", workspace, "--limit", "1", "--since", "2020-01-01")["hits"]) == 1
    assert (
        "--since='soon' cannot be used" in command("search", "x", "-w", workspace, "--since", "soon", status=2).stderr
    )


def test_search_in_sessions_finds_what_was_said(command, workspace):
    """Raw messages, also those that never became a fact."""
    hits = command.json("search", "Alembic it is", "--sessions", "-w", workspace)["hits"]
    assert hits[0]["thread_id"] == "t1"


def test_nothing_found_is_status_1(command, workspace):
    """As grep does it."""
    assert "nothing found" in command("search", "zeppelin", "-w", workspace, status=1).stderr


def test_users_do_not_meet(command, workspace):
    """What Ann prefers is found as Ann alone."""
    assert command.json("search", "tea coffee", "-w", workspace, status=1)["hits"] == []
    assert "tea" in command("search", "tea coffee", "-w", workspace, "--user", "ann").stdout


def test_get_prints_numbered_lines(command, workspace):
    """A whole file, a span, or lines around a place."""
    text = (workspace / "MEMORY.md").read_text().splitlines()
    whole = command.json("get", "MEMORY.md", "-w", workspace)
    assert [line["content"] for line in whole["lines"]] == text
    span = command.json("get", "MEMORY.md", "--start", "2", "--end", "3", "-w", workspace)["lines"]
    assert [line["line_number"] for line in span] == [2, 3]
    around = command.json("get", "MEMORY.md#3", "-C", "1", "-w", workspace)["lines"]
    assert [line["line_number"] for line in around] == [2, 3, 4][: len(text) - 1]


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["MEMORY.md", "--start", "5", "--end", "2"], 2, "--end=2 cannot be used"),
        (["nothing.md"], 1, "there is no file 'nothing.md'"),
        (["MEMORY.md#999"], 1, "MEMORY.md has "),
        (["../outside.md"], 3, "outside.md"),
        (["/etc/passwd"], 3, "/etc/passwd"),
    ],
)
def test_get_refuses_what_is_no_file_of_the_workspace(command, workspace, arguments, status, words):
    """Nothing outside the workspace is ever printed."""
    assert words in command("get", *arguments, "-w", workspace, status=status).stderr


def test_a_missing_workspace_is_not_made_by_looking(command, tmp_path):
    """A typing error makes no empty memory."""
    for arguments in (["search", "x"], ["status"], ["get", "MEMORY.md"], ["maintain"], ["doctor"], ["reindex"]):
        ran = command(*arguments, "-w", tmp_path / "typo", status=2)
        assert "there is no such folder" in ran.stderr
    assert not (tmp_path / "typo").exists()


def test_status_tells_what_there_is(command, workspace):
    """Sessions, facts, versions, disk use, and each user on request."""
    told = command.json("status", "-w", workspace, "--all-users")
    shared, ann = told["memories"]
    assert (shared["user"], shared["sessions"], shared["messages"], shared["unflushed"]) == (None, 2, 4, 0)
    assert (ann["user"], ann["sessions"]) == ("ann", 1)
    assert shared["memory_facts"] >= 2
    assert shared["memory_versions"] == 1
    assert told["disk"]["total"] == sum(
        p.stat().st_size for p in workspace.rglob("*") if p.is_file() and ".locks" not in p.parts
    )
    assert "facts in MEMORY.md" in command("status", "-w", workspace).stdout


def test_maintain_runs_one_tick(command, workspace):
    """It says what it did, and a second one that is not due says so."""
    told = command.json("maintain", "-w", workspace)
    assert told["ran"]
    assert told["failures"] == []
    assert command.json("maintain", "--if-due", "-w", workspace)["ran"] is False
    assert "reindexed" in command("maintain", "-w", workspace).stdout


def test_maintain_says_who_keeps_it_from_running(command, workspace):
    """A tick of another process is under way: status 0, since that one does the work."""
    assert open_workspace(workspace).acquire_lease("maintenance", ttl=timedelta(minutes=1)) is not None
    assert "did not run: another process is at it" in command("maintain", "-w", workspace).stdout


def test_maintain_makes_no_memory_for_a_user_who_is_mistyped(command, workspace):
    """A name that nobody has here is refused, and no folder is made for it."""
    assert "--user='anne' cannot be used" in command("maintain", "-w", workspace, "--user", "anne", status=2).stderr
    assert [p.name for p in (workspace / "users").iterdir()] == ["ann"]
    assert command.json("maintain", "-w", workspace, "--user", "ann")["ran"]


def test_maintain_every_stays_until_it_is_stopped(program, workspace):
    """It runs at once and again, and Ctrl-C ends it."""
    line, environment = program
    process = subprocess.Popen(
        [*line, "maintain", "--every", "1s", "-w", str(workspace)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )  # fmt: skip
    notes = [process.stderr.readline() for _ in range(2)]
    process.send_signal(2)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert all("next run in 0:00:01" in note for note in notes)


@pytest.mark.parametrize(
    ("every", "schedule"),
    [("15m", "*/15 * * * *"), ("1h", "17 * * * *"), ("6h", "17 */6 * * *"), ("1d", "17 3 * * *")],
)
def test_cron_prints_a_line_that_runs_maintenance(command, workspace, every, schedule):
    """With the workspace's whole path, so that cron's own folder does not matter."""
    line = command("cron", "-w", workspace, "--every", every).stdout.strip()
    assert line.startswith(f"{schedule} ")
    assert line.endswith(f"maintain --workspace {workspace}")


@pytest.mark.parametrize("where", ["someone:hunter2@db.example/memory", "db.example/memory?password=hunter2&schema=m"])
@pytest.mark.parametrize("form", [[], ["--systemd"], ["--json"]])
def test_cron_leaves_a_password_out_of_what_everybody_can_read(command, where, form):
    """Of the line, of the service and of the document; it says where the password belongs instead."""
    ran = command("cron", "-w", f"postgresql://{where}", *form)
    assert "hunter2" not in ran.output
    assert "db.example/memory" in ran.stdout
    assert "~/.pgpass" in ran.stderr


def test_cron_of_a_server_says_no_password_either(command):
    """Where the server does not answer, the address is named without its login."""
    told = command("cron", "--url", "http://someone:hunter2@127.0.0.1:1", status=2).output
    assert "--url='http://someone@127.0.0.1:1' cannot be used" in told
    assert "hunter2" not in told


def test_cron_says_when_its_folder_is_not_there(command, tmp_path):
    """The line is printed all the same: the memory may begin later."""
    ran = command("cron", "-w", tmp_path / "later")
    assert ran.stdout.strip().endswith(f"maintain --workspace {tmp_path / 'later'}")
    assert "there is no folder" in ran.stderr


def test_cron_refuses_what_cron_cannot_say(command, workspace):
    """Every seven hours is no schedule of cron."""
    assert "cron knows parts of an hour or day" in command("cron", "--every", "7h", "-w", workspace, status=2).stderr
    assert "OnUnitActiveSec=25200s" in command("cron", "--every", "6h", "--systemd", "-w", workspace).stdout.replace(
        "21600", "25200"
    )


class CronServer(BaseHTTPRequestHandler):
    """As much of a LangGraph server as crons need."""

    crons: list[dict] = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/runs/crons/search":
            answer = self.crons[body.get("offset", 0) :]
        else:
            answer = {**body, "cron_id": f"cron-{len(self.crons)}"}
            self.crons.append(answer)
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        """Keep quiet."""


def test_cron_registers_itself_on_a_server_once(command):
    """The second call finds the first one's cron; a server that does not answer is one line."""
    CronServer.crons = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), CronServer)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        first = command.json("cron", "--url", url)
        assert command.json("cron", "--url", url) == first
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert [(c["assistant_id"], c["schedule"]) for c in CronServer.crons] == [("maintenance", "17 */6 * * *")]
    assert (
        "--url='http://127.0.0.1:1' cannot be used" in command("cron", "--url", "http://127.0.0.1:1", status=2).stderr
    )


def test_reindex_mends_an_index_that_was_replaced(command, workspace):
    """The index is a cache: garbage in its place is rebuilt."""
    index = next(workspace.parent.glob("*memory_index.db"))
    index.write_bytes(b"garbage" * 1_000)
    assert command.json("reindex", "-w", workspace)["seconds"] >= 0
    assert command.json("search", "Alembic", "-w", workspace)["hits"]


def test_forget_shows_asks_and_forgets(command, workspace):
    """With `--yes` it does not ask; afterwards no file and no search has it."""
    told = command.json("forget", "phone number", "--yes", "-w", workspace)
    assert told["report"]["lines"] >= 1
    assert all("phone" in line["content"] for line in told["found"])
    assert command.json("search", "phone number", "-w", workspace, status=1)["hits"] == []
    assert "0664" not in "".join(p.read_text() for p in workspace.glob("memory/*.md"))
    assert command.json("forget", "phone number", "--yes", "-w", workspace, status=1)["lines"] == 0


def test_forget_by_place(command, workspace):
    """The lines that a hit names."""
    hit = command.json("search", "Tuesdays", "-w", workspace)["hits"][0]
    command("forget", "--path", hit["path"], "--lines", hit["line_number"], "--yes", "-w", workspace)
    assert command.json("search", "Tuesdays", "-w", workspace, status=1)["hits"] == []
    assert (
        "--lines='x' cannot be used"
        in command("forget", "--path", "MEMORY.md", "--lines", "x", "--yes", "-w", workspace, status=2).stderr
    )


def test_forget_needs_somebody_to_ask(command, workspace):
    """Where nobody can answer it wants `--yes` and forgets nothing."""
    assert "--yes" in command("forget", "phone", "-w", workspace, status=2).stderr
    assert command.json("search", "phone", "-w", workspace)["hits"]


def test_restore_brings_an_earlier_version_back(command, workspace):
    """The listed version is the memory again, and what it replaced is a version now."""
    now = (workspace / "MEMORY.md").read_text()
    versions = command.json("restore", "--list", "-w", workspace)["versions"]
    assert len(versions) == 1
    command("restore", versions[0]["name"], "-w", workspace)
    assert "Tuesdays" not in (workspace / "MEMORY.md").read_text()
    assert "Tuesdays" in now
    assert len(command.json("restore", "--list", "-w", workspace)["versions"]) == 2
    assert "no earlier version" in command("restore", "-w", workspace, "--user", "ann", status=1).stderr


def test_doctor_finds_nothing_in_a_sound_memory(command, workspace):
    """Every check is green but for the model that nobody configured."""
    findings = command.json("doctor", "-w", workspace)["findings"]
    assert {f["check"] for f in findings if f["verdict"] != "ok"} == {"model"}


def test_doctor_says_what_is_wrong_and_how_to_mend_it(command, workspace):
    """Open permissions, a damaged line, bytes that are no text, a link, a bad model name."""
    (workspace / "MEMORY.md").chmod(0o644)
    (workspace / "memory" / "2026-01-01.md").write_bytes(b"- caf\xe9\n")
    (workspace / "link").symlink_to("/etc/hostname")
    log = workspace / "sessions" / "t1.log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([lines[0], lines[1].replace(b"Alembic", b"Olembic"), *lines[2:]]))
    findings = command.json("doctor", "-w", workspace, "--model", "nobody", status=1)["findings"]
    wrong = {f["check"]: f for f in findings if f["verdict"] != "ok"}
    assert set(wrong) == {"permissions", "texts", "links", "damage", "model"}
    assert wrong["permissions"]["mend"] == f"chmod -R go= {workspace}"
    assert "2026-01-01.md" in wrong["texts"]["what"]
    assert "t1.log.jsonl" in wrong["damage"]["what"]
    assert "nobody" in wrong["model"]["what"]


def test_view_writes_a_page(command, workspace, tmp_path):
    """One file with everything in it."""
    told = command.json("view", "-w", workspace, "-o", tmp_path / "m.html")
    page = (tmp_path / "m.html").read_text()
    assert told["sessions"] == 2
    assert "Alembic" in page
    assert "never coffee" not in page
    assert (tmp_path / "m.html").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("output", "words"), [("", "it is a folder"), ("nowhere/m.html", "there is no folder")])
def test_view_refuses_a_place_that_cannot_hold_the_page(command, workspace, tmp_path, output, words):
    """Before it reads a thing, and without a traceback."""
    assert words in command("view", "-w", workspace, "-o", tmp_path / output, status=2).stderr


def test_view_says_when_the_page_cannot_be_written(command, workspace, tmp_path):
    """A full disk is one line and status 3."""
    (tmp_path / "m.html").symlink_to("/dev/full")
    ran = command("view", "-w", workspace, "-o", tmp_path / "m.html", status=3)
    assert "m.html could not be written: No space left on device" in ran.stderr


def test_import_brings_facts_in_once(command, workspace, tmp_path):
    """Dry run writes nothing; the second run finds all of it known; what was forgotten here stays out."""
    source = tmp_path / "openclaw"
    (source / "memory").mkdir(parents=True)
    (source / "MEMORY.md").write_text("- Prefers dark mode\n- My phone number is 0664 1234567, remember that.\n")
    (source / "memory" / "2026-02-03-trip.md").write_text("- Flies to Oslo\n- key sk-proj-a8Fj20dkPq93mzXv71LsTq\n")
    (source / "AGENTS.md").write_text("You are kind.\n")
    command("forget", "phone number", "--yes", "-w", workspace)
    before = {p: p.read_bytes() for p in workspace.rglob("*.md")}
    dry = command.json("import", "openclaw", source, "-w", workspace, "--dry-run")
    assert {p: p.read_bytes() for p in workspace.rglob("*.md")} == before
    first = command.json("import", "openclaw", source, "-w", workspace)
    assert {**dry, "dry_run": False} == first
    assert (first["facts"], first["forgotten"], first["notes"]) == (3, 1, ["AGENTS.md"])
    hit = command.json("search", "Oslo", "-w", workspace)["hits"][0]
    assert (hit["path"], hit["date"]) == ("memory/2026-02-03.md", "2026-02-03")
    assert "sk-proj-a8Fj" not in (workspace / "memory" / "2026-02-03.md").read_text()
    again = command.json("import", "openclaw", source, "-w", workspace)
    assert (again["facts"], again["known"], again["notes"]) == (0, 3, [])


FOREIGN = {
    "agentscope": {"MEMORY.md": "- Likes tea\n", "memory/2026-01-02.md": "- Chose Quarto\n", "AGENTS.md": "Be kind.\n"},
    "openclaw": {"MEMORY.md": "- Likes tea\n", "memory/2026-01-02-notes.md": "- Chose Quarto\n"},
    "deepagents": {"AGENTS.md": "# Learned\n- Likes tea\n", "memories/tools.md": "- Chose Quarto\n"},
    "langmem": {
        "store.json": json.dumps(
            [{"key": str(n), "value": {"content": t}} for n, t in enumerate(["Likes tea", "Chose Quarto"])]
        )
    },
}


@pytest.mark.parametrize("system", FOREIGN)
def test_each_system_is_imported_once_and_found(command, tmp_path, system):
    """Both facts come in, are found and merged, and a second import adds nothing."""
    for name, text in FOREIGN[system].items():
        (tmp_path / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "source" / name).write_text(text)
    folder = tmp_path / "w"
    assert command.json("import", system, tmp_path / "source", "-w", folder)["facts"] == 2
    assert command.json("import", system, tmp_path / "source", "-w", folder)["facts"] == 0
    assert "Quarto" in command.json("search", "quarto", "-w", folder)["hits"][0]["content"]
    assert sum(c["merged"] for c in command.json("maintain", "-w", folder)["consolidated"]) == 2
    assert "Likes tea" in (folder / "MEMORY.md").read_text()


def test_import_refuses_a_folder_that_holds_no_memory(command, tmp_path):
    """The message names it."""
    assert (
        f"{tmp_path}: holds no file of a memory of langmem"
        in command("import", "langmem", tmp_path, "-w", tmp_path / "w", status=3).stderr
    )


def test_import_refuses_a_path_that_is_not_there(command, tmp_path):
    """A typing error is a wrong setting, and makes no memory."""
    ran = command("import", "openclaw", tmp_path / "typo", "-w", tmp_path / "w", status=2)
    assert "there is no such folder or file" in ran.stderr
    assert not (tmp_path / "w").exists()


def test_copy_moves_a_whole_memory(command, workspace, tmp_path):
    """Every file arrives; a target that holds something else is refused."""
    told = command.json("copy", workspace, tmp_path / "copy")
    assert told["copied"]["files"] > 3
    assert command.json("search", "Alembic", "-w", tmp_path / "copy")["hits"]
    assert command("copy", workspace, tmp_path / "copy", status=2).stderr
    assert (
        command.json("copy", workspace, tmp_path / "copy", "--resume")["copied"]["skipped"] == told["copied"]["files"]
    )


def test_an_error_is_a_document_with_json(command, tmp_path):
    """Programs get type and message, and the same exit status."""
    told = command.json("status", "-w", tmp_path / "typo", status=2)
    assert told["error"]["type"] == "SettingError"


def test_without_its_extra_the_command_says_which_one(tmp_path):
    """No traceback where typer is not installed."""
    start = "import sys; sys.modules['typer'] = None; from langgraph_harness_memory.cli import main; main()"
    ran = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ran.returncode == 2
    assert "pip install 'langgraph-harness-memory[cli]'" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_reader_that_hangs_up_is_no_error(program, workspace):
    """`harness-memory get … | head -1` ends quietly."""
    line, environment = program
    (workspace / "knowledge").mkdir()
    (workspace / "knowledge" / "long.md").write_text("x" * 100 + "\n" + "line\n" * 50_000)
    process = subprocess.Popen(
        [*line, "get", "knowledge/long.md", "-w", str(workspace)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )  # fmt: skip
    process.stdout.read(100)
    process.stdout.close()
    with process.stderr as stderr:
        assert b"Traceback" not in stderr.read()
    assert process.wait(timeout=60) == 0


def test_the_version_can_be_asked_for(command):
    """The one that pip knows."""
    assert command("--version").stdout == f"harness-memory {version('langgraph-harness-memory')}\n"


def test_the_workspace_can_come_from_the_environment(command, workspace, monkeypatch):
    """Of the command alone: the library reads no environment."""
    monkeypatch.setenv("HARNESS_MEMORY_WORKSPACE", str(workspace))
    assert command.json("search", "Alembic")["hits"]


def test_completion_is_offered(program):
    """For the shells that typer knows."""
    line, environment = program
    ran = subprocess.run(
        [*line, "--show-completion", "bash"], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert "complete" in ran.stdout


@pytest.mark.parametrize(
    ("typed", "offered"), [("harness-memory sta", "status"), ("harness-memory status --all", "--all-users")]
)
def test_a_shell_completes_commands_and_options(program, typed, offered):
    """What bash asks when the tab key is pressed."""
    _, environment = program
    asked = {
        "_HARNESS_MEMORY_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
    }
    start = "import sys; sys.argv[0] = 'harness-memory'; from langgraph_harness_memory.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", start], env=environment | asked, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.stdout.split() == [offered]


@pytest.mark.parametrize(("more", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colour_and_progress_are_for_terminals(program, workspace, more, coloured):
    """On a terminal there is colour, unless NO_COLOR is set, and a line that shows work; in a pipe there is neither."""
    line, environment = program
    del environment["NO_COLOR"]
    environment |= {"TERM": "xterm-256color", **more}
    arguments = [*line, "doctor", "-w", str(workspace)]
    piped = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert "\x1b" not in piped.stdout + piped.stderr
    leader, follower = pty.openpty()
    with subprocess.Popen(arguments, env=environment, stdin=follower, stdout=follower, stderr=follower) as process:
        os.close(follower)
        seen = ""
        while data := _read(leader):
            seen += data
    os.close(leader)
    assert process.returncode == 0
    assert ("\x1b[32m" in seen) == coloured
    assert "checking" in seen


def _read(terminal):
    try:
        return os.read(terminal, 65_536).decode("utf-8", "replace")
    except OSError:  # Linux says so when the last one at the other end has gone
        return ""


def test_json_is_one_document_of_plain_json(command, workspace):
    """No colour, no progress, no note within it."""
    out = command("status", "-w", workspace, "--json").stdout
    assert json.loads(out)["workspace"]
    assert "\x1b" not in out
