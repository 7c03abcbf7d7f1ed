"""Memory's part in an agent's turn, the same for every front door.

    a front door says        what its agent is (`Agent`), whose turn it is, which messages
    `Turns` makes of it      the rule to drive: log, inject, prepare, call, recover, evict, finish
    `drive` / `adrive`       run it, sync or async

Nodes and middleware differ in where messages come from and where updates go; all the rest is here and below.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langgraph_harness_memory.clock import Clock
from langgraph_harness_memory.config import MemoryConfig
from langgraph_harness_memory.conversation.compaction import Turn, unchanged
from langgraph_harness_memory.conversation.context import workspace_context
from langgraph_harness_memory.conversation.due import due
from langgraph_harness_memory.conversation.eviction import (
    Place,
    choose,
    evict,
    evict_in_state,
    messages_in,
    newest_results,
)
from langgraph_harness_memory.conversation.memory import CompactionMemory
from langgraph_harness_memory.conversation.tokens import TokenCounter
from langgraph_harness_memory.conversation.vocabulary import counter_for, window_of
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.performers import Caller, Performer
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.steps import Failed, Steps, adrive, append_session_log, drive, queue_flush
from langgraph_harness_memory.tenancy import ambient_thread
from langgraph_harness_memory.turns.agents import Agent, reader_of

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

T = TypeVar("T")

KEPT_THREADS = 1_024
"""Threads of which something is remembered between two steps; an older one is looked up again."""


class _Recent(Generic[T]):
    """What is remembered of the threads that spoke last."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._kept: OrderedDict[ThreadRef, T] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, thread: ThreadRef) -> T:
        with self._lock:
            if thread not in self._kept:
                self._kept[thread] = self._make()
                while len(self._kept) > KEPT_THREADS:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(thread)
            return self._kept[thread]


@dataclass(kw_only=True, slots=True)
class _Remembered:
    """What is known of one thread between two steps."""

    model: "BaseChatModel | None" = None
    """The model of the agent that last spoke here."""
    context: str | None = None
    """The block of the workspace that its last model call saw."""
    compaction: CompactionMemory | None = None
    logged: dict[str, tuple[Any, Any]] | None = None
    """Content and calls by id of messages that this process has seen in the log; other looks are in the log itself."""
    flushed_at: float | None = None
    """When the end of a run last queued a flush, on the monotonic clock."""


class Runs(Protocol):
    """Hears of the runs of agents."""

    def begin_run(self, thread_id: str, model: "BaseChatModel | None") -> None:
        """A run of a thread shows a sign of life."""
        ...

    def end_run(self, thread_id: str) -> None:
        """A run of a thread came to its end."""
        ...


