"""`HarnessMemory`: the whole."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph

from langgraph_harness_memory import nodes
from langgraph_harness_memory.clock import Clock, SystemClock
from langgraph_harness_memory.config import MemoryConfig
from langgraph_harness_memory.events import OnEvent
from langgraph_harness_memory.index.hits import Index
from langgraph_harness_memory.memory.fronts import build_middleware, reading_tools, writing_tools
from langgraph_harness_memory.memory.operations import Operations
from langgraph_harness_memory.memory.parts import Parts
from langgraph_harness_memory.models import resolve_model
from langgraph_harness_memory.outcome import finish_in_thread
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.tenancy import ambient_thread, thread_of
from langgraph_harness_memory.turns import READERS, Agent, Turns, messages_of, missing_reader
from langgraph_harness_memory.workspace import Workspace

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.tools import BaseTool
    from langgraph.prebuilt import ToolNode

    from langgraph_harness_memory.retriever import MemoryIndexRetriever

Model = Runnable[Any, BaseMessage] | str


class HarnessMemory(Operations):
    """Memory for agents in a workspace that a person can open in an editor.

    Building one touches no disk and starts no thread. The first run of an agent does; leaving the `with` block drains what
    runs in the background. A memory that is not closed drains at the interpreter's exit.

    Args:
        workspace: A folder, a `postgresql://` URL, or a workspace.
        model: Flushes and consolidates: a chat model or its name. `None` = the model of the agent whose turn it is; rules
            (`ExtractiveChatModel`) where no model exists.
        config: All settings; `None` = every part with its defaults.
        on_event: Receives events as they happen.
        clock: Tells the time.

    Example:
        with HarnessMemory("workspace", model="openai:gpt-5.5") as memory:
            agent = create_memory_agent("openai:gpt-5.5", tools=[], memory=memory)
    """

    def __init__(
        self,
        workspace: Workspace | Path | str,
        *,
        model: "BaseChatModel | str | None" = None,
        config: MemoryConfig | None = None,
        on_event: OnEvent | None = None,
        clock: Clock | None = None,
    ) -> None:
        parts = self._parts = Parts(
            workspace,
            model=model,
            config=config or MemoryConfig(),
            on_event=on_event,
            clock=clock or SystemClock(),
        )
        self._turns = Turns(
            config=parts.config,
            performer=parts.acting,
            sessions=parts.sessions,
            clock=parts.clock,
            redact=parts.screening.redact,
            runs=parts,
        )

    def __repr__(self) -> str:
        return f"HarnessMemory({self._parts.workspace.name!r})"

    # -- life cycle

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def close(self) -> bool:
        """Drain the flushes that are under way, stop the scheduler and close the index.

        A closed memory may be used again; what it needs is opened anew.

        Returns:
            `False` when something was still under way when its time was over; it is recovered at the next start.
        """
        return self._parts.close()

    async def aclose(self) -> bool:
        """Twin of `close`."""
        return await self._parts.aclose()

    def start(self) -> None:
        """Start the in-process scheduler of maintenance; without effect while it runs."""
        self._parts.scheduler.start()

    async def astart(self) -> None:
        """Twin of `start`."""
        self.start()

    def stop(self, timeout: timedelta = timedelta(seconds=30)) -> bool:
        """Stop the scheduler and wait for a tick that is under way.

        Args:
            timeout: How long to wait.

        Returns:
            `False` when the time was over first.
        """
        return self._parts.scheduler.stop(timeout)

    async def astop(self, timeout: timedelta = timedelta(seconds=30)) -> bool:  # noqa: ASYNC109  of a thread, not of this coroutine
        """Twin of `stop`."""
        return await finish_in_thread(self.stop, timeout)

    # -- the parts

    @property
    def config(self) -> MemoryConfig:
        """All settings."""
        return self._parts.config

    @property
    def workspace(self) -> Workspace:
        """Where everything is kept."""
        return self._parts.workspace

    @property
    def sessions(self) -> SessionLog:
        """The raw messages of every thread."""
        return self._parts.sessions

    @property
    def index(self) -> Index:
        """The index of the shared root's memory; `for_tenant` gives a user's."""
        return self._parts.index()

    @property
    def checkpointer(self) -> BaseCheckpointSaver[Any]:
        """A checkpointer that keeps what the session logs hold only once."""
        return self._parts.checkpointer()

    def maintenance_graph(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        """Return one tick of maintenance as a compiled graph: to invoke, to serve, or as a node of another graph."""
        return self._parts.graph()

    # -- tools

    @property
    def tools(self) -> "list[BaseTool]":
        """Memory's reading tools."""
        return self.tools_for()

    def tools_for(self, *, write: bool = False) -> "list[BaseTool]":
        """Return memory's tools.

        Args:
            write: Also those that save and forget; forgetting interrupts for a person.
        """
        return [*self._reading, *(writing_tools(self, self._parts) if write else ())]

    @functools.cached_property
    def _reading(self) -> "list[BaseTool]":
        # Built once: whoever counts their schemas knows a tool by its object.
        return reading_tools(self._parts)

    def retriever(self, *, k: int = 4) -> "MemoryIndexRetriever":
        """Return a LangChain retriever over the index; the tenant is that of the run it is called in.

        Args:
            k: Documents given at most.
        """
        from langgraph_harness_memory.retriever import MemoryIndexRetriever  # noqa: PLC0415  only where it is used

        return MemoryIndexRetriever(index=self.index, k=k)

    def with_tools(self, tools: Sequence[Any] = ()) -> list[Any]:
        """Return an agent's tools and behind them memory's reading tools, under names that are free.

        Args:
            tools: The agent's own, in any form that can be bound; memory's writing tools among them stay.
        """
        names = {tool.get("name") if isinstance(tool, dict) else _name_of(tool) for tool in tools}
        return [*tools, *(tool for tool in self.tools if tool.name not in names), *self._missing_reader(tools)]

    def _missing_reader(self, tools: Sequence[Any]) -> "list[BaseTool]":
        own = self._reader()
        if own is None or self.config.eviction is None:
            return []
        reader = missing_reader(tools, own)
        return [] if reader is None or reader.name == own.name else [reader]

    def _reader(self) -> "BaseTool | None":
        return next((tool for tool in self.tools if tool.name == READERS[0]), None)

    # -- nodes

    def compaction_node(
        self,
        *,
        model: Model | None = None,
        tools: Sequence[Any] | None = None,
        system_prompt: SystemMessage | str | None = None,
        messages_key: str = "messages",
        view_key: str | None = None,
        needs_removals: bool = True,
    ) -> Runnable[Any, Any]:
        """Return the node that keeps a conversation small; it stands before the model.

        Args:
            model: The agent's model, whose window and voice it uses; `None` = that of the agent that runs.
            tools: What is bound to it, so that their schemas are counted; `None` = not known, the provider's count tells.
            system_prompt: What is sent before the messages, so that it is counted; `None` = nothing.
            messages_key: The state's messages.
            view_key: A second key that takes what the model should see (`llm_input_messages`); `None` = none.
            needs_removals: `False` where the messages channel is `memory_messages`, which reads from a summary what it folded.
        """
        agent = replace(self._agent(model, tools, system_prompt), needs_removals=needs_removals)
        return nodes.compaction_node(self._turns, agent, key=messages_key, view_key=view_key)

    def compaction_is_due(
        self,
        *,
        model: Model | None = None,
        tools: Sequence[Any] | None = None,
        system_prompt: SystemMessage | str | None = None,
        messages_key: str = "messages",
    ) -> Callable[[Any], bool]:
        """Return what tells from a state whether the compaction node has anything to do, for a conditional edge before it.

        Args:
            model: As for `compaction_node`; so are the others.
            tools: What is bound to it.
            system_prompt: What is sent before the messages.
            messages_key: The state's messages.
        """
        agent = self._agent(model, tools, system_prompt)
        return lambda state: self._turns.is_due(agent, messages_of(state, messages_key))

    def model_node(
        self,
        model: Model,
        tools: Sequence[Any] = (),
        *,
        system_prompt: SystemMessage | str | None = None,
        messages_key: str = "messages",
        prepares: bool = False,
        name: str | None = None,
    ) -> Runnable[Any, Any]:
        """Return the node that calls the agent's model with the workspace's context and recovers from an overflow.

        Args:
            model: A chat model or its name; its tools are bound here unless they are already.
            tools: What to bind.
            system_prompt: What it is told first.
            messages_key: The state's messages.
            prepares: Compact here too, for a graph without a compaction node.
            name: Name that the replies carry; `None` = none.
        """
        runnable = self._resolved(model)
        bind = getattr(runnable, "bind_tools", None)
        bound = bind(list(tools)) if tools and bind is not None else runnable
        agent = self._agent(runnable, [*tools, *self._bound_tools(runnable)], system_prompt)
        return nodes.model_node(self._turns, agent, bound, key=messages_key, author=name, prepares=prepares)

    def structured_node(
        self,
        model: Model,
        schema: Any,
        *,
        system_prompt: SystemMessage | str | None = None,
        messages_key: str = "messages",
    ) -> Runnable[Any, Any]:
        """Return the node that has a model fill in a schema from the conversation, as `structured_response`.

        Args:
            model: A chat model or its name.
            schema: What `with_structured_output` takes.
            system_prompt: What it is told first.
            messages_key: The state's messages.
        """
        runnable: Any = self._resolved(model)
        agent = self._agent(runnable, (), system_prompt)
        return nodes.structured_node(self._turns, agent, runnable.with_structured_output(schema), key=messages_key)

    def tool_node(self, tools: "Sequence[Any] | ToolNode", *, messages_key: str = "messages") -> Runnable[Any, Any]:
        """Return a node that runs tools, logs their results as they were and evicts what is too large."""
        return nodes.tool_node(self._turns, Agent(), tools, key=messages_key)

    def eviction_node(
        self, *, tools: Sequence[Any] | None = None, messages_key: str = "messages"
    ) -> Runnable[Any, Any]:
        """Return the node that evicts what is too large among the newest results; it stands behind your own tool node.

        Args:
            tools: What is bound to the model, so that a placeholder names a reader that is there; `None` = not known.
            messages_key: The state's messages.
        """
        return nodes.eviction_node(self._turns, Agent(tools=tools), key=messages_key)

    def flush_node(self, *, messages_key: str = "messages") -> Runnable[Any, Any]:
        """Return the node that ends a run: its facts are on their way to the daily log."""
        return nodes.flush_node(self._turns, Agent(), key=messages_key)

    def wrap_model(self, model: Model) -> Runnable[Any, BaseMessage]:
        """Return your own model with memory around it: the workspace's context, valid requests, overflow recovery.

        Args:
            model: The model as you call it, its tools bound.
        """
        runnable = self._resolved(model)
        tools = self._bound_tools(runnable)
        return nodes.wrapped_model(self._turns, self._agent(runnable, tools, None), runnable)

    def context_message(self, config: RunnableConfig | None = None) -> SystemMessage | None:
        """Return the block of the workspace alone, as a system message; `None` where there is nothing to say.

        Args:
            config: Names the tenant (`configurable.user_id`); `None` = the run that is under way, else the shared root.
        """
        thread = ambient_thread() if config is None else thread_of(config)
        block = self._turns.run(self._turns.context(thread, Agent(tools=self.tools)))
        return SystemMessage(block) if block else None

    async def acontext_message(self, config: RunnableConfig | None = None) -> SystemMessage | None:
        """Twin of `context_message`."""
        thread = ambient_thread() if config is None else thread_of(config)
        block = await self._turns.arun(self._turns.context(thread, Agent(tools=self.tools)))
        return SystemMessage(block) if block else None

    # -- middleware

    def middleware(self) -> list[Any]:
        """Return the middleware for `create_agent` and `create_deep_agent`, outermost first.

        Raises:
            MissingExtra: langchain is not installed.
        """
        return build_middleware(self._turns, self.tools, self._reader(), self.config)

    def _agent(
        self, model: Model | None, tools: Sequence[Any] | None, system_prompt: SystemMessage | str | None
    ) -> Agent:
        prompt = SystemMessage(system_prompt) if isinstance(system_prompt, str) else system_prompt
        agent = Agent(model=None if model is None else self._resolved(model), tools=tools, system=prompt)
        self._parts.bind(agent.chat_model)
        return agent

    def _bound_tools(self, model: Any) -> list[Any]:
        """Return the tools that a binding carries; ours, which are bound as their schemas, as tools again."""
        bound = list((getattr(model, "kwargs", None) or {}).get("tools") or ())
        return [self._known(schema) if isinstance(schema, dict) else schema for schema in bound]

    def _known(self, schema: dict[str, Any]) -> Any:
        from langchain_core.utils.function_calling import convert_to_openai_tool  # noqa: PLC0415  loaded with the tools

        name = (schema.get("function") or schema).get("name")
        own = next((tool for tool in self._reading if tool.name == name), None)
        return own if own is not None and convert_to_openai_tool(own) == schema else schema

    def _resolved(self, model: Model) -> Any:
        return resolve_model(model) if isinstance(model, str) else model


def _name_of(tool: Any) -> str | None:
    return getattr(tool, "name", None) or getattr(tool, "__name__", None)
