"""A function and its async twin as one runnable, for nodes."""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig


class Twins(Runnable[Any, Any]):
    """Runs the one under `invoke` and the other under `ainvoke`.

    LangChain's `RunnableLambda` does so too, but its search for sub-graphs keeps each function, and with it whatever the
    function holds, in a cache of the process; a memory would never be let go of.

    Args:
        name: The runnable's name in graphs and traces.
        work: Takes the input.
        awork: The same on the event loop.
    """

    def __init__(self, name: str, work: Callable[[Any], Any], awork: Callable[[Any], Awaitable[Any]]) -> None:
        self.name = name
        self._work = work
        self._awork = awork

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002  LangChain's name
        """Run it."""
        return self._call_with_config(self._work, input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002  LangChain's name
        """Twin of `invoke`."""
        return await self._acall_with_config(self._awork, input, config)
