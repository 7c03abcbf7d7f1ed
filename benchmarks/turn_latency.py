"""How long a user waits: with a memory model that takes 20 s, beside memory switched off.

The time from the user's message to the end of the stream, for the prebuilt agent and for `create_agent` with our middleware:

* a usual turn, flushed in the background by a model that takes 20 s;
* a turn that compacts, with an instant summary model and the same memory model;
* a turn with inline flush while a consolidation is due: late by the flush alone.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage

from benchmarks.outcome import Outcome, Target, table
from langgraph_harness_memory import (
    CompactionConfig,
    FlushConfig,
    HarnessMemory,
    MemoryConfig,
    SessionSaver,
    create_memory_agent,
)
from langgraph_harness_memory.testing import ScriptedChatModel
from langgraph_harness_memory.testing.scripted import Reply

ALLOWED_MS = 50.0
TEXT = "Ann tells of her trip to Oslo, of trains, hotels and the weather in May. " * 10
SUMMARY = (
    "## SESSION INTENT\nA trip\n## SUMMARY\nAnn told of her trip to Oslo.\n## ARTIFACTS\nNone\n## NEXT STEPS\nNone"
)
FACT = "- Ann plans a trip to Oslo in May"


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="python -m benchmarks turn-latency")
    parser.add_argument("--seconds", type=float, default=20.0, help="what the memory model takes")
    parser.add_argument("--turns", type=int, default=15, help="measured turns of each kind")
    asked = parser.parse_args(argv)
    slow = timedelta(seconds=asked.seconds)
    off = usual_turns(bare, asked.turns, slow)
    doors: dict[str, Callable[..., Any]] = {"prebuilt": prebuilt, "middleware": middleware}
    rows: list[list[Any]] = [["memory off", off, 0.0]]
    figures: dict[str, float] = {"off_ms": round(off, 2)}
    targets: list[Target] = []
    for name, door in doors.items():
        for kind, measured in (
            ("usual turn", usual_turns(door, asked.turns, slow)),
            ("compacting turn", compacting_turns(door, asked.turns, slow)),
        ):
            late = measured - off
            rows.append([f"{name}, {kind}", measured, late])
            figures[f"{name}_{kind.split()[0]}_late_ms"] = round(late, 2)
            targets.append(
                Target(
                    text=f"{name}, {kind}: within {ALLOWED_MS:g} ms of memory off",
                    seen=f"{late:+.1f} ms",
                    met=late <= ALLOWED_MS,
                )
            )
        late, flush = inline_turn(door, slow)
        rows.append([f"{name}, inline flush, consolidation due", late, late - flush])
        figures[f"{name}_inline_beyond_flush_ms"] = round(late - flush, 2)
        targets.append(
            Target(
                text=f"{name}: with inline flush and consolidation due, late by the flush alone",
                seen=f"{late / 1000:.2f} s for a flush of {flush / 1000:.2f} s",
                met=late - flush <= 1_000 and late >= flush,
            )
        )
    print(table(["", "ms", "late by ms"], rows))
    return Outcome(figures=figures, targets=targets)


def bare(folder: Path, *, slow: timedelta, config: MemoryConfig) -> tuple[Any, None]:
    return create_agent(instant(), checkpointer=SessionSaver(folder / "w")), None


def prebuilt(folder: Path, *, slow: timedelta, config: MemoryConfig) -> tuple[Any, HarnessMemory]:
    memory = HarnessMemory(folder / "w", model=curator(slow), config=config)
    return create_memory_agent(instant(), memory=memory), memory


def middleware(folder: Path, *, slow: timedelta, config: MemoryConfig) -> tuple[Any, HarnessMemory]:
    memory = HarnessMemory(folder / "w", model=curator(slow), config=config)
    return create_agent(instant(), middleware=memory.middleware(), checkpointer=memory.checkpointer), memory


def instant() -> ScriptedChatModel:
    return ScriptedChatModel(script=["It will be fine."], repeat=True)


def curator(slow: timedelta) -> ScriptedChatModel:
    """Flushes and consolidates, and takes its time."""

    def answer(messages: list[Any]) -> Reply:
        is_flush = '"task": "flush"' in str(messages[-1].text)
        return Reply(text=FACT if is_flush else f"# Memory\n\n{FACT}", delay=slow)

    return ScriptedChatModel(script=[answer], repeat=True)


def settings(**groups: Any) -> MemoryConfig:
    flush = FlushConfig(min_new_tokens=0, drain_timeout=timedelta(milliseconds=1))
    return MemoryConfig(**{"flush": flush, **groups})


def usual_turns(door: Callable[..., Any], turns: int, slow: timedelta) -> float:
    """Return the median milliseconds from message to end of stream; each turn finds the flush of earlier ones under way."""
    config = settings(compaction=CompactionConfig(trigger_messages=1_000, model=instant()))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        agent, memory = door(Path(folder), slow=slow, config=config)
        stream(agent, "warm up")
        measured = statistics.median(stream(agent, f"{n}: {TEXT}") for n in range(turns))
        if memory is not None:
            memory.close()
    return measured


def compacting_turns(door: Callable[..., Any], turns: int, slow: timedelta) -> float:
    """Return the median milliseconds of turns that compact."""
    summariser = ScriptedChatModel(script=[SUMMARY], repeat=True)
    events: list[str] = []
    config = settings(compaction=CompactionConfig(trigger_messages=8, keep_messages=3, model=summariser))
    times: list[float] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        agent, memory = door(Path(folder), slow=slow, config=config)
        memory._parts.teller._on_event = lambda event: events.append(type(event).__name__)
        stream(agent, "warm up")
        for n in range(turns * 6):
            before = events.count("Compacted")
            taken = stream(agent, f"{n}: {TEXT}")
            if events.count("Compacted") > before:
                times.append(taken)
            if len(times) == turns:
                break
        memory.close()
    return statistics.median(times[1:])


def inline_turn(door: Callable[..., Any], slow: timedelta) -> tuple[float, float]:
    """Return the milliseconds of one turn that flushes inline while a consolidation is due, and of the flush."""
    config = settings(flush=FlushConfig(mode="inline"))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        agent, memory = door(Path(folder), slow=slow, config=config)
        memory.workspace.append("memory/2026-01-01.md", f"{FACT}\n".encode())
        taken = stream(agent, TEXT)
        memory.stop(timedelta(milliseconds=1))
    return taken, slow.total_seconds() * 1000


def stream(agent: Any, text: str) -> float:
    start = time.perf_counter()
    for _ in agent.stream(
        {"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "t"}}, stream_mode="messages"
    ):
        pass
    return (time.perf_counter() - start) * 1000
