"""`demo`: the whole of the package on self-written conversations, with nothing configured.

four sessions, real tools ──► compaction, eviction, flush ──► daily logs ──► MEMORY.md
new sessions that know nothing ──► memory_search ──► the facts again, with file and line
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from rich.markup import escape

from langgraph_harness_memory.agent import create_memory_agent
from langgraph_harness_memory.cli import options
from langgraph_harness_memory.cli.console import Terminal, called
from langgraph_harness_memory.cli.demo_script import QUESTIONS, TALKS, Question, Talk
from langgraph_harness_memory.cli.demo_tools import TOOLS
from langgraph_harness_memory.cli.guard import NO, guarded
from langgraph_harness_memory.cli.happenings import Happenings
from langgraph_harness_memory.cli.offline import OfflineChatModel
from langgraph_harness_memory.cli.opening import BY_HAND, choose_model, open_memory
from langgraph_harness_memory.config import (
    CompactionConfig,
    ConsolidationConfig,
    FlushConfig,
    MemoryConfig,
    ToolResultEvictionConfig,
    TruncateArgsConfig,
    WorkspaceContextConfig,
)
from langgraph_harness_memory.conversation.tokens import TokenCounter
from langgraph_harness_memory.curation.extractor import ExtractiveChatModel
from langgraph_harness_memory.formats import daily_log, memory_md
from langgraph_harness_memory.index.hits import SearchHit
from langgraph_harness_memory.memory import HarnessMemory
from langgraph_harness_memory.testing.clock import FrozenClock
from langgraph_harness_memory.testing.requests import request_faults
from langgraph_harness_memory.testing.scripted import ScriptedChatModel
from langgraph_harness_memory.workspace import read_text

_PROMPT = SystemMessage("You help the team of Fernweh Bikes.")
_DAYS = 8
"""Days over which the sessions are spread; the last one is today."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TalkOutcome:
    """One session in figures."""

    thread_id: str
    title: str
    messages: int
    """Messages in its log."""
    in_context: int
    """Messages that its state holds at the end."""
    requests: int
    tokens_with: int
    """Tokens of all requests together."""
    tokens_without: int
    """… had each held everything that was said before, as it was."""
    compactions: int
    evictions: int
    facts: int
    faults: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Recall:
    """One question in a session of its own."""

    question: str
    needle: str
    recalled: bool
    """The answer holds the needle."""
    absent_from_live_context: bool
    """Neither the session's messages nor what was injected held it before the search."""
    in_memory_md: bool
    """A session with MEMORY.md in its context would have known it at once."""
    hit: SearchHit | None
    """The line that brought it back."""
    answer: str


