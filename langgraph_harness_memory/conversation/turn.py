"""The whole of a model call, for every front door.

    prepare   evict the newest results ─► truncate arguments ─► count ─► due? ─► compact
    send      repair ─► CallModel ──► answer
                           │ Overflowed
                           ▼
              compact ─► half the tail, clip ─► all that can shrink      each followed by repair ─► CallModel,
                                                                         then the provider's own error

How the front doors call it:

* a **compaction node**, its own super-step before the model: `drive(prepare(turn), perform)` and write
  `Prepared.update` to the messages channel;
* a **model node** after it: `drive(send(turn), perform)`; the answer is `Sent.result`, and `Sent.update` goes to the
  channel before the answer's own messages (it is empty unless the call overflowed);
* **middleware**, and a model node without a compaction node: `drive(call_with_memory(turn), perform)`, which is both; in
  `wrap_model_call` the update is returned as `ExtendedModelResponse(result, Command(update={"messages": sent.update}))`;
* **`HarnessMemory.compact(messages)`**: `drive(compact_now(turn), perform)` and take `Prepared.view`.

What a front door fills in (`compaction.Turn`): `thread`; `messages` (the state's, without the system prompt; middleware adds
`in_state`, the ids of the state's messages, where others put messages of their own into the request); `counter`, one for the
whole memory (`vocabulary.counter_for`); `memory`, one `CompactionMemory` for each thread; `compaction` and `eviction`, the
settings groups or `None`; `overhead`, `counter.text(system prompt and injected memory) + counter.schemas(tools)`, or `None`
where it cannot know; `window` and `summary_window` (`vocabulary.window_of`); `reader`, the bound tool that opens evicted
files; `session_reader` and `log_path`; `flushes` and `waits_for_flush`; `redact`; `is_logged`, which saves the log from
being asked for what it is known to hold.

The performer is given `AppendSessionLog`, `QueueFlush`, `WriteEvicted`, `AskModel(purpose="summary")`, `CallModel` and `Notify`.
An update is ordinary messages and removals, to be written as they are, in one write. With `history="keep"` updates of
compaction stay in `CompactionMemory.view` and do not reach the state.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from langgraph_harness_memory.config import CompactionConfig
from langgraph_harness_memory.conversation.compaction import Folded, Kept, Turn, compact
from langgraph_harness_memory.conversation.due import Due, due, room, token_limit
from langgraph_harness_memory.conversation.eviction import Place, evict_in_state
from langgraph_harness_memory.conversation.folding import apply_update
from langgraph_harness_memory.conversation.ledger import Ledger
from langgraph_harness_memory.conversation.recovery import LEVELS, clip, shrink
from langgraph_harness_memory.conversation.repair import repair, sound_until
from langgraph_harness_memory.conversation.truncation import border, truncate
from langgraph_harness_memory.events import ArgumentsTruncated, Recovered
from langgraph_harness_memory.steps import Called, Overflowed, Steps, call_model, notify

MOST_COMPACTIONS = 2
"""Compactions by a model in one turn; a context that two did not bring down is not brought down by a third."""

LEAST_GAIN = 0.05
"""Part of a refused request that must be gone before the provider is asked again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """The conversation as the model should see it."""

    view: list[BaseMessage]
    """Oldest first."""
    update: list[BaseMessage]
    """What the state has to take in."""
    compactions: int
    """How often a summary was made."""
    ledger: Ledger
    """What was counted of the view."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """The model answered."""

    result: Any
    """What the caller's model function returned."""
    view: list[BaseMessage]
    """What the model saw, before repair."""
    update: list[BaseMessage]
    """What the state has to take in before the answer."""


def call_with_memory(turn: Turn) -> Steps[Sent]:
    """Prepare the conversation, send it, and recover from an overflow.

    Raises:
        Exception: What the model call raised; an overflow that nothing could shrink is the provider's own error.
    """
    prepared = yield from prepare(turn)
    return (yield from _send(turn, prepared))


