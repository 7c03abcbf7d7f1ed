"""A performer that answers steps by hand, and turns to drive."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langgraph_harness_memory.config import CompactionConfig
from langgraph_harness_memory.conversation.compaction import Turn
from langgraph_harness_memory.conversation.memory import CompactionMemory
from langgraph_harness_memory.conversation.tokens import TokenCounter
from langgraph_harness_memory.events import Event
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.steps import (
    Answer,
    AppendSessionLog,
    AskModel,
    Called,
    CallModel,
    Failed,
    Logged,
    Notify,
    Overflowed,
    QueueFlush,
    Step,
    Steps,
    WriteEvicted,
    drive,
)

GOOD = "## SESSION INTENT\nKeep going.\n\n## SUMMARY\nWork was done.\n\n## ARTIFACTS\nNone\n\n## NEXT STEPS\nNone"


@dataclass
class Script:
    """Answers every step, and remembers what it was asked."""

    summary: Any = GOOD
    """A text, an `Answer`, an exception, or a function of the step; what the rules say is `by_rules`."""
    by_rules: Any = "By rules: the gist."
    window: int | None = None
    """Tokens above which the agent's model overflows."""
    overflow: Exception = field(default_factory=lambda: ValueError("prompt is too long: 9 tokens > 8 maximum"))
    fails: tuple[type, ...] = ()
    """Steps that fail."""
    steps: list[Step] = field(default_factory=list)
    counter: TokenCounter = field(default_factory=TokenCounter)
    written: dict[str, str] = field(default_factory=dict)

    def run(self, rule: Steps[Any]) -> Any:
        return drive(rule, self)

    def __call__(self, step: Step) -> Any:
        self.steps.append(step)
        if isinstance(step, self.fails):
            return Failed(error=OSError("no space left on device"))
        match step:
            case AskModel():
                return self._answer(step)
            case CallModel():
                size = self.counter.messages(step.messages)
                if self.window is not None and size > self.window:
                    return Overflowed(error=self.overflow)
                return Called(result=AIMessage("done"))
            case AppendSessionLog():
                return Logged(positions={m.id or "": i for i, m in enumerate(step.messages)})
            case WriteEvicted():
                path = f"large_tool_results/t/{step.name}-{len(self.written)}.txt"
                self.written[path] = step.text
                return path
            case _:
                return None

    def _answer(self, step: AskModel) -> Answer | Failed:
        said = self.by_rules if step.by_rules else self.summary
        if callable(said):
            said = said(step)
        if isinstance(said, Exception):
            return Failed(error=said)
        return said if isinstance(said, Answer) else Answer(text=said, by_rules=step.by_rules)

    def of(self, kind: type) -> list[Any]:
        return [step for step in self.steps if isinstance(step, kind)]

    @property
    def asked(self) -> list[AskModel]:
        return self.of(AskModel)

    @property
    def requests(self) -> list[list[BaseMessage]]:
        return [list(step.messages) for step in self.of(CallModel)]

    @property
    def events(self) -> list[Event]:
        return [step.event for step in self.of(Notify)]

    @property
    def logged(self) -> list[BaseMessage]:
        return [m for step in self.of(AppendSessionLog) for m in step.messages]

    @property
    def kinds(self) -> list[str]:
        return [type(step).__name__ for step in self.steps if not isinstance(step, Notify | QueueFlush)]


@pytest.fixture
def script() -> type[Script]:
    return Script


@pytest.fixture
def turn() -> Callable[..., Turn]:
    def build(messages: Sequence[BaseMessage], **changes: Any) -> Turn:
        values: dict[str, Any] = {
            "thread": ThreadRef(thread_id="t1"),
            "messages": messages,
            "counter": TokenCounter(),
            "memory": CompactionMemory(),
            "compaction": CompactionConfig(),
        }
        return Turn(**{**values, **changes})

    return build


@pytest.fixture
def chat() -> Callable[..., list[BaseMessage]]:
    """Return a function that builds a plain conversation of user and assistant."""

    def build(count: int, *, words: int = 20, start: int = 0) -> list[BaseMessage]:
        kinds = (HumanMessage, AIMessage)
        return [
            kinds[i % 2](content=f"message {i}: " + "word " * words, id=f"m{i}") for i in range(start, start + count)
        ]

    return build
