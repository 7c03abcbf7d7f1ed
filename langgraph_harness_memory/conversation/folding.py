"""A fold: a summary in the place of the messages that it stands for, as an update of a messages channel.

    before   s  q  a  b  c  d        fold a, b, c into S        update   S under the id of a, remove b, remove c
    after    s  q  S  d

The summary takes the id of the first folded message, so that the order stays right and no stream shows a removal or a new
bubble. The same update means the same to `add_messages` and to `memory_messages`; the latter reads from the markers what
belongs together, and so also settles what two compactions at once, a retry or a late arrival leave behind.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage

from langgraph_harness_memory.formats.forms import MARKER, form_of, marked

SOURCE = {"lc_source": "summarization"}
"""What user interfaces of the LangChain family look for to tell a summary from what a user said."""


KEPT_IDS = 500
"""Ids of earlier folds that a summary still knows; 18 kB. What a client sends again that is older comes back as new."""

KEPT_KEYS = 20
"""Earlier summaries that a summary knows itself to be made from."""


def fold_key(messages: Iterable[BaseMessage]) -> str:
    """Return a name for what a summary stands for: a hash of the folded messages' ids and texts.

    Calls are left out: what changes them under the same id and text is our own truncation, and the summary stays true.
    """
    parts = [f"{m.id}\0{m.content}" for m in messages]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def fold_update(
    folded: Sequence[BaseMessage],
    text: str,
    *,
    tail: str | None,
    by_rules: bool,
    facts: dict[str, Any],
    key: str | None = None,
    removals: bool = True,
) -> list[BaseMessage]:
    """Build the update that puts a summary in the place of messages.

    Args:
        folded: What the summary stands for, oldest first; each has an id.
        text: The summary message's text.
        tail: Id of the newest message at the time, whose usage was counted before this compaction; `None` = none.
        by_rules: No model wrote it.
        facts: More JSON values for the marker.
        key: Their `fold_key`; `None` = not computed yet.
        removals: The channel does not read from the summary what it folded.

    Returns:
        The summary, then, where it is needed, a removal for each other folded message.
    """
    key = fold_key(folded) if key is None else key
    ids = [str(message.id) for message in folded]
    earlier = [fact for message in folded if (fact := fold_facts(message)) is not None]
    chain = [*(k for fact in earlier for k in fact.get("chain", ())), *(fact["key"] for fact in earlier)]
    before = [i for fact in earlier for i in (*fact.get("earlier", ()), *fact.get("folded", ()))]
    summary = HumanMessage(
        content=text,
        id=ids[0],
        additional_kwargs={
            **SOURCE,
            **marked(
                "summary",
                key=key,
                folded=ids,
                earlier=before[-KEPT_IDS:],
                chain=chain[-KEPT_KEYS:],
                tail=tail,
                by_rules=by_rules,
                **facts,
            ),
        },
    )
    if not removals:
        return [summary]
    removal = RemoveMessage(id=ids[0], additional_kwargs=marked("summary", key=key, removed=True))
    return [summary, *(removal.model_copy(update={"id": i}) for i in ids[1:])]


def fold_facts(message: BaseMessage) -> dict[str, Any] | None:
    """Return the marker of a summary that says what it folded; `None` for any other message."""
    if not message.additional_kwargs or isinstance(message, RemoveMessage) or form_of(message) != "summary":
        return None
    facts: dict[str, Any] = message.additional_kwargs[MARKER]
    return facts if isinstance(facts.get("folded"), list) else None


def is_fold_removal(message: BaseMessage) -> bool:
    """Say whether a removal belongs to a fold, whose summary already says it all."""
    return isinstance(message, RemoveMessage) and form_of(message) == "summary"


def apply_update(messages: Sequence[BaseMessage], update: Iterable[BaseMessage]) -> list[BaseMessage]:
    """Apply one update to messages, as `memory_messages` does.

    Args:
        messages: Oldest first, each with an id.
        update: Messages and removals, each with an id; forms of ours among them.

    Returns:
        A new list. A message with a known id takes the old one's place, another one goes to the end, a removal of an
        unknown id does nothing, and what a summary stands for does not come back.
    """
    merged = list(messages)
    places = {message.id: place for place, message in enumerate(merged)}
    gone: set[str | None] = set()
    folded = _folded_ids(merged)
    for message in update:
        identifier = message.id
        if isinstance(message, RemoveMessage):
            if identifier in places and not is_fold_removal(message):
                gone.add(identifier)
        elif fold_facts(message) is not None:
            _fold(merged, places, gone, message)
            folded |= _folded_ids([message])
        elif identifier in folded or (_is_in_place(message) and (identifier not in places or identifier in gone)):
            continue
        elif identifier in places:
            gone.discard(identifier)
            merged[places[identifier]] = message
        else:
            gone.discard(identifier)
            places[identifier] = len(merged)
            merged.append(message)
    return [message for message in merged if message.id not in gone] if gone else merged


def _folded_ids(messages: Sequence[BaseMessage]) -> set[str]:
    """Return the ids that summaries stand for: a client that sends its whole history again must not undo a compaction."""
    known = (fold_facts(message) for message in messages if message.additional_kwargs)
    return {i for facts in known if facts is not None for key in ("folded", "earlier") for i in facts.get(key, ())}


def _fold(
    merged: list[BaseMessage], places: dict[str | None, int], gone: set[str | None], summary: BaseMessage
) -> None:
    facts = fold_facts(summary) or {}
    ids = facts.get("folded", ())
    present = sorted(places[i] for i in ids if i in places and i not in gone)
    if not present or any(_is_newer(merged[place], facts) for place in present):
        return
    for identifier in ids:
        places.pop(identifier, None)
        gone.add(identifier)
    gone.discard(summary.id)
    merged[present[0]] = summary
    places[summary.id] = present[0]


def _is_newer(standing: BaseMessage, facts: dict[str, Any]) -> bool:
    """Say whether a summary that stands must not give way to a fold: it folded other messages, or was made from this fold."""
    known = fold_facts(standing)
    if known is None or known.get("key") in facts.get("chain", ()):
        return False
    if facts.get("key") == known.get("key") or facts.get("key") in known.get("chain", ()):
        return True
    return not set(known.get("folded", ())) <= set(facts.get("folded", ()))


def _is_in_place(message: BaseMessage) -> bool:
    marker = message.additional_kwargs.get(MARKER)
    return isinstance(marker, dict) and marker.get("in_place") is True
