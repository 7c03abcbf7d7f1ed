"""`replay`: the user's own conversations, led through the memory agent."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from langchain_core.language_models import BaseChatModel
from rich.markup import escape

from langgraph_harness_memory.agent import create_memory_agent
from langgraph_harness_memory.cli import options
from langgraph_harness_memory.cli.console import Bar, Terminal, called
from langgraph_harness_memory.cli.guard import NO, ending_soon, guarded
from langgraph_harness_memory.cli.happenings import Happenings
from langgraph_harness_memory.cli.opening import BY_HAND, choose_model, open_memory
from langgraph_harness_memory.cli.recorded import RecordedChatModel
from langgraph_harness_memory.cli.replaying import Agent, Replayed
from langgraph_harness_memory.cli.replaying import replay as lead
from langgraph_harness_memory.config import CompactionConfig, FlushConfig, MemoryConfig, ToolResultEvictionConfig
from langgraph_harness_memory.conversation.tokens import TokenCounter
from langgraph_harness_memory.errors import ConversationUnreadable
from langgraph_harness_memory.formats.conversations import Conversation, read_conversations
from langgraph_harness_memory.memory import HarnessMemory


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut:
    """A file, or a part of it, that was not replayed."""

    file: str
    reason: str


@guarded
def replay(
    files: Annotated[list[Path], typer.Argument(help="JSON or JSONL files, or folders of them.")],
    *,
    workspace: options.Workspace = options.DEFAULT_WORKSPACE,
    user: options.User = None,
    model: options.Model = None,
    trigger_messages: Annotated[int | None, typer.Option(min=0, help="Compact at this many messages.")] = None,
    trigger_tokens: Annotated[int | None, typer.Option(min=0, help="Compact at this many tokens.")] = None,
    keep_messages: Annotated[int | None, typer.Option(min=1, help="Newest messages that stay.")] = None,
    max_result_chars: Annotated[int | None, typer.Option(min=0, help="Evict longer tool results.")] = None,
    as_json: options.Json = False,
) -> None:
    """Lead your own conversations through the memory agent.

    What was replayed before is not repeated.
    Reads OpenAI chat messages wherever they stand in the file (tau-bench and SWE-agent too), LangChain dumps and Claude
    Code sessions. What was said stays as it was recorded; the model curates. Exit status 1 when a file was left out.

    Example: harness-memory replay ~/.claude/projects/*/*.jsonl -w workspace
    """
    terminal = Terminal(as_json=as_json)
    conversations, left_out = _read(_expanded(files), terminal)
    if not conversations:
        # No memory is made where there is nothing to put into it.
        terminal.answer({"conversations": 0, "threads": [], "left_out": left_out})
        for left in left_out:
            _note(terminal, left)
        terminal.note("there is no conversation to replay")
        raise typer.Exit(NO)
    curator = choose_model(model)
    sizes = {"trigger_messages": trigger_messages, "trigger_tokens": trigger_tokens, "keep_messages": keep_messages}
    config = _config({k: v for k, v in sizes.items() if v is not None}, max_result_chars, curator)
    happened = Happenings()
    outcomes: list[Replayed] = []
    with (
        ending_soon(),
        open_memory(workspace, must_exist=False, model=curator, config=config, on_event=happened) as memory,
    ):
        total = sum(len(c.messages) for c in conversations)
        with terminal.progress("replaying", total) as bar:
            done = 0
            for conversation in conversations:
                outcomes.append(_one(memory, conversation, user=user, tell=_telling(bar, done, conversation)))
                done += len(conversation.messages)
        who: dict[str, Any] = {} if user is None else {"user_id": user}
        with terminal.working("consolidating"):
            report = memory.maintain(force=True, **who)
        named = memory.workspace.name
    _show(terminal, outcomes, left_out, happened, named)
    for failure in report["failures"]:
        terminal.note(f"[red]failed[/]  maintenance, {failure['step']}: {escape(failure['reason'])}")
    if left_out or report["failures"]:
        raise typer.Exit(NO)


def _telling(bar: Bar, done: int, conversation: Conversation) -> Callable[[int], None]:
    return lambda at: bar.to(done + at, escape(conversation.thread_id[:40]))


def _expanded(files: Sequence[Path]) -> list[Path]:
    """Take a folder for the conversations below it, by their endings."""
    out: list[Path] = []
    for path in files:
        if path.is_dir():
            out += sorted(p for p in path.rglob("*") if p.suffix in (".json", ".jsonl", ".traj") and p.is_file())
        else:
            out.append(path)
    return list(dict.fromkeys(out))


def _read(files: Sequence[Path], terminal: Terminal) -> tuple[list[Conversation], list[LeftOut]]:
    found: dict[str, Conversation] = {}
    left_out: list[LeftOut] = []
    with terminal.progress("reading", len(files)) as bar:
        for at, path in enumerate(files, start=1):
            try:
                reading = read_conversations(path.read_bytes(), name=str(path), origin=str(path.resolve()))
            except OSError as error:
                left_out.append(LeftOut(file=str(path), reason=f"{path}: {error.strerror or error}"))
            except ConversationUnreadable as error:
                left_out.append(LeftOut(file=str(path), reason=str(error)))
            else:
                left_out += [LeftOut(file=str(path), reason=f"{path}: {remark}") for remark in reading.remarks]
                for conversation in reading.conversations:
                    earlier = found.get(conversation.thread_id)
                    found[conversation.thread_id] = conversation if earlier is None else _merged(earlier, conversation)
            bar.to(at)
    return list(found.values()), left_out


def _merged(first: Conversation, second: Conversation) -> Conversation:
    """Put a session together that stands in several files."""
    known = {m.id for m in first.messages}
    return replace(first, messages=(*first.messages, *[m for m in second.messages if m.id not in known]))


def _config(sizes: dict[str, int], max_result_chars: int | None, curator: BaseChatModel | None) -> MemoryConfig:
    """Have the curator summarise too: the agent's own model only knows what was recorded."""
    from langgraph_harness_memory.curation.extractor import ExtractiveChatModel

    trigger = sizes.get("trigger_messages", CompactionConfig().trigger_messages)
    if trigger and "keep_messages" not in sizes:
        sizes = {**sizes, "keep_messages": max(1, min(CompactionConfig().keep_messages, trigger // 2))}
    compaction = replace(CompactionConfig(model=curator or ExtractiveChatModel()), **cast("Any", sizes))
    eviction = ToolResultEvictionConfig()
    if max_result_chars is not None:
        preview = min(eviction.preview_chars, max_result_chars // 4)
        eviction = replace(eviction, max_result_chars=max_result_chars, preview_chars=preview)
    return replace(BY_HAND, compaction=compaction, eviction=eviction, flush=FlushConfig(mode="inline"))


def _one(
    memory: HarnessMemory, conversation: Conversation, *, user: str | None, tell: Callable[[int], None]
) -> Replayed:
    def build(model: RecordedChatModel, tools: Sequence[Any]) -> Agent:
        return create_memory_agent(model, tools, memory=memory)

    return lead(
        conversation,
        build=build,
        logged=lambda: {str(entry.message.id) for entry in memory.sessions.read(conversation.thread_id)},
        count=TokenCounter().messages,
        user_id=user,
        on_progress=tell,
    )


def _show(
    terminal: Terminal, outcomes: list[Replayed], left_out: list[LeftOut], happened: Happenings, workspace: str
) -> None:
    total = {
        "conversations": len(outcomes),
        "messages": sum(o.messages for o in outcomes),
        "new_messages": sum(o.new for o in outcomes),
        "requests": sum(o.requests for o in outcomes),
        "invalid_requests": sum(bool(o.faults) for o in outcomes),
        "tokens_sent": sum(o.sent_tokens for o in outcomes),
        "tokens_without_memory": sum(o.plain_tokens for o in outcomes),
        "largest_request_tokens": max((o.largest_request for o in outcomes), default=0),
        "longest_request_messages": max((o.longest_request for o in outcomes), default=0),
        "compactions": happened.counts["Compacted"],
        "evictions": happened.counts["Evicted"],
        "facts": happened.facts,
    }
    terminal.answer({"workspace": workspace, **total, "threads": outcomes, "left_out": left_out})
    rows = [[name.replace("_", " "), value] for name, value in total.items()]
    terminal.table("", ["replayed", ""], rows)
    for left in left_out:
        _note(terminal, left)
    if not terminal.as_json and outcomes:
        terminal.say(f"[dim]try:[/] {escape(called())} search WORDS -w {escape(workspace)}")


def _note(terminal: Terminal, left: LeftOut) -> None:
    terminal.note(f"[yellow]left out[/]  {escape(left.reason)}")
