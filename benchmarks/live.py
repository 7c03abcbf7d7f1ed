"""What a real model makes of our prompts: facts kept and missed, contradictions, duplicates, silence, and what survives compactions.

    OPENAI_BASE_URL=http://localhost:8000/v1 OPENAI_API_KEY=… python -m benchmarks live --model openai:NAME

Any OpenAI-compatible endpoint serves; `--model extractive` asks the model-free extractor. The conversations are self-written
(`_live_texts.py`), and keywords judge, no model. Beside us stand langmem's memory manager and summaries and langchain's summarisation
middleware, on the same model; what a contender does not offer is empty in the table, what fails is told with its reason.
"""

import argparse
import os
import statistics
import tempfile
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage

from benchmarks._live_texts import CHANGES, CHATTER, QUIET, REPEATED, SURVIVORS, TALKS, Talk, tells
from benchmarks.outcome import Outcome, Target, table
from langgraph_harness_memory import CompactionConfig, ExtractiveChatModel, HarnessMemory, MemoryConfig, StorageConfig
from langgraph_harness_memory.formats.daily_log import lines as log_lines
from langgraph_harness_memory.formats.memory_md import facts as memory_facts
from langgraph_harness_memory.models import resolve_model
from langgraph_harness_memory.testing import FrozenClock

KEEP = 4
"""Newest messages that every contender keeps at a compaction."""
COMPACTIONS = 3

Extract = Callable[[Sequence[BaseMessage]], list[str]]
"""The facts of one conversation."""
Remember = Callable[[Sequence[Sequence[BaseMessage]]], list[str]]
"""What is remembered after several conversations, a day apart."""
Shrink = Callable[[Sequence[Sequence[BaseMessage]]], str]
"""What a model sees after each part was said and compacted."""


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(
        prog="live", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True, help="for example openai:gpt-5.5, or extractive")
    parser.add_argument("--only-ours", action="store_true", help="leave the peers out")
    args = parser.parse_args(argv)
    model = _model(args.model)
    figures: dict[str, dict[str, Any]] = {"ours": _figures(model, _our_facts, _our_memory, _our_view)}
    if not args.only_ours:
        figures["langmem"] = _figures(model, _langmem_facts, _langmem_memory, _langmem_view)
        figures["langchain"] = _figures(model, None, None, _langchain_view)
    names = list(figures["ours"])
    print(
        table(["contender", *names], [[who, *(_cell(found[name]) for name in names)] for who, found in figures.items()])
    )
    return Outcome(figures={"model": args.model, **figures}, targets=_targets(figures))


def _model(name: str) -> BaseChatModel:
    if name == "extractive":
        return ExtractiveChatModel()
    if ":" not in name and os.environ.get("OPENAI_BASE_URL"):
        name = f"openai:{name}"
    return resolve_model(name)


def _figures(model: BaseChatModel, extract: Any, remember: Any, shrink: Any) -> dict[str, Any]:
    def measured(measure: Callable[[], Any], offered: Any) -> Any:
        if offered is None:
            return None
        try:
            return measure()
        except Exception as error:  # noqa: BLE001  a contender that fails on this model is a figure of its own
            return f"failed: {type(error).__name__}: {str(error)[:60]}"

    talked = measured(lambda: _talked(lambda messages: extract(model, messages)), extract)
    recall, precision = talked if isinstance(talked, tuple) else (talked, talked)
    return {
        "fact recall": recall,
        "precision": precision,
        "silent when nothing": measured(lambda: _silence(lambda messages: extract(model, messages)), extract),
        "later value wins": measured(lambda: _current(lambda talks: remember(model, talks)), remember),
        "copies of a fact": measured(lambda: _copies(lambda talks: remember(model, talks)), remember),
        "survive 3 compactions": measured(lambda: _survived(lambda parts: shrink(model, parts)), shrink),
    }


def _talked(extract: Extract) -> tuple[float, float]:
    """Share of the facts that some line tells, and share of the lines that tell some fact."""
    found: list[bool] = []
    right: list[bool] = []
    for talk in TALKS:
        kept = extract(talk.messages)
        found += [any(tells(line, fact) for line in kept) for fact in talk.facts]
        right += [any(tells(line, fact) for fact in (*talk.facts, *talk.also)) for line in kept]
    return _mean(found), _mean(right)


def _silence(extract: Extract) -> float:
    return _mean([not extract(talk.messages) for talk in QUIET])


def _current(remember: Remember) -> float:
    """Share of the changed facts of which the memory holds the later value and not the earlier one."""
    earlier = [_said(change.earlier) for change in CHANGES]
    later = [_said(change.later) for change in CHANGES]
    kept = [line.casefold() for line in remember([*earlier, *later])]
    return _mean(
        [
            any(c.current in line for line in kept)
            and not any(c.stale in line and c.current not in line for line in kept)
            for c in CHANGES
        ]
    )


def _copies(remember: Remember) -> float:
    """How many lines tell the same fact, on average, after it was said on three days; 1 is right."""
    talks = [_said(said[day]) for day in range(3) for _, said in REPEATED]
    kept = [line.casefold() for line in remember(talks)]
    return statistics.fmean(sum(1 for line in kept if keyword in line) for keyword, _ in REPEATED)


