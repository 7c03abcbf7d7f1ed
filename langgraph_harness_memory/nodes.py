"""Nodes for any `StateGraph`: compaction, model, tools with eviction, eviction alone, flush.

    START ► compaction ► model ► (tools ► compaction | flush) ► END

Each is one object that serves `invoke` and `ainvoke`. Updates are ordinary messages and removals, so that they mean the
same to `add_messages` and to `memory_messages`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage, SystemMessage, convert_to_messages
from langchain_core.runnables import Runnable

from langgraph_harness_memory.conversation.turn import Prepared, call_with_memory, prepare, send
from langgraph_harness_memory.performers import Caller, Twins
from langgraph_harness_memory.steps import Steps
from langgraph_harness_memory.turns import (
    Agent,
    State,
    Turns,
    messages_of,
    private,
    reader_of,
    stored_memory,
    with_context,
)

if TYPE_CHECKING:
    from langgraph.prebuilt import ToolNode

Node = Runnable[Any, Any]


def compaction_node(
    turns: Turns, agent: Agent, *, key: str = "messages", view_key: str | None = None, name: str = "compaction"
) -> Node:
    """Return the node that keeps a conversation small, its own super-step before the model.

    Args:
        turns: Memory's part.
        agent: What is known of the agent.
        key: The state's messages.
        view_key: A second key that takes what the model should see, for graphs that read `llm_input_messages`; `None` = the
            messages alone are rewritten.
        name: The node's name.
    """

    def rule(state: State) -> Steps[dict[str, Any]]:
        thread, messages = turns.begin(agent), messages_of(state, key)
        yield from turns.log(thread, messages)
        context = (yield from turns.last_context(thread, agent)) if agent.tools is not None else ""
        memory = turns.compaction_memory(thread, stored_memory(state))
        before = memory.as_json()
        turn = turns.turn(thread, agent, messages, context=context)
        prepared: Prepared = yield from prepare(turn)
        update: dict[str, Any] = {key: prepared.update} if prepared.update else {}
        if view_key is not None:
            update[view_key] = prepared.view
        return update | private(before, memory.as_json())

    return _node(name, turns, agent, rule)


def model_node(
    turns: Turns,
    agent: Agent,
    model: Runnable[Any, BaseMessage],
    *,
    key: str = "messages",
    author: str | None = None,
    prepares: bool = False,
    name: str = "model",
) -> Node:
    """Return the node that calls the agent's model with the workspace's context, and recovers from an overflow.

    Args:
        turns: Memory's part.
        agent: What is known of the agent.
        model: The model with its tools bound.
        key: The state's messages.
        author: Name that the replies carry; `None` = none.
        prepares: Compact here too, for a graph without a compaction node.
        name: The node's name.
    """

    def rule(state: State, prefix: list[BaseMessage]) -> Steps[dict[str, Any]]:
        thread, messages = turns.begin(agent), messages_of(state, key)
        yield from turns.log(thread, messages)
        prompt, rest = _parted(agent.system, messages)
        system = with_context(prompt, (yield from turns.context(thread, agent)))
        prefix[:] = [] if system is None else [system]
        memory = turns.compaction_memory(thread, stored_memory(state))
        before = memory.as_json()
        turn = turns.turn(thread, _prompted(agent, system), rest)
        sent = yield from (call_with_memory(turn) if prepares else send(turn))
        reply: BaseMessage = sent.result
        if author is not None:
            reply.name = author
        yield from turns.log(thread, [reply])
        return {key: [*sent.update, reply]} | private(before, memory.as_json())

    return _calling(name, turns, agent, model, rule)


def structured_node(
    turns: Turns, agent: Agent, model: Runnable[Any, Any], *, key: str = "messages", name: str = "structured_response"
) -> Node:
    """Return the node that has the model fill in a schema from the conversation, with the same context and recovery.

    Args:
        turns: Memory's part.
        agent: What is known of the agent.
        model: The model with its schema, as `with_structured_output` gives it.
        key: The state's messages.
        name: The node's name.
    """

    def rule(state: State, prefix: list[BaseMessage]) -> Steps[dict[str, Any]]:
        thread, messages = turns.begin(agent), messages_of(state, key)
        prompt, rest = _parted(agent.system, messages)
        system = with_context(prompt, (yield from turns.context(thread, agent)))
        prefix[:] = [] if system is None else [system]
        sent = yield from send(turns.turn(thread, _prompted(agent, system), rest))
        return {"structured_response": sent.result} | ({key: sent.update} if sent.update else {})

    return _calling(name, turns, agent, model, rule)


def wrapped_model(turns: Turns, agent: Agent, model: Runnable[Any, BaseMessage]) -> Runnable[Any, BaseMessage]:
    """Return a model that sees the workspace's context, gets valid requests, and recovers from an overflow.

    It stands in the place of the user's own model inside the user's own node. What a recovery folds stays out of the
    state, since only the node's own return value reaches it.
    """

    def rule(given: Any, prefix: list[BaseMessage]) -> Steps[BaseMessage]:
        thread, messages = turns.begin(agent), _as_messages(given)
        yield from turns.log(thread, [message for message in messages if message.id is not None])
        prompt, rest = _parted(agent.system, messages)
        system = with_context(prompt, (yield from turns.context(thread, agent)))
        prefix[:] = [] if system is None else [system]
        sent = yield from send(turns.turn(thread, _prompted(agent, system), rest))
        reply: BaseMessage = sent.result
        yield from turns.log(thread, [reply])
        return reply

    return _calling("model_with_memory", turns, agent, model, rule)


def tool_node(turns: Turns, agent: Agent, tools: "Sequence[Any] | ToolNode", *, key: str = "messages") -> Node:
    """Return a `ToolNode` whose results are logged as they were and evicted where they are too large.

    It takes what a `ToolNode` takes: a state, a list of messages, or the calls that a `Send` carries.
    """
    from langgraph.prebuilt import ToolNode  # noqa: PLC0415  a graph without tools does not need it

    node = tools if isinstance(tools, ToolNode) else ToolNode(list(tools), messages_key=key)
    bound = Agent(model=agent.model, tools=list(node.tools_by_name.values()))

    def rule(output: Any) -> Steps[Any]:
        thread = turns.begin(bound)
        results = list(_results_in(output, key))
        evicted = yield from turns.evict(thread, results, reader=reader_of(bound.tools))
        return _with_results(output, iter(evicted), key)

    def work(state: State) -> Any:
        return turns.run(rule(node.invoke(state)))

    async def awork(state: State) -> Any:
        return await turns.arun(rule(await node.ainvoke(state)))

    return Twins("tools", work, awork)


def eviction_node(turns: Turns, agent: Agent, *, key: str = "messages", name: str = "eviction") -> Node:
    """Return the node that evicts what is too large among the newest step's results, for a graph with its own tool node."""

    def rule(state: State) -> Steps[dict[str, Any]]:
        thread, messages = turns.begin(agent), messages_of(state, key)
        yield from turns.log(thread, messages)
        update = yield from turns.evict_in_state(thread, messages, reader=reader_of(agent.tools))
        return {key: update} if update else {}

    return _node(name, turns, agent, rule)


