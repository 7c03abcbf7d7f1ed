"""One compaction: a prefix of the conversation becomes a summary.

    cut ─► append raw messages to the session log ─► queue the prefix for flush ─► summarise ─► accept, or keep the history
            │ fails: nothing is folded                                              │ fails: history stays, back off

A summary that was paid for is used again when the same messages are folded after a failed model call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from langgraph_harness_memory.config import CompactionConfig, ToolResultEvictionConfig
from langgraph_harness_memory.conversation.cutoff import Cut, Tail, cut
from langgraph_harness_memory.conversation.folding import fold_key, fold_update
from langgraph_harness_memory.conversation.memory import CompactionMemory
from langgraph_harness_memory.conversation.summary import NoSummary, Summary, SummarySettings, summarise, summary_text
from langgraph_harness_memory.conversation.tokens import TokenCounter
from langgraph_harness_memory.events import Compacted, CompactionFailed
from langgraph_harness_memory.formats.forms import form_of
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.steps import Failed, Steps, append_session_log, notify, queue_flush


def unchanged(text: str) -> str:
    """Return a text as it is: what stands for redaction where it is switched off."""
    return text


def nowhere(message: BaseMessage) -> bool:  # noqa: ARG001  stands for a check of the message
    """Say of every message that it is not known to be logged; the log itself then tells."""
    return False


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """Everything that the rules need to know about one model call."""

    thread: ThreadRef
    """Whose conversation it is."""
    messages: Sequence[BaseMessage]
    """The state's messages, oldest first, without the agent's system prompt."""
    counter: TokenCounter
    """Counts them; one for all turns, so that it remembers."""
    memory: CompactionMemory
    """What is remembered of the thread; changed as the rules go."""
    compaction: CompactionConfig | None
    """`None` = messages are neither truncated nor folded, and an overflow is rethrown."""
    eviction: ToolResultEvictionConfig | None = None
    """`None` = the newest results are not evicted here."""
    overhead: int | None = 0
    """Tokens of what is sent beside the messages: system prompt, injected memory, tool schemas; `None` = not known."""
    window: int | None = None
    """Tokens that the agent's model takes in; `None` = not known."""
    summary_window: int | None = None
    """Tokens that the summarising model takes in; `None` = not known."""
    reader: str | None = None
    """The bound tool that opens evicted files; `None` = none is bound."""
    session_reader: str | None = None
    """The bound tool that searches session logs; `None` = none is bound."""
    log_path: str | None = None
    """The thread's session log, as the model should know it; `None` = there is none."""
    flushes: bool = True
    """Facts are flushed at all."""
    waits_for_flush: bool = False
    """`mode="inline"`."""
    redact: Callable[[str], str] = unchanged
    """Puts placeholders for secrets into what the summary model sees and says."""
    is_logged: Callable[[BaseMessage], bool] = nowhere
    """Tells of a message, as it is, whether it is known to stand in the session log; what is not known is asked of the log."""
    needs_removals: bool = True
    """The messages channel is not known to be `memory_messages`, which reads from a summary what it folded; making a removal
    for each of 10 000 messages takes longer than all else of a compaction."""
    in_state: frozenset[str] | None = None
    """Ids of the messages that stand in the state and can be updated there; `None` = all that have an id."""

    @property
    def conversation(self) -> str:
        """The name under which the counter remembers these messages."""
        return f"{self.thread.tenant}\n{self.thread.thread_id}\n{self.thread.namespace}"

    def log(self, messages: Sequence[BaseMessage]) -> Steps[Failed | None]:
        """Have messages stand in the session log as they were said; forms of ours have no place there."""
        unknown = [m for m in messages if form_of(m) is None and not self.is_logged(m)]
        logged = (yield from append_session_log(self.thread, unknown)) if unknown else None
        return logged if isinstance(logged, Failed) else None

    def held(self, view: Sequence[BaseMessage]) -> frozenset[int]:
        """Return the places of messages that cannot be folded."""
        if self.in_state is None:  # of ten thousand messages next to none bears a marker
            return frozenset(
                place for place, m in enumerate(view) if m.id is None or (m.additional_kwargs and self.is_held(m))
            )
        return frozenset(place for place, message in enumerate(view) if self.is_held(message))

    def is_held(self, message: BaseMessage) -> bool:
        """Say whether a message cannot be folded, since the state does not know it."""
        if message.id is None or form_of(message) == "context":
            return True
        return self.in_state is not None and message.id not in self.in_state


