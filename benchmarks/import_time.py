"""What the first line of a program costs: this package's import beside langgraph's own.

Each import runs in fresh interpreters, in turn with the others, so that a busy moment of the machine hits all alike; byte
code is compiled beforehand, as pip does it. Wall clock is the median, CPU the least of all rounds, in milliseconds. The
package is judged by the median difference to langgraph within a round; `HarnessMemory`, whose import takes long enough to
be interrupted, by the CPU that it takes at least above langgraph. `openai` and `tiktoken` must not be loaded by any of them.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from typing import Any

from benchmarks.outcome import Outcome, Target, table

ABOVE_MS = 100.0
"""At most so much above langgraph's own import."""

UNWANTED = ("openai", "tiktoken", "langchain", "langchain_openai", "numpy", "psycopg", "opentelemetry")

LANGGRAPH = "from langgraph.graph import StateGraph"

IMPORTS = {
    "langgraph": LANGGRAPH,
    "package": "import langgraph_harness_memory",
    "memory": "from langgraph_harness_memory import HarnessMemory",
    "agent": "from langgraph_harness_memory import HarnessMemory, create_memory_agent",
    "langgraph and agent": f"{LANGGRAPH}; from langgraph_harness_memory import HarnessMemory, create_memory_agent",
    "memory, built": "from langgraph_harness_memory import HarnessMemory; HarnessMemory('.')",
    "index": "from langgraph_harness_memory import MemoryIndex",
}

CHILD = """
import json, sys, time
wall, cpu = time.perf_counter(), time.process_time()
{statement}
figures = [(time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000]
print(json.dumps([figures, [name for name in {unwanted!r} if name in sys.modules]]))
"""


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="import-time")
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as compiled:
        return judged(options.rounds, compiled)


def judged(rounds: int, compiled: str) -> Outcome:
    for statement in IMPORTS.values():
        measured(statement, compiled)
    walls: dict[str, list[float]] = {name: [] for name in IMPORTS}
    cpus: dict[str, list[float]] = {name: [] for name in IMPORTS}
    loaded: dict[str, list[str]] = {}
    for _ in range(rounds):
        for name, statement in IMPORTS.items():
            (wall, cpu), loaded[name] = measured(statement, compiled)
            walls[name].append(wall)
            cpus[name].append(cpu)
    above = {name: median_difference(walls[name], walls["langgraph"]) for name in IMPORTS}
    cpu_above = {name: min(cpus[name]) - min(cpus["langgraph"]) for name in IMPORTS}
    rows = [
        [
            name,
            statistics.median(walls[name]),
            min(cpus[name]),
            above[name],
            cpu_above[name],
            ", ".join(loaded[name]) or "-",
        ]
        for name in IMPORTS
    ]
    print(table(["import", "ms", "CPU ms", "above langgraph", "CPU above", "loaded"], rows))
    return Outcome(
        figures=figures(walls, cpus, above, cpu_above),
        targets=targets(above, cpu_above, loaded, min(cpus["langgraph"])),
    )


def targets(
    above: dict[str, float], cpu_above: dict[str, float], loaded: dict[str, list[str]], langgraph: float
) -> list[Target]:
    heavy = sorted(
        {f"{name} by {who}" for who, names in loaded.items() for name in names if name in ("openai", "tiktoken")}
    )
    bar = Target(
        text=f"{IMPORTS['package']}: at most {ABOVE_MS:.0f} ms above langgraph's own import",
        seen=f"{above['package']:+.0f} ms",
        met=above["package"] <= ABOVE_MS,
    )
    touched = Target(
        text=f"{IMPORTS['memory']}: at most {ABOVE_MS:.0f} ms of CPU above langgraph's own import",
        seen=f"{cpu_above['memory']:+.0f} ms, {cpu_above['memory'] / langgraph:.0%} of langgraph's {langgraph:,.0f} ms",
        met=cpu_above["memory"] <= ABOVE_MS,
    )
    return [
        bar,
        touched,
        Target(text="neither openai nor tiktoken loaded", seen=", ".join(heavy) or "none", met=not heavy),
    ]


def figures(
    walls: dict[str, list[float]], cpus: dict[str, list[float]], above: dict[str, float], cpu_above: dict[str, float]
) -> dict[str, Any]:
    return {
        name: {
            "ms": round(statistics.median(walls[name])),
            "cpu_ms": round(min(cpus[name])),
            "above_langgraph_ms": round(above[name]),
            "cpu_above_langgraph_ms": round(cpu_above[name]),
        }
        for name in walls
    }


def median_difference(mine: list[float], theirs: list[float]) -> float:
    return statistics.median(a - b for a, b in zip(mine, theirs, strict=True))


def measured(statement: str, compiled: str) -> tuple[list[float], list[str]]:
    """Run an import in an interpreter of its own; return its wall clock and CPU in ms, and what it loaded of the unwanted."""
    code = CHILD.format(statement=statement, unwanted=UNWANTED)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = compiled
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    answer: tuple[list[float], list[str]] = json.loads(ran.stdout)
    return answer


if __name__ == "__main__":
    raise SystemExit(0 if main(sys.argv[1:]).met else 1)
