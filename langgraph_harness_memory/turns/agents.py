"""What a front door knows of the agent that it stands in: its model, its tools, its system prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.messages import SystemMessage

from langgraph_harness_memory.conversation.vocabulary import unwrapped

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.tools import BaseTool

READERS = ("read_file", "read_evicted_file")
"""Names of our reader of evicted files; the second where somebody else's tool has the first."""

OURS = "harness_memory"
"""Key in a tool's metadata by which our own tools are known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Agent:
    """What a front door knows of the agent that it stands in."""

    model: Any = None
    """Its model, whatever it is wrapped in; `None` = not known here."""
    tools: Sequence[Any] | None = ()
    """What is bound to it; `None` = not known here."""
    system: SystemMessage | None = None
    """Its system prompt, as far as it is no message of the state."""
    needs_removals: bool = True
    """Its messages channel is not known to be `memory_messages`."""

    @property
    def chat_model(self) -> "BaseChatModel | None":
        """Its chat model, without bindings, retries and fallbacks."""
        from langchain_core.language_models import BaseChatModel  # noqa: PLC0415  loaded with the first chat model

        model = unwrapped(self.model)
        return model if isinstance(model, BaseChatModel) else None

    def binds(self, name: str) -> bool:
        """Say whether a tool of ours is bound."""
        return any(getattr(tool, "name", None) == name and is_ours(tool) for tool in self.tools or ())


def is_ours(tool: Any) -> bool:
    """Say whether a tool is one of this package's."""
    return bool((getattr(tool, "metadata", None) or {}).get(OURS))


def reader_of(tools: Sequence[Any] | None) -> str | None:
    """Return the name of the bound tool of ours that opens evicted files; `None` = none is bound."""
    return next((tool.name for tool in tools or () if is_ours(tool) and tool.name in READERS), None)


def missing_reader(tools: Sequence[Any], reader: "BaseTool") -> "BaseTool | None":
    """Return our reader of evicted files where none is bound, under a name that is free; `None` where one is bound."""
    if reader_of(tools) is not None:
        return None
    names = {tool.get("name") if isinstance(tool, Mapping) else getattr(tool, "name", None) for tool in tools}
    return reader if reader.name not in names else reader.model_copy(update={"name": READERS[1]})


def with_context(system: SystemMessage | None, context: str) -> SystemMessage | None:
    """Return a system prompt with the block of the workspace behind it, so that what comes first stays the same.

    Args:
        system: The agent's own prompt; `None` = none.
        context: The block; empty = none.
    """
    if not context:
        return system
    if system is None:
        return SystemMessage(context)
    if isinstance(system.content, str):
        return system.model_copy(update={"content": f"{system.content}\n\n{context}"})
    return system.model_copy(update={"content": [*system.content, {"type": "text", "text": f"\n\n{context}"}]})
