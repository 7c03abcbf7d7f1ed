"""The same conversation through each contender: ours, langchain's, deepagents' and langmem's way to keep it small.

Each is set up as its documentation says and given the same models, triggers and tools. What a contender does not offer
(langmem evicts nothing) is `None` in the table, never a failure.
"""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import BaseTool

from langgraph_harness_memory.testing import ScriptedChatModel

Name = Literal["ours", "langchain", "deepagents", "langmem"]
NAMES: tuple[Name, ...] = ("ours", "langchain", "deepagents", "langmem")


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """One conversation and the settings under which it is kept small."""

    turns: Sequence[Sequence[BaseMessage]]
    """What each run of the agent is given."""
    answers: Sequence[Any] = ("Done.",)
    """The agent model's script; the last entry repeats."""
    summaries: Sequence[Any] = (
        "## SESSION INTENT\nHelp.\n## SUMMARY\nWe talked.\n## ARTIFACTS\nNone\n## NEXT STEPS\nNone",
    )
    """The summary model's script; the last entry repeats."""
    trigger_messages: int = 0
    trigger_tokens: int = 0
    keep_messages: int = 4
    system_prompt: str = ""
    tools: Sequence[BaseTool] = ()
    summary_window: int | None = None
    """Context window of the summary model, in its own tokens."""
    summary_prompt: str | None = None
    truncate_args: bool = False
    evict: bool = False
    stream: bool = False
    thread: str = "t1"


@dataclass(kw_only=True)
class Seen:
    """What could be observed."""

    requests: list[list[BaseMessage]] = field(default_factory=list)
    """What the agent's model was sent."""
    summaries: list[list[BaseMessage]] = field(default_factory=list)
    """What the summary model was sent."""
    state: list[BaseMessage] = field(default_factory=list)
    """The messages in the state at the end."""
    streamed: list[BaseMessage] = field(default_factory=list)
    """What `stream_mode="messages"` showed."""
    error: BaseException | None = None
    """What ended the conversation early."""
    files: Path | None = None
    """Where the contender keeps its files."""

    @property
    def last(self) -> str:
        """All text of the last request."""
        return text_of(self.requests[-1]) if self.requests else ""


def text_of(messages: Sequence[BaseMessage]) -> str:
    """Join all that a request holds: texts and the arguments of calls."""
    parts = []
    for message in messages:
        parts.append(str(message.content))
        if isinstance(message, AIMessage):
            parts += [str(call["args"]) for call in message.tool_calls]
    return "\n".join(parts)


def run(name: Name, conversation: Conversation) -> Seen | None:
    """Hold a conversation with one contender.

    Returns:
        What was seen; `None` where the contender does not offer what the conversation needs.
    """
    main = ScriptedChatModel(script=list(conversation.answers), repeat=True)
    summariser = ScriptedChatModel(
        script=list(conversation.summaries), repeat=True, context_window=conversation.summary_window
    )
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    built = BUILDERS[name](conversation, main, summariser, folder)
    if built is None:
        shutil.rmtree(folder)
        return None
    graph, close = built
    seen = Seen(files=folder)
    weakref.finalize(seen, shutil.rmtree, folder, ignore_errors=True)
    config: Any = {"configurable": {"thread_id": conversation.thread}, "recursion_limit": 2_000}
    try:
        for turn in conversation.turns:
            if conversation.stream:
                for chunk, _ in graph.stream({"messages": list(turn)}, config, stream_mode="messages"):
                    seen.streamed.append(chunk)
            else:
                graph.invoke({"messages": list(turn)}, config)
    except Exception as error:  # noqa: BLE001  whatever ends the conversation is what is to be seen
        seen.error = error
    finally:
        close()
    seen.requests = [request.messages for request in main.requests]
    seen.summaries = [request.messages for request in summariser.requests]
    seen.state = list(graph.get_state(config).values.get("messages", []))
    return seen


Built = tuple[Any, Callable[[], None]] | None


def _ours(c: Conversation, main: Any, summariser: Any, folder: Path) -> Built:
    from langchain.agents import create_agent

    from langgraph_harness_memory import (
        CompactionConfig,
        HarnessMemory,
        MemoryConfig,
        ToolResultEvictionConfig,
        TruncateArgsConfig,
    )

    compaction = CompactionConfig(
        trigger_messages=c.trigger_messages,
        trigger_tokens=c.trigger_tokens,
        trigger_fraction=0,
        keep_messages=c.keep_messages,
        summary_prompt=c.summary_prompt,
        model=summariser,
        truncate_args=TruncateArgsConfig(trigger_messages=10, keep_messages=4) if c.truncate_args else None,
    )
    config = MemoryConfig(
        compaction=compaction,
        eviction=ToolResultEvictionConfig() if c.evict else None,
        flush=None,
        consolidation=None,
        maintenance=None,
        context=None,
    )
    memory = HarnessMemory(folder / "workspace", model=summariser, config=config)
    agent = create_agent(
        main,
        list(c.tools),
        system_prompt=c.system_prompt or None,
        middleware=memory.middleware(),
        checkpointer=memory.checkpointer,
    )
    return agent, memory.close


