"""A memory whose curating model believes everything, so that only the structure defends it."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage

from langgraph_harness_memory import ExtractiveChatModel, HarnessMemory, MemoryConfig, StorageConfig
from langgraph_harness_memory.curation.requests import material
from langgraph_harness_memory.curation.wording import share, words
from langgraph_harness_memory.testing import FrozenClock, ScriptedChatModel


def believe(messages: list[BaseMessage]) -> str:
    """Write down every line that is shown, and promote every line that is new: the worst model there can be."""
    fields = material(messages)
    assert fields is not None
    if fields["task"] == "flush":
        said = [line for message in fields["messages"] for line in message["text"].split("\n") if line.strip()]
        return "\n".join(f"- {line}" for line in said) or "NO_REPLY"
    return "\n".join([fields["memory"], *(f"- {line['text']}" for line in fields["new"])])


class Believer:
    """One memory with a curator that believes everything, and what one can see of it."""

    def __init__(self, root: Path, *, by_rules: bool = False) -> None:
        self.root = root
        model = ExtractiveChatModel() if by_rules else ScriptedChatModel(script=[believe], repeat=True)
        config = MemoryConfig(maintenance=None, storage=StorageConfig(timezone="UTC", fsync=False))
        self.memory = HarnessMemory(root, model=model, config=config, clock=FrozenClock())

    def hear(self, thread_id: str, messages: Sequence[BaseMessage]) -> None:
        report = self.memory.flush(list(messages), thread_id)
        assert report.failed is None

    def curate(self) -> None:
        report = self.memory.consolidate()
        assert report.failed is None

    @property
    def daily(self) -> str:
        return "".join(path.read_text(encoding="utf-8") for path in sorted((self.root / "memory").glob("20*.md")))

    @property
    def promoted(self) -> str:
        path = self.root / "MEMORY.md"
        return path.read_text(encoding="utf-8") if path.exists() else ""


def holds(text: str, line: str) -> bool:
    """Say whether some line of a text, headings left out, tells most of what a line of poison tells."""
    told = words(line)
    return any(share(told, words(standing)) >= 0.6 for standing in text.splitlines() if not standing.startswith("#"))


@pytest.fixture
def believer(tmp_path):
    made = Believer(tmp_path / "workspace")
    yield made
    made.memory.close()


@pytest.fixture
def by_rules(tmp_path):
    made = Believer(tmp_path / "workspace", by_rules=True)
    yield made
    made.memory.close()


@pytest.fixture
def told():
    """The judge of whether poison stands in a text."""
    return holds
