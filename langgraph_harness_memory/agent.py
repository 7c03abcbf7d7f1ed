"""The prebuilt agent: a graph whose drawing shows where memory works.

START ► compaction ► model ──► flush ► END
▲           │ calls
└── tools ◄─┘          each call is a task of its own, so that an interrupt in one repeats no other
"""

from collections.abc import Callable, Sequence
from typing import Any, NotRequired, cast, get_type_hints

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode
from langgraph.store.base import BaseStore
from langgraph.types import Send
from typing_extensions import TypedDict

from langgraph_harness_memory.memory import HarnessMemory
from langgraph_harness_memory.models import resolve_model
from langgraph_harness_memory.state import MEMORY_KEY, MemoryState

RECURSION_LIMIT = 9_999
"""Super-steps of one run. LangGraph's default of 25 would end an agent of three nodes a loop after eight tool calls."""


def create_memory_agent(
    model: BaseChatModel | str | Runnable[Any, BaseMessage],
    tools: Sequence[Any] = (),
    *,
    memory: HarnessMemory,
    name: str | None = None,
    system_prompt: str | SystemMessage | None = None,
    checkpointer: BaseCheckpointSaver[Any] | bool | None = None,
    store: BaseStore | None = None,
    state_schema: type[Any] | None = None,
    context_schema: type[Any] | None = None,
    response_format: Any = None,
    interrupt_before: list[str] | None = None,
    interrupt_after: list[str] | None = None,
    debug: bool = False,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build an agent that remembers.

    Args:
        model: A chat model, its name (`openai:gpt-5.5`), or a runnable with its tools bound.
        tools: What it may call: tools, functions, or a provider's own tools as dicts. Memory's reading tools come along
            under names that are free.
        memory: Where it remembers.
        name: Its name, carried by its replies and used where it is a sub-graph.
        system_prompt: What it is told first; the workspace's context stands behind it.
        checkpointer: Keeps its state; `None` = `memory.checkpointer`, `False` = none.
        store: A LangGraph store for its tools.
        state_schema: A state with `messages`; `None` = `MemoryState`.
        context_schema: Schema of the run's context; its `user_id` names the tenant.
        response_format: A schema that the model fills in at the end, as `structured_response` of the state; `None` = none.
        interrupt_before: Nodes to stop before: `compaction`, `model`, `tools`, `flush`.
        interrupt_after: Nodes to stop after.
        debug: Log each step.
    """
    runnable = resolve_model(model) if isinstance(model, str | BaseChatModel) else model
    prompt = SystemMessage(system_prompt) if isinstance(system_prompt, str) else system_prompt
    bound = memory.with_tools(tools)
    own = [tool for tool in bound if not isinstance(tool, dict)]
    graph = StateGraph(
        _with_response(state_schema or MemoryState, response_format is not None),
        context_schema=context_schema,
        output_schema=_shown(_with_response(state_schema or MemoryState, response_format is not None)),
    )
    executor = ToolNode(own) if own else None
    # The reducer of our own state reads from a summary what it folded.
    needs_removals = state_schema is not None
    entry, entries = _add_beginning(
        graph, memory, model=runnable, tools=bound, prompt=prompt, needs_removals=needs_removals
    )
    graph.add_conditional_edges(START, entry, entries)
    last = _add_end(graph, memory, model=runnable, prompt=prompt, response_format=response_format)
    # Without a compaction node, a step's results together are evicted before the model sees them.
    prepares = memory.config.compaction is None
    node = memory.model_node(runnable, bound, system_prompt=prompt, prepares=prepares, name=name)
    graph.add_node("model", node)
    if executor is None:
        graph.add_edge("model", last)
    else:
        graph.add_node("tools", memory.tool_node(executor))
        graph.add_conditional_edges("model", _calls_or(last), ["tools", last])
        graph.add_conditional_edges("tools", _back_or(last, entry, executor), [*entries, last])
    compiled = graph.compile(
        checkpointer=memory.checkpointer if checkpointer is None else cast("Any", checkpointer),
        store=store,
        interrupt_before=interrupt_before,
        interrupt_after=interrupt_after,
        debug=debug,
        name=name,
    )
    metadata = {"ls_integration": "langgraph_harness_memory", **({"lc_agent_name": name} if name else {})}
    return compiled.with_config({"recursion_limit": RECURSION_LIMIT, "metadata": metadata})


def _add_beginning(
    graph: Any,
    memory: HarnessMemory,
    *,
    model: Runnable[Any, Any],
    tools: Sequence[Any],
    prompt: SystemMessage | None,
    needs_removals: bool,
) -> tuple[Callable[[Any], str], list[str]]:
    """Add what comes before the model, and return how to get there and where that may lead."""
    if memory.config.compaction is None:
        return (lambda _: "model"), ["model"]
    graph.add_node(
        "compaction",
        memory.compaction_node(model=model, tools=tools, system_prompt=prompt, needs_removals=needs_removals),
    )
    graph.add_edge("compaction", "model")
    is_due = memory.compaction_is_due(model=model, tools=tools, system_prompt=prompt)
    return (lambda state: "compaction" if is_due(state) else "model"), ["compaction", "model"]


def _add_end(
    graph: Any,
    memory: HarnessMemory,
    *,
    model: Runnable[Any, Any],
    prompt: SystemMessage | None,
    response_format: Any,
) -> str:
    """Add what comes after the loop, and return its first node."""
    last = END
    if memory.config.flush is not None:
        graph.add_node("flush", memory.flush_node())
        graph.add_edge("flush", END)
        last = "flush"
    if response_format is None:
        return last
    graph.add_node("structured_response", memory.structured_node(model, response_format, system_prompt=prompt))
    graph.add_edge("structured_response", last)
    return "structured_response"


def _messages(state: Any) -> list[AnyMessage]:
    found: list[AnyMessage] = state["messages"] if isinstance(state, dict) else state.messages
    return found


def _last_reply(messages: Sequence[AnyMessage]) -> int | None:
    return next((at for at in range(len(messages) - 1, -1, -1) if isinstance(messages[at], AIMessage)), None)


def _calls_or(last: str) -> Callable[[Any], list[Send] | str]:
    """Route to one task for each call that has no result yet, else to the end."""

    def route(state: Any) -> list[Send] | str:
        messages = _messages(state)
        start = _last_reply(messages)
        if start is None:
            return last
        # Some providers count their calls anew in each reply, so results of earlier ones tell nothing.
        answered = {message.tool_call_id for message in messages[start:] if isinstance(message, ToolMessage)}
        reply = cast("AIMessage", messages[start])
        waiting = [call for call in reply.tool_calls if call["id"] not in answered]
        return [Send("tools", [call]) for call in waiting] or last

    return route


def _back_or(last: str, entry: Callable[[Any], str], node: ToolNode) -> Callable[[Any], str]:
    """Route back to the model, or to the end where every tool that ran answers the user itself."""

    def route(state: Any) -> str:
        messages = _messages(state)
        start = _last_reply(messages)
        ran = [node.tools_by_name.get(str(message.name)) for message in messages[0 if start is None else start + 1 :]]
        return last if ran and all(tool is not None and tool.return_direct for tool in ran) else entry(state)

    return route


def _with_response(schema: type[Any], wanted: bool) -> type[Any]:  # noqa: FBT001  a private switch
    if not wanted or "structured_response" in get_type_hints(schema):
        return schema
    hints = get_type_hints(schema, include_extras=True)
    return TypedDict(f"{schema.__name__}WithResponse", {**hints, "structured_response": NotRequired[Any]})  # type: ignore[operator, no-any-return]


def _shown(schema: type[Any]) -> type[Any]:
    """Return what a run shows of its state: all but memory's private values."""
    hints = get_type_hints(schema, include_extras=True)
    if MEMORY_KEY not in hints:
        return schema
    return TypedDict(f"{schema.__name__}Output", {k: v for k, v in hints.items() if k != MEMORY_KEY})  # type: ignore[operator, no-any-return]
