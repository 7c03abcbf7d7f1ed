"""Memory as middleware for `create_agent` and `create_deep_agent`; each class can be used alone.

    WorkspaceContextMiddleware      outermost: what it injects is counted below
    ToolResultEvictionMiddleware    around each tool; brings the reader of what it evicts
    CompactionMiddleware            log ► evict ► truncate ► compact ► repair ► call ► recover
    MemoryFlushMiddleware           after the agent

Compaction stands in `wrap_model_call` and its update comes back as a `Command`, so that it costs no super-step, shrinks the
saved state, and shows neither a removal nor a new bubble in a stream. Retry and fallback middleware belongs outside, where
it never sees an overflow that was recovered.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, ExtendedModelResponse, ModelRequest, ModelResponse
from langchain.agents.middleware.internal_call_transformer import InternalCallTransformer
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import Command

from langgraph_harness_memory.conversation.turn import Sent, call_with_memory
from langgraph_harness_memory.performers import Caller
from langgraph_harness_memory.state import latest
from langgraph_harness_memory.steps import Steps
from langgraph_harness_memory.turns import (
    Agent,
    Turns,
    messages_of,
    missing_reader,
    private,
    reader_of,
    stored_memory,
    with_context,
)

Request = ModelRequest[Any]
Response = ModelResponse[Any]
Handler = Callable[[Request], Response]
AsyncHandler = Callable[[Request], Awaitable[Response]]
ToolResult = ToolMessage | Command[Any]


class CompactionState(AgentState[Any]):
    """The agent's state with memory's private values."""

    harness_memory: NotRequired[Annotated[dict[str, Any], PrivateStateAttr, latest]]


class WorkspaceContextMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Shows each model call the persona, the curated memory and the list of notes, and brings the tools that search them.

    Args:
        turns: Memory's part.
        tools: Tools that the agent gains.
    """

    def __init__(self, turns: Turns, *, tools: Sequence[BaseTool] = ()) -> None:
        super().__init__()
        self._turns = turns
        self.tools = list(tools)

    def wrap_model_call(self, request: Request, handler: Handler) -> Response:
        """Inject the block behind the agent's own system prompt."""
        agent = _agent(request)
        return handler(_injected(request, self._turns.run(self._rule(agent))))

    async def awrap_model_call(self, request: Request, handler: AsyncHandler) -> Response:
        """Twin of `wrap_model_call`."""
        agent = _agent(request)
        context = await self._turns.arun(self._rule(agent))
        return await handler(_injected(request, context))

    def _rule(self, agent: Agent) -> Steps[str]:
        thread = self._turns.begin(agent)
        yield from self._turns.admit(thread)
        return (yield from self._turns.context(thread, agent))


class CompactionMiddleware(AgentMiddleware[CompactionState, Any, Any]):
    """Keeps the conversation small: compaction, truncation, valid requests, and recovery from a context overflow.

    Args:
        turns: Memory's part.
        name: Its name in the agent. The default takes the place of deepagents' own summarisation.
        counts_context: Count the workspace's block where it is not in the request yet: in deepagents this class stands
            where theirs did, outside the middleware that injects.
    """

    state_schema = CompactionState
    transformers: Sequence[Any] = (InternalCallTransformer,)

    def __init__(self, turns: Turns, *, name: str = "SummarizationMiddleware", counts_context: bool = False) -> None:
        super().__init__()
        self._turns = turns
        self._name = name
        self._counts_context = counts_context

    @property
    def name(self) -> str:
        """Its name in the agent."""
        return self._name

    def wrap_model_call(self, request: Request, handler: Handler) -> ExtendedModelResponse[Any] | Response:
        """Call the model with memory."""
        agent = _agent(request)
        caller = Caller(
            model=agent.chat_model, call=lambda messages: handler(request.override(messages=_any(messages)))
        )
        return self._turns.run(self._rule(request, agent), caller)

    async def awrap_model_call(self, request: Request, handler: AsyncHandler) -> ExtendedModelResponse[Any] | Response:
        """Twin of `wrap_model_call`."""
        agent = _agent(request)
        caller = Caller(
            model=agent.chat_model, acall=lambda messages: handler(request.override(messages=_any(messages)))
        )
        return await self._turns.arun(self._rule(request, agent), caller)

    def _rule(self, request: Request, agent: Agent) -> Steps[ExtendedModelResponse[Any] | Response]:
        turns, thread = self._turns, self._turns.begin(agent)
        in_state = messages_of(request.state)
        yield from turns.log(thread, in_state)
        memory = turns.compaction_memory(thread, stored_memory(request.state))
        before = memory.as_json()
        context = (yield from turns.last_context(thread, agent)) if self._counts_context else ""
        ids = frozenset(message.id for message in in_state if message.id is not None)
        turn = turns.turn(thread, agent, request.messages, context=context, in_state=ids)
        sent: Sent = yield from call_with_memory(turn)
        response: Response = sent.result
        yield from turns.log(thread, response.result)
        update = private(before, memory.as_json()) | ({"messages": sent.update} if sent.update else {})
        return ExtendedModelResponse(response, Command(update=update)) if update else response


class ToolResultEvictionMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Logs each tool's result as it was and moves it to a file where it is too large.

    The reader of such files is offered to the model where none is bound. In deepagents its own file system evicts single
    results, through its own backend, and its `read_file` is left alone.

    Args:
        turns: Memory's part.
        reader: Our reader of evicted files; `None` = none is offered.
    """

    def __init__(self, turns: Turns, *, reader: BaseTool | None) -> None:
        super().__init__()
        self._turns = turns
        self._reader = reader

    def wrap_model_call(self, request: Request, handler: Handler) -> Response:
        """Offer the reader."""
        return handler(self._offered(request))

    async def awrap_model_call(self, request: Request, handler: AsyncHandler) -> Response:
        """Twin of `wrap_model_call`."""
        return await handler(self._offered(request))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        """Run the tool and evict its result."""
        result = handler(self._served(request))
        return self._turns.run(self._rule(request, result))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Twin of `wrap_tool_call`."""
        result = await handler(self._served(request))
        return await self._turns.arun(self._rule(request, result))

    def _missing(self, tools: Sequence[Any]) -> BaseTool | None:
        return None if self._reader is None else missing_reader(tools, self._reader)

    def _offered(self, request: Request) -> Request:
        reader = self._missing(request.tools)
        return request if reader is None else request.override(tools=[*request.tools, reader])

    def _served(self, request: ToolCallRequest) -> ToolCallRequest:
        """Put our reader behind a call of it, since a tool that was offered to the model alone is not registered."""
        reader = self._missing(_tools_of(request))
        is_call_of_it = request.tool is None and reader is not None and request.tool_call["name"] == reader.name
        return request.override(tool=reader) if is_call_of_it and reader is not None else request

    def _rule(self, request: ToolCallRequest, result: ToolResult) -> Steps[ToolResult]:
        thread = self._turns.begin(Agent())
        tools = _tools_of(request)
        reader = reader_of(tools)
        if reader is None:
            offered = self._missing(tools)
            reader = offered.name if offered else None
        results = yield from self._turns.evict(
            thread, [result], reader=reader, only_log=any(map(_is_of_deepagents, tools))
        )
        evicted: ToolResult = results[0]
        return evicted


class MemoryFlushMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Ends a run: what was said is logged, and its facts are on their way to the daily log.

    Args:
        turns: Memory's part.
    """

    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self._turns = turns

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:  # noqa: ARG002  injected by name
        """Log and queue the flush; a failure is told and never raised."""
        self._turns.run(self._turns.finish(self._turns.begin(Agent()), messages_of(state)))

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:  # noqa: ARG002  injected by name
        """Twin of `after_agent`."""
        await self._turns.arun(self._turns.finish(self._turns.begin(Agent()), messages_of(state)))


def _agent(request: Request) -> Agent:
    return Agent(model=request.model, tools=request.tools, system=request.system_message)


def _injected(request: Request, context: str) -> Request:
    return request.override(system_message=with_context(request.system_message, context)) if context else request


def _tools_of(request: ToolCallRequest) -> list[Any]:
    return list(getattr(request.runtime, "tools", None) or ())


def _is_of_deepagents(tool: Any) -> bool:
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    return tool.name == "read_file" and str(getattr(function, "__module__", "")).startswith("deepagents.")


def _any(messages: Sequence[BaseMessage]) -> list[Any]:
    return list(messages)
