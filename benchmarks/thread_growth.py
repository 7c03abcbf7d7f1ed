"""How a thread's checkpoints grow on disk and in time, beside LangGraph's own checkpointers.

One graph of one node over plain `MessagesState`, no memory nodes: each turn is a question of 200 characters and an
answer of 800. Every checkpointer runs with the same durability, LangGraph's default. Peers whose files grow with the
square of the turns are run to a part of them, and their bytes at the end are told by the quadratic through two points.
"""

import argparse
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph

from benchmarks.outcome import Outcome, Target, table
from langgraph_harness_memory.sessions.saver import SessionSaver

QUESTION, ANSWER = "q" * 200, "a" * 800
WINDOW = 50
"""Turns over which a median is taken."""

THREAD = {"configurable": {"thread_id": "grown"}}


def merged(state: list[Any], writes: list[Any]) -> list[Any]:
    found = {m.id: m for m in state}
    for write in writes:
        for message in write if isinstance(write, list) else [write]:
            found[message.id] = message
    return list(found.values())


class DeltaState(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(merged, snapshot_frequency=50)]


def graph(saver: Any, state: Any) -> Any:
    builder = StateGraph(state)
    builder.add_node("chat", lambda _: {"messages": [AIMessage(ANSWER)]})
    builder.add_edge(START, "chat")
    builder.add_edge("chat", END)
    return builder.compile(checkpointer=saver)


@contextmanager
def checkpointer(kind: str, folder: Path) -> Iterator[tuple[Any, Any]]:
    match kind:
        case "ours":
            yield SessionSaver(folder / "ours"), MessagesState
        case "sqlite":
            with SqliteSaver.from_conn_string(str(folder / "sqlite.db")) as saver:
                yield saver, MessagesState
        case "sqlite, DeltaChannel(50)":
            with SqliteSaver.from_conn_string(str(folder / "delta.db")) as saver:
                yield saver, DeltaState
        case "memory":
            yield InMemorySaver(), MessagesState
        case _:
            raise ValueError(kind)


def size_of(folder: Path) -> int:
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


def run(kind: str, turns: int, marks: list[int], folder: Path) -> dict[str, Any]:
    """Run turns; returns the turn's median at each mark, and the bytes."""
    took: list[float] = []
    used: list[float] = []
    result: dict[str, Any] = {"turns": turns, "turn_ms": {}, "cpu_ms": {}, "bytes": {}}
    with checkpointer(kind, folder) as (saver, state):
        app = graph(saver, state)
        for turn in range(1, turns + 1):
            start, cpu = time.perf_counter(), time.process_time()
            final = app.invoke({"messages": [HumanMessage(QUESTION)]}, THREAD)
            took.append(time.perf_counter() - start)
            used.append(time.process_time() - cpu)
            if turn in marks or turn == turns:
                result["turn_ms"][turn] = statistics.median(took[-WINDOW:]) * 1000
                result["cpu_ms"][turn] = statistics.median(used[-WINDOW:]) * 1000
                result["bytes"][turn] = size_of(folder)
        assert len(final["messages"]) == 2 * turns
    result["bytes"][turns] = size_of(folder)
    return result


def bytes_at(result: dict[str, Any], turns: int) -> float:
    """Return the bytes at a number of turns: measured, or by the quadratic through the two largest that were."""
    if turns in result["bytes"]:
        return float(result["bytes"][turns])
    (n, a), (m, b) = sorted(result["bytes"].items())[-2:]
    square = (b / m - a / n) / (m - n)
    return float(square * turns**2 + (a / n - square * n) * turns)


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="thread-growth", description=__doc__)
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument(
        "--peer-turns", type=int, default=0, help="turns of the quadratic peers; 0 = as far as --max-bytes allow"
    )
    parser.add_argument("--max-bytes", type=float, default=6e8, help="disk and memory that a quadratic peer may take")
    args = parser.parse_args(argv)
    marks = [n for n in (100, 500, 1000, 2000) if n <= args.turns]
    # A plain peer takes about 2.1 kB times the square of the turns.
    affordable = args.peer_turns or min(args.turns, int((args.max_bytes / 2100) ** 0.5) // 50 * 50)
    plan = {"ours": args.turns, "sqlite, DeltaChannel(50)": args.turns, "sqlite": affordable, "memory": affordable}
    results: dict[str, Any] = {}
    for kind, turns in plan.items():
        folder = Path(tempfile.mkdtemp(prefix="thread-growth-"))
        try:
            results[kind] = run(kind, turns, [*marks, turns // 2], folder)
        finally:
            shutil.rmtree(folder)
        print(f"{kind}: {turns} turns", file=sys.stderr)
    last = args.turns
    rows = [
        [
            kind,
            r["turns"],
            bytes_at(r, last) / 1e6,
            r["turn_ms"].get(100, 0.0),
            r["turn_ms"][r["turns"]],
            r["cpu_ms"][r["turns"]],
        ]
        for kind, r in results.items()
    ]
    print(table(["checkpointer", "turns run", f"MB at {last:,}", "ms at 100", "ms at the last", "cpu ms"], rows))
    print(f"peak resident: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")
    ours, delta, plain = results["ours"], results["sqlite, DeltaChannel(50)"], results["sqlite"]
    size = bytes_at(ours, last)
    growth = ours["turn_ms"][last] / ours["turn_ms"][100]
    # The plain one's turn at the end is not shorter than where it stopped.
    peer = min(delta["turn_ms"][last], plain["turn_ms"][plain["turns"]] * (last / plain["turns"]))
    share = ours["turn_ms"][last] / peer
    return Outcome(
        figures={
            "turns": last,
            "bytes": int(size),
            "turn_ms": ours["turn_ms"],
            "growth": round(growth, 2),
            "share_of_fastest_peer": round(share, 3),
            "peers": {
                kind: {
                    "bytes": int(bytes_at(r, last)),
                    "extrapolated_from": None if r["turns"] == last else r["turns"],
                    "turn_ms": r["turn_ms"],
                }
                for kind, r in results.items()
                if kind != "ours"
            },
        },
        targets=[
            Target(text="at most 8 MB in all", seen=f"{size / 1e6:.2f} MB", met=size <= 8e6 * last / 2000),
            Target(text=f"the turn at {last} at most 2.5 x the turn at 100", seen=f"{growth:.2f}", met=growth <= 2.5),
            Target(text="at most 1/3 of the fastest persisting peer's turn", seen=f"{share:.2f}", met=share <= 1 / 3),
        ],
    )
