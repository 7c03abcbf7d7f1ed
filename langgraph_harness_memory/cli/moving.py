"""`import` and `copy`: bring a memory here from another system, or from one back end to another."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from langgraph_harness_memory.cli import options
from langgraph_harness_memory.cli.console import Terminal
from langgraph_harness_memory.cli.guard import guarded
from langgraph_harness_memory.cli.opening import find_workspace, open_memory, tenant_workspace
from langgraph_harness_memory.curation.redaction import redact
from langgraph_harness_memory.curation.wording import words
from langgraph_harness_memory.errors import ConversationUnreadable, SettingError
from langgraph_harness_memory.formats import daily_log, memory_md, tombstones
from langgraph_harness_memory.formats.foreign_memories import SYSTEMS, ForeignFact, System, is_wanted, read_memory
from langgraph_harness_memory.workspace import Workspace, read_text, text_bytes
from langgraph_harness_memory.workspace.copying import copy_workspace


class Source(StrEnum):
    """Whose memory is brought in; the names are those of `foreign_memories.System`."""

    agentscope = "agentscope"
    openclaw = "openclaw"
    deepagents = "deepagents"
    langmem = "langmem"

    @property
    def system(self) -> System:
        """The name as the reader knows it."""
        return next(name for name in SYSTEMS if name == self.value)


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """What an import did, or would do."""

    facts: int
    """Facts that were new here."""
    known: int
    """Facts that stand here already."""
    forgotten: int
    """Facts that were forgotten here and do not come back."""
    logs: tuple[str, ...]
    """Daily logs that they went to."""
    notes: tuple[str, ...]
    """Whole files that were taken over; one that is there already is left."""


@guarded
def import_(
    source: Annotated[Source, typer.Argument(help="Whose memory it is.")],
    path: Annotated[Path, typer.Argument(help="Its folder or file.")],
    *,
    workspace: options.Workspace = options.DEFAULT_WORKSPACE,
    user: options.User = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would come in, write nothing.")] = False,
    as_json: options.Json = False,
) -> None:
    """Bring in the memory of another system.

    Each fact goes into the log of its day; doing it twice adds nothing.
    Consolidation merges them at the next maintenance. Conversations come in with 'replay'.

    Example: harness-memory import openclaw ~/.openclaw/workspace -w workspace --dry-run
    """
    terminal = Terminal(as_json=as_json)
    foreign = read_memory(source.system, _texts(source, path))
    with open_memory(workspace, must_exist=False) as memory:
        root = tenant_workspace(memory.workspace, user)
        new, known, forgotten = _sorted_out(root, foreign.facts)
        notes = [name for name in foreign.notes if root.stat(name) is None]
        days = _by_day(new, datetime.now().astimezone().date())
        if not dry_run:
            for day, facts in days.items():
                block = _block(source, day, facts)
                root.append(daily_log.log_path(day.isoformat()), text_bytes(block))
            for name in notes:
                root.replace(name, text_bytes(redact(foreign.notes[name])), create=True)
            with terminal.working("indexing"):
                memory.index.for_tenant(user).reindex()
    done = Imported(
        facts=len(new),
        known=known,
        forgotten=forgotten,
        logs=tuple(daily_log.log_path(day.isoformat()) for day in days),
        notes=tuple(notes),
    )
    terminal.answer({"dry_run": dry_run, "source": source.value, **{f: getattr(done, f) for f in done.__slots__}})
    would = "would come in" if dry_run else "came in"
    terminal.say(f"{done.facts} facts {would}, {done.known} were here already, {done.forgotten} had been forgotten")
    for name in [*done.logs, *done.notes]:
        terminal.say(f"  {escape(name)}")


def _texts(source: Source, path: Path) -> dict[str, str]:
    path = path.expanduser()
    if not path.exists():
        raise SettingError.refused("path", str(path), "there is no such folder or file")
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    base = path if path.is_dir() else path.parent
    out: dict[str, str] = {}
    for file in files:
        name = file.relative_to(base).as_posix()
        if not is_wanted(source.system, name):
            continue
        try:
            out[name] = file.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ConversationUnreadable(f"{file}: {error}") from error
    if not out:
        raise ConversationUnreadable(f"{path}: holds no file of a memory of {source.value}")
    return out


def _sorted_out(root: Workspace, facts: tuple[ForeignFact, ...]) -> tuple[list[ForeignFact], int, int]:
    """Part new facts from known and from forgotten ones; facts are compared as they would be written."""
    stones = read_text(root, "memory/.tombstones")
    gone = tombstones.parse(stones[0]) if stones else None
    here = _lines_here(root)
    new: list[ForeignFact] = []
    known = forgotten = 0
    for fact in facts:
        written = _written(fact)
        if written in here:
            known += 1
        elif gone is not None and gone.covers(words(written), said_at=_moment(fact.day)):
            forgotten += 1
        else:
            here.add(written)
            new.append(fact)
    return new, known, forgotten


def _lines_here(root: Workspace) -> set[str]:
    paths = [memory_md.PATH, *[i.path for i in root.files("memory") if daily_log.day_of(i.path) is not None]]
    texts = [read_text(root, path) for path in paths]
    return {line.text for read in texts if read for line in daily_log.lines(read[0])}


def _written(fact: ForeignFact) -> str:
    return daily_log.bullet_text(daily_log.fact_line(redact(fact.text)).rstrip("\n"))


def _by_day(facts: list[ForeignFact], today: date) -> dict[date, list[ForeignFact]]:
    days: dict[date, list[ForeignFact]] = {}
    for fact in facts:
        days.setdefault(fact.day or today, []).append(fact)
    return days


def _moment(day: date | None) -> datetime | None:
    return None if day is None else datetime.combine(day, time(), tzinfo=UTC)


def _block(source: Source, day: date, facts: list[ForeignFact]) -> str:
    at = datetime.combine(day, time(12, 0)).astimezone()
    # A person brings these in on purpose, which makes them the user's words: consolidation promotes no others.
    heading = daily_log.BlockHeading(at=at, session=f"import-{source.value}", sources=("user",))
    return daily_log.render_block([(heading, [redact(fact.text) for fact in facts])])


@guarded
def copy(
    source: Annotated[str, typer.Argument(help="Workspace to copy: a folder or a Postgres URL.")],
    target: Annotated[str, typer.Argument(help="Empty place to copy to: a folder or a Postgres URL.")],
    *,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a copy that was cut off.")] = False,
    as_json: options.Json = False,
) -> None:
    """Copy a whole memory to another back end.

    What arrived is compared; the source is only read.

    Example: harness-memory copy workspace postgresql://localhost/memory
    """
    terminal = Terminal(as_json=as_json)
    origin, place = find_workspace(source), find_workspace(target, must_exist=False)
    with terminal.progress("copying", len(origin.files())) as bar:
        paths: list[str] = []

        def tell(path: str) -> None:
            paths.append(path)
            bar.to(len(paths), escape(path[-40:]))

        copied = copy_workspace(origin, place, resume=resume, progress=tell)
    terminal.answer({"source": origin.name, "target": place.name, "copied": copied})
    terminal.say(f"{copied.files} files, {copied.bytes:,} bytes, {copied.skipped} of them were there already")
