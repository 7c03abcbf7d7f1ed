"""Replicas of an agent service on one Postgres: nothing lost, nothing doubled, nobody's memory in another's hands.

Four processes serve 25 users for 20 turns each, with compaction, background flushes and two maintenance processes that
compete for every tick. Then what stands in the database is compared with what was said. The same work by one process
gives the throughput to compare with; turns of a plain graph over the same checkpointer give memory's share.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks._replica import INTERVAL, said, thread_of
from benchmarks.outcome import Outcome, Target, table
from benchmarks.postgres_search import URL, fresh_schema
from langgraph_harness_memory.formats.daily_log import day_of, parse
from langgraph_harness_memory.identifiers import tenant_root
from langgraph_harness_memory.index.postgres import PostgresMemoryIndex
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.workspace import read_text
from langgraph_harness_memory.workspace.postgres import PostgresWorkspace

ROOT = Path(__file__).parents[1]


def start(job: dict[str, Any]) -> "subprocess.Popen[str]":
    """Start one process of the service."""
    command = [sys.executable, "-m", "benchmarks._replica", json.dumps(job)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def result(process: "subprocess.Popen[str]") -> dict[str, Any]:
    """Wait for a process and read what it did."""
    out, _ = process.communicate(timeout=500)
    if process.returncode:
        raise RuntimeError(f"a replica ended with {process.returncode}")
    return json.loads(out.splitlines()[-1])


@contextmanager
def maintained(job: dict[str, Any], reports: list[dict[str, Any]]) -> Iterator[None]:
    """Have two maintenance processes compete while the block runs."""
    processes = [start({**job, "role": "maintain"}) for _ in range(2)]
    try:
        yield
    finally:
        reports += [result(process) for process in processes]


def deadlocks(url: str) -> int:
    import psycopg

    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").fetchone()
    return row[0] if row else 0


def check(workspace: PostgresWorkspace, processes: int, users: int, turns: int) -> dict[str, int]:
    """Compare what stands in the database with what was said."""
    sessions = SessionLog(workspace)
    index = PostgresMemoryIndex(workspace)
    found = Counter[str]()
    for user in range(users):
        tree = workspace.under(tenant_root(f"user{user}").as_posix())
        logs = [read_text(tree, info.path) or ("", "") for info in tree.files("memory") if day_of(info.path)]
        daily = "".join(text for text, _ in logs)
        blocks: Counter[tuple[str, int]] = Counter()
        for section in parse(daily):
            if section.heading is not None and section.heading.session and section.heading.part == 1:
                blocks.update((section.heading.session, position) for position in section.heading.positions)
        for process in range(processes):
            thread = thread_of(user, process)
            logged = sessions.read(thread)
            texts = Counter(str(m.message.content) for m in logged if m.message.type == "human")
            wanted = {said(user, process, turn) for turn in range(turns)}
            found["messages"] += len(logged)
            found["lost"] += len(wanted - texts.keys())
            found["doubled"] += sum(count - 1 for count in texts.values())
            found["doubled"] += max(0, len(logged) - 2 * turns)
            found["unflushed"] += len(sessions.unflushed(thread))
            in_blocks = [blocks[thread, m.position] for m in logged]
            found["flushed_twice"] += sum(count > 1 for count in in_blocks)
            for turn in range(turns):
                fact = f"shade-u{user}-p{process}-t{turn} "
                found["facts"] += fact in daily
                found["facts_twice"] += daily.count(fact) > 1
        tokens = re.findall(r"shade-u(\d+)-", daily + (read_text(tree, "MEMORY.md") or ("", ""))[0])
        found["strangers"] += sum(int(token) != user for token in tokens)
        hits = index.for_tenant(f"user{user}").search("colour shade project", 200)
        found["strangers"] += sum(f"-u{user}-" not in hit.content for hit in hits if "shade-" in hit.content)
        found["found"] += bool(hits)
    found["strangers"] += len(index.search("colour shade project", 200))
    return found


def too_close(reports: list[dict[str, Any]]) -> tuple[int, int]:
    """Count consolidations, and those that came less than an interval after the same user's last one."""
    times: dict[str, list[float]] = {}
    for report in reports:
        for tenant, at in report["consolidated"]:
            times.setdefault(tenant, []).append(at)
    early = 0
    for ats in times.values():
        ordered = sorted(ats)
        early += sum(b - a < INTERVAL.total_seconds() * 0.5 for a, b in pairwise(ordered))
    return sum(map(len, times.values())), early


