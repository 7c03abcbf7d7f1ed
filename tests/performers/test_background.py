"""The queue of flushes."""

import contextvars
import threading
import time
from datetime import timedelta

from langchain_core.runnables.config import var_child_runnable_config

from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.performers import Flush, FlushQueue

SECOND = timedelta(seconds=1)


def entry(thread_id: str) -> Flush:
    return Flush(thread=ThreadRef(thread_id=thread_id), model=None)


def test_queued_flush_runs_behind_the_caller_and_drains() -> None:
    """Queueing returns at once; draining waits for the end."""
    done: list[str] = []

    def flush(e: Flush) -> None:
        time.sleep(0.05)
        done.append(e.thread.thread_id)

    queue = FlushQueue()
    start = time.monotonic()
    queue.soon(entry("a"), flush)
    queue.soon(entry("b"), flush)
    assert time.monotonic() - start < 0.04
    assert queue.drain(SECOND * 5)
    assert sorted(done) == ["a", "b"]


def test_one_thread_is_never_flushed_twice_at_once_and_waits_once() -> None:
    """What is queued while its flush runs is done after it, once."""
    running, most, done = 0, 0, 0
    lock = threading.Lock()

    def flush(_: Flush) -> None:
        nonlocal running, most, done
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1
            done += 1

    queue = FlushQueue()
    for _ in range(10):
        queue.soon(entry("a"), flush)
    assert queue.drain(SECOND * 5)
    assert (most, done) == (1, 2) or (most, done) == (1, 1)


def test_failing_flush_does_not_stop_the_next() -> None:
    """A worker survives what a flush raises, and draining ends."""
    done: list[str] = []

    def flush(e: Flush) -> None:
        if e.thread.thread_id == "bad":
            raise ValueError("no")
        done.append(e.thread.thread_id)

    queue = FlushQueue()
    queue.soon(entry("bad"), flush)
    queue.soon(entry("good"), flush)
    assert queue.drain(SECOND * 5)
    assert done == ["good"]


def test_drain_gives_up_in_time() -> None:
    """Closing is never held up longer than its timeout."""
    release = threading.Event()
    queue = FlushQueue()
    queue.soon(entry("a"), lambda _: release.wait(20))
    start = time.monotonic()
    assert not queue.drain(SECOND / 20)
    assert time.monotonic() - start < 2
    release.set()
    assert queue.drain(SECOND * 5)


def test_worker_sees_the_callers_context_but_not_its_run() -> None:
    """A user's context variables come along; the run's callbacks and stream do not."""
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("key", default="none")
    seen: list[object] = []
    queue = FlushQueue()

    def queue_in_a_run() -> None:
        variable.set("mine")
        var_child_runnable_config.set({"tags": ["run"]})
        queue.soon(entry("a"), lambda _: seen.append((variable.get(), var_child_runnable_config.get())))

    contextvars.copy_context().run(queue_in_a_run)
    assert queue.drain(SECOND * 5)
    assert seen == [("mine", None)]
