"""Run something whose failure must not end what it is part of."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from langgraph.errors import GraphBubbleUp

from langgraph_harness_memory.errors import TenantMismatch
from langgraph_harness_memory.steps import Failed

T = TypeVar("T")

PROPAGATED = (GraphBubbleUp, TenantMismatch)
"""Interrupts and a foreign thread end the run; they are no failures of a step."""


def attempt(work: Callable[[], T]) -> T | Failed:
    """Do something and answer `Failed` where it raises; interrupts, cancellation and `TenantMismatch` propagate."""
    try:
        return work()
    except PROPAGATED:
        raise
    except Exception as error:  # noqa: BLE001  the caller reports it
        return Failed(error=error)


async def aattempt(work: Awaitable[T]) -> T | Failed:
    """Await something and answer `Failed` where it raises; the twin of `attempt`."""
    try:
        return await work
    except PROPAGATED:
        raise
    except Exception as error:  # noqa: BLE001  the caller reports it
        return Failed(error=error)
