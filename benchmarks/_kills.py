"""Processes that end without a word: at every system call of every operation, and at random moments.

    at every call    a copy of a prepared workspace, one forked child per system call, gone before that call
    at random        a child that leads its life until it is killed, acknowledging over a pipe

Children are forked from a server that has imported everything, so that a try costs what the operation costs.
"""

import contextlib
import multiprocessing
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._life import END_STATE, Life, open_agent, open_memory
from langgraph_harness_memory import HarnessMemory
from langgraph_harness_memory.testing.faults import FaultyCalls

CONTEXT = multiprocessing.get_context("forkserver")
PRELOAD = ["benchmarks._life", "benchmarks._kills", "langgraph_harness_memory.memory", "langgraph.graph"]


@dataclass(frozen=True, kw_only=True)
class Operation:
    """Something a memory does, and what has to be there before."""

    name: str
    prepare: Callable[[HarnessMemory, Life], None]
    act: Callable[[HarnessMemory, Life], None]
    ends: str
    """What is asserted of it in the next process, beside what is asserted of everything."""


def _talked(memory: HarnessMemory, life: Life) -> None:
    agent = open_agent(memory)
    for n in range(2):
        life.turn(agent, "t1", f"a{n}")
    life.turn(agent, "t2", "b0")


def _unflushed(memory: HarnessMemory, life: Life) -> None:
    _talked(memory, life)
    agent = open_agent(open_memory_without_flush(life.root))
    life.turn(agent, "t1", "c0")


def open_memory_without_flush(root: Path) -> HarnessMemory:
    """Open the memory as an application would that flushes elsewhere; what is said waits."""
    from benchmarks._life import settings
    from langgraph_harness_memory import FlushConfig

    return open_memory(root, config=settings(flush=FlushConfig(trigger="never")))


def _curated(memory: HarnessMemory, life: Life) -> None:
    _talked(memory, life)
    memory.consolidate()
    life.consolidated = True


def _turn(memory: HarnessMemory, life: Life) -> None:
    life.turn(open_agent(memory), "t1", "z0")


def _evicting_turn(memory: HarnessMemory, life: Life) -> None:
    life.turn(open_agent(memory), "t1", "z1", " Please read the log.")


def _compacting_turns(memory: HarnessMemory, life: Life) -> None:
    agent = open_agent(memory)
    for n in range(4):
        life.turn(agent, "t1", f"y{n}")


def _flush(memory: HarnessMemory, life: Life) -> None:
    memory.flush(thread_id="t1")


def _consolidate(memory: HarnessMemory, life: Life) -> None:
    memory.consolidate()
    life.consolidated = True


def _forget(memory: HarnessMemory, life: Life) -> None:
    life.may_be_gone.add("t1-a0")
    memory.forget("Codeword t1-a0")
    life.forgotten.add("t1-a0")


def _save(memory: HarnessMemory, life: Life) -> None:
    memory.save("saved by hand")


def _restore(memory: HarnessMemory, life: Life) -> None:
    memory.restore()


def _twice_curated(memory: HarnessMemory, life: Life) -> None:
    _curated(memory, life)
    life.turn(open_agent(memory), "t1", "d0")
    memory.consolidate()


def _delete_thread(memory: HarnessMemory, life: Life) -> None:
    life.deleted.add("t2")
    life.may_be_gone.add("t2-b0")
    memory.checkpointer.delete_thread("t2")


def _prune(memory: HarnessMemory, life: Life) -> None:
    memory.checkpointer.prune(["t1"], strategy="keep_latest")


def _tick(memory: HarnessMemory, life: Life) -> None:
    memory.maintain()


