"""What a tick of maintenance costs that finds nothing new: 3 000 daily logs, a million lines, all merged and indexed.

Twice: with every log where it was written (`daily_file_retention_days=0`), which consolidation reads and compares by content,
and as the defaults leave it, with all but the last ninety days in the archive. The first tick builds the index; the ones
that are timed are whole: recover, consolidate, expire, prune, reindex, with the claim and the release around them.
"""

import argparse
import statistics
import tempfile
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.outcome import Outcome, Target, table
from langgraph_harness_memory import HarnessMemory, MaintenanceConfig, MemoryConfig
from langgraph_harness_memory.formats import consolidation_state, daily_log
from langgraph_harness_memory.formats.consolidation_state import ConsolidationState, Written
from langgraph_harness_memory.testing import ScriptedChatModel

ALLOWED_SECONDS = 2.0
LAST_DAY = date(2026, 11, 30)
MEMORY = "# Memory\n\n## Facts\n- Runs the warehouse in Oslo\n"


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="python -m benchmarks tick")
    parser.add_argument("--logs", type=int, default=3_000)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5, help="timed ticks of each kind")
    asked = parser.parse_args(argv)
    rows: list[list[Any]] = []
    targets: list[Target] = []
    figures: dict[str, Any] = {"logs": asked.logs, "lines": asked.lines}
    for kind, days in (("all logs live", 0), ("defaults, archived", MaintenanceConfig().daily_file_retention_days)):
        with tempfile.TemporaryDirectory() as folder:
            first, ticks, cpu = _timed(Path(folder) / "memory", asked, days)
        median = statistics.median(ticks)
        rows.append([kind, first, min(ticks), median, max(ticks), cpu])
        figures[kind] = {"first_s": round(first, 2), "median_s": round(median, 3), "cpu_s": round(cpu, 3)}
        targets.append(
            Target(
                text=f"{kind}: a tick with nothing new under {ALLOWED_SECONDS:.0f} s",
                seen=f"{median:.2f} s",
                met=median < ALLOWED_SECONDS,
            )
        )
    print(table(["tick", "first, s", "best, s", "median, s", "worst, s", "processor, s"], rows))
    return Outcome(figures=figures, targets=targets)


def _timed(folder: Path, asked: argparse.Namespace, days: int) -> tuple[float, list[float], float]:
    """Return the seconds of the first tick, of each that followed, and the processor's median share of those."""
    _write(folder, logs=asked.logs, lines=asked.lines)
    config = MemoryConfig(maintenance=MaintenanceConfig(autostart=False, daily_file_retention_days=days))
    # No answer is there: a tick that asked the model would fail.
    with HarnessMemory(folder, model=ScriptedChatModel(script=[]), config=config) as memory:
        first, _ = _tick(memory)
        seconds = [_tick(memory) for _ in range(asked.rounds)]
    return first, [wall for wall, _ in seconds], statistics.median(cpu for _, cpu in seconds)


def _tick(memory: HarnessMemory) -> tuple[float, float]:
    began, used = time.perf_counter(), time.process_time()
    report = memory.maintain()
    took = time.perf_counter() - began, time.process_time() - used
    if not report["ran"] or report["failures"] or report["consolidated"]:
        raise SystemExit(f"the tick was not one with nothing new: {report}")
    return took


def _write(folder: Path, *, logs: int, lines: int) -> None:
    """Write the logs, and the state that says that all their lines are merged."""
    (folder / "memory").mkdir(parents=True)
    (folder / "MEMORY.md").write_text(MEMORY, encoding="utf-8")
    merged: set[bytes] = set()
    files: dict[str, str] = {}
    for n in range(logs):
        day = LAST_DAY - timedelta(days=n)
        path, text = daily_log.log_path(day.isoformat()), _log(day, lines // logs)
        (folder / path).write_text(text, encoding="utf-8")
        merged |= {consolidation_state.line_key(line) for line in daily_log.lines(text)}
        files[path] = consolidation_state.text_hash(text)
    state = ConsolidationState(merged=frozenset(merged), files=files, memory=Written(text=MEMORY, writer="model"))
    (folder / consolidation_state.PATH).write_text(consolidation_state.render(state), encoding="utf-8")


def _log(day: date, lines: int) -> str:
    """Write a day's log of three conversations."""
    at = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    blocks = []
    for part in range(3):
        heading = daily_log.BlockHeading(
            at=at, session=f"s{day:%Y%m%d}-{part}", positions=frozenset(range(40)), sources=("user",)
        )
        facts = [
            f"Order {day:%m%d}-{part}-{n} of customer {n % 97} was shipped from Oslo with parcel {day.toordinal() * 7 + n}"
            for n in range(part, lines, 3)
        ]
        blocks.append(daily_log.render_block([(heading, facts)]))
    return "".join(blocks)
