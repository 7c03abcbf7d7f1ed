"""A rule reads like plain code and runs the same, sync and async."""

import asyncio
import inspect

import pytest

from langgraph_harness_memory import steps
from langgraph_harness_memory.steps import ReadText, TextFile, adrive, drive, read_text


def greet():
    """Read two files and join them."""
    first = yield from read_text(None, "a")
    second = yield from read_text("alice", "b")
    return f"{first.text}{second}"


def answer(step):
    assert isinstance(step, ReadText)
    return TextFile(text="hello ", version="1") if step.path == "a" else None


def test_both_drivers_send_each_answer_back_in_order() -> None:
    """One rule, two drivers, one result."""

    async def aanswer(step):
        return answer(step)

    assert drive(greet(), answer) == "hello None"
    assert asyncio.run(adrive(greet(), aanswer)) == "hello None"


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, asyncio.CancelledError, GeneratorExit])
def test_an_interruption_unwinds_the_rule_and_is_not_caught(interruption) -> None:
    """The rule's own clean-up runs, and the interruption reaches the caller."""
    cleaned = []

    def rule():
        try:
            yield from read_text(None, "a")
        finally:
            cleaned.append(True)

    def perform(step):
        raise interruption

    with pytest.raises(interruption):
        drive(rule(), perform)
    assert cleaned == [True]


def test_every_step_of_the_vocabulary_is_in_the_union_and_has_a_word() -> None:
    """A step that is added must be added to `Step`, so that the performers' `match` is checked for it."""
    words = {n for n, f in vars(steps).items() if inspect.isgeneratorfunction(f) and f.__module__ == steps.__name__}
    assert {"ask_model", "read_text", "notify", "now"} <= words
    assert len(words) == len(steps.Step.__args__)
