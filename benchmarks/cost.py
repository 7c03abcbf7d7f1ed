"""What memory costs and saves over recorded conversations: internal calls and tokens, net saving, and the cache's prefix.

Every conversation of the data folder is led through the prebuilt agent: tau-bench, SWE-agent, Claude Code and LangChain
dumps message by message, LoCoMo session by session, each session a thread of its own. Shown beside it and not judged: the
same LoCoMo conversations with all their sessions in one thread, as in a chat that is taken up again. The agent's answers
are the recorded ones; the offline extractor summarises, flushes and consolidates, and its requests are counted as a
model's would be.

    own        tokens of the agent's requests and answers, as they were sent
    internal   tokens of the memory's requests and answers
    plain      tokens of the same requests with the whole history in each
    prefix     share of a request that is byte for byte the beginning of the one before, in requests after no compaction
"""

import argparse
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import PrivateAttr

from benchmarks import _locomo
from benchmarks.outcome import Outcome, Target, table
from langgraph_harness_memory import (
    CompactionConfig,
    ExtractiveChatModel,
    FlushConfig,
    HarnessMemory,
    MaintenanceConfig,
    MemoryConfig,
    StorageConfig,
    create_memory_agent,
)
from langgraph_harness_memory.cli.recorded import RecordedChatModel
from langgraph_harness_memory.cli.replaying import replay
from langgraph_harness_memory.conversation.tokens import TokenCounter
from langgraph_harness_memory.formats.conversations import Conversation, read_conversations
from langgraph_harness_memory.formats.forms import form_of

DATA = Path(__file__).parents[1] / ".." / "shared" / "data"
ALLOWED = 0.15
LEAST_PREFIX = 0.95
ONE_THREAD = "locomo, one thread"


@dataclass
class Spent:
    """What one group of conversations cost."""

    conversations: int = 0
    turns: int = 0
    requests: int = 0
    own: int = 0
    plain: int = 0
    calls: dict[str, int] = field(default_factory=dict)
    internal: dict[str, int] = field(default_factory=dict)
    shares: list[float] = field(default_factory=list)
    plain_shares: list[float] = field(default_factory=list)
    saved: int = 0
    """Conversations that cost less with memory than without."""

    @property
    def inside(self) -> int:
        return sum(self.internal.values())

    @property
    def part(self) -> float:
        return self.inside / self.own if self.own else 0.0

    @property
    def prefix(self) -> float:
        """The kept prefix in relation to what it is without memory."""
        plain = sum(self.plain_shares)
        return sum(self.shares) / plain if plain else 1.0


class CountedExtractor(ExtractiveChatModel):
    """The offline extractor, with a count of what it is asked."""

    _spent: list[tuple[str, int]] = PrivateAttr(default_factory=list)

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        result = super()._generate(messages, *args, **kwargs)
        text = "\n".join(str(message.text) for message in messages)
        flushes, merges = '"task": "flush"' in text, '"task": "consolidation"' in text
        purpose = "flush" if flushes else "consolidation" if merges else "summary"
        counter = TokenCounter()
        self._spent.append((purpose, counter.messages([*messages, result.generations[0].message])))
        return result


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="python -m benchmarks cost")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of recorded conversations")
    parser.add_argument("--most", type=int, default=0, help="conversations per group; 0 = all")
    parser.add_argument("--min-new-tokens", type=int, default=None, help="flush.min_new_tokens; left out = the default")
    asked = parser.parse_args(argv)
    groups = {name: found[: asked.most or None] for name, found in gather(asked.data)}
    if not any(groups.values()):
        print(f"no conversations under {asked.data}")
        return Outcome(figures={"skipped": f"no data under {asked.data}"})
    spent: dict[str, Spent] = {}
    for name, conversations in groups.items():
        spent[name] = run(conversations, min_new_tokens=asked.min_new_tokens)
    whole = _together(spent.values())
    beside = {ONE_THREAD: run(one_thread(asked.data)[: asked.most or None], min_new_tokens=asked.min_new_tokens)}
    show({**spent, "all": whole, **beside})
    return Outcome(
        figures={
            "per_100_turns": {
                "internal_calls": {k: round(100 * v / whole.turns, 1) for k, v in whole.calls.items()},
                "internal_tokens": round(100 * whole.inside / whole.turns),
                "own_tokens": round(100 * whole.own / whole.turns),
            },
            "internal_part": {name: round(group.part, 4) for name, group in {**spent, "all": whole, **beside}.items()},
            "net_saved_tokens": whole.plain - whole.own - whole.inside,
            "conversations": whole.conversations,
            "conversations_cheaper": whole.saved,
            "prefix_kept": {name: round(group.prefix, 4) for name, group in {**spent, "all": whole}.items()},
        },
        targets=[
            Target(
                text=f"internal tokens at most {ALLOWED:.0%} of the agent's own",
                seen=f"{whole.part:.1%}",
                met=whole.part <= ALLOWED,
            ),
            Target(
                text=f"byte-identical prefix between compactions at least {LEAST_PREFIX:.0%} of what it is without memory",
                seen=f"{whole.prefix:.1%}",
                met=whole.prefix >= LEAST_PREFIX,
            ),
        ],
    )