OPERATIONS = (
    Operation(
        name="turn with its checkpoints",
        prepare=_talked,
        act=_turn,
        ends="the turn is whole or was never acknowledged; its thread goes on",
    ),
    Operation(
        name="eviction",
        prepare=_talked,
        act=_evicting_turn,
        ends="the whole result is in the log, and in its file where a placeholder names it",
    ),
    Operation(
        name="compaction",
        prepare=_talked,
        act=_compacting_turns,
        ends="every folded message is in the log and flushed before it left the state",
    ),
    Operation(
        name="flush", prepare=_unflushed, act=_flush, ends="what waited is flushed by the next tick, in one block"
    ),
    Operation(
        name="consolidation",
        prepare=_talked,
        act=_consolidate,
        ends="MEMORY.md is the old or the new one, and an acknowledged one holds facts",
    ),
    Operation(
        name="forget",
        prepare=_curated,
        act=_forget,
        ends="an acknowledged one is gone everywhere and stays gone; one that was cut off is finished by asking again",
    ),
    Operation(name="save", prepare=_talked, act=_save, ends="the line is whole or not there"),
    Operation(
        name="restore", prepare=_twice_curated, act=_restore, ends="MEMORY.md is the one before or the restored one"
    ),
    Operation(
        name="delete a thread", prepare=_talked, act=_delete_thread, ends="the thread is whole or gone, never half"
    ),
    Operation(
        name="prune checkpoints",
        prepare=_talked,
        act=_prune,
        ends="the newest state is there, and the log is untouched",
    ),
    Operation(
        name="maintenance tick", prepare=_unflushed, act=_tick, ends="the next tick finishes it without a failure"
    ),
)


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What became of one kind of trial."""

    kind: str
    tries: int
    survived: int
    """Tries in which the fault really struck and every promise held."""
    lost: tuple[str, ...]
    """Broken promises, one sentence each."""
    ends: str
    """The end state that was asserted after each try."""


def kill_at_every_call(operation: Operation, *, most: int, stride: int = 1) -> Tried:
    """End a process before each system call of an operation, one process per call.

    Args:
        operation: What it does.
        most: Most tries.
        stride: Try every so many calls.
    """
    with tempfile.TemporaryDirectory(prefix="proof-") as folder:
        template = Path(folder) / "template"
        life = _prepared(operation, template)
        tries, lost = 0, []
        for n in range(1, 10_000, stride):
            root = Path(folder) / "try"
            shutil.rmtree(root, ignore_errors=True)
            shutil.copytree(template, root)
            done, acknowledged = _child(operation, root, life, n)
            if acknowledged is None:
                acknowledged = _copied(life, root, operation)
            tries += 1
            lost += [f"{operation.name}, call {n}: {fault}" for fault in acknowledged.faults()]
            if done or tries >= most:
                break
    return Tried(
        kind=f"kill -9: {operation.name}",
        tries=tries,
        survived=tries - len({s.split(":")[0] for s in lost}),
        lost=tuple(lost),
        ends=f"{operation.ends}; {END_STATE}",
    )


def _prepared(operation: Operation, root: Path) -> Life:
    life = Life(root=root)
    with open_memory(root) as memory:
        operation.prepare(memory, life)
    return life


def _copied(life: Life, root: Path, operation: Operation) -> Life:
    """What was acknowledged before, with what the operation may have begun."""
    begun = Life(root=root)
    begun.acknowledged = {thread: list(ids) for thread, ids in life.acknowledged.items()}
    begun.consolidated = life.consolidated
    if operation.act is _forget:
        begun.may_be_gone.add("t1-a0")
    if operation.act is _delete_thread:
        begun.deleted.add("t2")
        begun.may_be_gone.add("t2-b0")
    return begun


def _child(operation: Operation, root: Path, life: Life, n: int) -> tuple[bool, Life | None]:
    """Run the operation in a child that ends before its n-th call; `True` when it ran through."""
    ours, theirs = CONTEXT.Pipe(duplex=False)
    child = CONTEXT.Process(target=_act, args=(operation.name, root, _copied(life, root, operation), n, theirs))
    child.start()
    theirs.close()
    child.join(60)
    if child.is_alive():
        child.kill()
        child.join()
    acknowledged: Life | None = None
    with contextlib.suppress(EOFError):
        acknowledged = ours.recv() if ours.poll() else None
    ours.close()
    return child.exitcode == 0, acknowledged


def _act(name: str, root: Path, life: Life, n: int, pipe: Any) -> None:
    operation = next(o for o in OPERATIONS if o.name == name)
    life.root = root
    memory = open_memory(root, system_calls=FaultyCalls(nth=n, ends_process=True))
    operation.act(memory, life)
    pipe.send(life)
    os._exit(0)


def kill_at_random(rounds: int, *, seed: int) -> Tried:
    """Kill processes at random moments of their lives, again and again over one workspace."""
    dice = random.Random(seed)
    lost: list[str] = []
    killed = 0
    for start in range(0, rounds, 20):
        with tempfile.TemporaryDirectory(prefix="proof-") as folder:
            life = Life(root=Path(folder))
            for number in range(start, min(start + 20, rounds)):
                killed += _killed_life(life, number, delay=dice.uniform(0.02, 0.6), seed=dice.randrange(10**9))
                lost += [f"round {number}: {fault}" for fault in life.faults()]
                if lost:
                    break
    return Tried(
        kind="kill -9: at random moments",
        tries=rounds,
        survived=rounds - len({s.split(":")[0] for s in lost}),
        lost=tuple(lost),
        ends=f"what was told over the pipe before the kill is there; {END_STATE}",
    )


def _killed_life(life: Life, number: int, *, delay: float, seed: int) -> int:
    ours, theirs = CONTEXT.Pipe(duplex=False)
    child = CONTEXT.Process(target=_live, args=(life.root, number, seed, theirs))
    child.start()
    theirs.close()
    heard = _hear(ours, life, until=time.monotonic() + 30, first=delay)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    for _ in _messages(ours, life):
        heard += 1
    ours.close()
    return int(child.exitcode == -signal.SIGKILL)


def _hear(pipe: Any, life: Life, *, until: float, first: float) -> int:
    """Wait for the child to begin, then as long as it has left, noting what it acknowledges."""
    pipe.poll(max(0.0, until - time.monotonic()))
    end, heard = time.monotonic() + first, 0
    while time.monotonic() < end:
        if pipe.poll(max(0.0, end - time.monotonic())):
            heard += sum(1 for _ in _messages(pipe, life, once=True))
    return heard


def _messages(pipe: Any, life: Life, *, once: bool = False) -> Iterator[str]:
    """Note what the child acknowledged before it was gone."""
    with contextlib.suppress(EOFError, OSError):
        while pipe.poll():
            kind, thread, value = pipe.recv()
            if kind == "turn":
                life.acknowledged.setdefault(thread, []).append(value)
            elif kind == "forgetting":
                life.may_be_gone.add(value)
            elif kind == "forgot":
                life.forgotten.add(value)
            elif kind == "consolidated":
                life.consolidated = True
            yield kind
            if once:
                return


def _live(root: Path, number: int, seed: int, pipe: Any) -> None:
    dice = random.Random(seed)
    memory = open_memory(root)
    agent = open_agent(memory)
    life = Life(root=root)
    pipe.send(("begun", "", ""))
    for n in range(10_000):
        thread = dice.choice(["t1", "t2", "t3"])
        extra = " Please read the log." if dice.random() < 0.2 else ""
        word = life.turn(agent, thread, f"r{number}n{n}", extra)
        pipe.send(("turn", thread, f"id-{word}"))
        chance = dice.random()
        if chance < 0.15:
            memory.consolidate()
            pipe.send(("consolidated", "", ""))
        elif chance < 0.25:
            pipe.send(("forgetting", "", word))
            memory.forget(f"Codeword {word}")
            pipe.send(("forgot", "", word))
        elif chance < 0.3:
            memory.maintain()
        elif chance < 0.35:
            memory.checkpointer.prune([thread], strategy="keep_latest")
