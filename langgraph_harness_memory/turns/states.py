"""Reading a graph's state, of whatever kind it is, and what memory writes into it."""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage

from langgraph_harness_memory.state import MEMORY_KEY

State = Any
"""A `TypedDict`, a dataclass, a pydantic model, or a list of messages."""


def messages_of(state: State, key: str = "messages") -> list[BaseMessage]:
    """Return the messages that a state holds; a state that is a list of messages is those."""
    if isinstance(state, list):
        return state
    found = state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)
    return list(found or [])


def stored_memory(state: State) -> Any:
    """Return what a state holds of memory's private values; `None` where it has no place for them."""
    return state.get(MEMORY_KEY) if isinstance(state, Mapping) else getattr(state, MEMORY_KEY, None)


def private(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return what changed of memory's private values, as an update of the state; graphs without a place for it ignore it."""
    changed = {name: after.get(name) for name in {*before, *after} if before.get(name) != after.get(name)}
    return {MEMORY_KEY: changed} if changed else {}
