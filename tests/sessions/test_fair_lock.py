"""A lock whose line survives Ctrl-C."""

import os
import signal
import threading
import time

import pytest

from langgraph_harness_memory.sessions.fair_lock import FairLock


def test_who_is_interrupted_while_waiting_holds_nobody_up():
    """Ctrl-C in the main thread gives its place up; whoever comes behind gets the lock."""
    lock, held, free = FairLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            free.wait(20)

    def interrupt() -> None:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    holder, interrupter = threading.Thread(target=hold), threading.Thread(target=interrupt)
    try:
        holder.start()
        held.wait(20)
        interrupter.start()
        with pytest.raises(KeyboardInterrupt), lock:
            pass
    finally:
        signal.signal(signal.SIGINT, before)
        free.set()
        holder.join(20)
        interrupter.join(20)
    got = threading.Event()

    def take() -> None:
        with lock:
            got.set()

    taker = threading.Thread(target=take, daemon=True)
    taker.start()
    assert got.wait(10)
    taker.join(10)
