"""Many processes append to one session, and each to one of its own: every message once, whole, and in place."""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.outcome import Outcome, Target, table
from langgraph_harness_memory.events import Damaged, Event
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.workspace.local import LocalWorkspace

CHILD = """
import sys
from datetime import timedelta
from langchain_core.messages import HumanMessage
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.workspace.local import LocalWorkspace

folder, thread, name, count, size = sys.argv[1:]
log = SessionLog(LocalWorkspace(folder, lock_timeout=timedelta(seconds=60)))
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(count)):
    message = HumanMessage(f"{name} {number} " + "x" * int(size), id=f"{name}-{number}")
    positions = log.append(ThreadRef(thread_id=thread), [message])
    if number % 50 == 0:
        assert log.append(ThreadRef(thread_id=thread), [message]) == positions
"""


def run(threads: int, processes: int, count: int, size: int) -> dict[str, Any]:
    """Let processes append at the same time, over so many threads."""
    folder = Path(tempfile.mkdtemp(prefix="writers-"))
    try:
        children = [
            subprocess.Popen(
                [sys.executable, "-c", CHILD, str(folder), f"t{i % threads}", f"p{i}", str(count), str(size)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for i in range(processes)
        ]
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        start = time.perf_counter()
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        failed = sum(child.wait() != 0 for child in children)
        took = time.perf_counter() - start
        for child in children:
            child.stdin.close()  # type: ignore[union-attr]
            child.stdout.close()  # type: ignore[union-attr]
        return checked(folder, threads, processes, count) | {
            "failed": failed,
            "ms_an_append": took * 1000 / (processes * count),
        }
    finally:
        shutil.rmtree(folder)


def checked(folder: Path, threads: int, processes: int, count: int) -> dict[str, Any]:
    """Read all sessions and count what is there, what is missing, what is there twice, and what is damaged."""
    events: list[Event] = []
    log = SessionLog(LocalWorkspace(folder), on_event=events.append)
    logged = [(t, e) for t in range(threads) for e in log.read(f"t{t}")]
    ids = [e.message.id for _, e in logged]
    wanted = {f"p{i}-{n}" for i in range(processes) for n in range(count)}
    in_place = all(
        [e.position for t, e in logged if t == thread] == list(range(sum(t == thread for t, _ in logged)))
        for thread in range(threads)
    )
    # Each process's messages stand in the order in which it appended them.
    in_order = all(
        [int(str(i).split("-")[1]) for i in ids if str(i).startswith(f"p{p}-")] == list(range(count))
        for p in range(processes)
    )
    return {
        "there": len(set(ids) & wanted),
        "twice": len(ids) - len(set(ids)),
        "torn": len([e for e in events if isinstance(e, Damaged)]) + len(list(folder.rglob("*.torn-*"))),
        "in_order": in_place and in_order,
    }


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="writers", description=__doc__)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--appends", type=int, default=500)
    parser.add_argument("--size", type=int, default=300, help="characters of a message")
    args = parser.parse_args(argv)
    cases = {
        "one thread": run(1, args.processes, args.appends, args.size),
        f"{args.processes} threads": run(args.processes, args.processes, args.appends, args.size),
    }
    wanted = args.processes * args.appends
    print(
        table(
            ["appended to", "there", "twice", "torn", "in order", "failed", "ms an append"],
            [
                [n, f"{r['there']:,}/{wanted:,}", r["twice"], r["torn"], r["in_order"], r["failed"], r["ms_an_append"]]
                for n, r in cases.items()
            ],
        )
    )
    targets = []
    for name, r in cases.items():
        targets += [
            Target(
                text=f"{name}: {wanted:,} of {wanted:,}",
                seen=f"{r['there']:,}",
                met=r["there"] == wanted and not r["failed"],
            ),
            Target(
                text=f"{name}: none torn, none twice",
                seen=f"{r['torn']}, {r['twice']}",
                met=not r["torn"] and not r["twice"],
            ),
            Target(text=f"{name}: in the order of each writer", seen=str(r["in_order"]), met=r["in_order"]),
        ]
    return Outcome(figures=cases, targets=targets)
