"""Messages that we made out of others, and how they are told from what was said.

Compaction, truncation and eviction put a new message in the place of an old one under the old one's id. Such a form
carries a marker, stands in checkpoints, and never in the session log.
"""

from typing import Literal

from langchain_core.messages import BaseMessage

MARKER = "harness_memory"
"""Key in `additional_kwargs`; plain JSON, so that every serializer takes it."""

FormKind = Literal["summary", "truncated", "evicted", "clipped", "context", "repair"]
"""What was made: the summary of a folded prefix, a call with shortened arguments, a tool result that lies in a file,
a message cut to fit, the injected memory block, a result invented so that the request is valid."""


def form_of(message: BaseMessage) -> FormKind | None:
    """Say which form of ours a message is; `None` for an original."""
    facts = message.additional_kwargs
    if not facts:  # asked several times of each of thousands of messages
        return None
    marker = facts.get(MARKER)
    return marker.get("form") if isinstance(marker, dict) else None


def marked(kind: FormKind, **facts: object) -> dict[str, object]:
    """Return the `additional_kwargs` that mark a form.

    Args:
        kind: Which form it is.
        **facts: JSON values that belong to it, for example `folded=[ids]` or `path="…"`.
    """
    return {MARKER: {"form": kind, **facts}}