def flush_node(turns: Turns, agent: Agent, *, key: str = "messages", name: str = "flush") -> Node:
    """Return the node that ends a run: what was said is logged, and its facts are on their way to the daily log."""

    def rule(state: State) -> Steps[dict[str, Any]]:
        yield from turns.finish(turns.begin(agent), messages_of(state, key))
        return {}

    return _node(name, turns, agent, rule)


def _node(name: str, turns: Turns, agent: Agent, rule: Callable[[State], Steps[dict[str, Any]]]) -> Node:
    def work(state: State) -> dict[str, Any]:
        return turns.run(rule(state), _caller(agent))

    async def awork(state: State) -> dict[str, Any]:
        return await turns.arun(rule(state), _caller(agent))

    return Twins(name, work, awork)


def _calling(
    name: str,
    turns: Turns,
    agent: Agent,
    model: Runnable[Any, Any],
    rule: Callable[[Any, list[BaseMessage]], Steps[Any]],
) -> Runnable[Any, Any]:
    """Return what drives a rule that calls a model.

    Args:
        name: The runnable's name.
        turns: Memory's part.
        agent: The agent.
        model: What is called.
        rule: Takes the input and a list that it fills with what stands before the messages of each request.
    """

    def work(given: Any) -> Any:
        prefix: list[BaseMessage] = []
        caller = Caller(model=agent.chat_model, call=lambda messages: model.invoke([*prefix, *messages]))
        return turns.run(rule(given, prefix), caller)

    async def awork(given: Any) -> Any:
        prefix: list[BaseMessage] = []
        caller = Caller(model=agent.chat_model, acall=lambda messages: model.ainvoke([*prefix, *messages]))
        return await turns.arun(rule(given, prefix), caller)

    return Twins(name, work, awork)


def _caller(agent: Agent) -> Caller:
    return Caller(model=agent.chat_model)


def _as_messages(given: Any) -> list[BaseMessage]:
    """Return the messages of anything that a chat model takes."""
    if hasattr(given, "to_messages"):
        return list(given.to_messages())
    return convert_to_messages([("user", given)] if isinstance(given, str) else given)


def _parted(
    system: SystemMessage | None, messages: list[BaseMessage]
) -> tuple[SystemMessage | None, list[BaseMessage]]:
    """Return the system prompt and the rest: the agent's own, else the one that the messages begin with."""
    if system is None and messages and isinstance(messages[0], SystemMessage):
        return messages[0], messages[1:]
    return system, messages


def _prompted(agent: Agent, system: SystemMessage | None) -> Agent:
    return Agent(model=agent.model, tools=agent.tools, system=system)


def _results_in(output: Any, key: str) -> Iterator[Any]:
    """Give the tool messages and commands of what a `ToolNode` returned, in order."""
    if isinstance(output, Mapping):
        yield from output.get(key, ())
    elif isinstance(output, list):
        for part in output:
            yield from _results_in(part, key) if isinstance(part, list | Mapping) else (part,)


def _with_results(output: Any, results: Iterator[Any], key: str) -> Any:
    """Return the same with other results in their places."""
    if isinstance(output, Mapping):
        return {**output, key: [next(results) for _ in output[key]]} if key in output else output
    if isinstance(output, list):
        return [
            _with_results(part, results, key) if isinstance(part, list | Mapping) else next(results) for part in output
        ]
    return output
