"""Memory's part in an agent's turn, the same for every front door.

agents.py   what a front door knows of its agent
states.py   reading a state of any kind
turns.py    the rules that every front door drives
"""

from langgraph_harness_memory.turns.agents import OURS, READERS, Agent, is_ours, missing_reader, reader_of, with_context
from langgraph_harness_memory.turns.states import State, messages_of, private, stored_memory
from langgraph_harness_memory.turns.turns import Runs, Turns

__all__ = [
    "OURS",
    "READERS",
    "Agent",
    "Runs",
    "State",
    "Turns",
    "is_ours",
    "messages_of",
    "missing_reader",
    "private",
    "reader_of",
    "stored_memory",
    "with_context",
]
