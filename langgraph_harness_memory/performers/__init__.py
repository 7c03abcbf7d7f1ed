"""Who does what the rules ask: models, files, index, events.

This is the one room with `except Exception`: whatever goes wrong inside a step becomes a `Failed` answer, so that
memory never ends a user's turn. Interrupts, cancellation and `TenantMismatch` are no failures of a step; they always
propagate.

    performer.py   one step at a time, sync and async
    asking.py      a curating model's answer within a deadline
    calling.py     the agent's own call, and whether a token had left
    flushing.py    block and mark in one critical section
    files.py       the text files of one tenant
    telling.py     events: callback, stream, log
    metering.py    what memory spends on models
    background.py  the queue of flushes
    running.py     a function and its twin as one runnable
    attempting.py  something whose failure must not end what it is part of
"""

from langgraph_harness_memory.performers.asking import Models
from langgraph_harness_memory.performers.attempting import aattempt, attempt
from langgraph_harness_memory.performers.background import Flush, FlushQueue
from langgraph_harness_memory.performers.metering import Meter
from langgraph_harness_memory.performers.performer import Caller, Flushes, Performer
from langgraph_harness_memory.performers.running import Twins
from langgraph_harness_memory.performers.telling import Teller

__all__ = [
    "Caller",
    "Flush",
    "FlushQueue",
    "Flushes",
    "Meter",
    "Models",
    "Performer",
    "Teller",
    "Twins",
    "aattempt",
    "attempt",
]
