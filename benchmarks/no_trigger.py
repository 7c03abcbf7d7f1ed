"""What memory costs before a model call that triggers nothing, beside langchain's, deepagents' and langmem's checks.

Two figures apart: the list holds the objects of the last check and one new message, as within a run; and all objects are
freshly deserialised and one is new, as after a checkpoint was loaded. Ours is everything around the call: eviction,
counting, triggers and repair. Then 1 000 random removals, replacements and reloads, after each of which the remembered
count and its decision are held against a fresh one.
"""

import argparse
import random
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, messages_from_dict, messages_to_dict
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from benchmarks._checks import AT_ITS_END, IN_A_RUN, NEVER, Check, conversation, milliseconds, ours, peers, temporary
from benchmarks.outcome import Outcome, Target, table
from langgraph_harness_memory.config import CompactionConfig
from langgraph_harness_memory.conversation.tokens import TokenCounter

CONFIG = CompactionConfig(trigger_messages=0, trigger_tokens=NEVER, trigger_fraction=0)


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="no-trigger")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(argv)
    figures: dict[str, Any] = {}
    rows = []
    with temporary() as folder:
        for count in (1_000, 10_000):
            loop, end = {"ours": ours(CONFIG, answer=IN_A_RUN)}, {"ours": ours(CONFIG, answer=AT_ITS_END)}
            others = peers(Path(folder))
            for name in ("ours", *others):
                grown = _grown((loop | others)[name], count, options.rounds)
                fresh = _fresh((end | others)[name], count, options.rounds)
                rows.append([name, count, grown, fresh])
                figures[f"{name}_{count}"] = {"same_ms": round(grown, 3), "fresh_ms": round(fresh, 3)}
    print(table(["check", "messages", "same objects, ms", "fresh objects, ms"], rows))
    wrong = _wrong_decisions(1_000)
    figures["wrong_decisions"] = wrong
    return Outcome(figures=figures, targets=[*_targets(rows), _right(wrong)])


def _grown(check: Check, count: int, rounds: int) -> float:
    """Time checks of a list that holds the objects of the last check and one more."""
    messages = conversation(count)
    check(messages)
    inputs = []
    for i in range(rounds):
        messages = [*messages, HumanMessage(f"and what about case {i}?", id=f"new{i}")]
        inputs.append(messages)
    return milliseconds(check, inputs)


def _fresh(check: Check, count: int, rounds: int) -> float:
    """Time checks of freshly deserialised messages and one more."""
    serializer = JsonPlusSerializer()
    stored = serializer.dumps_typed(conversation(count))
    check(serializer.loads_typed(stored))
    times = []
    for i in range(rounds):
        # One at a time: fifteen lists of ten thousand messages at once would measure the garbage collector.
        messages = [*serializer.loads_typed(stored), HumanMessage(f"and what about case {i}?", id=f"new{i}")]
        times.append(milliseconds(check, [messages]))
    return sorted(times)[len(times) // 2]


def _targets(rows: list[list[Any]]) -> list[Target]:
    at_most = {name: (same, fresh) for name, count, same, fresh in rows if count == 10_000}
    mine = at_most.pop("ours")
    same, fresh = (min(values[i] for values in at_most.values()) for i in (0, 1))
    return [
        Target(
            text="10 000 messages, same objects and one new: at most 1/20 of the fastest peer",
            seen=f"{mine[0]:.2f} ms against {same:.2f} ms (1/{same / mine[0]:.0f})",
            met=mine[0] <= same / 20,
        ),
        Target(
            text="10 000 messages, freshly deserialised and one new: at most 1/2 of the fastest peer",
            seen=f"{mine[1]:.2f} ms against {fresh:.2f} ms (1/{fresh / mine[1]:.1f})",
            met=mine[1] <= fresh / 2,
        ),
    ]


def _right(wrong: int) -> Target:
    return Target(
        text="trigger decisions equal an uncached count after 1 000 removals and replacements",
        seen=f"{wrong} differ",
        met=wrong == 0,
    )


def _wrong_decisions(changes: int) -> int:
    draw, counter = random.Random(11), TokenCounter()
    messages, wrong = conversation(400), 0
    limit = TokenCounter().messages(messages)
    for step in range(changes):
        messages = _changed(messages, draw, step)
        seen, fresh = counter.request(messages), TokenCounter().request(messages)
        wrong += seen != fresh or (seen >= limit) != (fresh >= limit)
    return wrong


def _changed(messages: list[BaseMessage], draw: random.Random, step: int) -> list[BaseMessage]:
    place = draw.randrange(len(messages))
    known = messages[place]
    match draw.randrange(5):
        case 0:
            return [*messages[:place], *messages[place + 1 :]]
        case 1:
            longer = known.model_copy(update={"content": f"{known.content} and more, and more"})
            return [*messages[:place], longer, *messages[place + 1 :]]
        case 2:
            other = AIMessage("数" * len(known.content), id=known.id)
            return [*messages[:place], other, *messages[place + 1 :]]
        case 3:
            return messages_from_dict(messages_to_dict(messages))
    return [*messages, HumanMessage("one more message " * draw.randrange(30), id=f"step{step}")]
