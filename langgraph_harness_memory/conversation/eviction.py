"""Moving oversized tool results to files, with head and tail left in view.

    results of one step ─► each above max_result_chars ─┐
                        ─► the largest, until the step   ├─► log the originals ─► write a file each ─► placeholders
                           is within max_total_chars   ─┘                        └─ fails: clipped, the log has it

Any tool, any shape: text, blocks (other blocks stay), artifacts, error status, and messages inside a `Command`. A result
never becomes longer, and its placeholder names a reader only where one is bound.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.types import Command

from langgraph_harness_memory.config import ToolResultEvictionConfig
from langgraph_harness_memory.conversation.preview import Whereabouts, preview, text_of, with_text
from langgraph_harness_memory.events import Evicted, EvictionFailed
from langgraph_harness_memory.formats.forms import FormKind, form_of, marked
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.steps import Failed, Steps, append_session_log, notify, write_evicted

M = TypeVar("M", bound=BaseMessage)

LEAST_PLACEHOLDER = 320
"""Characters that a placeholder needs to be of use: the notice with a path and a few words of head and tail."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where evicted texts go and who can read them there."""

    thread: ThreadRef
    """Whose results these are."""
    reader: str | None
    """The bound tool that opens an evicted file; `None` = none is bound."""
    new_id: Callable[[], str] = lambda: str(uuid.uuid4())
    """Names a result that has no id yet, so that the log and the state call it the same."""


def evict(
    results: Sequence[Any],
    settings: ToolResultEvictionConfig,
    *,
    place: Place,
    history: Sequence[BaseMessage] = (),
) -> Steps[list[Any]]:
    """Evict what is too large among the results of one step.

    Args:
        results: What the step's tools returned, in order: `ToolMessage`s, `Command`s whose updates hold some, or anything
            else, which stays as it is.
        settings: The limits.
        place: Where texts go.
        history: The conversation before the step, oldest first; logged before the results, so that the log keeps the order.

    Returns:
        As many results in the same order. What stayed as it was is the same object.
    """
    found = [message for result in results for message in messages_in(result)]
    limits = choose(found, settings)
    if not limits:
        return list(results)
    named = {
        id(m): m if m.id is not None else m.model_copy(update={"id": place.new_id()}) for m in found if id(m) in limits
    }
    logged = yield from append_session_log(place.thread, [*history, *named.values()])
    is_logged = not isinstance(logged, Failed)
    forms: dict[int, ToolMessage] = {}
    for message in found:
        if id(message) in limits:
            forms[id(message)] = yield from move_out(
                named[id(message)],
                place,
                side=settings.preview_chars,
                most=limits[id(message)],
                is_logged=is_logged,
                in_place=False,
            )
    return [with_messages(result, forms) for result in results]


def evict_in_state(
    messages: Sequence[BaseMessage], settings: ToolResultEvictionConfig, *, place: Place
) -> Steps[list[ToolMessage]]:
    """Evict what is too large among the newest step's results in a conversation.

    Args:
        messages: The conversation, oldest first.
        settings: The limits.
        place: Where texts go.

    Returns:
        What takes the place of the messages with the same ids; empty where all fits.
    """
    found = newest_results(messages)
    limits = choose(found, settings)
    chosen = [message for message in found if id(message) in limits and message.id is not None]
    if not chosen:
        return []
    logged = yield from append_session_log(place.thread, messages)
    is_logged = not isinstance(logged, Failed)
    forms = []
    for message in chosen:
        form = yield from move_out(
            message,
            place,
            side=settings.preview_chars,
            most=limits[id(message)],
            is_logged=is_logged,
            in_place=True,
        )
        if form is not message:
            forms.append(form)
    return forms


def newest_results(messages: Sequence[BaseMessage]) -> list[ToolMessage]:
    """Return the tool results at the end of a conversation, oldest first."""
    start = len(messages)
    while start > 0 and messages[start - 1].type == "tool":
        start -= 1
    return [message for message in messages[start:] if isinstance(message, ToolMessage)]


def choose(results: Sequence[ToolMessage], settings: ToolResultEvictionConfig) -> dict[int, int | None]:
    """Choose which results of one step are evicted.

    Returns:
        By the object's `id()`, the characters that its placeholder may have; `None` = no limit of its own.
    """
    sizes = {id(message): len(text_of(message)) for message in results}
    total = sum(sizes.values())
    single = settings.max_result_chars
    chosen: dict[int, int | None] = {}
    if single > 0 and max(sizes.values(), default=0) > single:
        for message in results:
            excluded = message.name in settings.excluded_tool_names
            if sizes[id(message)] > single and not excluded and form_of(message) is None:
                chosen[id(message)] = None
    if settings.max_total_chars > 0 and total > settings.max_total_chars:
        chosen = _within_total(results, sizes, chosen, settings)
    return chosen


