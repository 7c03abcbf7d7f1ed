"""Run blocking work off the event loop, and know how it ended.

A cancelled caller of `asyncio.to_thread` leaves a thread behind that nobody waits for, so that written-or-not is
unknown. `finish_in_thread` waits for the thread's outcome first and raises the cancellation then.
"""

import asyncio
import contextvars
import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

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
    work = loop.run_in_executor(None, call)
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
