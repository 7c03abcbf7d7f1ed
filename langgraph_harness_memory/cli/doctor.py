"""`doctor`: look at files, index, permissions and model, and say how to mend each. It changes nothing.

Each check gives findings; a command that mends stands beside what is wrong.
"""

import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape

from langgraph_harness_memory.cli import options
from langgraph_harness_memory.cli.console import Terminal
from langgraph_harness_memory.cli.guard import NO, guarded
from langgraph_harness_memory.cli.happenings import Happenings
from langgraph_harness_memory.cli.measuring import holding, nameless, users
from langgraph_harness_memory.cli.opening import choose_model, open_memory
from langgraph_harness_memory.conversation import vocabulary
from langgraph_harness_memory.errors import HarnessMemoryError
from langgraph_harness_memory.events import Damaged
from langgraph_harness_memory.formats import memory_md
from langgraph_harness_memory.memory import HarnessMemory
from langgraph_harness_memory.workspace.local import LocalWorkspace

Verdict = Literal["ok", "warning", "fault"]

_LEAST_FREE = 200 * 1024 * 1024
"""Bytes of free disk below which a memory may soon be unable to write."""
_OF_FILES = frozenset({".md", ".json", ".jsonl"})
"""Endings of files of a memory; a folder of such a name is in the way of one."""
_STALE = timedelta(days=2)
"""Age of the last tick, and of an unflushed message, from which on maintenance seems not to run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What one check says."""

    check: str
    verdict: Verdict
    what: str
    mend: str = ""
    """What to do about it; empty where all is well."""


def _ok(check: str, what: str) -> Finding:
    return Finding(check=check, verdict="ok", what=what)


def _warning(check: str, what: str, mend: str) -> Finding:
    return Finding(check=check, verdict="warning", what=what, mend=mend)


def _fault(check: str, what: str, mend: str) -> Finding:
    return Finding(check=check, verdict="fault", what=what, mend=mend)


