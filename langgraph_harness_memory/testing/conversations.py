"""Conversations of every shape that agents leave behind, for property tests.

Each is drawn from a source of randomness that the caller passes, so that hypothesis (`st.randoms(use_true_random=False)`)
can shrink what fails and a plain `random.Random(seed)` repeats it.
"""

import random as random_module
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

WORDS = ("alpha", "beta", "деплой", "数据库", "</messages>", "{messages}", "x" * 40, "Straße", "🚀", "path/to/file.py")
"""Texts are made of these: several scripts, look-alikes of prompt blocks, and words without a space."""


def conversation(
    random: random_module.Random,
    *,
    turns: int = 8,
    pending: bool = False,
    longest: int = 60,
    disorder: bool = False,
) -> list[BaseMessage]:
    """Draw a conversation with an id for every message.

    Args:
        random: Where choices come from.
        turns: Most turns of the user.
        pending: It may end with calls that have no result yet.
        longest: Most words of a message.
        disorder: Results may be missing, doubled, orphaned or interleaved with other messages.

    Returns:
        Messages, oldest first: parallel calls, content blocks, media, reasoning, system messages anywhere.
    """
    draft = _Draft(random, longest)
    if random.random() < 0.4:
        draft.add(SystemMessage(draft.text()))
    for _ in range(random.randint(1, turns)):
        draft.add(HumanMessage(draft.content()))
        if random.random() < 0.1:
            draft.add(SystemMessage(draft.text()))
        for _ in range(random.choice((0, 0, 1, 1, 2, 3))):
            draft.exchange(disorder=disorder)
        if random.random() < 0.9:
            draft.add(AIMessage(draft.content(reasoning=True)))
    if pending and random.random() < 0.7:
        draft.add(HumanMessage(draft.content()))
        draft.exchange(disorder=disorder, answered=random.choice((0.0, 0.5, 1.0)))
    return draft.messages


class _Draft:
    def __init__(self, random: random_module.Random, longest: int) -> None:
        self.random = random
        self.longest = longest
        self.messages: list[BaseMessage] = []
        self.calls = 0

    def add(self, message: BaseMessage) -> None:
        message.id = f"m{len(self.messages)}"
        self.messages.append(message)

    def text(self) -> str:
        return " ".join(self.random.choice(WORDS) for _ in range(self.random.randint(0, self.longest)))

    def content(self, *, reasoning: bool = False) -> Any:
        kind = self.random.random()
        if kind < 0.75:
            return self.text()
        blocks: list[str | dict[str, Any]] = [{"type": "text", "text": self.text()}]
        if kind < 0.85:
            blocks.append({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}})
        elif reasoning:
            blocks.insert(0, {"type": "thinking", "thinking": self.text(), "signature": "c2ln" * 20})
        return blocks

    def exchange(self, *, disorder: bool, answered: float = 1.0) -> None:
        """Add a reply with calls and their results."""
        calls: list[dict[str, Any]] = []
        for _ in range(self.random.choice((1, 1, 1, 2, 3, 5))):
            # Some models number their calls from 0 in every reply.
            name = f"call_{len(calls)}" if self.random.random() < 0.2 else f"c{self.calls}"
            self.calls += 1
            calls.append({"name": "work", "args": {"text": self.text()}, "id": name, "type": "tool_call"})
        unique = list({call["id"]: call for call in calls}.values())
        self.add(AIMessage(self._call_content(unique), tool_calls=unique))
        self._results(unique, disorder=disorder, answered=answered)

    def _call_content(self, calls: list[dict[str, Any]]) -> Any:
        if self.random.random() < 0.6:
            return self.text()
        blocks = [{"type": "tool_use", "id": c["id"], "name": c["name"], "input": c["args"]} for c in calls]
        return [{"type": "text", "text": self.text()}, *blocks]

    def _results(self, calls: list[dict[str, Any]], *, disorder: bool, answered: float) -> None:
        order = self.random.sample(calls, len(calls))
        for call in order:
            if self.random.random() >= answered:
                continue
            chance = self.random.random() if disorder else 1.0
            if chance < 0.1:
                continue
            if chance < 0.2:
                self.add(HumanMessage(self.text()))
            self.add(ToolMessage(self.content(), tool_call_id=call["id"], name="work"))
            if 0.2 <= chance < 0.25:
                self.add(ToolMessage(self.text(), tool_call_id=call["id"], name="work"))
            if 0.25 <= chance < 0.3:
                self.add(ToolMessage(self.text(), tool_call_id=f"nobody-{len(self.messages)}", name="work"))
