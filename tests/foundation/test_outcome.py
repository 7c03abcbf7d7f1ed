"""A cancelled caller knows whether the write happened."""

import asyncio
import contextvars
import threading

import pytest

from langgraph_harness_memory.outcome import finish_in_thread

SPEAKER: contextvars.ContextVar[str] = contextvars.ContextVar("speaker", default="nobody")


@pytest.mark.asyncio
async def test_a_cancelled_call_waits_for_its_thread_and_then_is_cancelled() -> None:
    """Twice cancelled it still waits: the thread has ended when the cancellation arrives."""
    started, go, done = threading.Event(), threading.Event(), threading.Event()

    def write() -> None:
        started.set()
        go.wait(5)
        done.set()

    task = asyncio.ensure_future(finish_in_thread(write))
    await asyncio.to_thread(started.wait, 5)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done.is_set()


@pytest.mark.asyncio
async def test_the_thread_sees_the_callers_context_and_its_error_comes_back() -> None:
    """The run that is under way is known in the worker thread, and what it raises is raised here."""
    SPEAKER.set("alice")
    assert await finish_in_thread(SPEAKER.get) == "alice"
    with pytest.raises(ZeroDivisionError, match="division"):
        await finish_in_thread(lambda: 1 // 0)