@guarded
def doctor(
    *,
    workspace: options.Workspace = options.DEFAULT_WORKSPACE,
    model: options.Model = None,
    ask_model: Annotated[bool, typer.Option("--ask-model", help="Send the model one short request.")] = False,
    fetch_vocabulary: Annotated[
        bool, typer.Option("--fetch-vocabulary", help="Download tiktoken's vocabulary, for exact counts.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Check the memory and say how to mend it.

    Files, index, permissions, maintenance and model. Changes nothing. Exit status 1 when something is at fault.

    Example: harness-memory doctor -w workspace --ask-model --model openai:gpt-5.5
    """
    terminal = Terminal(as_json=as_json)
    findings: list[Finding] = [*_installation()]
    if fetch_vocabulary:
        findings.append(_fetched())
    happened = Happenings()
    with open_memory(workspace, on_event=happened) as memory:
        named = memory.workspace.name
        checks: list[Callable[[HarnessMemory], Iterator[Finding]]] = [_folder, _texts, _sessions, _index, _upkeep]
        with terminal.progress("checking", len(checks)) as bar:
            for at, check in enumerate(checks, start=1):
                findings += _tried(check, memory)
                bar.to(at)
    findings += _damage(happened)
    findings += _model(model, ask=ask_model)
    terminal.answer({"workspace": named, "findings": findings})
    colours = {"ok": "green", "warning": "yellow", "fault": "red"}
    for one in findings:
        terminal.say(f"[{colours[one.verdict]}]{one.verdict:<8}[/] [bold]{escape(one.check)}[/]  {escape(one.what)}")
        if one.mend:
            terminal.say(f"         [dim]mend:[/] {escape(one.mend)}")
    if any(one.verdict == "fault" for one in findings):
        raise typer.Exit(NO)


def _tried(check: Callable[[HarnessMemory], Iterator[Finding]], memory: HarnessMemory) -> list[Finding]:
    try:
        return list(check(memory))
    except HarnessMemoryError as error:
        return [_fault(check.__name__.strip("_"), str(error), "see the message; the other checks ran")]


def _installation() -> Iterator[Finding]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
        yield _ok("sqlite", f"{sqlite3.sqlite_version} with full-text search")
    except sqlite3.OperationalError:
        yield _fault("sqlite", "has no full-text search (FTS5)", "use a Python whose sqlite3 is built with FTS5")
    finally:
        connection.close()
    extras = {
        "agents": "langchain",
        "postgres": "psycopg",
        "notebooks": "matplotlib",
        "vectors": "numpy",
        "otel": "opentelemetry",
    }
    there = [extra for extra, package in extras.items() if find_spec(package) is not None]
    yield _ok("extras", f"installed: {', '.join(['cli', *there])}")


def _fetched() -> Finding:
    import tiktoken

    try:
        tiktoken.get_encoding(vocabulary.NEWEST)
    except Exception as error:  # noqa: BLE001  a download fails in many ways, and each is the finding
        return _fault(
            "vocabulary", f"{type(error).__name__}: {error}"[:300], "check the network; without it tokens are estimated"
        )
    return _ok("vocabulary", f"{vocabulary.NEWEST} is on this disk: requests to OpenAI models are counted exactly")


def _folder(memory: HarnessMemory) -> Iterator[Finding]:
    workspace = memory.workspace
    if not isinstance(workspace, LocalWorkspace):
        yield _ok("workspace", f"{workspace.name} answers, {len(workspace.files())} files")
        return
    root = Path(workspace.root)
    if not os.access(root, os.R_OK | os.W_OK | os.X_OK):
        yield _fault("workspace", f"{root} cannot be written", f"chmod u+rwx {root}, or run as its owner")
    else:
        yield _ok("workspace", f"{root} can be read and written")
    free = shutil.disk_usage(root).free
    if free < _LEAST_FREE:
        yield _fault(
            "disk", f"only {free // 1_048_576} MB are free", "free some space; nothing is lost, new writes fail"
        )
    else:
        yield _ok("disk", f"{free // 1_048_576:,} MB are free")
    open_to_others = [p for p in root.rglob("*") if not p.is_symlink() and stat.S_IMODE(p.stat().st_mode) & 0o077]
    if open_to_others:
        yield _warning(
            "permissions",
            f"{len(open_to_others)} files or folders are open to others, for example {open_to_others[0].name}",
            f"chmod -R go= {root}",
        )
    else:
        yield _ok("permissions", "only the owner can read the files")
    in_the_way = [p for p in root.rglob("*") if p.suffix in _OF_FILES and p.is_dir() and not p.is_symlink()]
    if in_the_way:
        yield _fault(
            "folders",
            f"{len(in_the_way)} folders stand where files should be, for example {in_the_way[0].relative_to(root)}",
            "move them away; what should be there is made anew, or can be restored from a backup",
        )
    links = [p for p in root.rglob("*") if p.is_symlink()]
    if links:
        yield _warning(
            "links",
            f"{len(links)} symbolic links are not followed, for example {links[0].name}",
            "put files in their place",
        )


def _texts(memory: HarnessMemory) -> Iterator[Finding]:
    """Look at every Markdown file: is it text, is it a plain file."""
    bad: list[str] = []
    known = [info.path for info in memory.workspace.files() if info.path.endswith(".md")]
    for path in known:
        stored = memory.workspace.read(path)
        if stored is None:
            continue
        try:
            stored.data.decode("utf-8")
        except UnicodeDecodeError as error:
            bad.append(f"{path} (byte {error.start})")
    if bad:
        yield _warning("texts", f"no UTF-8: {', '.join(bad[:5])}", "open the file in an editor and save it as UTF-8")
    else:
        yield _ok("texts", f"{len(known)} Markdown files can be read")
    refused = [i.path for i in memory.workspace.files(memory_md.REJECTED)]
    if refused:
        yield _warning(
            "refused",
            f"{len(refused)} consolidations were refused, the last is {refused[-1]}",
            "read it; MEMORY.md is as it was, and the lines are merged at the next maintenance",
        )


def _sessions(memory: HarnessMemory) -> Iterator[Finding]:
    sessions = memory.sessions.threads()
    for info in sessions:
        memory.sessions.read(info.thread_id)
    yield _ok("sessions", f"{len(sessions)} session logs were read, {sum(s.messages for s in sessions):,} messages")
    torn = [info.path for info in memory.workspace.files("sessions") if ".torn-" in info.path]
    if torn:
        what = f"{len(torn)} torn lines were moved aside, for example {torn[0]}"
        yield _warning("torn lines", what, "look at them, then delete them")


def _damage(happened: Happenings) -> Iterator[Finding]:
    for event in happened.all:
        if isinstance(event, Damaged):
            mend = "what is damaged is skipped and left on disk; restore the file from a backup to have it back"
            yield _warning("damage", f"{event.path}: {event.reason}", mend)


def _index(memory: HarnessMemory) -> Iterator[Finding]:
    memory.index.search("memory", 1)
    yield _ok("index", "answers; 'harness-memory reindex' compares it with every file")


def _upkeep(memory: HarnessMemory) -> Iterator[Finding]:
    now = datetime.now(UTC)
    known = users(memory.workspace, memory.sessions.threads())
    for user in [None, *known]:
        held = holding(memory, user)
        name = "shared memory" if user is None else f"user {user}"
        waits = held.oldest_unflushed
        if waits is not None and now - waits > _STALE:
            yield _warning(
                "flush", f"{name}: {held.unflushed} messages wait since {waits:%Y-%m-%d}", "harness-memory maintain"
            )
        since = held.last_tick or held.first_message
        if user is None and since is not None and now - since > _STALE:
            never = f"has never run; the first message is of {since:%Y-%m-%d}"
            what = f"{name}: {never if held.last_tick is None else f'has not run since {since:%Y-%m-%d}'}"
            yield _warning("maintenance", what, "harness-memory maintain, or see 'harness-memory cron'")
    for folder in nameless(memory.workspace, known):
        yield _warning(
            "users", f"users/{folder} belongs to nobody who is known", "its user's next session names it again"
        )
    yield _ok("upkeep", f"{len(known)} users and the shared memory looked at")


def _model(name: str | None, *, ask: bool) -> Iterator[Finding]:
    try:
        model = choose_model(name)
    except HarnessMemoryError as error:
        yield _fault("model", str(error), "give another --model, or --model offline")
        return
    if model is None:
        yield _warning(
            "model", "none is configured: the rules curate", "set OPENAI_API_KEY or OPENAI_BASE_URL, or give --model"
        )
        return
    if not ask:
        yield _ok("model", f"{type(model).__name__} is configured; --ask-model sends it a request")
        return
    try:
        answer = str(model.invoke("Answer with the word: ready").text)
    except Exception as error:  # noqa: BLE001  whatever a provider raises is the finding
        yield _fault(
            "model", f"{type(error).__name__}: {error}"[:300], "check the key, the address and the name of the model"
        )
    else:
        yield _ok("model", f"answers: {answer.strip()[:60]!r}")
