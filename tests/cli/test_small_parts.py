"""The small parts of the command line: times, days, numbers, how a command ends."""

import json
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import pytest
import typer

from langgraph_harness_memory import events
from langgraph_harness_memory.cli import options
from langgraph_harness_memory.cli.console import Terminal, called, plain
from langgraph_harness_memory.cli.durations import duration
from langgraph_harness_memory.cli.guard import guarded
from langgraph_harness_memory.cli.happenings import Happenings, line
from langgraph_harness_memory.cli.opening import without_secrets
from langgraph_harness_memory.errors import LockTimeout, MissingExtra, SettingError


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("90s", timedelta(seconds=90)),
        ("30m", timedelta(minutes=30)),
        (" 6H ", timedelta(hours=6)),
        ("7 d", timedelta(days=7)),
    ],
)
def test_times_are_read_as_people_type_them(text, time):
    """A number and a unit, in any case."""
    assert duration(text, "--every") == time


@pytest.mark.parametrize("text", ["", "6", "h", "0m", "-1h", "1.5h", "6 hours", "99999999d"])
def test_what_is_no_time_is_refused_by_its_option(text):
    """The message names the option and what is allowed."""
    with pytest.raises(SettingError, match=r"--every=.*90s, 30m, 6h or 7d"):
        duration(text, "--every")


def test_a_day_is_read_or_refused():
    """`None` stays none."""
    assert options.day(None, "--since") is None
    assert options.day("2026-04-12", "--since") == date(2026, 4, 12)
    with pytest.raises(SettingError, match="--since='yesterday'"):
        options.day("yesterday", "--since")


def test_ctrl_c_ends_a_process_whose_threads_wait_for_ever():
    """In the time that it is given, with the same status and the same words."""
    program = (
        "import os, signal, threading, time\n"
        "from langgraph_harness_memory.cli.guard import ending_soon\n"
        "lock = threading.Lock(); lock.acquire()\n"
        "threading.Thread(target=lock.acquire).start()\n"
        "with ending_soon(0.5):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(60)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=False)
    assert ran.returncode == 130
    assert "goes on from there" in ran.stderr


@pytest.mark.parametrize(
    ("url", "shown", "had"),
    [
        ("postgresql://u:p@h:5432/d?schema=s", "postgresql://u@h:5432/d?schema=s", True),
        ("postgresql://u:p@x@h/d", "postgresql://u@h/d", True),
        ("postgres://h/d?password=p&sslpassword=q", "postgres://h/d", True),
        ("postgresql://u@h/d?", "postgresql://u@h/d", False),
        ("postgresql://h:5432/d", "postgresql://h:5432/d", False),
        ("http://h:2024", "http://h:2024", False),
    ],
)
def test_a_url_is_shown_without_its_passwords(url, shown, had):
    """Wherever they stand in it."""
    assert without_secrets(url) == (shown, had)


def test_hints_name_the_command_as_it_can_be_called(monkeypatch, tmp_path):
    """In an environment that is not on the PATH the bare name would not be found."""
    program = tmp_path / "bin dir" / "harness-memory"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(program)])
    monkeypatch.setenv("PATH", "/nowhere")
    assert called() == f"'{program}'"
    monkeypatch.setenv("PATH", str(program.parent))
    assert called() == "harness-memory"
    monkeypatch.setattr(sys, "argv", ["-c"])
    assert called() == "harness-memory"


@dataclass(frozen=True, slots=True)
class Thing:
    at: datetime
    took: timedelta
    names: tuple[str, ...]


def test_results_become_plain_json():
    """Dataclasses, moments, durations, sets and keys of any kind."""
    value = {1: Thing(datetime(2026, 1, 2, tzinfo=UTC), timedelta(minutes=1), ("a",)), "s": {2, 1}}
    assert json.loads(json.dumps(plain(value))) == {
        "1": {"at": "2026-01-02T00:00:00+00:00", "took": 60.0, "names": ["a"]},
        "s": [1, 2],
    }


def test_text_has_no_colour_where_nobody_looks(capsys):
    """Standard output that is no terminal gets the words alone; markup of the user is not interpreted."""
    terminal = Terminal()
    terminal.table("t", ["name", "n"], [["[red]x[/]", 1_234]])
    terminal.say("[bold]plain[/]")
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "[red]x[/]" in printed
    assert "1,234" in printed
    assert "plain" in printed


def test_json_replaces_the_text(capsys):
    """With `--json` there is one document and nothing else."""
    terminal = Terminal(as_json=True)
    terminal.say("for people")
    terminal.table("t", ["a"], [[1]])
    terminal.answer({"ä": 1})
    assert json.loads(capsys.readouterr().out) == {"ä": 1}


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (SettingError.refused("--every", "x", "give a time"), 2, "--every='x' cannot be used"),
        (MissingExtra("Postgres", "postgres"), 2, "langgraph-harness-memory[postgres]"),
        (LockTimeout("held"), 3, "held"),
        (KeyboardInterrupt(), 130, "goes on from there"),
    ],
)
def test_an_error_ends_in_one_line_and_a_status(error, status, words, capsys):
    """No traceback for what a user can mend."""

    @guarded
    def command() -> None:
        raise error

    with pytest.raises(typer.Exit, match=r"^\d*$") as seen:
        command()
    assert seen.value.exit_code == status
    assert words in capsys.readouterr().err


def test_an_error_is_a_document_with_json(capsys):
    """Programs get type and message."""

    @guarded
    def command(*, as_json: bool) -> None:
        raise LockTimeout("held")

    with pytest.raises(typer.Exit, match=r"^\d*$"):
        command(as_json=True)
    assert json.loads(capsys.readouterr().out)["error"] == {"type": "LockTimeout", "message": "held"}


def test_every_event_is_told_or_left_out_on_purpose():
    """What a user asked for or should know of has a line."""
    silent = {"ForkSeen", "ModelAsked"}
    samples = [
        events.Compacted(messages_before=9, messages_after=3, tokens_before=1_000, tokens_after=10, by_rules=True),
        events.CompactionFailed(reason="r", failures=1),
        events.ArgumentsTruncated(messages=1, characters_saved=5),
        events.Evicted(tool="t", characters=9, path="p"),
        events.EvictionFailed(tool="t", reason="r"),
        events.Recovered(attempts=2),
        events.Flushed(messages=3, facts=2, path="memory/2026-01-01.md"),
        events.FlushFailed(reason="r"),
        events.Consolidated(added=1, changed=2, dropped=3),
        events.ConsolidationFailed(reason="r"),
        events.Forgotten(lines=1),
        events.Deleted(path="p", reason="r"),
        events.Damaged(path="p", reason="r"),
        events.ForkSeen(),
        events.ModelAsked(purpose="summary", tokens=9, is_estimate=True, seconds=1.0),
        events.MaintenanceFailed(step="prune", reason="r"),
        events.Degraded(what="w", reason="r"),
    ]
    assert {type(e).__name__ for e in samples if line(e) is None} == silent
    assert {type(e).__name__ for e in samples} == {c.__name__ for c in events.Event.__subclasses__()}


def test_events_are_counted_and_passed_on():
    """Facts and failures add up."""
    lines: list[str] = []
    happened = Happenings(lines.append)
    happened(events.Flushed(messages=3, facts=2, path=None))
    happened(events.Flushed(messages=1, facts=1, path=None))
    happened(events.FlushFailed(reason="why"))
    assert (happened.facts, happened.failures, happened.counts["Flushed"], len(lines)) == (3, ["why"], 2, 3)