def _survived(shrink: Shrink) -> float:
    first = [m for said, _ in SURVIVORS for m in (HumanMessage(said), AIMessage("Noted."))]
    size = len(CHATTER) // COMPACTIONS
    rest = [
        [m for asked, told in CHATTER[n * size : (n + 1) * size] for m in (HumanMessage(asked), AIMessage(told))]
        for n in range(COMPACTIONS)
    ]
    view = shrink([[*first, *rest[0]], *rest[1:]])
    return _mean([tells(view, fact) for _, fact in SURVIVORS])


def _said(text: str) -> list[BaseMessage]:
    return Talk(turns=(text, "Thanks, good to know.")).messages


def _our_facts(model: BaseChatModel, messages: Sequence[BaseMessage]) -> list[str]:
    with (
        tempfile.TemporaryDirectory(prefix="live-") as folder,
        _ours(Path(folder) / "w", model, FrozenClock()) as memory,
    ):
        report = memory.flush(list(messages), "t")
        if report.failed:
            raise RuntimeError(report.failed)
        return [
            line.text
            for path in report.paths
            for line in log_lines((Path(folder) / "w" / path).read_text(encoding="utf-8"))
        ]


def _our_memory(model: BaseChatModel, talks: Sequence[Sequence[BaseMessage]]) -> list[str]:
    clock = FrozenClock()
    with tempfile.TemporaryDirectory(prefix="live-") as folder, _ours(Path(folder) / "w", model, clock) as memory:
        for number, messages in enumerate(talks):
            memory.flush(list(messages), f"t{number}")
            clock.advance(days=1)
        report = memory.consolidate()
        if report.failed:
            raise RuntimeError(report.failed)
        return [fact.text for fact in memory_facts((Path(folder) / "w" / "MEMORY.md").read_text(encoding="utf-8"))]


def _our_view(model: BaseChatModel, parts: Sequence[Sequence[BaseMessage]]) -> str:
    with (
        tempfile.TemporaryDirectory(prefix="live-") as folder,
        _ours(Path(folder) / "w", model, FrozenClock()) as memory,
    ):
        view: list[BaseMessage] = []
        for part in parts:
            before = [*view, *part]
            view = memory.compact(before, thread_id="t")
            if len(view) >= len(before):
                raise RuntimeError("the model's summary was refused")
        return _text(view)


def _ours(root: Path, model: BaseChatModel, clock: FrozenClock) -> HarnessMemory:
    config = MemoryConfig(
        maintenance=None,
        compaction=CompactionConfig(
            keep_messages=KEEP, trigger_messages=KEEP * 2, model=model, timeout=timedelta(minutes=5)
        ),
        storage=StorageConfig(timezone="UTC", fsync=False),
    )
    return HarnessMemory(root, model=model, config=config, clock=clock)


def _langmem_facts(model: BaseChatModel, messages: Sequence[BaseMessage]) -> list[str]:
    from langmem import create_memory_manager

    return [_content(kept) for kept in create_memory_manager(model).invoke({"messages": list(messages)})]


def _langmem_memory(model: BaseChatModel, talks: Sequence[Sequence[BaseMessage]]) -> list[str]:
    from langmem import create_memory_manager

    manager = create_memory_manager(model, enable_deletes=True)
    kept: list[Any] = []
    for messages in talks:
        kept = list(manager.invoke({"messages": list(messages), "existing": kept}))
    return [_content(memory) for memory in kept]


def _content(memory: Any) -> str:
    return str(getattr(memory.content, "content", memory.content))


def _langmem_view(model: BaseChatModel, parts: Sequence[Sequence[BaseMessage]]) -> str:
    from langmem.short_term import summarize_messages

    messages: list[BaseMessage] = []
    summary = None
    view: list[BaseMessage] = []
    for number, part in enumerate(parts):
        messages += [m.model_copy(update={"id": f"{number}-{i}"}) for i, m in enumerate(part)]
        shrunk = summarize_messages(
            messages,
            running_summary=summary,
            model=model,
            max_tokens=300,
            max_tokens_before_summary=200,
            max_summary_tokens=250,
        )
        summary, view = shrunk.running_summary, list(shrunk.messages)
    return _text(view)


def _langchain_view(model: BaseChatModel, parts: Sequence[Sequence[BaseMessage]]) -> str:
    from langchain.agents.middleware import SummarizationMiddleware

    middleware: Any = SummarizationMiddleware(model, trigger=("messages", KEEP * 2), keep=("messages", KEEP))
    view: list[BaseMessage] = []
    for number, part in enumerate(parts):
        view = [*view, *(m.model_copy(update={"id": f"{number}-{i}"}) for i, m in enumerate(part))]
        update = middleware.before_model({"messages": view}, None) or {"messages": view}
        view = [message for message in update["messages"] if not isinstance(message, RemoveMessage)]
    return _text(view)


def _text(messages: Sequence[BaseMessage]) -> str:
    return "\n".join(message.text for message in messages)


def _targets(figures: dict[str, dict[str, Any]]) -> list[Target]:
    """Hold us against every peer that gave a figure on this model."""
    targets: list[Target] = []
    for name in ("fact recall", "later value wins", "survive 3 compactions"):
        ours = figures["ours"][name]
        theirs = {
            who: found[name] for who, found in figures.items() if who != "ours" and isinstance(found[name], float)
        }
        best = max(theirs.values(), default=0.0)
        seen = f"{_cell(ours)} against {', '.join(f'{who} {value:.2f}' for who, value in theirs.items()) or 'nobody'}"
        targets.append(
            Target(text=f"{name}: at least the best peer's", seen=seen, met=isinstance(ours, float) and ours >= best)
        )
    return targets


def _cell(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else f"{value:.2f}"


def _mean(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else 0.0