def send(turn: Turn) -> Steps[Sent]:
    """Send a conversation that was prepared before, and recover from an overflow.

    Raises:
        Exception: What the model call raised; an overflow that nothing could shrink is the provider's own error.
    """
    return (yield from _send(turn, _Draft(turn).prepared()))


def compact_now(turn: Turn) -> Steps[Prepared]:
    """Compact with the settings' tail, whatever the triggers say."""
    return (yield from prepare(turn, forced=True))


def prepare(turn: Turn, *, forced: bool = False) -> Steps[Prepared]:
    """Evict, truncate and compact what is due.

    Args:
        turn: The model call that is about to be made.
        forced: Compact whatever the triggers say.
    """
    draft = _Draft(turn)
    if turn.eviction is not None:
        place = Place(thread=turn.thread, reader=turn.reader)
        draft.take((yield from evict_in_state(draft.view, turn.eviction, place=place)), is_saved=True)
    if turn.compaction is None:
        return draft.prepared()
    saved = yield from _truncate(turn, turn.compaction, draft)
    fires = _due(turn, turn.compaction, draft, forced=forced, saved=saved)
    if fires is not None:
        yield from _compact(turn, turn.compaction, draft, fires)
    return draft.prepared()


class _Draft:
    """The view and the update as they come about."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._ledger: Ledger | None = None
        self.view = turn.memory.viewed(list(turn.messages)) if _keeps(turn) else list(turn.messages)
        self.update: list[BaseMessage] = []
        self.compactions = 0

    @classmethod
    def going_on(cls, turn: Turn, prepared: Prepared) -> "_Draft":
        """Go on from what was prepared."""
        draft = cls(turn)
        draft.view, draft.update, draft.compactions = prepared.view, list(prepared.update), prepared.compactions
        return draft

    @property
    def ledger(self) -> Ledger:
        """What is counted of the view; looked at once for each view."""
        if self._ledger is None:
            self._ledger = self._turn.counter.look(self.view, conversation=self._turn.conversation)
        return self._ledger

    def take(
        self, update: Sequence[BaseMessage], *, view: list[BaseMessage] | None = None, is_saved: bool = False
    ) -> None:
        """Take an update in.

        Args:
            update: For the state; with `history="keep"` for the view alone.
            view: What the model sees by it; `None` = the view with the update applied.
            is_saved: The state takes it in with `history="keep"` too.
        """
        if not update and view is None:
            return
        self.view, self._ledger = apply_update(self.view, update) if view is None else view, None
        if _keeps(self._turn) and not is_saved:
            self._turn.memory.keep(list(update))
        else:
            self.update += update

    def prepared(self) -> Prepared:
        return Prepared(view=self.view, update=self.update, compactions=self.compactions, ledger=self.ledger)


def _keeps(turn: Turn) -> bool:
    return turn.compaction is not None and turn.compaction.history == "keep"


def _truncate(turn: Turn, config: CompactionConfig, draft: _Draft) -> Steps[int]:
    """Shorten old arguments and return the tokens that this saved."""
    settings = config.truncate_args
    if settings is None:
        return 0
    end, start = border(draft.view, settings, sums=draft.ledger.sums), draft.ledger.notes.get("truncated", 0)
    if end <= start:
        return 0
    cut = truncate(draft.view, settings, start=start, end=end)
    forms = [form for form in cut.forms if not turn.is_held(form)]
    if forms and config.offload_before_compact and (yield from turn.log(draft.view[:end])) is not None:
        # The arguments would be nowhere; they stay until the log can be written.
        return 0
    before = draft.ledger.total
    draft.take(forms)
    draft.ledger.notes["truncated"] = end
    if forms:
        yield from notify(
            ArgumentsTruncated(
                thread_id=turn.thread.thread_id,
                tenant=turn.thread.tenant,
                messages=len(forms),
                characters_saved=cut.characters_saved,
            )
        )
    return before - draft.ledger.total


def _due(turn: Turn, config: CompactionConfig, draft: _Draft, *, forced: bool = False, saved: int = 0) -> Due | None:
    counted = draft.ledger.total
    tokens = turn.counter.request(draft.view, overhead=turn.overhead, ledger=draft.ledger)
    # A provider's count was made before the arguments were shortened.
    tokens = max(counted + (turn.overhead or 0), tokens - saved) if saved else tokens
    return due(
        draft.view,
        config,
        tokens=tokens,
        counted=counted,
        overhead=turn.overhead or 0,
        window=turn.window,
        forced=forced,
    )


def _compact(turn: Turn, config: CompactionConfig, draft: _Draft, fires: Due) -> Steps[None]:
    memory = turn.memory
    by_rules = memory.failures >= config.max_failures and fires.on_the_brink
    if memory.rest > 0 and not by_rules:
        memory.rest -= 1
        return
    # After too many failures the model is not asked again on the brink: nobody has the time to wait for it.
    outcome = yield from compact(turn, draft.view, fires.tail, config=config, by_rules=by_rules)
    is_exhausted = memory.failures >= config.max_failures and fires.on_the_brink
    if isinstance(outcome, Kept) and outcome.reason and is_exhausted and not by_rules:
        outcome = yield from compact(turn, draft.view, fires.tail, config=config, by_rules=True)
    if isinstance(outcome, Folded):
        draft.compactions += 1
        draft.take(outcome.update, view=outcome.view)
    elif outcome.reason:
        return
    yield from _clip_rest(turn, config, draft)


def _clip_rest(turn: Turn, config: CompactionConfig, draft: _Draft) -> Steps[None]:
    """Clip what is oversized where the tail alone is still over the limit."""
    limit = token_limit(config, turn.window)
    if limit is None or draft.ledger.total + (turn.overhead or 0) < limit:
        return
    most = room(limit, config, tokens=0, counted=0, overhead=turn.overhead or 0)
    clipped = yield from clip(turn, draft.view, side=config.clip_chars // 2, most_tokens=most)
    if clipped.is_logged:
        draft.take(clipped.forms)


def _send(turn: Turn, prepared: Prepared) -> Steps[Sent]:
    outcome = yield from _call(prepared.view, prepared.ledger)
    if isinstance(outcome, Called):
        if _ends_the_run(outcome.result):
            turn.counter.let_go(turn.conversation)
        return Sent(result=outcome.result, view=prepared.view, update=prepared.update)
    if turn.compaction is None:
        raise outcome.error
    return (yield from _recover(turn, turn.compaction, prepared, outcome))


def _recover(turn: Turn, config: CompactionConfig, prepared: Prepared, refused: Overflowed) -> Steps[Sent]:
    """Shrink the request level by level and ask again after each that made a difference."""
    draft = _Draft.going_on(turn, prepared)
    sent, attempts = prepared.ledger.total, 0
    for level in LEVELS:
        shrunk = yield from shrink(
            turn,
            draft.view,
            level,
            config=config,
            refused=prepared.ledger.total,
            may_ask=draft.compactions < MOST_COMPACTIONS,
        )
        draft.compactions += shrunk.compactions
        draft.take(shrunk.update, view=shrunk.view)
        if draft.ledger.total > sent * (1 - LEAST_GAIN):
            continue
        sent, attempts = draft.ledger.total, attempts + 1
        outcome = yield from _call(draft.view, draft.ledger)
        if isinstance(outcome, Called):
            yield from notify(Recovered(thread_id=turn.thread.thread_id, tenant=turn.thread.tenant, attempts=attempts))
            return Sent(result=outcome.result, view=draft.view, update=draft.update)
    raise refused.error


def _ends_the_run(result: Any) -> bool:
    """Say whether an answer calls no tool, as far as its shape tells: a message, or a response that holds some."""
    answers = getattr(result, "result", result)
    last = answers[-1] if isinstance(answers, list) and answers else answers
    return isinstance(last, AIMessage) and not last.tool_calls


def _call(view: list[BaseMessage], ledger: Ledger) -> Steps[Called | Overflowed]:
    sound = sound_until(view, start=ledger.notes.get("sound", 0))
    ledger.notes["sound"] = sound
    return (yield from call_model(view if sound == len(view) else repair(view, sound=sound)))
