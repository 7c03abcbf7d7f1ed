"""Run blocking work off the event loop, and know how it ended.

A cancelled caller of `asyncio.to_thread` leaves a thread behind that nobody waits for, so that written-or-not is
unknown. `finish_in_thread` waits for the thread's outcome first and raises the cancellation then; `finish` does so for a
coroutine.
"""

import asyncio
import contextvars
import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def finish_in_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a blocking function in a worker thread and wait for its outcome, also when cancelled.

    Args:
        function: The blocking function; it sees the caller's context variables.
        *args: Passed on.
        **kwargs: Passed on.

    Returns:
        What the function returns.

    Raises:
        asyncio.CancelledError: The caller was cancelled; the function has ended by then.
    """
    loop = asyncio.get_running_loop()
    call = functools.partial(contextvars.copy_context().run, function, *args, **kwargs)
    return await _outcome_of(loop.run_in_executor(None, call))


async def finish(work: Coroutine[Any, Any, T]) -> T:
    """Await something and wait for its outcome, also when cancelled.

    Args:
        work: A coroutine that changes something outside this process.

    Returns:
        What it returns.

    Raises:
        asyncio.CancelledError: The caller was cancelled; the coroutine has ended by then.
    """
    return await _outcome_of(asyncio.ensure_future(work))


async def _outcome_of(work: "asyncio.Future[T]") -> T:
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():
            try:
                await asyncio.wait([work])
            except asyncio.CancelledError:
                continue
        if not work.cancelled():
            work.exception()
        raise
