"""How long a new process takes to open a long thread and get its state, beside SqliteSaver with the same state.

    whole      4 000 messages in the state: the turns of `thread-growth`
    compacted  the same history behind it, 20 messages in the state
    longer     five times that history, 20 messages in the state

Each figure is the median of new processes; what is timed begins when everything is imported.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from benchmarks.outcome import Outcome, Target, table
from langgraph_harness_memory.formats.forms import marked
from langgraph_harness_memory.sessions.saver import SessionSaver

THREAD = {"configurable": {"thread_id": "grown"}}

CHILD = """
import json, sys, time
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph_harness_memory.sessions.saver import SessionSaver
thread = {"configurable": {"thread_id": "grown"}}
kind, path = sys.argv[1:]
start = time.perf_counter()
if kind == "sqlite":
    with SqliteSaver.from_conn_string(path) as saver:
        found = saver.get_tuple(thread)
else:
    found = SessionSaver(path).get_tuple(thread)
took = time.perf_counter() - start
print(json.dumps([took * 1000, len(found.checkpoint["channel_values"]["messages"])]))
"""


def build(folder: Path, turns: int, *, keep: int | None) -> SessionSaver:
    """Fill a thread; `keep` folds all but the last messages into a summary at the end of every 100 turns."""
    saver = SessionSaver(folder, fsync=False)
    builder = StateGraph(MessagesState)
    builder.add_node("chat", lambda _: {"messages": [AIMessage("a" * 800)]})
    builder.add_edge(START, "chat")
    graph = builder.compile(checkpointer=saver)
    for turn in range(1, turns + 1):
        graph.invoke({"messages": [HumanMessage("q" * 200)]}, THREAD)
        if keep is not None and (turn % 100 == 0 or turn == turns):
            state = graph.get_state(THREAD).values["messages"]
            if len(state) > keep:
                folded = state[: len(state) - keep + 1]
                summary = HumanMessage("s" * 2000, id=folded[0].id, additional_kwargs=marked("summary"))
                graph.update_state(THREAD, {"messages": [summary, *[RemoveMessage(id=m.id) for m in folded[1:]]]})
    return saver


def to_sqlite(saver: SessionSaver, path: Path) -> None:
    """Store the same checkpoint with SqliteSaver."""
    found = saver.get_tuple(THREAD)
    assert found is not None
    with SqliteSaver.from_conn_string(str(path)) as peer:
        peer.put({"configurable": {"thread_id": "grown", "checkpoint_ns": ""}}, found.checkpoint, found.metadata, {})


def timed(kind: str, path: Path) -> tuple[float, int]:
    done = subprocess.run([sys.executable, "-c", CHILD, kind, str(path)], capture_output=True, check=True, text=True)
    took, messages = json.loads(done.stdout)
    return took, messages


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="resume", description=__doc__)
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args(argv)
    folder = Path(tempfile.mkdtemp(prefix="resume-"))
    cases = {"whole": (args.turns, None), "compacted": (args.turns, 20), "longer": (args.turns * 5, 20)}
    figures: dict[str, Any] = {}
    try:
        for name, (turns, keep) in cases.items():
            saver = build(folder / name, turns, keep=keep)
            to_sqlite(saver, folder / f"{name}.db")
            figures[name] = compare(folder, name, turns, args.rounds)
    finally:
        shutil.rmtree(folder)
    rows = [
        [n, f["turns"], f["messages"], f["ours_ms"], f["sqlite_ms"], f["ours_ms"] / f["sqlite_ms"]]
        for n, f in figures.items()
    ]
    print(table(["thread", "turns", "messages in the state", "ours ms", "sqlite ms", "ratio"], rows))
    ratio = figures["whole"]["ours_ms"] / figures["whole"]["sqlite_ms"]
    short = max(figures["compacted"]["ours_ms"], figures["longer"]["ours_ms"])
    return Outcome(
        figures=figures | {"ratio": round(ratio, 2)},
        targets=[
            Target(
                text="at most 1.5 x SqliteSaver's get_tuple of the same state", seen=f"{ratio:.2f}", met=ratio <= 1.5
            ),
            Target(
                text="at most 10 ms for 20 messages, however long the history", seen=f"{short:.1f} ms", met=short <= 10
            ),
        ],
    )


def compare(folder: Path, name: str, turns: int, rounds: int) -> dict[str, Any]:
    """Time both in turn, so that a busy machine is busy for both."""
    ours, peers = [], []
    count = 0
    for _ in range(rounds):
        took, count = timed("ours", folder / name)
        ours.append(took)
        took, same = timed("sqlite", folder / f"{name}.db")
        peers.append(took)
        assert same == count
    return {
        "turns": turns,
        "messages": count,
        "ours_ms": round(statistics.median(ours), 1),
        "sqlite_ms": round(statistics.median(peers), 1),
    }
