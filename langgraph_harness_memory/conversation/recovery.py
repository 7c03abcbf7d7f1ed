"""What can still shrink after a provider has refused a request for its length.

    level 1   compact with the user's tail
    level 2   compact to half of what was refused; clip long messages, shorten arguments
    level 3   keep the last question and the open exchange alone; clip hard

Each level goes on from the one before. The last question of the user is never touched.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage

from langgraph_harness_memory.config import CompactionConfig
from langgraph_harness_memory.conversation.compaction import Folded, Turn, compact
from langgraph_harness_memory.conversation.cutoff import Tail
from langgraph_harness_memory.conversation.due import room, token_limit
from langgraph_harness_memory.conversation.eviction import Place, move_out
from langgraph_harness_memory.conversation.exchanges import last_question
from langgraph_harness_memory.conversation.folding import apply_update
from langgraph_harness_memory.conversation.preview import text_of
from langgraph_harness_memory.conversation.truncation import shortened
from langgraph_harness_memory.formats.forms import form_of
from langgraph_harness_memory.steps import Steps

SHORT_ENDING = "…(argument truncated)"
"""What stands after an argument that had to be shortened for a request to fit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Level:
    """How far one attempt goes."""

    tokens: float
    """Part of the refused request that messages may still have."""
    tail: float
    """Part of `keep_messages` that should stay."""
    clip: float | None
    """Part of `clip_chars` that a long message keeps; `None` = messages are not clipped."""


LEVELS = (
    Level(tokens=0.75, tail=1.0, clip=None),
    Level(tokens=0.4, tail=0.5, clip=1.0),
    Level(tokens=0.0, tail=0.0, clip=0.125),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Shrunk:
    """What one level did."""

    view: list[BaseMessage]
    """What the model sees now; the same messages where nothing could shrink."""
    update: list[BaseMessage]
    """What the state has to take in."""
    compactions: int
    """How often a summary was made."""


def shrink(
    turn: Turn,
    view: list[BaseMessage],
    level: Level,
    *,
    config: CompactionConfig,
    refused: int,
    may_ask: bool,
) -> Steps[Shrunk]:
    """Shrink a refused request by one level.

    Args:
        turn: The model call.
        view: What the model was shown, oldest first.
        level: How far to go.
        config: The turn's settings.
        refused: Tokens of the messages that were refused at first.
        may_ask: A model may still summarise in this turn; else the rules do.
    """
    update: list[BaseMessage] = []
    compactions = 0
    most = _most_tokens(turn, config, level, refused)
    tail = Tail(
        keep_messages=max(1, int(config.keep_messages * level.tail)),
        keep_tokens=int(config.keep_tokens * level.tail),
        most_tokens=most,
    )
    outcome = yield from compact(turn, view, tail, config=config, by_rules=not may_ask, needs_room=True)
    if isinstance(outcome, Folded):
        view, update, compactions = outcome.view, list(outcome.update), 1
    if level.clip is not None:
        clipped = yield from clip(turn, view, side=int(config.clip_chars * level.clip) // 2, most_tokens=most)
        view = apply_update(view, clipped.forms)
        update += clipped.forms if clipped.is_logged else []
    return Shrunk(view=view, update=update, compactions=compactions)


@dataclass(frozen=True, kw_only=True, slots=True)
class Clipped:
    """Messages that were cut to fit."""

    forms: list[BaseMessage]
    """What takes the place of the messages with the same ids."""
    is_logged: bool
    """The log has them as they were, so that the state may take the forms in."""


def clip(turn: Turn, view: Sequence[BaseMessage], *, side: int, most_tokens: int) -> Steps[Clipped]:
    """Clip the longest messages until the rest fits, into eviction files.

    Args:
        turn: The model call.
        view: What the model sees, oldest first.
        side: Characters of the head and of the tail of a message that stay, each.
        most_tokens: Tokens that all messages may have.

    Returns:
        The forms; the last question is never among them.
    """
    total = turn.counter.messages(view)
    question = last_question(view)
    candidates = [m for place, m in enumerate(view) if place != question and m.type != "system" and not turn.is_held(m)]
    sizes = {id(message): turn.counter.message(message) for message in candidates}
    queue = sorted(candidates, key=lambda message: -sizes[id(message)])
    forms: list[BaseMessage] = []
    logged: bool | None = None
    for message in queue:
        if total <= most_tokens or sizes[id(message)] * 4 <= side:
            break
        if logged is None:
            logged = (yield from turn.log(view)) is None
        form = yield from _clipped(turn, message, side=side, is_logged=logged)
        if form is not message:
            forms.append(form)
            total -= sizes[id(message)] - turn.counter.message(form)
    return Clipped(forms=forms, is_logged=logged is not False)


def _most_tokens(turn: Turn, config: CompactionConfig, level: Level, refused: int) -> int:
    most = int(refused * level.tokens)
    limit = token_limit(config, turn.window)
    if limit is None:
        return most
    return min(most, room(limit, config, tokens=0, counted=0, overhead=turn.overhead or 0))


def _clipped(turn: Turn, message: BaseMessage, *, side: int, is_logged: bool) -> Steps[BaseMessage]:
    place = Place(thread=turn.thread, reader=turn.reader)
    if isinstance(message, AIMessage):
        # What a reply says and how it reasons stay whole (signatures cover them); what it passed to tools is shortened.
        if not is_logged or not message.tool_calls:
            return message
        return shortened(message, limit=max(1, side), ending=SHORT_ENDING) or message
    if form_of(message) in ("evicted", "clipped"):
        return _notice_alone(message)
    if form_of(message) is not None:
        return message
    return (yield from move_out(message, place, side=side, is_logged=is_logged, in_place=True))


def _notice_alone(message: BaseMessage) -> BaseMessage:
    """Leave only the line that says where the text lies."""
    text = text_of(message)
    line = text.split("\n", 1)[0]
    if len(line) >= len(text) or not isinstance(message.content, str):
        return message
    return message.model_copy(update={"content": line})
