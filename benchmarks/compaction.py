"""What a full compaction costs where the model answers at once, beside langchain's, deepagents' and langmem's.

Ours appends what it folds to a real session log before it asks the model, which the peers do not do or do otherwise
(deepagents writes Markdown). In a running session the messages are logged and counted already; what the first time costs
is printed beside it. Everything but the last 4 000 tokens is folded.
"""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from benchmarks._checks import (
    Check,
    conversation,
    deepagents,
    langchain,
    langmem,
    milliseconds,
    perform,
    temporary,
)
from benchmarks.outcome import Outcome, Target, table
from langgraph_harness_memory.config import CompactionConfig
from langgraph_harness_memory.conversation.compaction import Turn
from langgraph_harness_memory.conversation.memory import CompactionMemory
from langgraph_harness_memory.conversation.tokens import TokenCounter
from langgraph_harness_memory.conversation.turn import prepare
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.steps import AppendSessionLog, Logged, Step, drive
from langgraph_harness_memory.workspace.local import LocalWorkspace

KEEP_TOKENS = 4_000

CONFIG = CompactionConfig(trigger_messages=0, trigger_tokens=10_000, trigger_fraction=0, keep_tokens=KEEP_TOKENS)

THREAD = ThreadRef(thread_id="t")

CONVERSATION = "None\nt\n"
"""The name under which that thread's messages are counted (`Turn.conversation`)."""


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="compaction")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args(argv)
    figures: dict[str, Any] = {}
    rows, targets = [], []
    with temporary() as folder:
        for count in (1_000, 10_000):
            messages = conversation(count)
            first, again = _ours(messages, Path(folder) / f"ours-{count}", options.rounds)
            others = {name: _median(check, messages, options.rounds) for name, check in _peers(Path(folder)).items()}
            rows += [["ours, running", count, again], ["ours, first time", count, first]]
            rows += [[name, count, ms] for name, ms in others.items()]
            figures |= {f"ours_{count}_ms": round(again, 2), f"ours_first_{count}_ms": round(first, 2)}
            figures |= {f"{name}_{count}_ms": round(ms, 2) for name, ms in others.items()}
            targets.append(
                Target(
                    text=f"{count:,} messages, logged and counted before: faster than langchain's",
                    seen=f"{again:.2f} ms against {others['langchain']:.2f} ms",
                    met=again < others["langchain"],
                )
            )
    print(table(["compaction", "messages", "ms"], rows))
    return Outcome(figures=figures, targets=targets)


def _peers(folder: Path) -> dict[str, Check]:
    settings: Any = {"trigger": ("tokens", 10_000), "keep": ("tokens", KEEP_TOKENS)}
    return {
        "langchain": langchain(**settings),
        "deepagents": deepagents(**settings, folder=folder),
        "langmem": langmem(tokens=KEEP_TOKENS),
    }


def _ours(messages: list[BaseMessage], folder: Path, rounds: int) -> tuple[float, float]:
    """Return the time of the first compaction of all, and the median of those that find everything logged and counted."""
    seen: dict[str, Any] = {}
    log, counter = SessionLog(LocalWorkspace(folder)), TokenCounter()
    check = partial(_compacted, log=log, counter=counter, seen=seen)
    first, times = _median(check, messages, 1), []
    for _ in range(rounds):
        # Where a running session stands before a compaction: everything was counted at the last step.
        counter.look(messages, conversation=CONVERSATION)
        times.append(_median(check, messages, 1))
    return first, sorted(times)[len(times) // 2]


def _compacted(messages: list[BaseMessage], *, log: SessionLog, counter: TokenCounter, seen: dict[str, Any]) -> None:
    def act(step: Step) -> Any:
        if isinstance(step, AppendSessionLog):
            positions = log.append(step.thread, step.messages)
            seen.update({str(m.id): _said(m) for m in step.messages})
            return Logged(positions=positions)
        return perform(step)

    turn = Turn(
        thread=THREAD,
        messages=messages,
        counter=counter,
        memory=CompactionMemory(),
        compaction=CONFIG,
        # As in the prebuilt agent, whose channel reads from the summary what it folded.
        needs_removals=False,
        # As the front doors do: what this process has seen in the log costs a comparison.
        is_logged=lambda message: seen.get(str(message.id)) == _said(message),
    )
    if len(drive(prepare(turn), act).view) >= len(messages):
        raise AssertionError("nothing was folded")


def _said(message: BaseMessage) -> Any:
    return message.content, message.tool_calls if isinstance(message, AIMessage) else None


def _median(check: Check, messages: list[BaseMessage], rounds: int) -> float:
    return milliseconds(check, [list(messages) for _ in range(rounds)])