def _within_total(
    results: Sequence[ToolMessage],
    sizes: dict[int, int],
    chosen: dict[int, int | None],
    settings: ToolResultEvictionConfig,
) -> dict[int, int | None]:
    """Add the largest results until what stays and the placeholders are within the limit of a step."""
    whole = 2 * settings.preview_chars + LEAST_PLACEHOLDER
    kept = sum(size for key, size in sizes.items() if key not in chosen)
    candidates = [m for m in results if id(m) not in chosen and form_of(m) is None]
    queue = sorted(candidates, key=lambda message: -sizes[id(message)])
    picked = list(chosen)
    while queue and kept + len(picked) * whole > settings.max_total_chars:
        room = (settings.max_total_chars - kept) // len(picked) if picked else 0
        if picked and room >= LEAST_PLACEHOLDER and sizes[id(queue[0])] <= whole:
            break
        largest = queue.pop(0)
        if sizes[id(largest)] <= 2 * LEAST_PLACEHOLDER:
            break
        picked.append(id(largest))
        kept -= sizes[id(largest)]
    room = max(LEAST_PLACEHOLDER, (settings.max_total_chars - kept) // len(picked)) if picked else 0
    return dict.fromkeys(picked, None if room >= whole else room)


def move_out(
    message: M, place: Place, *, side: int, most: int | None = None, is_logged: bool, in_place: bool
) -> Steps[M]:
    """Write a message's text to a file and leave its head and tail.

    Args:
        message: The message as it was said.
        place: Where the text goes.
        side: Characters of the head and of the tail that stay, each.
        most: Characters that may stay in all; `None` = no limit of its own.
        is_logged: The session log has the message, so that its text may be cut where no file can be written.
        in_place: The message already stands in the state.

    Returns:
        The message with a placeholder; the same object where none would be much shorter, or nothing has the text.
    """
    text = text_of(message)
    tool = message.name or ("tool" if message.type == "tool" else "message")
    # A placeholder is tried before the file is written, so that no file is left behind for a text that stays.
    if preview(text, where=Whereabouts(path="x" * 40, reader=place.reader), side=side, most=most) is None:
        return message
    thread_id, tenant = place.thread.thread_id, place.thread.tenant
    written = yield from write_evicted(place.thread, tool, text)
    if isinstance(written, Failed):
        yield from notify(EvictionFailed(thread_id=thread_id, tenant=tenant, tool=tool, reason=written.reason))
        if not is_logged:
            return message
        where = Whereabouts(logged=True)
    else:
        where = Whereabouts(path=written, reader=place.reader)
    shown = preview(text, where=where, side=side, most=most)
    if shown is None:
        return message
    if where.path is not None:
        yield from notify(Evicted(thread_id=thread_id, tenant=tenant, tool=tool, characters=len(text), path=where.path))
    facts: dict[str, Any] = {"characters": len(text)}
    facts |= {"path": where.path} if where.path is not None else {}
    facts |= {"in_place": True} if in_place else {}
    kind: FormKind = "evicted" if where.path is not None and message.type == "tool" else "clipped"
    return message.model_copy(
        update={
            "content": with_text(message.content, shown),
            "additional_kwargs": {**message.additional_kwargs, **marked(kind, **facts)},
        }
    )


def messages_in(result: Any) -> list[ToolMessage]:
    """Return the tool messages that a tool's result holds: itself, or those in a command's update."""
    if isinstance(result, ToolMessage):
        return [result]
    if isinstance(result, Command):
        return [m for value in _values(result.update) for m in _as_list(value) if isinstance(m, ToolMessage)]
    return []


def with_messages(result: Any, forms: dict[int, ToolMessage]) -> Any:
    """Put forms in the place of the messages with these `id()`s, in a message or in a command's update."""
    if isinstance(result, ToolMessage):
        return forms.get(id(result), result)
    if not isinstance(result, Command) or not any(id(message) in forms for message in messages_in(result)):
        return result
    update: Any = result.update
    if isinstance(update, dict):
        return replace(result, update={key: _replaced(value, forms) for key, value in update.items()})
    if _is_pairs(update):
        return replace(result, update=[(key, _replaced(value, forms)) for key, value in update])
    return replace(result, update=_replaced(update, forms))


def _values(update: Any) -> list[Any]:
    if isinstance(update, dict):
        return list(update.values())
    return [value for _, value in update] if _is_pairs(update) else [update]


def _is_pairs(update: Any) -> bool:
    return (
        isinstance(update, list | tuple)
        and bool(update)
        and all(isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in update)
    )


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _replaced(value: Any, forms: dict[int, ToolMessage]) -> Any:
    if isinstance(value, list | tuple):
        return [forms.get(id(part), part) for part in value]
    return forms.get(id(value), value)
