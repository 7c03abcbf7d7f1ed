"""What compaction remembers of a thread between two turns, in plain values."""

from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage, RemoveMessage, messages_from_dict, messages_to_dict

from langgraph_harness_memory.conversation.folding import apply_update, fold_facts

LONGEST_REST = 31
"""Most checks that pass after a failure before a model is asked again."""


@dataclass(kw_only=True, slots=True)
class CompactionMemory:
    """What compaction remembers of one thread.

    The rules change it as they go, so that what was paid for is known even where the model call after it raises. A front
    door keeps one for each thread for as long as it runs, and writes `as_json` into the state's private key.
    """

    failures: int = 0
    """Summaries that failed in a row."""
    rest: int = 0
    """Due compactions that are passed over before a model is asked again."""
    paid_key: str = ""
    """What the last summary stands for (`folding.fold_key`)."""
    paid_text: str = ""
    """The last summary; used again when the same messages are folded, since its update is lost when the model call fails."""
    paid_by_rules: bool = False
    """No model wrote it."""
    view: list[dict[str, Any]] = field(default_factory=list)
    """With `history="keep"`: the updates that make the model's view out of the state, as plain dicts."""

    @classmethod
    def of(cls, values: Any) -> "CompactionMemory":
        """Read what `as_json` wrote; anything else gives an empty memory."""
        memory = cls()
        if not isinstance(values, dict):
            return memory
        for name, kind in (("failures", int), ("rest", int), ("paid_key", str), ("paid_text", str), ("view", list)):
            if isinstance(values.get(name), kind):
                setattr(memory, name, values[name])
        memory.paid_by_rules = values.get("paid_by_rules") is True
        return memory

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON values; what is at its default is left out."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in values.items() if value}

    def failed(self) -> None:
        """Note that a summary failed: twice as many checks pass as after the failure before."""
        self.failures += 1
        self.rest = min(LONGEST_REST, 2**self.failures - 1)

    def succeeded(self, key: str, text: str, *, by_rules: bool) -> None:
        """Note a summary and what it stands for."""
        self.failures, self.rest = 0, 0
        self.paid_key, self.paid_text, self.paid_by_rules = key, text, by_rules

    def viewed(self, messages: list[BaseMessage]) -> list[BaseMessage]:
        """Return what the model sees of messages that the state keeps whole."""
        return apply_update(messages, messages_from_dict(self.view)) if self.view else messages

    def keep(self, update: list[BaseMessage]) -> None:
        """Add an update to the view; a summary takes in the summaries and forms that it stands for."""
        held = messages_from_dict(self.view) if self.view else []
        for message in update:
            if isinstance(message, RemoveMessage):
                continue
            held = _with(held, message)
        self.view = messages_to_dict(held)


def _with(held: list[BaseMessage], message: BaseMessage) -> list[BaseMessage]:
    facts = fold_facts(message)
    if facts is None:
        return [*(m for m in held if m.id != message.id), message]
    ids: list[str] = list(facts["folded"])
    for earlier in held:
        known = fold_facts(earlier)
        if known is not None and earlier.id in ids:
            ids = [*known["folded"], *(i for i in ids if i not in known["folded"])]
    facts["folded"] = ids
    return [*(m for m in held if m.id not in ids), message]
