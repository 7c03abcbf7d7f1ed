"""One tick of maintenance as a compiled LangGraph graph.

    START ► claim ► recover ► consolidate ► expire ► prune ► reindex ► release ► END
              └─ not due, or another process is at it ─────────────────────────► END

Recover comes first, since what a crash cut off is new to consolidation; expiry after consolidation, since a log that
was never merged must not be archived. A step that fails is reported and the next one runs. Progress lies in the
workspace, so that the graph needs no checkpointer: invoke it, put it into `langgraph.json`, or make it a node.
"""

from collections.abc import Callable
from typing import Any

from langchain_core.runnables import Runnable
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from langgraph_harness_memory.events import MaintenanceFailed
from langgraph_harness_memory.maintenance.claiming import claim, release, renew
from langgraph_harness_memory.maintenance.report import STEPS, StepFailure, StepName, TickInput, TickReport, TickState
from langgraph_harness_memory.maintenance.tasks import TASKS, Task, Upkeep
from langgraph_harness_memory.outcome import finish_in_thread
from langgraph_harness_memory.performers import Twins, aattempt, attempt
from langgraph_harness_memory.steps import Failed, adrive, drive

Update = dict[str, Any]


def build_maintenance_graph(upkeep: Upkeep) -> CompiledStateGraph[TickState, None, TickInput, TickReport]:
    """Compile the graph of one tick.

    Args:
        upkeep: What it looks after.
    """
    graph = StateGraph(TickState, input_schema=TickInput, output_schema=TickReport)
    graph.add_node("claim", _blocking("claim", lambda state: claim(upkeep, state)))
    graph.add_node("release", _blocking("release", lambda state: release(upkeep, state)))
    for name in STEPS:
        graph.add_node(name, _step(upkeep, name, TASKS[name]))
    graph.add_edge(START, "claim")
    graph.add_conditional_edges("claim", lambda state: STEPS[0] if state["ran"] else END, [STEPS[0], END])
    for name, following in zip(STEPS, [*STEPS[1:], "release"], strict=True):
        graph.add_edge(name, following)
    graph.add_edge("release", END)
    return graph.compile(name="memory_maintenance")


def _blocking(name: str, work: Callable[[TickState], Update]) -> Runnable[TickState, Update]:
    async def awork(state: TickState) -> Update:
        return await finish_in_thread(work, state)

    return Twins(name, work, awork)


def _step(upkeep: Upkeep, name: StepName, task: Task) -> Runnable[TickState, Update]:
    """Return the node of one step: what it has to do is gathered off the loop, then its rule is driven."""

    def work(state: TickState) -> Update:
        return drive(task.rule(upkeep, task.gather(upkeep, state)), upkeep.performer().perform)

    async def awork(state: TickState) -> Update:
        gathered = await finish_in_thread(task.gather, upkeep, state)
        return await adrive(task.rule(upkeep, gathered), upkeep.performer().aperform)

    def run(state: TickState) -> Update:
        if not _is_wanted(state, name):
            return {}
        try:
            renew(upkeep, state)
            return _update(upkeep, name, state, attempt(lambda: work(state)))
        except BaseException:  # a run that is cut off must not keep others out until its claim is over
            release(upkeep, state)
            raise

    async def arun(state: TickState) -> Update:
        if not _is_wanted(state, name):
            return {}
        try:
            await finish_in_thread(renew, upkeep, state)
            return _update(upkeep, name, state, await aattempt(awork(state)))
        except BaseException:  # the same
            await finish_in_thread(release, upkeep, state)
            raise

    return Twins(name, run, arun)


def _is_wanted(state: TickState, name: StepName) -> bool:
    steps = state.get("steps")
    return steps is None or name in steps


def _update(upkeep: Upkeep, name: StepName, state: TickState, done: Update | Failed) -> Update:
    """Return what a step adds to the report, and tell each failure."""
    if isinstance(done, Failed):
        done = {"failures": [StepFailure(step=name, tenant=None, reason=done.reason)]}
    failures: list[StepFailure] = done.get("failures", [])
    for failure in failures:
        upkeep.teller.tell(MaintenanceFailed(step=name, reason=failure["reason"], tenant=failure["tenant"]))
    return {**done, "failures": [*state["failures"], *failures]}
