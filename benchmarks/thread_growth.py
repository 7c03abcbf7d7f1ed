"""How a thread's checkpoints grow on disk and in time, beside LangGraph's own checkpointers.

One graph of one node over plain `MessagesState`, no memory nodes: each turn is a question of 200 characters and an
answer of 800. Every checkpointer runs with the same durability, LangGraph's default. The last fifty turns of all, and
those of a young thread around its hundredth, are run in turn. Peers whose files grow with the square of the turns are
run to a part of them, and their bytes at the end are told by the quadratic through two points.
"""

import argparse
import resource
import shutil
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
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


def opened(kind: str, folder: Path, stack: ExitStack) -> tuple[Any, Any]:
    """Return a checkpointer and the state of the graph that it is measured with."""
    match kind:
        case "ours":
            return SessionSaver(folder / "ours"), MessagesState
        case "sqlite":
            return stack.enter_context(SqliteSaver.from_conn_string(str(folder / "sqlite.db"))), MessagesState
        case "sqlite, DeltaChannel(50)":
            return stack.enter_context(SqliteSaver.from_conn_string(str(folder / "delta.db"))), DeltaState
        case "memory":
            return InMemorySaver(), MessagesState
        case _:
            raise ValueError(kind)


def size_of(folder: Path) -> int:
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


@dataclass
class Growing:
    """One checkpointer and the thread that grows in it."""

    kind: str
    folder: Path
    app: Any
    thread: str = "grown"
    turns: int = 0
    turn_ms: dict[int, float] = field(default_factory=dict)
    cpu_ms: dict[int, float] = field(default_factory=dict)
    bytes: dict[int, int] = field(default_factory=dict)
    took: list[float] = field(default_factory=list)
    used: list[float] = field(default_factory=list)

    def turn(self) -> None:
        """Run and time one turn."""
        start, cpu = time.perf_counter(), time.process_time()
        config = {"configurable": {"thread_id": self.thread}}
        final = self.app.invoke({"messages": [HumanMessage(QUESTION)]}, config)
        self.took.append((time.perf_counter() - start) * 1000)
        self.used.append((time.process_time() - cpu) * 1000)
        self.turns += 1
        assert len(final["messages"]) == 2 * self.turns

    def grow(self, turns: int, marks: list[int]) -> None:
        """Run turns up to a number, and take the medians on the way."""
        while self.turns < turns:
            self.turn()
            if self.turns in marks or self.turns == turns:
                self.note()

    def note(self) -> None:
        """Take the medians of the last turns, and the bytes."""
        self.turn_ms[self.turns] = round(statistics.median(self.took[-WINDOW:]), 2)
        self.cpu_ms[self.turns] = round(statistics.median(self.used[-WINDOW:]), 2)
        self.bytes[self.turns] = size_of(self.folder)

    def bytes_at(self, turns: int) -> float:
        """Return the bytes at a number of turns: measured, or by the quadratic through the last two that were."""
        if turns in self.bytes:
            return float(self.bytes[turns])
        (n, a), (m, b) = sorted(self.bytes.items())[-2:]
        square = (b / m - a / n) / (m - n)
        return float(square * turns**2 + (a / n - square * n) * turns)


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="thread-growth", description=__doc__)
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--max-bytes", type=float, default=6e8, help="disk and memory that a quadratic peer may take")
    args = parser.parse_args(argv)
    marks = [n for n in (100, 250, 500, 1000, 2000) if n < args.turns - WINDOW]
    # A plain peer takes about 2.1 kB times the square of the turns.
    affordable = min(args.turns, int((args.max_bytes / 2100) ** 0.5) // 50 * 50)
    plan = {"ours": args.turns, "sqlite, DeltaChannel(50)": args.turns, "sqlite": affordable, "memory": affordable}
    folder = Path(tempfile.mkdtemp(prefix="thread-growth-"))
    try:
        with ExitStack() as stack:
            grown = {
                kind: grown_to(kind, turns, marks, folder / str(n), stack)
                for n, (kind, turns) in enumerate(plan.items())
            }
            young = Growing("ours, young", grown["ours"].folder, grown["ours"].app, thread="young")
            young.grow(100 - WINDOW // 2, [])
            together([*grown.values(), young])
    finally:
        shutil.rmtree(folder)
    return judged(grown, young, args.turns)


def grown_to(kind: str, turns: int, marks: list[int], folder: Path, stack: ExitStack) -> Growing:
    """Grow a thread to all but the last of its turns."""
    folder.mkdir()
    saver, state = opened(kind, folder, stack)
    growing = Growing(kind, folder, graph(saver, state))
    growing.grow(turns - WINDOW, marks)
    print(f"{kind}: {turns - WINDOW} turns", file=sys.stderr)
    return growing


def together(all_of_them: list[Growing]) -> None:
    """Run the last turns of all in turn, so that a busy machine is busy for all of them."""
    ours = next(g for g in all_of_them if g.kind == "ours")
    size = {g.kind: size_of(g.folder) for g in all_of_them}
    for _ in range(WINDOW):
        for growing in all_of_them:
            growing.turn()
    for growing in all_of_them:
        growing.note()
    # The young thread lies beside the grown one and is no part of it.
    young = sum(p.stat().st_size for p in ours.folder.rglob("young*"))
    ours.bytes[ours.turns] -= young
    assert ours.bytes[ours.turns] > size["ours"] - young


def judged(grown: dict[str, Growing], young: Growing, last: int) -> Outcome:
    rows = [
        [g.kind, g.turns, g.bytes_at(last) / 1e6, g.turn_ms.get(100, 0.0), g.turn_ms[g.turns], g.cpu_ms[g.turns]]
        for g in grown.values()
    ]
    rows.append([young.kind, young.turns, 0.0, 0.0, young.turn_ms[young.turns], young.cpu_ms[young.turns]])
    header = ["checkpointer", "turns run", f"MB at {last:,}", "ms at 100, alone", "ms at the last, together", "cpu ms"]
    print(table(header, rows))
    print(f"peak resident: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")
    ours, delta, plain = grown["ours"], grown["sqlite, DeltaChannel(50)"], grown["sqlite"]
    size = ours.bytes_at(last)
    growth = ours.turn_ms[last] / young.turn_ms[young.turns]
    # A plain SqliteSaver's turn grows with the history; where it stopped earlier it is told as the turns' share.
    peer = min(delta.turn_ms[last], plain.turn_ms[plain.turns] * last / plain.turns)
    share = ours.turn_ms[last] / peer
    return Outcome(
        figures={
            "turns": last,
            "bytes": int(size),
            "growth": round(growth, 2),
            "share_of_fastest_persisting_peer": round(share, 3),
            "turn_ms": {g.kind: g.turn_ms for g in (*grown.values(), young)},
            "cpu_ms": {g.kind: g.cpu_ms for g in (*grown.values(), young)},
            "bytes_of_peers": {
                g.kind: int(g.bytes_at(last)) for g in grown.values() if g.kind not in {"ours", "memory"}
            },
            "bytes_extrapolated_from": {g.kind: g.turns for g in grown.values() if g.turns < last},
        },
        targets=[
            Target(text="at most 8 MB in all", seen=f"{size / 1e6:.2f} MB", met=size <= 8e6 * last / 2000),
            Target(text=f"the turn at {last} at most 2.5 x the turn at 100", seen=f"{growth:.2f}", met=growth <= 2.5),
            Target(text="at most 1/3 of the fastest persisting peer's turn", seen=f"{share:.2f}", met=share <= 1 / 3),
        ],
    )