def _triggers(c: Conversation) -> list[Any]:
    counts = [("messages", c.trigger_messages)] if c.trigger_messages else []
    return counts + ([("tokens", c.trigger_tokens)] if c.trigger_tokens else [])


def _langchain(c: Conversation, main: Any, summariser: Any, folder: Path) -> Built:
    from langchain.agents import create_agent
    from langchain.agents.middleware import SummarizationMiddleware
    from langgraph.checkpoint.memory import InMemorySaver

    if c.truncate_args or c.evict:
        return None
    extra = {"summary_prompt": c.summary_prompt} if c.summary_prompt else {}
    summarization = SummarizationMiddleware(
        model=summariser, trigger=_triggers(c) or None, keep=("messages", c.keep_messages), **extra
    )
    agent = create_agent(
        main,
        list(c.tools),
        system_prompt=c.system_prompt or None,
        middleware=[summarization],
        checkpointer=InMemorySaver(),
    )
    return agent, lambda: None


def _deepagents(c: Conversation, main: Any, summariser: Any, folder: Path) -> Built:
    from deepagents.backends import FilesystemBackend
    from deepagents.middleware.filesystem import FilesystemMiddleware
    from deepagents.middleware.summarization import SummarizationMiddleware
    from langchain.agents import create_agent
    from langgraph.checkpoint.memory import InMemorySaver

    backend = FilesystemBackend(root_dir=folder, virtual_mode=True)
    extra: dict[str, Any] = {"summary_prompt": c.summary_prompt} if c.summary_prompt else {}
    if c.truncate_args:
        extra["truncate_args_settings"] = {"trigger": ("messages", 10), "keep": ("messages", 4)}
    summarization = SummarizationMiddleware(
        model=summariser,
        backend=backend,
        trigger=_triggers(c) or None,
        keep=("messages", c.keep_messages),
        **extra,
    )
    stack: list[Any] = [FilesystemMiddleware(backend=backend), summarization] if c.evict else [summarization]
    agent = create_agent(
        main,
        list(c.tools),
        system_prompt=c.system_prompt or None,
        middleware=stack,
        checkpointer=InMemorySaver(),
    )
    return agent, lambda: None


def _langmem(c: Conversation, main: Any, summariser: Any, folder: Path) -> Built:
    from langchain_core.messages import SystemMessage
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition
    from langmem.short_term import SummarizationNode

    if c.truncate_args or c.evict or c.summary_prompt:
        return None

    class State(MessagesState):
        context: dict[str, Any]
        summarized_messages: list[BaseMessage]

    by_count = c.trigger_messages > 0
    settings: dict[str, Any] = (
        {
            "max_tokens": c.trigger_messages,
            "max_tokens_before_summary": c.trigger_messages,
            "max_summary_tokens": 1,
            "token_counter": len,
        }
        if by_count
        else {"max_tokens": c.trigger_tokens or 10**9, "max_summary_tokens": min(256, (c.trigger_tokens or 1_000) // 2)}
    )
    bound = main.bind_tools(list(c.tools)) if c.tools else main
    system = [SystemMessage(c.system_prompt)] if c.system_prompt else []

    def call(state: State) -> dict[str, Any]:
        return {"messages": [bound.invoke([*system, *state["summarized_messages"]])]}

    graph = StateGraph(State)
    graph.add_node("summarize", SummarizationNode(model=summariser, **settings))
    graph.add_node("model", call)
    graph.add_edge(START, "summarize")
    graph.add_edge("summarize", "model")
    if c.tools:
        graph.add_node("tools", ToolNode(list(c.tools)))
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "summarize")
    return graph.compile(checkpointer=InMemorySaver()), lambda: None


BUILDERS: dict[Name, Callable[[Conversation, Any, Any, Path], Built]] = {
    "ours": _ours,
    "langchain": _langchain,
    "deepagents": _deepagents,
    "langmem": _langmem,
}


def human(text: str, message_id: str | None = None) -> HumanMessage:
    """Write a user message in short."""
    return HumanMessage(text, id=message_id)
