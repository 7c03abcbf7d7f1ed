"""Lead a recorded conversation through the memory agent, from wherever an earlier replay stopped.

    recorded user and system messages ──► agent graph ──► recorded answers, recorded tool results
                                             │
                                             └─ compaction, eviction, flush as in life

The place to go on from is read from the agent's own state, so nothing is kept beside it and nothing can disagree.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from langgraph_harness_memory.cli.recorded import RecordedChatModel, Recording, recorded_tools
from langgraph_harness_memory.errors import HarnessMemoryError
from langgraph_harness_memory.formats.conversations import Conversation
from langgraph_harness_memory.testing.requests import request_faults

Agent = CompiledStateGraph[Any, Any, Any, Any]
Build = Callable[[RecordedChatModel, Sequence[Any]], Agent]
"""Builds the memory agent around a model and its tools."""
Count = Callable[[Sequence[BaseMessage]], int]
"""Counts the tokens of messages."""


class ReplayStuck(HarnessMemoryError):
    """The agent did not take the next message of a recording."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Replayed:
    """What became of one conversation."""

    thread_id: str
    messages: int
    """Messages of the recording."""
    new: int
    """Of these, how many this replay added to the session log."""
    requests: int
    """Model calls."""
    sent_tokens: int
    """Tokens of all requests together."""
    plain_tokens: int
    """What they would have been with the whole history in each."""
    largest_request: int
    """Tokens of the largest request."""
    longest_request: int
    """Messages of the longest request."""
    faults: tuple[str, ...]
    """What a provider would have refused."""


def replay(
    conversation: Conversation,
    *,
    build: Build,
    logged: Callable[[], set[str]],
    count: Count,
    user_id: str | None = None,
    model_node: str = "model",
    tools_node: str = "tools",
    on_progress: Callable[[int], None] | None = None,
) -> Replayed:
    """Lead one conversation through an agent to its end.

    Args:
        conversation: What was said; each message has an id.
        build: Builds the agent; it must keep state with a checkpointer.
        logged: Reads the ids that the thread's session log holds.
        count: Counts tokens.
        user_id: Whose memory it feeds; `None` = the shared one.
        model_node: Name of the agent's node that calls the model.
        tools_node: Name of the agent's node that runs tools.
        on_progress: Told how many messages of the recording are done.

    Raises:
        ReplayStuck: The agent did not go on; what was done stays.
    """
    tell = on_progress or (lambda _done: None)
    before = logged()
    recording = Recording(messages=conversation.messages)
    model = RecordedChatModel(recording=recording)
    ids = set(recording.places)
    if not ids <= before:
        agent = build(model, recorded_tools(recording))
        configurable = {"thread_id": conversation.thread_id} | ({"user_id": user_id} if user_id is not None else {})
        lead = _Lead(
            agent=agent,
            recording=recording,
            config={"configurable": configurable},
            model_node=model_node,
            tools_node=tools_node,
        )
        lead.to_the_end(tell)
    tell(len(conversation.messages))
    missing = ids - logged()
    if missing:
        raise ReplayStuck(f"thread {conversation.thread_id!r}: {len(missing)} messages did not reach the session log")
    return _replayed(conversation, model.seen, recording, new=len(ids - before), count=count)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Lead:
    """One agent, one thread, one recording."""

    agent: Agent
    recording: Recording
    config: RunnableConfig
    model_node: str
    tools_node: str

    def to_the_end(self, tell: Callable[[int], None]) -> None:
        last: tuple[int, tuple[str, ...], bool] | None = None
        while True:
            state = self.agent.get_state(self.config)
            at = self.recording.position((state.values or {}).get("messages", []))
            waiting = tuple(task.name for task in state.tasks)
            # A crash between a step's writes and its checkpoint: they are shown as done and still have to be taken up.
            is_cut_off = any(task.result is not None for task in state.tasks)
            tell(at)
            if at >= len(self.recording.messages) and not is_cut_off and not self._has_loose_ends(waiting):
                return
            if (at, waiting, is_cut_off) == last:
                thread_id = self.config["configurable"]["thread_id"]
                raise ReplayStuck(f"thread {thread_id!r} does not go on after message {at}")
            last = (at, waiting, is_cut_off)
            # Whatever an earlier process answered, the results that are missing stand from here on.
            self.recording.answered = at - 1
            if is_cut_off:
                self.agent.invoke(None, self.config, interrupt_before="*")
            else:
                self._step(at, waiting)

    def _has_loose_ends(self, waiting: tuple[str, ...]) -> bool:
        """Say whether the last turn was answered and stands before something that needs no answer, such as the flush."""
        answered = bool(self.recording.messages) and isinstance(self.recording.messages[-1], AIMessage)
        return bool(waiting) and answered and not set(waiting) & {self.model_node, self.tools_node}

    def _step(self, at: int, waiting: tuple[str, ...]) -> None:
        messages = self.recording.messages
        if at >= len(messages) or (waiting and self._goes_on(at, waiting)):
            self.agent.invoke(None, self.config, interrupt_after=self._stops(at))
            return
        end = at
        while end < len(messages) and not isinstance(messages[end], AIMessage):
            end += 1
        given = {"messages": list(messages[at:end])}
        if end == len(messages):
            # Nobody answered any more; the messages are taken in and the run stops where the model would be asked.
            self.agent.invoke(given, self.config, interrupt_before=[self.model_node])
        else:
            self.agent.invoke(given, self.config, interrupt_after=self._stops(end))

    def _goes_on(self, at: int, waiting: tuple[str, ...]) -> bool:
        """Say whether the run that stands open comes to the next message by itself."""
        if isinstance(self.recording.messages[at], AIMessage):
            return self.tools_node not in waiting
        called = _last_answer(self.recording, at)
        return self.tools_node in waiting and called == at - 1 and self.recording.calls_run_until(called) is not None

    def _stops(self, at: int) -> list[str]:
        """Say where a run must pause since what was recorded next is not what an agent does by itself.

        An agent asks its model after all tools have answered. A recording may be cut off there, lack a result, or have
        the user speak between a result and the next answer.
        """
        messages = self.recording.messages
        while at < len(messages):
            message = messages[at]
            if isinstance(message, ToolMessage):
                return [self.tools_node]
            if not isinstance(message, AIMessage) or not message.tool_calls:
                return []
            end = self.recording.calls_run_until(at)
            if end is None:
                return [self.model_node, self.tools_node]
            if end == len(messages) or not isinstance(messages[end], AIMessage):
                return [self.tools_node]
            at = end
        return []


def _last_answer(recording: Recording, at: int) -> int:
    """Return the place of the last assistant message before a place; -1 = there is none."""
    return next((n for n in range(at - 1, -1, -1) if isinstance(recording.messages[n], AIMessage)), -1)


def _replayed(
    conversation: Conversation, requests: list[list[BaseMessage]], recording: Recording, *, new: int, count: Count
) -> Replayed:
    tokens = [count(request) for request in requests]
    history = [0]
    for message in conversation.messages:
        history.append(history[-1] + count([message]))
    return Replayed(
        thread_id=conversation.thread_id,
        messages=len(conversation.messages),
        new=new,
        requests=len(requests),
        sent_tokens=sum(tokens),
        plain_tokens=sum(history[recording.position(request)] for request in requests),
        largest_request=max(tokens, default=0),
        longest_request=max(map(len, requests), default=0),
        # Where the assistant speaks first there is nothing to send, and nothing wrong with it.
        faults=tuple(fault for request in requests if request for fault in request_faults(request)),
    )