def quantile(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] * 1000 if ordered else 0.0


def run(url: str, processes: int, users: int, turns: int, *, baseline: bool) -> dict[str, Any]:
    """Serve all turns and look at what is there afterwards."""
    with fresh_schema(url) as workspace:
        before = deadlocks(url)
        job = {"url": url, "schema": workspace.schema, "users": users, "turns": turns, "baseline": baseline}
        upkeep: list[dict[str, Any]] = []
        with maintained(job, upkeep):
            replicas = [start({**job, "role": "serve", "process": n}) for n in range(processes)]
            served = [result(replica) for replica in replicas]
        found = check(workspace, processes, users, turns)
        consolidations, early = too_close(upkeep)
        events: Counter[str] = Counter()
        for report in [*served, *upkeep]:
            events.update(report["events"])
        return {
            "found": dict(found),
            "turns_per_s": processes * users * turns / max(report["served_s"] for report in served),
            "with_memory": [t for report in served for t in report["with_memory"]],
            "without": [t for report in served for t in report["without"]],
            "strangers": found["strangers"] + sum(report["strangers"] for report in served),
            "consolidations": consolidations,
            "early": early,
            "ticks": [report["ticks"] for report in upkeep],
            "failures": [failure for report in upkeep for failure in report["failures"]],
            "events": dict(events),
            "reasons": [reason for report in [*served, *upkeep] for reason in report["reasons"]][:10],
            "deadlocks": deadlocks(url) - before,
        }


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="python -m benchmarks replicas")
    parser.add_argument("--postgres", default=os.environ.get("HARNESS_TEST_POSTGRES") or URL)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--users", type=int, default=25)
    parser.add_argument("--turns", type=int, default=20)
    options = parser.parse_args(argv)
    one = run(options.postgres, 1, options.users, options.turns, baseline=False)
    many = run(options.postgres, options.processes, options.users, options.turns, baseline=True)
    baseline = quantile(many["without"], 0.5)
    shares = [max(0.0, t - baseline / 1000) for t in many["with_memory"]]
    found = many["found"]
    rows = [
        ["turns a second, one process", one["turns_per_s"]],
        [f"turns a second, {options.processes} processes", many["turns_per_s"]],
        ["… over one process", many["turns_per_s"] / one["turns_per_s"]],
        ["turn with memory, p50 ms", quantile(many["with_memory"], 0.5)],
        ["turn with memory, p95 ms", quantile(many["with_memory"], 0.95)],
        ["plain turn, same checkpointer, p50 ms", baseline],
        ["plain turn, same checkpointer, p95 ms", quantile(many["without"], 0.95)],
        ["memory's share, p50 ms", quantile(shares, 0.5)],
        ["memory's share, p95 ms", quantile(shares, 0.95)],
        ["messages logged", found["messages"]],
        ["facts in daily logs", found["facts"]],
        ["compactions", many["events"].get("Compacted", 0)],
        ["consolidations", many["consolidations"]],
        ["ticks of the two maintenance processes", "+".join(map(str, many["ticks"]))],
    ]
    print(table(["", ""], rows))
    for reason in many["reasons"]:
        print("  told:", reason)
    wanted = options.processes * options.users * options.turns * 2
    troubles = {k: v for k, v in many["events"].items() if k.endswith("Failed") or k in ("Degraded", "Damaged")}
    targets = [
        _none("messages lost", found["lost"] + abs(wanted - found["messages"])),
        _none("messages doubled", found["doubled"]),
        _none("messages left unflushed", found["unflushed"]),
        _none("messages in two blocks, facts written twice", found["flushed_twice"] + found["facts_twice"]),
        _none("lines of another user in memories and results", many["strangers"]),
        _none("second consolidations of a user in one interval", many["early"]),
        _none("deadlocks", many["deadlocks"]),
        _none("failures and degraded turns", sum(troubles.values()) + len(many["failures"])),
    ]
    many.pop("with_memory"), many.pop("without"), one.pop("with_memory"), one.pop("without")
    figures = {label.replace(" ", "_"): value for label, value in rows}
    return Outcome(figures={**figures, "many": many, "one": one}, targets=targets)


def _none(text: str, seen: int) -> Target:
    return Target(text=f"no {text}", seen=str(seen), met=seen == 0)
