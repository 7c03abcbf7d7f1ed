"""What memory adds to a whole turn: the prebuilt agent and `create_agent` with our middleware against the bare agent.

Each turn is one user message and one answer of an instant model on a thread whose log holds 100, 1 000 or 10 000 messages
and whose live state is at most `trigger_messages` long, with `SessionSaver` on both sides and no compaction in the measured
turns. Turns of the three agents alternate, so that a noisy machine hits all alike; medians are compared.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage

from benchmarks.outcome import Outcome, Target, table
from langgraph_harness_memory import HarnessMemory, MaintenanceConfig, MemoryConfig, SessionSaver, create_memory_agent
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.testing import ScriptedChatModel

SIZES = (100, 1_000, 10_000)
"""Messages in the log of the thread."""

LIVE = 8
"""Messages in the live state when the measured turns begin; they end below the 50 at which compaction is due."""

TEXT = "Ann tells of her trip to Oslo, of trains, hotels and the weather in May. " * 10
ALLOWED_MS = 5.0


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="python -m benchmarks agent-turn")
    parser.add_argument("--turns", type=int, default=12, help="measured turns per agent and thread")
    parser.add_argument("--threads", type=int, default=5, help="threads per size")
    asked = parser.parse_args(argv)
    rows, figures, targets = [], {}, []
    extra: dict[str, list[float]] = {"prebuilt": [], "middleware": []}
    for size in SIZES:
        medians = measure(size, turns=asked.turns, threads=asked.threads)
        for name, values in extra.items():
            values.append(medians[name] - medians["bare"])
        cpu = [medians[f"{name}_cpu"] - medians["bare_cpu"] for name in extra]
        rows.append(
            [f"{size:,}", *(medians[name] for name in ("bare", *extra)), *(v[-1] for v in extra.values()), *cpu]
        )
        figures[str(size)] = {name: round(value, 3) for name, value in medians.items()}
    header = ["messages in the log", "bare ms", "prebuilt ms", "middleware ms", "+prebuilt", "+middleware"]
    print(table([*header, "+prebuilt cpu", "+middleware cpu"], rows))
    for name, values in extra.items():
        targets.append(
            Target(
                text=f"{name}: overhead under {ALLOWED_MS:g} ms median",
                seen=", ".join(f"{value:.2f} ms" for value in values),
                met=max(values) < ALLOWED_MS,
            )
        )
        growth = values[-1] - values[0]
        targets.append(
            Target(
                text=f"{name}: flat from {SIZES[0]:,} to {SIZES[-1]:,} messages (at most 1.5 ms more)",
                seen=f"{growth:+.2f} ms",
                met=growth <= 1.5,
            )
        )
    return Outcome(figures={"median_ms": figures}, targets=targets)


def measure(size: int, *, turns: int, threads: int) -> dict[str, float]:
    """Return the median milliseconds of a turn by agent, and those of the processor alone, which other work does not change."""
    with tempfile.TemporaryDirectory() as folder:
        config = MemoryConfig(maintenance=MaintenanceConfig(autostart=False))
        curator = ScriptedChatModel(script=["NO_REPLY"], repeat=True)
        memories = [HarnessMemory(Path(folder) / name / "w", model=curator, config=config) for name in ("a", "b")]
        agents: dict[str, Any] = {
            "bare": create_agent(model(), checkpointer=SessionSaver(Path(folder) / "bare")),
            "prebuilt": create_memory_agent(model(), memory=memories[0]),
            "middleware": create_agent(
                model(), middleware=memories[1].middleware(), checkpointer=memories[1].checkpointer
            ),
        }
        for n in range(threads):
            for name, agent in agents.items():
                fill(agent, name, f"t{n}", size, memories)
        times: dict[str, list[float]] = {name: [] for name in agents}
        busy: dict[str, list[float]] = {name: [] for name in agents}
        for turn in range(turns + 2):
            for n in range(threads):
                for name, agent in agents.items():
                    given = {"messages": [HumanMessage(f"{turn}: {TEXT}")]}
                    start, cpu = time.perf_counter(), time.process_time()
                    agent.invoke(given, {"configurable": {"thread_id": f"t{n}"}})
                    if turn >= 2:
                        times[name].append((time.perf_counter() - start) * 1000)
                        busy[name].append((time.process_time() - cpu) * 1000)
            for memory in memories:
                memory._parts.settle()  # the flush behind one turn does not compete with the next
        for memory in memories:
            memory.close()
        cpu = {f"{name}_cpu": statistics.median(values) for name, values in busy.items()}
        return {name: statistics.median(values) for name, values in times.items()} | cpu


def model() -> ScriptedChatModel:
    return ScriptedChatModel(script=["It will be fine."], repeat=True)


def fill(agent: Any, name: str, thread_id: str, size: int, memories: list[HarnessMemory]) -> None:
    """Give a thread a log of a size and a short live state, as after many compactions; all of it flushed."""
    said = [(HumanMessage if at % 2 == 0 else AIMessage)(f"{at}: {TEXT}", id=f"m{at}") for at in range(size)]
    log = agent.checkpointer.log
    thread = ThreadRef(thread_id=thread_id)
    log.mark_flushed(thread, log.append(thread, said).values())
    node = {"bare": "model", "prebuilt": "model", "middleware": "model"}[name]
    agent.update_state({"configurable": {"thread_id": thread_id}}, {"messages": said[-LIVE:]}, as_node=node)
    agent.invoke({"messages": [HumanMessage("hello")]}, {"configurable": {"thread_id": thread_id}})
    for memory in memories:
        memory._parts.settle()