@dataclass(frozen=True, kw_only=True, slots=True)
class Folded:
    """A compaction took place."""

    view: list[BaseMessage]
    """What the model sees now."""
    update: list[BaseMessage]
    """What the state has to take in; empty where the messages could not be logged and so must not leave it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """The history stays as it was."""

    reason: str
    """Why; empty where there was nothing to fold."""


def compact(
    turn: Turn,
    view: list[BaseMessage],
    tail: Tail,
    *,
    config: CompactionConfig,
    by_rules: bool = False,
    needs_room: bool = False,
) -> Steps[Folded | Kept]:
    """Fold what a tail leaves over.

    Args:
        turn: The model call.
        view: What the model sees so far, oldest first.
        tail: What should stay and what may stay.
        config: The turn's settings.
        by_rules: Ask the model-free extractor at once.
        needs_room: The request was refused for its length: the rules summarise where the model fails, and messages that
            cannot be logged are left out of this one request and stay in the state.
    """
    ledger = turn.counter.look(view, conversation=turn.conversation)
    held = turn.held(view)
    choice = cut(view, tail, sums=ledger.sums, held=held)
    if choice is None:
        return Kept(reason="")
    folded = [view[place] for place in choice.folded]
    is_logged = True
    if config.offload_before_compact:
        failure = yield from turn.log(view[: choice.at])
        is_logged = failure is None
        if failure is not None and not needs_room:
            return (yield from _kept(turn, f"the session log could not be written: {failure.reason}"))
    if turn.flushes and config.flush_before_compact and is_logged:
        # A flush that cannot be queued is made up for: what is logged and unmarked is found by the next one.
        yield from queue_flush(turn.thread, wait=turn.waits_for_flush)
    sums = ledger.sums
    sizes = [sums[place + 1] - sums[place] for place in choice.folded]
    summary = yield from _summary(turn, folded, sizes, config, by_rules=by_rules, needs_room=needs_room)
    if isinstance(summary, NoSummary):
        return Kept(reason=summary.reason)
    return (yield from _fold(turn, view, choice, summary, is_logged=is_logged))


def _kept(turn: Turn, reason: str) -> Steps[Kept]:
    turn.memory.failed()
    yield from notify(
        CompactionFailed(
            thread_id=turn.thread.thread_id, tenant=turn.thread.tenant, reason=reason, failures=turn.memory.failures
        )
    )
    return Kept(reason=reason)


def _summary(
    turn: Turn,
    folded: Sequence[BaseMessage],
    sizes: Sequence[int],
    config: CompactionConfig,
    *,
    by_rules: bool,
    needs_room: bool,
) -> Steps[Summary | NoSummary]:
    memory, key = turn.memory, fold_key(folded)
    if memory.paid_key == key:
        return Summary(text=memory.paid_text, by_rules=memory.paid_by_rules)
    settings = SummarySettings(
        prompt=config.summary_prompt,
        most_tokens=config.max_summary_tokens,
        timeout=config.timeout,
        window=turn.summary_window if turn.summary_window is not None else turn.window,
        redact=turn.redact,
    )
    summary = yield from summarise(folded, settings, counter=turn.counter, sizes=sizes, by_rules=by_rules)
    if isinstance(summary, NoSummary):
        yield from _kept(turn, summary.reason)
        if needs_room and not by_rules:
            summary = yield from summarise(folded, settings, counter=turn.counter, sizes=sizes, by_rules=True)
    if isinstance(summary, Summary):
        memory.succeeded(key, summary.text, by_rules=summary.by_rules or by_rules)
    return summary


def _fold(
    turn: Turn,
    view: list[BaseMessage],
    choice: Cut,
    summary: Summary,
    *,
    is_logged: bool,
) -> Steps[Folded]:
    counter = turn.counter
    before = counter.request(view, overhead=turn.overhead, conversation=turn.conversation)
    text = summary_text(summary.text, log_path=turn.log_path, reader=turn.session_reader)
    folded, places = [view[place] for place in choice.folded], frozenset(choice.folded)
    left = [message for place, message in enumerate(view) if place not in places]
    after = sum(map(counter.message, left)) + counter.text(text) + (turn.overhead or 0)
    update = fold_update(
        folded,
        text,
        tail=view[-1].id,
        by_rules=summary.by_rules,
        facts={"messages_after": len(left) + 1, "tokens_after": after},
        key=turn.memory.paid_key,
        removals=turn.needs_removals,
    )
    yield from notify(
        Compacted(
            thread_id=turn.thread.thread_id,
            tenant=turn.thread.tenant,
            messages_before=len(view),
            messages_after=len(left) + 1,
            tokens_before=before,
            tokens_after=after,
            by_rules=summary.by_rules,
        )
    )
    first = choice.folded[0]
    return Folded(view=[*left[:first], update[0], *left[first:]], update=update if is_logged else [])
