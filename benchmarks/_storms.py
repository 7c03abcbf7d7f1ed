"""Everything at once: threads, tasks and processes over one workspace, for a bounded time, then every promise looked at."""

import asyncio
import contextlib
import random
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage

from benchmarks._kills import CONTEXT, Tried
from benchmarks._life import END_STATE, Life, on, open_agent, open_memory
from langgraph_harness_memory.errors import LockTimeout

PROCESSES = 3


def storm(seconds: float, *, seed: int) -> Tried:
    """Let processes talk, search, curate, forget and edit at the same time."""
    with tempfile.TemporaryDirectory(prefix="proof-") as folder:
        root = Path(folder)
        life = Life(root=root)
        pipes = []
        for number in range(PROCESSES):
            ours, theirs = CONTEXT.Pipe(duplex=False)
            child = CONTEXT.Process(target=_weather, args=(root, number, seconds, seed, theirs))
            child.start()
            theirs.close()
            pipes.append((ours, child))
        actions, lost = 0, []
        for ours, child in pipes:
            with contextlib.suppress(EOFError):
                while True:
                    kind, thread, value = ours.recv()
                    actions += 1
                    if kind == "turn":
                        life.acknowledged.setdefault(thread, []).append(value)
                    elif kind in ("forgetting", "forgot"):
                        life.may_be_gone.add(value)
                        if kind == "forgot":
                            life.forgotten.add(value)
                    elif kind == "error":
                        lost.append(value)
            child.join(30)
            if child.exitcode != 0:
                lost.append(f"a process ended with {child.exitcode}")
        lost += life.faults()
    return Tried(
        kind=f"concurrency: {PROCESSES} processes, threads and tasks",
        tries=actions,
        survived=actions if not lost else 0,
        lost=tuple(lost),
        ends=f"no call raised but LockTimeout, every process ended by itself; {END_STATE}",
    )


def _weather(root: Path, number: int, seconds: float, seed: int, pipe: Any) -> None:
    """One process: two threads, an event loop with three tasks, and a person with an editor."""
    end = time.monotonic() + seconds
    lock = threading.Lock()

    def tell(*what: str) -> None:
        with lock:
            pipe.send(what)

    memory = open_memory(root)
    workers = [
        threading.Thread(target=_talk, args=(memory, root, f"p{number}w{n}", end, seed + n, tell)) for n in range(2)
    ]
    workers.append(threading.Thread(target=_curate, args=(memory, root, end, seed + number, tell)))
    workers.append(threading.Thread(target=lambda: asyncio.run(_tasks(memory, root, number, end, tell))))
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    memory.close()
    pipe.close()


def _talk(memory: Any, root: Path, name: str, end: float, seed: int, tell: Any) -> None:
    dice, agent, life, n = random.Random(f"{seed}{name}"), open_agent(memory), Life(root=root), 0
    while time.monotonic() < end:
        thread = dice.choice(["shared", name])
        try:
            word = life.turn(agent, thread, f"{name}n{n}")
            tell("turn", thread, f"id-{word}")
            if dice.random() < 0.1:
                report = memory.forget(f"Codeword {word}")
                # What could not be done is in the report, and asking again finishes it.
                tell("forgot" if report.failed is None else "forgetting", "", word)
            memory.index.search("Codeword", 3)
        except LockTimeout:
            pass  # told to the caller, and nothing is half done
        except Exception as error:  # noqa: BLE001  anything else is a finding
            tell("error", "", f"{name}: {type(error).__name__}: {error}"[:300])
        n += 1


def _curate(memory: Any, root: Path, end: float, seed: int, tell: Any) -> None:
    dice = random.Random(seed)
    path = root / "parent" / "workspace" / "MEMORY.md"
    while time.monotonic() < end:
        try:
            memory.consolidate()
            memory.maintain()
            if path.exists() and dice.random() < 0.3:
                with path.open("a") as file:
                    file.write(f"- by hand {dice.randrange(1000)}\n")
        except LockTimeout:
            pass
        except Exception as error:  # noqa: BLE001  anything else is a finding
            tell("error", "", f"curating: {type(error).__name__}: {error}"[:300])
        time.sleep(0.05)


async def _tasks(memory: Any, root: Path, number: int, end: float, tell: Any) -> None:
    agent = open_agent(memory)

    async def talk(name: str) -> None:
        n = 0
        while time.monotonic() < end:
            word = f"{name}-n{n}"
            text = f"Codeword {word} belongs to item{n}."
            try:
                await agent.ainvoke({"messages": [HumanMessage(text, id=f"id-{word}")]}, on(name))
                tell("turn", name, f"id-{word}")
                await memory.index.asearch("Codeword", 3)
            except LockTimeout:
                pass
            except Exception as error:  # noqa: BLE001  anything else is a finding
                tell("error", "", f"{name}: {type(error).__name__}: {error}"[:300])
            n += 1

    await asyncio.gather(*(talk(f"p{number}t{n}") for n in range(3)))
