"""What may fail without ending what it is part of, and what ends it all the same; sync and async."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.errors import GraphInterrupt

from langgraph_harness_memory.errors import TenantMismatch
from langgraph_harness_memory.performers import Twins, aattempt, attempt
from langgraph_harness_memory.steps import Failed


def sync(work: Callable[[], Any]) -> Any:
    return attempt(work)


def on_the_loop(work: Callable[[], Any]) -> Any:
    async def working() -> Any:
        return work()

    async def run() -> Any:
        return await aattempt(working())

    return asyncio.run(run())


@pytest.fixture(params=[sync, on_the_loop], ids=["sync", "async"])
def tried(request: pytest.FixtureRequest) -> Callable[[Callable[[], Any]], Any]:
    """Each of the two ways."""
    return request.param


def raising(error: BaseException) -> Callable[[], Any]:
    def work() -> Any:
        raise error

    return work


def test_what_succeeds_is_returned(tried: Any) -> None:
    """Nothing is wrapped."""
    assert tried(lambda: 7) == 7


def test_what_fails_is_an_answer_that_names_its_error(tried: Any) -> None:
    """Whatever a step, a disk or a scheduler raises."""
    answer = tried(raising(OSError("the disk is gone")))
    assert isinstance(answer, Failed)
    assert answer.reason == "OSError: the disk is gone"


@pytest.mark.parametrize(
    "error",
    [GraphInterrupt(), TenantMismatch("it is ann's"), KeyboardInterrupt(), asyncio.CancelledError()],
    ids=lambda e: type(e).__name__,
)
def test_interrupts_cancellation_and_a_foreign_thread_end_it(tried: Any, error: BaseException) -> None:
    """They are no failures: the run above has to hear of them."""
    with pytest.raises(type(error)):
        tried(raising(error))


def test_a_function_and_its_twin_are_one_runnable() -> None:
    """Under `invoke` the one runs, under `ainvoke` the other, and both bear the name that a trace shows."""

    async def awork(value: int) -> str:
        return f"async {value}"

    twins = Twins("pair", lambda value: f"sync {value}", awork)
    assert twins.get_name() == "pair"
    assert twins.invoke(1) == "sync 1"
    assert asyncio.run(twins.ainvoke(2)) == "async 2"
