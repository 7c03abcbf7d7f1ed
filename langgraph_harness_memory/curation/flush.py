"""From conversation to daily log: each message flushed once, in one block, with its provenance.

    unflushed messages ──► sources ──► batches that fit ──► model ──► clean ──► screen ──► block + mark ──► index
                             │                                                              (one critical section)
                             └─ dropped: forms of ours, own tools, heartbeats, tool output (unless it is a named source)

Nothing is marked before its block stands; a failure leaves its messages unmarked and they come again. What the
assistant repeats from a tool is asked for on its own, so that it reaches neither the other facts' request nor their
part of the block. `MEMORY.md` is read for reference and never written.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from langgraph_harness_memory.config import FlushConfig
from langgraph_harness_memory.curation.extraction import Desk, Known, Parts, extract, room
from langgraph_harness_memory.curation.finding import Found
from langgraph_harness_memory.curation.provenance import CONTEXT_MESSAGES, Said, sources
from langgraph_harness_memory.curation.removing import remove_where
from langgraph_harness_memory.curation.screening import Screening
from langgraph_harness_memory.curation.tombs import forgotten_since, read_tombstones
from langgraph_harness_memory.curation.wording import estimate_tokens, words
from langgraph_harness_memory.events import Degraded, Flushed, FlushFailed
from langgraph_harness_memory.formats import daily_log, memory_md
from langgraph_harness_memory.formats.tombstones import Tombstones
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.steps import (
    AlreadyFlushed,
    Appended,
    AppendFlushed,
    Failed,
    LoggedMessage,
    Steps,
    append_flushed,
    index_file,
    notify,
    now,
    read_logged,
    read_text,
    read_unflushed,
)

ROUNDS = 3
"""How often the log is read again when another flush was faster."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FlushReport:
    """What a flush did."""

    messages: int = 0
    """Messages that were marked."""
    facts: int = 0
    """Facts that were written."""
    paths: tuple[str, ...] = ()
    """Daily logs that were written to."""
    waiting: int = 0
    """Messages that stay unmarked since too little is new."""
    failed: str | None = None
    """Why it stopped; what is not marked is tried again. `None` = all went well."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """A stretch that is flushed and marked as one."""

    positions: tuple[int, ...]
    said: tuple[Said, ...]


def flush(
    thread: ThreadRef, *, settings: FlushConfig, screening: Screening, everything: bool = False
) -> Steps[FlushReport]:
    """Write the facts of what is new in a conversation to today's log, and mark it.

    Args:
        thread: The conversation, and whose memory it feeds.
        settings: Sources, budget and deadline.
        screening: What each fact passes before it is written.
        everything: Do not wait for `min_new_tokens`: the stretch is about to be folded, or the system looks after what was left.

    Returns:
        What was written and marked; a failure is reported and told, never raised.
    """
    at = yield from now()
    report = FlushReport()
    for _ in range(ROUNDS):
        outcome = yield from _flush_round(thread, settings, screening, at, report, everything=everything)
        if outcome is not None:
            return outcome.report
        report = replace(report, failed=None)
    return report


@dataclass(frozen=True, kw_only=True, slots=True)
class _Done:
    report: FlushReport


def _flush_round(
    thread: ThreadRef,
    settings: FlushConfig,
    screening: Screening,
    at: datetime,
    report: FlushReport,
    *,
    everything: bool,
) -> Steps[_Done | None]:
    """Flush what is unmarked now; `None` when another flush was faster and the marks must be read again."""
    fresh = yield from read_unflushed(thread)
    if isinstance(fresh, Failed):
        return _Done(report=(yield from _failed(thread, report, fresh.reason)))
    if not fresh:
        return _Done(report=report)
    # After the messages: a stone that is not seen here was laid when all of them had been said.
    tombstones = yield from read_tombstones(thread.tenant)
    if isinstance(tombstones, Failed):
        return _Done(report=(yield from _failed(thread, report, tombstones.reason)))
    desk = Desk(thread=thread, settings=settings, screening=screening, at=at, tombstones=tombstones)
    said = yield from _sources(desk, fresh)
    if isinstance(said, Failed):
        return _Done(report=(yield from _failed(desk.thread, report, said.reason)))
    new_tokens = sum(estimate_tokens(part.text) for part in said)
    if not everything and new_tokens < desk.settings.min_new_tokens:
        return _Done(report=replace(report, waiting=len(fresh)))
    return (yield from _flush_batches(desk, report, fresh, said))


def _flush_batches(
    desk: Desk, report: FlushReport, fresh: Sequence[LoggedMessage], said: Sequence[Said]
) -> Steps[_Done | None]:
    logged_at = {logged.position: logged.logged_at for logged in fresh}
    borders = [stone.at for stone in desk.tombstones.stones if stone.said_before]
    for batch in batches(fresh, said, budget=room(desk.settings), borders=borders):
        known = yield from _known(desk)
        if isinstance(known, Failed):
            return _Done(report=(yield from _failed(desk.thread, report, known.reason)))
        said_at = _said_at(batch, logged_at, desk.at)
        parts = yield from extract(desk, batch.said, known, said_at=said_at)
        if isinstance(parts, Failed):
            return _Done(report=(yield from _failed(desk.thread, report, parts.reason)))
        written = yield from _write(desk, batch, parts)
        match written:
            case AlreadyFlushed():
                return None
            case Failed():
                return _Done(report=(yield from _failed(desk.thread, report, written.reason)))
        facts = sum(len(found) for _, found in parts)
        path = written.path if facts else None
        report = replace(
            report,
            messages=report.messages + len(batch.positions),
            facts=report.facts + facts,
            paths=report.paths if path is None or path in report.paths else (*report.paths, path),
        )
        if path is not None:
            yield from _sweep(desk, batch, path, said_at=said_at)
            yield from index_file(desk.thread.tenant, path)
        yield from notify(
            Flushed(
                thread_id=desk.thread.thread_id,
                tenant=desk.thread.tenant,
                messages=len(batch.positions),
                facts=facts,
                path=path,
            )
        )
    return _Done(report=report)


def batches(
    fresh: Sequence[LoggedMessage], said: Sequence[Said], *, budget: int, borders: Sequence[datetime] = ()
) -> Iterator[Batch]:
    """Part a stretch into batches that fit; a message is never parted, so that one alone may be over budget.

    Every message is in exactly one batch, those that hold no source too.

    Args:
        fresh: All messages of the stretch, oldest first.
        said: What may hold facts in them.
        budget: Tokens of what was said in one batch.
        borders: Moments that no batch reaches across: what was said before one may have been forgotten then.
    """
    by_position: dict[int, list[Said]] = {}
    for part in said:
        by_position.setdefault(part.position, []).append(part)
    positions: list[int] = []
    held: list[Said] = []
    size = 0
    before = datetime.max.replace(tzinfo=UTC)
    for logged in fresh:
        parts = by_position.get(logged.position, [])
        cost = sum(estimate_tokens(part.text) + 8 for part in parts)
        is_full = bool(held) and cost > 0 and size + cost > budget
        if is_full or (positions and any(before <= border < logged.logged_at for border in borders)):
            yield Batch(positions=tuple(positions), said=tuple(held))
            positions, held, size = [], [], 0
        before = logged.logged_at
        positions.append(logged.position)
        held += parts
        size += cost
    if positions:
        yield Batch(positions=tuple(positions), said=tuple(held))


def _sources(desk: Desk, fresh: Sequence[LoggedMessage]) -> Steps[tuple[Said, ...] | Failed]:
    start = max(fresh[0].position - CONTEXT_MESSAGES, 0)
    before: tuple[LoggedMessage, ...] | Failed = ()
    if start < fresh[0].position:
        before = yield from read_logged(desk.thread, start, fresh[0].position)
    if isinstance(before, Failed):
        return before
    settings = desk.settings
    return sources(fresh, before=before, allowed=settings.sources, subagents=settings.subagents)


def _said_at(batch: Batch, logged_at: Mapping[int, datetime], at: datetime) -> datetime:
    """Return when the last of a batch was said; what a clock that went back dates in the future may be from any time."""
    latest = max(logged_at[position] for position in batch.positions)
    return latest if latest <= at else datetime.min.replace(tzinfo=UTC)


def _known(desk: Desk) -> Steps[Known | Failed]:
    """Read what is written down already; a `MEMORY.md` that cannot be read is no reason not to keep what was said."""
    memory = yield from read_text(desk.thread.tenant, memory_md.PATH)
    log = yield from read_text(desk.thread.tenant, daily_log.log_path(_day(desk.at)))
    if isinstance(log, Failed):
        return log
    if isinstance(memory, Failed):
        told = Degraded(tenant=desk.thread.tenant, what="MEMORY.md as a reference for the flush", reason=memory.reason)
        yield from notify(told)
        memory = None
    return Known(memory=memory.text if memory else "", log=tuple(daily_log.lines(log.text)) if log else ())


def _write(desk: Desk, batch: Batch, parts: Parts) -> Steps[Appended | AlreadyFlushed | Failed]:
    heading = daily_log.BlockHeading(
        at=desk.at, session=desk.thread.thread_id, positions=frozenset(batch.positions), sources=()
    )
    block = [(replace(heading, sources=labels), facts) for labels, facts in parts]
    return (
        yield from append_flushed(
            AppendFlushed(
                thread=desk.thread,
                positions=batch.positions,
                day=_day(desk.at),
                text=daily_log.render_block(block) if block else None,
            )
        )
    )


def _sweep(desk: Desk, batch: Batch, path: str, *, said_at: datetime) -> Steps[None]:
    """Take out of the block what was forgotten while it was written: its stone stands, and its search came too early."""
    stones = yield from read_tombstones(desk.thread.tenant)
    if isinstance(stones, Tombstones) and stones.stones != desk.tombstones.stones:
        session, positions = desk.thread.thread_id, frozenset(batch.positions)
        is_forgotten = forgotten_since(desk.tombstones, stones, said_at=said_at)

        def is_gone(line: Found) -> bool:
            heading = line.heading
            is_ours = heading is not None and heading.session == session and heading.positions == positions
            return is_ours and is_forgotten(words(line.text))

        yield from remove_where(desk.thread.tenant, path, is_gone)


def _failed(thread: ThreadRef, report: FlushReport, reason: str) -> Steps[FlushReport]:
    yield from notify(FlushFailed(thread_id=thread.thread_id, tenant=thread.tenant, reason=reason))
    return replace(report, failed=reason)


def _day(at: datetime) -> str:
    return at.strftime("%Y-%m-%d")