@guarded
def demo(
    *,
    workspace: Annotated[
        str | None,
        typer.Option("--workspace", "-w", help="Folder to use; by default a new one in the temporary folder."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Chat model that curates and is asked; by default by rules, offline."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show the main job on bundled conversations.

    Talks, compacts, evicts, flushes, consolidates, and finds everything again in new sessions.
    Needs no key and no network. Exit status 1 when a fact was not found again.

    Example: harness-memory demo
    """
    terminal = Terminal(as_json=as_json)
    where = workspace or str(Path(tempfile.mkdtemp(prefix="harness-memory-demo-")) / "workspace")
    curator = choose_model(model, from_environment=False)
    clock = FrozenClock(datetime.now(UTC) - timedelta(days=_DAYS))
    happened = Happenings(lambda text: terminal.say(f"    [dim]●[/] {text}"))
    outcomes: list[TalkOutcome] = []
    with open_memory(
        where, must_exist=False, model=curator, config=_config(curator), on_event=happened, clock=clock
    ) as memory:
        begin = clock.now()
        for talk in TALKS:
            clock.set(begin + timedelta(days=talk.day))
            outcomes.append(_talk(terminal, memory, talk, happened, clock))
            memory.consolidate()
        clock.set(begin + timedelta(days=_DAYS))
        _show_memory(terminal, memory)
    only_search = replace(_config(curator), context=WorkspaceContextConfig(include_memory_md=False))
    with open_memory(where, model=curator, config=only_search, on_event=Happenings(), clock=clock) as memory:
        recalls = [_ask(terminal, memory, q, n, curator or OfflineChatModel()) for n, q in enumerate(QUESTIONS, 1)]
        kept = _kept(memory)
        # A URL's password stays out of what is printed.
        named = memory.workspace.name
        _show_files(terminal, memory)
    terminal.say("")
    program = escape(called())
    terminal.say(f"[dim]look:[/] {program} search refunds -w {escape(named)}")
    terminal.say(f"[dim]     [/] {program} view -w {escape(named)} -o memory.html")
    _table(terminal, outcomes, recalls, kept=kept, where=named, failures=happened.failures)
    if happened.failures or not all(r.recalled and r.absent_from_live_context for r in recalls):
        raise typer.Exit(NO)


def _config(curator: Any) -> MemoryConfig:
    """Make everything happen in conversations that a person can read: small triggers, a small memory."""
    return replace(
        BY_HAND,
        compaction=CompactionConfig(
            trigger_messages=20,
            keep_messages=8,
            model=curator or ExtractiveChatModel(),
            truncate_args=TruncateArgsConfig(trigger_messages=16, keep_messages=6, max_arg_length=200),
        ),
        eviction=ToolResultEvictionConfig(max_result_chars=6_000, preview_chars=300),
        flush=FlushConfig(mode="inline"),
        consolidation=ConsolidationConfig(max_memory_tokens=400),
    )


def _talk(
    terminal: Terminal, memory: HarnessMemory, talk: Talk, happened: Happenings, clock: FrozenClock
) -> TalkOutcome:
    terminal.say(f"\n[bold]{escape(talk.title)}[/] [dim]· {talk.thread_id} · {clock.now():%A %d %B}[/]")
    model = ScriptedChatModel(script=[step for exchange in talk.exchanges for step in exchange.steps])
    agent = create_memory_agent(model, TOOLS, memory=memory, system_prompt=_PROMPT)
    config: Any = {"configurable": {"thread_id": talk.thread_id}}
    before = happened.counts.copy()
    facts = happened.facts
    for exchange in talk.exchanges:
        clock.advance(minutes=2)
        terminal.say(f"  [cyan]you[/]    {escape(exchange.user)}")
        asked: Any = {"messages": [HumanMessage(exchange.user)]}
        for update in agent.stream(asked, config, stream_mode="updates"):
            _show_update(terminal, update)
    said = [entry.message for entry in memory.sessions.read(talk.thread_id)]
    counter = TokenCounter()
    history = [0]
    for message in said:
        history.append(history[-1] + counter.message(message))
    return TalkOutcome(
        thread_id=talk.thread_id,
        title=talk.title,
        messages=len(said),
        in_context=len(agent.get_state(config).values["messages"]),
        requests=len(model.requests),
        tokens_with=sum(counter.messages(r.messages) for r in model.requests),
        tokens_without=sum(
            history[at] + counter.message(_PROMPT) for at, message in enumerate(said) if isinstance(message, AIMessage)
        ),
        compactions=happened.counts["Compacted"] - before["Compacted"],
        evictions=happened.counts["Evicted"] - before["Evicted"],
        facts=happened.facts - facts,
        faults=tuple(fault for r in model.requests for fault in request_faults(r.messages)),
    )


def _show_update(terminal: Terminal, update: dict[str, Any]) -> None:
    for node, change in update.items():
        if node == "compaction":
            # What it rewrites was said before; its events tell the rest.
            continue
        messages = change.get("messages", []) if isinstance(change, dict) else []
        for message in messages if isinstance(messages, Sequence) else [messages]:
            if isinstance(message, AIMessage):
                for call in message.tool_calls:
                    shown = ", ".join(f"{key}={_short(str(value), 40)!r}" for key, value in call["args"].items())
                    terminal.say(f"  [magenta]agent[/]  [dim]→[/] {escape(call['name'])}({escape(shown)})")
                if message.text:
                    terminal.say(f"  [magenta]agent[/]  {escape(_short(str(message.text), 160))}")
            elif isinstance(message, ToolMessage):
                text = str(message.text)
                terminal.say(f"  [dim]tool   ← {escape(_short(text, 100))} ({len(text):,} characters)[/]")


def _short(text: str, limit: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def _show_memory(terminal: Terminal, memory: HarnessMemory) -> None:
    read = read_text(memory.workspace, "MEMORY.md")
    terminal.say("\n[bold]MEMORY.md[/] [dim]· what every later session begins with[/]")
    for line in (read[0] if read else "").splitlines():
        terminal.say(f"    {escape(line)}")


def _ask(terminal: Terminal, memory: HarnessMemory, question: Question, number: int, model: Any) -> Recall:
    """Ask in a session of its own, without MEMORY.md in its context, so that only the search can bring a fact back."""
    if number == 1:
        terminal.say("\n[bold]New sessions[/] [dim]· MEMORY.md is left out, so that only the search can know[/]")
    thread_id = f"demo-5-question-{number}"
    config: Any = {"configurable": {"thread_id": thread_id}}
    context = memory.context_message(config)
    agent = create_memory_agent(model, memory=memory)
    agent.invoke({"messages": [HumanMessage(question.text)]}, config)
    said = [entry.message for entry in memory.sessions.read(thread_id)]
    results = [at for at, message in enumerate(said) if isinstance(message, ToolMessage)]
    live = [*([context] if context is not None else []), *said[: results[0] if results else len(said) - 1]]
    answer = str(said[-1].text)
    hit = _hit(memory, said, question)
    recall = Recall(
        question=question.text,
        needle=question.needle,
        recalled=question.needle in answer and hit is not None,
        absent_from_live_context=not any(question.needle in str(message.content) for message in live),
        in_memory_md=_knows(memory, question.needle),
        hit=hit,
        answer=answer,
    )
    terminal.say(f"  [cyan]you[/]    {escape(question.text)}")
    found = f"{escape(hit.content)} [dim]({escape(hit.path)}#{hit.line_number})[/]" if hit else "[red]not found[/]"
    terminal.say(f"  [magenta]agent[/]  {found}")
    return recall


def _hit(memory: HarnessMemory, said: Sequence[BaseMessage], question: Question) -> SearchHit | None:
    """Return the line of the agent's own search that holds the needle, as the index gives it for the same query."""
    for message in said:
        for call in message.tool_calls if isinstance(message, AIMessage) else []:
            if call["name"] != "memory_search":
                continue
            shown = "\n".join(str(m.text) for m in said if isinstance(m, ToolMessage) and m.tool_call_id == call["id"])
            hits = memory.index.search(call["args"]["query"], int(call["args"].get("max_results") or 10))
            for hit in hits:
                if question.needle in hit.content and f"{hit.path}#{hit.line_number}" in shown:
                    return hit
    return None


def _knows(memory: HarnessMemory, needle: str) -> bool:
    read = read_text(memory.workspace, "MEMORY.md")
    return read is not None and needle in read[0]


def _kept(memory: HarnessMemory) -> dict[str, int]:
    read = read_text(memory.workspace, "MEMORY.md")
    logged = 0
    for info in memory.workspace.files("memory"):
        if daily_log.day_of(info.path) is not None:
            text = read_text(memory.workspace, info.path)
            logged += sum(1 for _ in daily_log.lines(text[0])) if text else 0
    return {"in_daily_logs": logged, "in_memory_md": len(memory_md.facts(read[0])) if read else 0}


def _show_files(terminal: Terminal, memory: HarnessMemory) -> None:
    terminal.say("\n[bold]Files[/]")
    for info in memory.workspace.files():
        if not info.path.startswith(("sessions/demo-5", "memory/.")):
            terminal.say(f"    {escape(info.path)} [dim]{info.size:,} bytes[/]")


def _table(
    terminal: Terminal,
    outcomes: list[TalkOutcome],
    recalls: list[Recall],
    *,
    kept: dict[str, int],
    where: str,
    failures: list[str],
) -> None:
    columns = ["session", "messages", "with", "without", "folded", "evicted", "facts"]
    rows: list[list[Any]] = [
        [o.title, o.messages, o.tokens_with, o.tokens_without, o.compactions, o.evictions, o.facts] for o in outcomes
    ]
    rows.append(["together", *[sum(row[at] for row in rows) for at in range(1, len(columns))]])
    terminal.say("")
    terminal.table("Tokens sent, with and without memory", columns, rows)
    recalled = sum(r.recalled for r in recalls)
    summary = {
        "facts_kept_in_daily_logs": kept["in_daily_logs"],
        "facts_in_memory_md": kept["in_memory_md"],
        "facts_asked": len(recalls),
        "facts_recalled": recalled,
        "absent_from_live_context": sum(r.absent_from_live_context for r in recalls),
        "invalid_requests": sum(bool(o.faults) for o in outcomes),
    }
    terminal.table("Facts", ["", ""], [[name.replace("_", " "), value] for name, value in summary.items()])
    terminal.answer({"workspace": where, **summary, "sessions": outcomes, "recalled": recalls, "failures": failures})