class Turns:
    """Memory's part in the turns of any number of agents and threads at once.

    Args:
        config: All settings.
        performer: Who acts.
        sessions: Names the session logs.
        clock: Tells how long ago the last flush was.
        redact: Takes secrets out of what the summary model sees; `None` = leaves them.
        runs: Told of each sign of life of a run, with its agent's model, and of its end.
    """

    def __init__(
        self,
        *,
        config: MemoryConfig,
        performer: Performer,
        sessions: SessionLog,
        clock: Clock,
        redact: Callable[[str], str] | None,
        runs: Runs,
    ) -> None:
        self.config = config
        self._performer = performer
        self._sessions = sessions
        self._clock = clock
        self._redact = redact or unchanged
        self._runs = runs
        self._counters: dict[int, tuple[Any, TokenCounter]] = {}
        self._recent: _Recent[_Remembered] = _Recent(_Remembered)

    # -- acting

    def run(self, rule: Steps[T], caller: Caller | None = None) -> T:
        """Drive a rule for an agent."""
        return drive(rule, self._performer.for_caller(self._known(caller)).perform)

    async def arun(self, rule: Steps[T], caller: Caller | None = None) -> T:
        """Drive a rule for an agent on the event loop; the twin of `run`."""
        return await adrive(rule, self._performer.for_caller(self._known(caller)).aperform)

    def _known(self, caller: Caller | None) -> Caller:
        """Return the caller with the thread's own model where a front door does not see it."""
        if caller is not None and caller.model is not None:
            return caller
        return replace(caller or Caller(), model=self._recent.of(ambient_thread()).model)

    def begin(self, agent: Agent) -> ThreadRef:
        """Note that an agent runs and return whose turn it is."""
        thread, model = ambient_thread(), agent.chat_model
        if model is not None:
            self._recent.of(thread).model = model
        self._runs.begin_run(thread.thread_id, model)
        return thread

    # -- what a model call needs

    def counter(self, agent: Agent) -> TokenCounter:
        """Return the counter for an agent's model; one for each model, so that it remembers what it counted."""
        model = agent.chat_model
        known = self._counters.get(id(model))
        if known is None or known[0] is not model:
            kind: Any = self.config.compaction.token_counter if self.config.compaction else "auto"
            known = self._counters[id(model)] = (model, counter_for(kind, model))
        return known[1]

    def context(self, thread: ThreadRef, agent: Agent) -> Steps[str]:
        """Return the block of the workspace that every model call sees; empty when that part is off."""
        if self.config.context is None:
            return ""
        can_search = agent.binds("memory_search")
        block = yield from workspace_context(thread.tenant, self.config.context, can_search=can_search)
        self._recent.of(thread).context = block
        return block

    def last_context(self, thread: ThreadRef, agent: Agent) -> Steps[str]:
        """Return the block as the last model call saw it, for counting; read where there was none yet."""
        known = self._recent.of(thread).context
        return known if known is not None else (yield from self.context(thread, agent))

    def turn(
        self,
        thread: ThreadRef,
        agent: Agent,
        messages: Sequence[BaseMessage],
        *,
        context: str = "",
        memory: Any = None,
        in_state: frozenset[str] | None = None,
    ) -> Turn:
        """Say what the rules need to know about one model call.

        Args:
            thread: Whose.
            agent: The agent.
            messages: Oldest first, without the agent's system prompt.
            context: The injected block, where it is not part of the system prompt.
            memory: What the state holds of compaction's memory, for a thread that this process has not seen.
            in_state: Ids of the messages that can be updated; `None` = all that have one.
        """
        config = self.config
        counter = self.counter(agent)
        overhead = None
        if agent.tools is not None:
            system = str(agent.system.text) if agent.system else ""
            overhead = counter.text(system) + counter.schemas(agent.tools)
            overhead += counter.text(context) if context not in system else 0
        summarises = config.compaction.model if config.compaction else None
        searches = agent.binds("session_search")
        return Turn(
            thread=thread,
            messages=messages,
            counter=counter,
            memory=self.compaction_memory(thread, memory),
            compaction=config.compaction,
            eviction=config.eviction,
            overhead=overhead,
            window=window_of(agent.model),
            summary_window=None if isinstance(summarises, str) else window_of(summarises),
            reader=reader_of(agent.tools),
            session_reader="session_search" if searches else None,
            log_path=self._sessions.path_of(thread.thread_id),
            flushes=config.flush is not None and self._may_flush(thread),
            waits_for_flush=config.flush is not None and config.flush.mode == "inline",
            redact=self._redact,
            is_logged=self._seen_in_log(thread),
            in_state=in_state,
            needs_removals=agent.needs_removals,
        )

    def is_due(self, agent: Agent, messages: Sequence[BaseMessage]) -> bool:
        """Say whether the compaction node has anything to do, without doing any of it: its super-step costs a checkpoint.

        Where this process has not seen the thread yet, and where more than a look at the triggers is needed, the answer is
        yes and the node decides.
        """
        thread = ambient_thread()
        known, config = self._recent.of(thread), self.config.compaction
        if config is None or known.context is None or config.history == "keep" or config.truncate_args is not None:
            return True
        turn = self.turn(thread, agent, messages, context=known.context)
        if turn.eviction is not None and choose(newest_results(messages), turn.eviction):
            return True
        tokens = turn.counter.request(messages, overhead=turn.overhead, conversation=turn.conversation)
        counted = turn.counter.messages(messages, conversation=turn.conversation)
        overhead = turn.overhead or 0
        found = due(messages, config, tokens=tokens, counted=counted, overhead=overhead, window=turn.window)
        return found is not None

    def compaction_memory(self, thread: ThreadRef, stored: Any = None) -> CompactionMemory:
        """Return what compaction remembers of a thread, read from the state where this process knows nothing yet."""
        known = self._recent.of(thread)
        if known.compaction is None:
            known.compaction = CompactionMemory.of(stored)
        return known.compaction

    # -- the rules that every front door shares

    def log(self, thread: ThreadRef, messages: Sequence[BaseMessage]) -> Steps[None]:
        """Have messages stand in the session log; those that this process has seen there cost a comparison."""
        known = self._recent.of(thread)
        seen = known.logged or {}
        new = [m for m in messages if m.id is None or seen.get(m.id) != _said(m)]
        if not new and known.logged is not None:
            return
        logged = yield from append_session_log(thread, new)
        if isinstance(logged, Failed):
            return
        # Only what was there at the last step can come again in the next one.
        earlier = dict(list(seen.items())[-KEPT_IDS:])
        known.logged = earlier | {m.id: _said(m) for m in messages if m.id is not None}

    def _seen_in_log(self, thread: ThreadRef) -> Callable[[BaseMessage], bool]:
        """Return what tells of a message that this process has seen it in the log as it is."""
        seen = self._recent.of(thread).logged or {}
        return lambda message: message.id is not None and seen.get(message.id) == _said(message)

    def admit(self, thread: ThreadRef) -> Steps[None]:
        """Refuse a run of another tenant than the thread's before anything of either is read.

        Raises:
            TenantMismatch: The thread belongs to another tenant.
        """
        if self._recent.of(thread).logged is None:
            yield from append_session_log(thread, ())

    def evict(
        self, thread: ThreadRef, results: Sequence[Any], *, reader: str | None, only_log: bool = False
    ) -> Steps[list[Any]]:
        """Log the results of one step as they were and evict what is too large.

        Args:
            thread: Whose.
            results: `ToolMessage`s and `Command`s, in order.
            reader: The bound tool that opens evicted files; `None` = none is bound.
            only_log: Somebody else evicts them.
        """
        yield from self.log(thread, [message for result in results for message in messages_in(result)])
        if only_log or self.config.eviction is None:
            return list(results)
        return (yield from evict(results, self.config.eviction, place=Place(thread=thread, reader=reader)))

    def evict_in_state(
        self, thread: ThreadRef, messages: Sequence[BaseMessage], *, reader: str | None
    ) -> Steps[list[ToolMessage]]:
        """Evict what is too large among the newest results of a conversation; returns what takes their places."""
        if self.config.eviction is None:
            return []
        return (yield from evict_in_state(messages, self.config.eviction, place=Place(thread=thread, reader=reader)))

    def finish(self, thread: ThreadRef, messages: Sequence[BaseMessage]) -> Steps[None]:
        """End a run: everything is logged, and a flush is queued if one is due. It never raises into the run."""
        yield from self.log(thread, messages)
        if not thread.namespace:
            self._runs.end_run(thread.thread_id)
        flush = self.config.flush
        if flush is None or not self._is_due(thread, flush.trigger) or not self._may_flush(thread):
            return
        is_inline = flush.mode == "inline"
        yield from queue_flush(thread, wait=is_inline, everything=is_inline)

    def _may_flush(self, thread: ThreadRef) -> bool:
        return not thread.namespace or (self.config.flush is not None and self.config.flush.subagents)

    def _is_due(self, thread: ThreadRef, trigger: Literal["always", "never"] | timedelta) -> bool:
        if not isinstance(trigger, timedelta):
            return trigger == "always"
        known, now = self._recent.of(thread), self._clock.monotonic()
        if known.flushed_at is not None and now - known.flushed_at < trigger.total_seconds():
            return False
        known.flushed_at = now
        return True


KEPT_IDS = 256
"""Ids of logged messages that are remembered per thread beside the present ones."""


def _said(message: BaseMessage) -> tuple[Any, Any]:
    return message.content, message.tool_calls if isinstance(message, AIMessage) else None