def gather(data: Path) -> Iterator[tuple[str, list[Conversation]]]:
    """Give the conversations of each group of the data folder."""
    for folder in sorted(path for path in data.glob("*") if path.is_dir()):
        if folder.name == "locomo":
            yield folder.name, [s.conversation for sample in _locomo.samples(folder) for s in sample.sessions]
            continue
        found: list[Conversation] = []
        for path in sorted(folder.rglob("*")):
            if path.suffix not in (".json", ".jsonl", ".traj") or "precision" in folder.name:
                continue
            origin = os.path.relpath(path, data)
            found += read_conversations(path.read_bytes(), name=path.name, origin=origin).conversations
        if found:
            yield folder.name, found


def one_thread(data: Path) -> list[Conversation]:
    """Give each LoCoMo conversation with all its sessions as one thread."""
    return [
        Conversation(
            thread_id=sample.name,
            messages=tuple(message for session in sample.sessions for message in session.messages),
            started_at=sample.sessions[0].at,
        )
        for sample in _locomo.samples(data / "locomo")
    ]


def run(conversations: Sequence[Conversation], *, min_new_tokens: int | None) -> Spent:
    """Lead a group of conversations through one memory and count."""
    spent, counter = Spent(), TokenCounter()
    curator = CountedExtractor()
    flush = {} if min_new_tokens is None else {"min_new_tokens": min_new_tokens}
    config = MemoryConfig(
        maintenance=MaintenanceConfig(autostart=False),
        # The recording has no pauses; each conversation is followed by one, as in life.
        flush=FlushConfig(quiet=timedelta(hours=1), **flush),
        compaction=CompactionConfig(model=curator),
        storage=StorageConfig(fsync=False),
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        HarnessMemory(Path(folder) / "w" / "memory", model=curator, config=config) as memory,
    ):
        for conversation in conversations:
            before = sum(tokens for _, tokens in curator._spent)
            own, plain = _one(memory, conversation, spent, counter)
            memory.flush(thread_id=conversation.thread_id)
            inside = sum(tokens for _, tokens in curator._spent) - before
            spent.saved += own + inside < plain
        memory.maintain()
    for purpose, tokens in curator._spent:
        spent.calls[purpose] = spent.calls.get(purpose, 0) + 1
        spent.internal[purpose] = spent.internal.get(purpose, 0) + tokens
    return spent


def _one(memory: HarnessMemory, conversation: Conversation, spent: Spent, counter: TokenCounter) -> tuple[int, int]:
    models: list[RecordedChatModel] = []

    def build(model: RecordedChatModel, tools: Sequence[Any]) -> Any:
        models.append(model)
        return create_memory_agent(model, tools, memory=memory)

    def logged() -> set[str]:
        return {str(entry.message.id) for entry in memory.sessions.read(conversation.thread_id)}

    replay(conversation, build=build, logged=logged, count=counter.messages)
    requests = [request for model in models for request in model.seen]
    history, places = list(conversation.messages), {m.id: at for at, m in enumerate(conversation.messages)}
    own = plain = 0
    rendered_before = plain_before = ""
    summary_before: Any = None
    for request in requests:
        end = 1 + max((places.get(message.id, -1) for message in request), default=-1)
        answer = next((m for m in history[end:] if isinstance(m, AIMessage)), None)
        answered = counter.message(answer) if answer is not None else 0
        own += counter.messages(request) + answered
        plain += counter.messages(history[:end]) + answered
        rendered, plain_rendered = _rendered(request), _rendered(history[:end])
        summary = next((m.content for m in request if form_of(m) == "summary"), None)
        if rendered_before and summary == summary_before:
            spent.shares.append(_shared(rendered, rendered_before))
            spent.plain_shares.append(_shared(plain_rendered, plain_before))
        rendered_before, plain_before, summary_before = rendered, plain_rendered, summary
    spent.conversations += 1
    spent.turns += sum(message.type == "human" for message in history)
    spent.requests += len(requests)
    spent.own += own
    spent.plain += plain
    return own, plain


def _shared(text: str, before: str) -> float:
    """Return the part of a text that is the beginning of the one before."""
    return next(
        (at for at, (a, b) in enumerate(zip(text, before, strict=False)) if a != b), min(len(text), len(before))
    ) / len(text)


def _rendered(messages: Sequence[BaseMessage]) -> str:
    parts = [f"{m.type}\x1f{m.content}\x1f{getattr(m, 'tool_calls', '')}" for m in messages]
    return "\x1e".join(parts)


def _together(groups: Any) -> Spent:
    whole = Spent()
    for group in groups:
        for name in ("conversations", "turns", "requests", "own", "plain", "saved"):
            setattr(whole, name, getattr(whole, name) + getattr(group, name))
        for name in ("calls", "internal"):
            for key, value in getattr(group, name).items():
                getattr(whole, name)[key] = getattr(whole, name).get(key, 0) + value
        whole.shares += group.shares
        whole.plain_shares += group.plain_shares
    return whole


def show(groups: dict[str, Spent]) -> None:
    rows = [
        [
            name,
            g.conversations,
            g.turns,
            g.requests,
            f"{g.own:,}",
            f"{g.inside:,}",
            f"{g.part:.1%}",
            f"{g.plain - g.own - g.inside:,}",
            f"{g.saved}/{g.conversations}",
            f"{g.prefix:.1%}",
        ]
        for name, g in groups.items()
    ]
    header = [
        "",
        "conversations",
        "turns",
        "requests",
        "own",
        "internal",
        "part",
        "net saved",
        "cheaper",
        "prefix kept",
    ]
    print(table(header, rows))
    calls = {purpose: groups["all"].internal[purpose] for purpose in groups["all"].internal}
    print("internal tokens by purpose:", ", ".join(f"{k} {v:,}" for k, v in calls.items()))
