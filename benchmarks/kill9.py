"""Kill a writer at random moments: nothing that it had acknowledged may be missing, and every file must open.

Each round a child goes on with the threads that the rounds before left: it logs messages, stores checkpoints and
writes, compacts, prunes and marks, and says on a pipe what was acknowledged. It is killed at a random moment. Then the
files are opened by this process and held against what was acknowledged.
"""

import argparse
import os
import random
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.graph import START, MessagesState, StateGraph

from benchmarks.outcome import Outcome, Target, table
from langgraph_harness_memory.events import Damaged, Event
from langgraph_harness_memory.formats.forms import marked
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.sessions.saver import SessionSaver

THREADS = ("a", "b", "C/d")


def write_for_ever(folder: Path, seed: int, told: int) -> None:
    """What a child does until it is killed; it tells what was acknowledged on a pipe."""
    chance = random.Random(seed)
    saver = SessionSaver(folder)

    def tell(kind: str, thread: str, value: object) -> None:
        os.write(told, f"{kind} {thread} {value}\n".encode())

    def answer(_: Any) -> Any:
        return {"messages": [AIMessage("a" * chance.choice([10, 300, 20_000]), id=str(uuid4()))]}

    builder = StateGraph(MessagesState)
    builder.add_node("chat", answer)
    builder.add_edge(START, "chat")
    graph = builder.compile(checkpointer=saver)
    tell("ready", "-", "-")
    while True:
        thread = chance.choice(THREADS)
        act = chance.random()
        if act < 0.4:
            message = HumanMessage("l" * chance.choice([10, 300, 20_000, 500_000]), id=str(uuid4()))
            saver.log.append(ThreadRef(thread_id=thread), [message])
            tell("message", thread, message.id)
        elif act < 0.85:
            talk(graph, thread, tell, "q" * chance.choice([10, 300]))
        elif act < 0.93:
            compact(graph, thread, tell)
        elif act < 0.97:
            saver.prune([thread])
        else:
            positions = [e.position for e in saver.log.tail(thread, 5)]
            saver.log.mark_flushed(ThreadRef(thread_id=thread), positions)
            for position in positions:
                tell("mark", thread, position)


def talk(graph: Any, thread: str, tell: Callable[[str, str, object], None], text: str) -> None:
    config = {"configurable": {"thread_id": thread}}
    question = HumanMessage(text, id=str(uuid4()))
    state = graph.invoke({"messages": [question]}, config, durability="sync")
    for message in state["messages"][-2:]:
        tell("message", thread, message.id)
    tell("checkpoint", thread, graph.get_state(config).config["configurable"]["checkpoint_id"])


def compact(graph: Any, thread: str, tell: Callable[[str, str, object], None]) -> None:
    config = {"configurable": {"thread_id": thread}}
    state = graph.get_state(config).values.get("messages", [])
    if len(state) > 8:
        summary = HumanMessage("s", id=state[0].id, additional_kwargs=marked("summary"))
        graph.update_state(config, {"messages": [summary, *[RemoveMessage(id=m.id) for m in state[1:-4]]]})
        tell("checkpoint", thread, graph.get_state(config).config["configurable"]["checkpoint_id"])


class Ledger:
    """What was acknowledged."""

    def __init__(self) -> None:
        self.messages: dict[str, set[str]] = {}
        self.checkpoints: dict[str, str] = {}
        self.marks: dict[str, set[int]] = {}
        self.acknowledged = 0

    def take(self, line: str) -> None:
        kind, thread, value = line.split(" ")
        match kind:
            case "message":
                self.messages.setdefault(thread, set()).add(value)
            case "checkpoint":
                self.checkpoints[thread] = max(value, self.checkpoints.get(thread, ""))
            case "mark":
                self.marks.setdefault(thread, set()).add(int(value))
            case _:
                return
        self.acknowledged += 1


def killed(folder: Path, seed: int, ledger: Ledger, longest: float) -> None:
    """Run a child for a random time, kill it, and take down what it had acknowledged."""
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(heard)
        try:
            write_for_ever(folder, seed, told)
        except BaseException:  # noqa: BLE001 - told, and the child ends here whatever it was
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(told)
    with os.fdopen(heard) as said:
        assert said.readline().startswith("ready"), "the child could not begin"
        time.sleep(random.Random(seed).uniform(0, longest))
        assert os.waitpid(child, os.WNOHANG) == (0, 0), "the child ended by itself"
        os.kill(child, signal.SIGKILL)
        rest = said.read()
    os.waitpid(child, 0)
    for line in rest.splitlines():
        ledger.take(line)


def lost(folder: Path, ledger: Ledger, events: list[Event]) -> dict[str, int]:
    """Open everything anew and count what is missing."""
    saver = SessionSaver(folder, fsync=False, on_event=events.append)
    missing = {"messages": 0, "checkpoints": 0, "marks": 0, "twice": 0, "unreadable": 0}
    for thread, ids in ledger.messages.items():
        logged = [e.message.id for e in saver.log.read(thread)]
        missing["messages"] += len(ids - set(logged))
        missing["twice"] += len(logged) - len(set(logged))
        missing["marks"] += len([p for p in ledger.marks.get(thread, ()) if p not in saver.log.flushed(thread)])
        found = saver.get_tuple({"configurable": {"thread_id": thread}})
        newest = ledger.checkpoints.get(thread, "")
        missing["checkpoints"] += (found.checkpoint["id"] if found else "") < newest
        for listed in saver.list({"configurable": {"thread_id": thread}}, limit=3):
            missing["unreadable"] += listed.checkpoint is None
    return missing


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="kill9", description=__doc__)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument(
        "--longest", type=float, default=0.25, help="seconds that a child lives at most, once it writes"
    )
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    folder = Path(tempfile.mkdtemp(prefix="kill9-"))
    events: list[Event] = []
    total: dict[str, Any] = {}
    acknowledged = 0
    torn = 0
    try:
        ledger = Ledger()
        for number in range(args.rounds):
            if number % 25 == 0:
                # Small threads, so that the time goes into kills.
                acknowledged += ledger.acknowledged
                ledger = Ledger()
                torn += len(list((folder / "saved").glob("*.torn-*")))
                shutil.rmtree(folder / "saved", ignore_errors=True)
            killed(folder / "saved", args.seed * 100_000 + number, ledger, args.longest)
            for name, count in lost(folder / "saved", ledger, events).items():
                total[name] = total.get(name, 0) + count
        acknowledged += ledger.acknowledged
        torn += len(list((folder / "saved").glob("*.torn-*")))
    finally:
        shutil.rmtree(folder)
    damaged = len([e for e in events if isinstance(e, Damaged)])
    print(
        table(
            ["rounds", "acknowledged", *total, "torn lines moved aside"],
            [[args.rounds, acknowledged, *total.values(), torn]],
        )
    )
    return Outcome(
        figures={
            "rounds": args.rounds,
            "acknowledged": acknowledged,
            "lost": total,
            "torn": torn,
            "damage_told": damaged,
        },
        targets=[
            Target(text="no acknowledged message lost", seen=str(total["messages"]), met=not total["messages"]),
            Target(
                text="no acknowledged checkpoint lost", seen=str(total["checkpoints"]), met=not total["checkpoints"]
            ),
            Target(text="no acknowledged mark lost", seen=str(total["marks"]), met=not total["marks"]),
            Target(text="no message twice", seen=str(total["twice"]), met=not total["twice"]),
            Target(text="every file opens", seen=f"{total['unreadable']} unreadable", met=not total["unreadable"]),
        ],
    )
