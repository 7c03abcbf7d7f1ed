"""`HarnessMemory`: wires everything, alone picks back ends, and hands out the front doors."""

from langgraph_harness_memory.memory.harness import HarnessMemory

__all__ = ["HarnessMemory"]
