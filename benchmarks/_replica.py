"""One process of an agent service on a shared Postgres: a replica that serves turns, or the maintenance beside it.

python -m benchmarks._replica '{"role": "serve", …}'       prints one JSON line when it is done
"""

import json
import sys
import threading
import time
from datetime import timedelta
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_harness_memory import (
    CompactionConfig,
    ConsolidationConfig,
    ExtractiveChatModel,
    FlushConfig,
    HarnessMemory,
    MaintenanceConfig,
    MemoryConfig,
    create_memory_agent,
)
from langgraph_harness_memory.events import Compacted, Consolidated, Event
from langgraph_harness_memory.workspace import Workspace

INTERVAL = timedelta(seconds=4)
"""Between two ticks of maintenance; hours in a real service."""


class Answering(BaseChatModel):
    """A chat model that answers at once."""

    @property
    def _llm_type(self) -> str:
        return "answering"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Noted."))])

    def bind_tools(self, *_: Any, **__: Any) -> "Answering":
        return self


class Heard:
    """Events of this process, by kind."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.consolidated: list[tuple[str, float]] = []
        self.reasons: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> None:
        with self._lock:
            kind = type(event).__name__
            self.counts[kind] = self.counts.get(kind, 0) + 1
            if isinstance(event, Consolidated):
                self.consolidated.append((event.tenant or "", time.time()))
            elif not isinstance(event, Compacted) and hasattr(event, "reason") and len(self.reasons) < 20:
                self.reasons.append(f"{kind}: {event.reason}")


def config(*, curates: bool = True) -> MemoryConfig:
    """Compact every few turns, flush in the background; maintenance is its own process."""
    return MemoryConfig(
        compaction=CompactionConfig(trigger_messages=12, keep_messages=4, trigger_tokens=0, trigger_fraction=0),
        flush=FlushConfig(min_new_tokens=0, drain_timeout=timedelta(seconds=120)),
        consolidation=ConsolidationConfig(max_memory_tokens=4_000) if curates else None,
        maintenance=MaintenanceConfig(
            interval=INTERVAL, min_gap=INTERVAL, autostart=False, lease=timedelta(seconds=20)
        ),
    )


def said(user: int, process: int, turn: int) -> str:
    """What a user says in a turn: a fact that names user, process and turn, and can stand in nobody else's memory."""
    return f"I prefer the colour shade-u{user}-p{process}-t{turn} for project number {turn}."


def thread_of(user: int, process: int) -> str:
    """Each user has a conversation with every replica, so that replicas meet in the user's memory."""
    return f"user{user}-with{process}"


def _config_of(user: int, process: int) -> Any:
    return {"configurable": {"thread_id": thread_of(user, process), "user_id": f"user{user}"}}


def plain_agent(checkpointer: BaseCheckpointSaver[Any]) -> Any:
    """The same turn without memory, over the same checkpointer."""
    model = Answering()
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_edge(START, "model")
    graph.add_edge("model", END)
    return graph.compile(checkpointer=checkpointer)


def serve(job: dict[str, Any], workspace: Workspace, heard: Heard) -> dict[str, Any]:
    """Serve every user's turns, one after the other, as fast as they go."""
    with_memory: list[float] = []
    without: list[float] = []
    strangers = 0
    process = job["process"]
    with HarnessMemory(workspace, model=ExtractiveChatModel(), config=config(), on_event=heard) as memory:
        agent = create_memory_agent(Answering(), memory=memory)
        plain = plain_agent(memory.checkpointer)
        _warm_up(agent, plain, memory, process)
        began = time.perf_counter()
        for turn in range(job["turns"]):
            for user in range(job["users"]):
                asked = {"messages": [("user", said(user, process, turn))]}
                start = time.perf_counter()
                agent.invoke(asked, _config_of(user, process))
                with_memory.append(time.perf_counter() - start)
                if job["baseline"] and user % 5 == 0:
                    start = time.perf_counter()
                    plain.invoke(asked, {"configurable": {"thread_id": f"plain{user}-{process}"}})
                    without.append(time.perf_counter() - start)
                if (turn + user) % 7 == 0:
                    found = memory.index.for_tenant(f"user{user}").search("colour shade project", 20)
                    strangers += sum(f"-u{user}-" not in hit.content for hit in found if "shade-" in hit.content)
        served = time.perf_counter() - began
    return {
        "process": process,
        "served_s": served,
        "closed_s": time.perf_counter() - began,
        "with_memory": with_memory,
        "without": without,
        "strangers": strangers,
    }


def _warm_up(agent: Any, plain: Any, memory: HarnessMemory, process: int) -> None:
    """Make tables and connections, and import what is lazy, before the clock runs."""
    agent.invoke(
        {"messages": [("user", "hello")]}, {"configurable": {"thread_id": f"warm{process}", "user_id": "warm"}}
    )
    plain.invoke({"messages": [("user", "hello")]}, {"configurable": {"thread_id": f"cold{process}"}})
    memory.index.for_tenant("warm").search("hello", 1)


def maintain(job: dict[str, Any], workspace: Workspace, heard: Heard) -> dict[str, Any]:
    """Look after the workspace whenever it is due, until standard input ends."""
    stopped = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stopped.set()), daemon=True).start()
    ticks = 0
    failures: list[Any] = []
    with HarnessMemory(workspace, model=ExtractiveChatModel(), config=config(), on_event=heard) as memory:
        while not stopped.wait(0.2):
            report = memory.maintain(force=False)
            ticks += report["ran"]
            failures += report["failures"]
    return {"ticks": ticks, "failures": failures}


def main() -> None:
    from langgraph_harness_memory.workspace.postgres import PostgresWorkspace

    job = json.loads(sys.argv[1])
    heard = Heard()
    with PostgresWorkspace.from_conn_string(job["url"], schema=job["schema"]) as workspace:
        done = {"serve": serve, "maintain": maintain}[job["role"]](job, workspace, heard)
    print(json.dumps({**done, "events": heard.counts, "consolidated": heard.consolidated, "reasons": heard.reasons}))


if __name__ == "__main__":
    main()
