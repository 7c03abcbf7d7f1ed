"""A memory that is lived in, and the promises that must hold of what is left of it.

`Life` holds what was said, what was acknowledged and what was forgotten; `Life.faults` opens the workspace as the next
process would and lists every promise that is broken. The models are functions of what they are asked, so that each message
has exactly one fact and every fact can be counted.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool

from langgraph_harness_memory import (
    CompactionConfig,
    FlushConfig,
    HarnessMemory,
    LocalWorkspace,
    MaintenanceConfig,
    MemoryConfig,
    ToolResultEvictionConfig,
    create_memory_agent,
)
from langgraph_harness_memory.clock import Clock, SystemClock
from langgraph_harness_memory.curation.requests import material
from langgraph_harness_memory.formats import daily_log
from langgraph_harness_memory.formats.forms import form_of
from langgraph_harness_memory.testing import Reply, ScriptedChatModel
from langgraph_harness_memory.workspace.paths import TEMPORARY

SUMMARY = "## SESSION INTENT\nTalk.\n\n## SUMMARY\nCodewords were told.\n\n## ARTIFACTS\nNone\n\n## NEXT STEPS\nNone"
END_STATE = (
    "each acknowledged message once in its log, each fact in one block, nothing left unflushed, the last answer in the state, "
    "MEMORY.md whole, what was forgotten gone from files and index, no temporary file left"
)
"""What `Life.faults` asserts of whatever is left, in the order in which it looks."""

FACT = re.compile(r"Codeword (\S+) belongs to item\S+")


class LaterClock(SystemClock):
    """An hour later: a claim that a killed process left on the workspace is over."""

    def now(self) -> datetime:
        return super().now() + timedelta(hours=1)


@tool
def read_log(size: int = 3_000) -> str:
    """Read a long log."""
    return "HEAD" + "x" * size + "TAIL"


def answer_as_agent(messages: list[BaseMessage]) -> Any:
    """Call the tool when the user asks for the log, else take note."""
    asks = isinstance(messages[-1], HumanMessage) and "read the log" in str(messages[-1].content)
    return Reply(calls=[("read_log", {})]) if asks else "Noted."


def answer_as_curator(messages: list[BaseMessage]) -> str:
    """Write down what the user said; merge by keeping every line; summarise in four sections."""
    asked = material(messages)
    if asked is None:
        return SUMMARY
    if asked["task"] == "flush":
        facts = [FACT.search(m["text"]) for m in asked["messages"] if m["role"] == "user"]
        return "\n".join(f"- {fact[0]}" for fact in facts if fact) or "NO_REPLY"
    kept = [line for line in asked["memory"].split("\n") if line.startswith("- ")]
    return "# Memory\n\n" + "\n".join(dict.fromkeys([*kept, *(f"- {line['text'][:600]}" for line in asked["new"])]))


def curator() -> ScriptedChatModel:
    """The model that summarises, flushes and consolidates."""
    return ScriptedChatModel(script=[answer_as_curator], repeat=True)


def settings(**groups: Any) -> MemoryConfig:
    """Small limits, so that every part works within a few turns; nothing runs in the background."""
    defaults: dict[str, Any] = {
        "compaction": CompactionConfig(trigger_messages=8, keep_messages=3, model=curator()),
        "eviction": ToolResultEvictionConfig(max_result_chars=1_000, preview_chars=50),
        "flush": FlushConfig(mode="inline"),
        "maintenance": MaintenanceConfig(autostart=False),
    }
    return MemoryConfig(**{**defaults, **groups})


def open_memory(
    root: Path,
    *,
    system_calls: Any = None,
    model: Any = None,
    config: MemoryConfig | None = None,
    clock: Clock | None = None,
    on_event: Any = None,
) -> HarnessMemory:
    """Open the memory in `root / "parent" / "workspace"`."""
    folder = root / "parent" / "workspace"
    calls = {} if system_calls is None else {"system_calls": system_calls}
    workspace = LocalWorkspace(folder, clock=clock, **calls)
    return HarnessMemory(
        workspace, model=model or curator(), config=config or settings(), clock=clock, on_event=on_event
    )


def open_agent(memory: HarnessMemory, **options: Any) -> Any:
    """Build the agent that the life is led with."""
    model = ScriptedChatModel(script=[answer_as_agent], repeat=True)
    return create_memory_agent(model, [read_log], memory=memory, **options)


def on(thread: str) -> Any:
    """Name a thread."""
    return {"configurable": {"thread_id": thread}}


@dataclass
class Life:
    """What was said to a memory, and what it acknowledged."""

    root: Path
    acknowledged: dict[str, list[str]] = field(default_factory=dict)
    """By thread, the ids of the user messages whose run returned."""
    forgotten: set[str] = field(default_factory=set)
    """Codewords whose forgetting was acknowledged."""
    deleted: set[str] = field(default_factory=set)
    """Threads whose deletion was begun; they are whole or gone."""
    may_be_gone: set[str] = field(default_factory=set)
    """Codewords whose forgetting was begun."""
    consolidated: bool = False
    """A consolidation was acknowledged."""
    keeps_state: bool = True
    """The agent's checkpoints are ours."""

    def turn(self, agent: Any, thread: str, name: str, extra: str = "") -> str:
        """Say one fact and note that the run returned.

        Returns:
            The codeword.
        """
        word = f"{thread}-{name}"
        text = f"Codeword {word} belongs to item{name}.{extra}"
        agent.invoke({"messages": [HumanMessage(text, id=f"id-{word}")]}, on(thread))
        self.acknowledged.setdefault(thread, []).append(f"id-{word}")
        return word

    def faults(self, **opening: Any) -> list[str]:
        """Open what is left as the next process would, let maintenance recover, and list every broken promise."""
        memory = open_memory(self.root, **{"clock": LaterClock(), **opening})
        try:
            return [*self._recovers(memory), *self._keeps(memory)]
        finally:
            memory.close()

    def _recovers(self, memory: HarnessMemory) -> Iterator[str]:
        report = memory.maintain()
        yield from (f"a tick fails at {f['step']}: {f['reason']}" for f in report["failures"])

    def _keeps(self, memory: HarnessMemory) -> Iterator[str]:
        logs = self._logs(memory)
        said: Counter[str] = Counter()
        agent = open_agent(memory)
        for info in memory.sessions.threads():
            logged = memory.sessions.read(info.thread_id)
            ids = Counter(entry.message.id for entry in logged)
            yield from (f"{i} stands {n} times in the session log" for i, n in ids.items() if n > 1)
            yield from self._flushed_once(info.thread_id, logs)
            if info.unflushed:
                yield f"{info.unflushed} messages of {info.thread_id} are never flushed"
            said.update(
                found[1] for e in logged if e.message.type == "human" and (found := FACT.search(str(e.message.content)))
            )
            if self.keeps_state:
                yield from self._state_stands(agent, info.thread_id)
        yield from self._acknowledged_stand(memory)
        yield from self._facts_stand(memory, said, logs)
        yield from (f"{path} is left over" for path in _litter(memory, self.root))

    def _logs(self, memory: HarnessMemory) -> dict[str, str]:
        found = {}
        for info in memory.workspace.files("memory"):
            if daily_log.day_of(info.path) is not None:
                stored = memory.workspace.read(info.path)
                found[info.path] = stored.data.decode("utf-8", "replace") if stored else ""
        return found

    def _flushed_once(self, thread: str, logs: dict[str, str]) -> Iterator[str]:
        blocks: Counter[int] = Counter()
        for text in logs.values():
            seen = set()
            for section in daily_log.parse(text):
                heading = section.heading
                if heading and heading.session == thread and heading.positions not in seen:
                    seen.add(heading.positions)
                    blocks.update(heading.positions)
        yield from (f"position {p} of {thread} stands in {n} blocks" for p, n in blocks.items() if n > 1)

    def _state_stands(self, agent: Any, thread: str) -> Iterator[str]:
        acknowledged = self.acknowledged.get(thread, [])
        messages: list[BaseMessage] = agent.get_state(on(thread)).values.get("messages", [])
        if acknowledged and thread not in self.deleted:
            if not messages:
                yield f"the checkpoints of {thread} are gone"
            # Where the last questions were all cut off, the answers before them may stand in the summary alone.
            elif not any(isinstance(m, AIMessage) or form_of(m) == "summary" for m in messages):
                yield f"the last answer of {thread} is not in its state"

    def _acknowledged_stand(self, memory: HarnessMemory) -> Iterator[str]:
        for thread, ids in self.acknowledged.items():
            logged = {entry.message.id for entry in memory.sessions.read(thread)}
            missing = [i for i in ids if i not in logged]
            if missing and not (thread in self.deleted and len(missing) == len(ids)):
                yield f"{thread}: acknowledged messages {missing} are not in the session log"

    def _facts_stand(self, memory: HarnessMemory, said: Counter[str], logs: dict[str, str]) -> Iterator[str]:
        written = Counter(found[1] for text in logs.values() for found in FACT.finditer(text))
        for word in said:
            if word in self.may_be_gone:
                continue
            if written[word] != 1:
                yield f"the fact {word} stands {written[word]} times in the daily logs"
        curated = memory.workspace.read("MEMORY.md")
        text = "" if curated is None else curated.data.decode("utf-8", "replace")
        bullets = [line for line in text.splitlines() if line.startswith("- ")]
        yield from (f"MEMORY.md holds half a line: {b!r}" for b in bullets if not FACT.search(b) and "hand" not in b)
        if self.consolidated and not bullets:
            yield "MEMORY.md is empty"
        gone = self.forgotten & (set(written) | {found[1] for found in FACT.finditer(text)})
        yield from (f"{word} was forgotten and is back" for word in sorted(gone))
        for word in sorted(self.forgotten):
            found = memory.index.search(f"Codeword {word}", 5)
            hits = [hit for hit in found if word in {fact[1] for fact in FACT.finditer(hit.content)}]
            yield from (f"{word} was forgotten and is found in {hit.path}" for hit in hits)


def _litter(memory: HarnessMemory, root: Path) -> list[str]:
    """Temporary files that are still there after the next write to their folder, an hour later."""
    folder = root / "parent" / "workspace"
    for path in _temporary(folder):
        probe = (path.parent.relative_to(folder) / "probe.md").as_posix()
        memory.workspace.replace(probe, b"")
        memory.workspace.delete(probe)
    return [path.name for path in _temporary(folder)]


def _temporary(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if TEMPORARY.fullmatch(path.name)]


Act = Callable[[HarnessMemory, Life], None]
