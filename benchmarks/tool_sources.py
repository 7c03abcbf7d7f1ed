"""What leaving tool output out of the daily logs costs, on the replays of agents at work.

By default only what user and assistant said becomes a fact, since tool output is the way in for text that asks to be remembered. Here
the tau-bench and SWE-agent runs are replayed once so and once with `sources` naming tools as well. What counts are the values that
only a tool told and that the run used later: ids, numbers, paths and names that stand in a tool's result, in nothing that was said
before it, and in a later call, answer or question. For each: is it in the daily logs, and if not, does a search of the session log
still find it?

Two curators: the model-free extractor, and one that writes down every line it is shown. The second tells what the rule itself costs,
whoever curates: what it lacks by default was never shown to it.
"""

import argparse
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from benchmarks.outcome import Outcome, Target, table
from langgraph_harness_memory import ExtractiveChatModel, FlushConfig, HarnessMemory, MemoryConfig, StorageConfig
from langgraph_harness_memory.curation.requests import material
from langgraph_harness_memory.formats.conversations import Conversation, read_conversations
from langgraph_harness_memory.testing import FrozenClock, ScriptedChatModel

SHARED = Path(__file__).parents[1] / ".." / "shared" / "data"
WITH_TOOLS = frozenset({"user", "assistant", "tool"})
DEFAULT = frozenset({"user", "assistant"})

_VALUE = re.compile(
    r"(?<![\w./-])(?=[\w./@-]*[\d_/@])[A-Za-z0-9][\w./@-]{3,60}(?<![./-])|(?<![\w])[A-Z][a-z]{3,}(?![\w])"
)
"""Ids, numbers, paths, addresses and names."""


@dataclass(kw_only=True)
class Cost:
    """What one curator keeps of one group of replays."""

    conversations: int = 0
    values: int = 0
    """Values that only a tool told and that were used later."""
    kept: int = 0
    """… that the daily logs hold by default."""
    kept_with_tools: int = 0
    """… that they hold with tools as sources."""
    in_sessions: int = 0
    """… of those the default lacks, that a search of the session log finds."""
    size: int = 0
    size_with_tools: int = 0


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="tool-sources", description=__doc__)
    parser.add_argument("--conversations", type=int, default=None, help="only the first so many of each group")
    most = parser.parse_args(argv).conversations
    replays = {name: list(_read(name))[:most] for name in ("tau-bench", "swe-agent")}
    replays = {name: conversations for name, conversations in replays.items() if conversations}
    if not replays:
        return Outcome(figures={"skipped": "the replay data is not there"})
    curators = {"rules": ExtractiveChatModel(), "every line": ScriptedChatModel(script=[_every_line], repeat=True)}
    costs = {
        f"{name}, {curator}": _cost(conversations, model)
        for name, conversations in replays.items()
        for curator, model in curators.items()
    }
    rows = [
        [
            name,
            c.conversations,
            c.values,
            c.kept / c.values,
            c.kept_with_tools / c.values,
            c.size_with_tools / c.size,
            _rest(c),
        ]
        for name, c in costs.items()
    ]
    print(
        table(
            [
                "replays, curator",
                "runs",
                "values used",
                "kept",
                "kept with tools",
                "times the size",
                "rest in sessions",
            ],
            rows,
        )
    )
    return Outcome(
        figures={
            name: {**vars(c), "cost": round((c.kept_with_tools - c.kept) / c.values, 4)} for name, c in costs.items()
        },
        targets=[
            Target(
                text=f"{name}: what the logs leave out is found in the session log",
                seen=f"{_rest(c):.1%}",
                met=_rest(c) >= 0.95,
            )
            for name, c in costs.items()
        ],
    )


def _every_line(messages: list[BaseMessage]) -> str:
    fields = material(messages) or {}
    said = (line.strip() for message in fields["messages"] for line in message["text"].split("\n"))
    return "\n".join(f"- {line}" for line in said if line) or "NO_REPLY"


def _rest(cost: Cost) -> float:
    left_out = cost.values - cost.kept
    return cost.in_sessions / left_out if left_out else 1.0


def _read(group: str) -> Iterator[Conversation]:
    for path in sorted((SHARED / group).glob("*")):
        if path.suffix in (".json", ".traj"):
            yield from read_conversations(path.read_text(encoding="utf-8"), name=path.name).conversations


def _cost(conversations: Sequence[Conversation], model: BaseChatModel) -> Cost:
    cost = Cost()
    for conversation in conversations:
        cost.conversations += 1
        wanted = used_values(conversation.messages)
        with tempfile.TemporaryDirectory(prefix="tool-sources-") as folder:
            root = Path(folder) / "workspace"
            with _memory(root, model, DEFAULT) as memory:
                memory.flush(list(conversation.messages), conversation.thread_id)
                logs = _logs(root)
                left_out = sorted(value for value in wanted if value not in logs)
                cost.in_sessions += sum(1 for value in left_out if _is_in_session(memory, value))
            with_root = Path(folder) / "with" / "workspace"
            with _memory(with_root, model, WITH_TOOLS) as memory:
                memory.flush(list(conversation.messages), conversation.thread_id)
            logs_with = _logs(with_root)
        cost.values += len(wanted)
        cost.kept += len(wanted) - len(left_out)
        cost.kept_with_tools += sum(1 for value in wanted if value in logs_with)
        cost.size += len(logs.encode())
        cost.size_with_tools += len(logs_with.encode())
    return cost


def used_values(messages: Sequence[BaseMessage]) -> frozenset[str]:
    """Return the values that only a tool told and that the run used later."""
    said: set[str] = set()
    told: set[str] = set()
    used: set[str] = set()
    for message in messages:
        values = set(_VALUE.findall(_shown(message)))
        if isinstance(message, ToolMessage):
            told |= values - said
        else:
            used |= values & told
            said |= values
    return frozenset(used)


def _shown(message: BaseMessage) -> str:
    calls = (
        json.dumps([call["args"] for call in message.tool_calls], ensure_ascii=False)
        if isinstance(message, AIMessage)
        else ""
    )
    return f"{message.text}\n{calls}"


def _memory(root: Path, model: BaseChatModel, sources: frozenset[str]) -> HarnessMemory:
    config = MemoryConfig(
        maintenance=None,
        consolidation=None,
        flush=FlushConfig(sources=sources),
        storage=StorageConfig(timezone="UTC", fsync=False),
    )
    return HarnessMemory(root, model=model, config=config, clock=FrozenClock())


def _logs(root: Path) -> str:
    lines = (
        line
        for path in sorted((root / "memory").glob("20*.md"))
        for line in path.read_text(encoding="utf-8").splitlines()
    )
    return "\n".join(line for line in lines if line.startswith("- "))


def _is_in_session(memory: HarnessMemory, value: str) -> bool:
    hits = memory.sessions.search(value, 5, tenant=None)
    return any(value in _shown(memory.sessions.read(hit.thread_id, start=hit.position)[0].message) for hit in hits)
