"""The agent's own model call: whether it overflowed, and whether a token had left by then.

Recovery may repeat a call only while the user has seen nothing of it. Whoever calls the model hides it from us (a
middleware's handler, a node's function), so a callback handler that LangChain adds to every run below watches.
"""

import contextvars
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tracers.context import register_configure_hook


class TokenWatch(BaseCallbackHandler):
    """Remembers whether a token of a model call has left."""

    run_inline = True  # in an executor each token would cost a thread hop

    def __init__(self) -> None:
        self.seen = False

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, **kwargs: Any) -> None:  # noqa: ARG002  LangChain's signature
        """Note a token that is not empty, or a piece of a tool call."""
        message = chunk.message if isinstance(chunk, ChatGenerationChunk) else None
        self.seen |= bool(token) or bool(getattr(message, "tool_call_chunks", None))

    def on_stream_event(self, event: Any, **kwargs: Any) -> None:  # noqa: ARG002  LangChain's signature
        """Note a piece of content of the newer event stream."""
        self.seen |= event.get("event") == "content-block-delta"


@functools.cache
def _watcher() -> contextvars.ContextVar[TokenWatch | None]:
    """Return the variable that LangChain reads; it is registered once, at the first call."""
    variable: contextvars.ContextVar[TokenWatch | None] = contextvars.ContextVar("harness_memory_tokens", default=None)
    register_configure_hook(variable, inheritable=True)
    return variable


@contextmanager
def watch_tokens() -> Iterator[TokenWatch]:
    """Watch the model calls made inside the block, in this thread or task and those below."""
    watch = TokenWatch()
    variable = _watcher()
    token = variable.set(watch)
    try:
        yield watch
    finally:
        variable.reset(token)


IsOverflow = Callable[[BaseException], bool]
"""Tells a context overflow from any other error."""
