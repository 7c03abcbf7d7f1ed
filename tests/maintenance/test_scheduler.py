"""The in-process scheduler: a thread that sleeps on an event and holds nobody alive."""

import gc
import threading
import time
import weakref
from datetime import timedelta

from langgraph_harness_memory.maintenance.scheduler import Scheduler

HOUR = timedelta(hours=1)
SOON = timedelta(seconds=5)


class Owner:
    def __init__(self, *, wait: timedelta = HOUR) -> None:
        self.runs = 0
        self.wait = wait
        self.ran = threading.Event()

    def run_due(self) -> timedelta:
        self.runs += 1
        self.ran.set()
        return self.wait


def test_nothing_runs_before_it_is_started() -> None:
    """Building a scheduler starts no thread."""
    before = threading.active_count()
    owner = Owner()
    assert not Scheduler(owner, Owner.run_due).running
    assert threading.active_count() == before


def test_it_runs_at_once_and_again_when_woken() -> None:
    """Starting looks what is due; a signal makes it look again; starting twice is starting once."""
    owner = Owner()
    scheduler = Scheduler(owner, Owner.run_due)
    scheduler.start()
    scheduler.start()
    assert owner.ran.wait(5)
    owner.ran.clear()
    scheduler.wake()
    assert owner.ran.wait(5)
    assert scheduler.stop(SOON)
    assert owner.runs == 2
    assert not scheduler.running


def test_it_sleeps_as_long_as_it_was_told() -> None:
    """The next look comes when the wait is over, without a signal."""
    owner = Owner(wait=timedelta(milliseconds=20))
    scheduler = Scheduler(owner, Owner.run_due)
    scheduler.start()
    end = time.monotonic() + 5
    while owner.runs < 3 and time.monotonic() < end:
        time.sleep(0.01)
    assert owner.runs >= 3
    assert scheduler.stop(SOON)


def test_owner_that_is_let_go_of_ends_the_thread() -> None:
    """A memory that nobody holds any more leaves no thread behind."""
    owner = Owner()
    scheduler = Scheduler(owner, Owner.run_due)
    scheduler.start()
    assert owner.ran.wait(5)
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None
    end = time.monotonic() + 5
    while scheduler.running and time.monotonic() < end:
        time.sleep(0.01)
    assert not scheduler.running


def test_it_can_be_started_again() -> None:
    """Stopping is not for ever."""
    owner = Owner()
    scheduler = Scheduler(owner, Owner.run_due)
    for _ in range(2):
        owner.ran.clear()
        scheduler.start()
        assert owner.ran.wait(5)
        assert scheduler.stop(SOON)


def test_stopping_gives_up_in_time_on_a_run_that_is_under_way() -> None:
    """Closing is not held up by a long consolidation."""
    release, started = threading.Event(), threading.Event()

    class Slow:
        def run_due(self) -> timedelta:
            started.set()
            release.wait(20)
            return HOUR

    owner = Slow()
    scheduler = Scheduler(owner, Slow.run_due)
    scheduler.start()
    assert started.wait(5)
    assert not scheduler.stop(timedelta(milliseconds=20))
    release.set()
    assert scheduler.stop(SOON)
