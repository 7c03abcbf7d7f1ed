"""The instructions to models, as versioned Markdown files beside this module, read when first needed."""

from functools import cache
from importlib.resources import files
from typing import Literal

FLUSH = "flush.v1"
CONSOLIDATION = "consolidation.v1"


@cache
def prompt(name: Literal["flush.v1", "consolidation.v1"]) -> str:
    """Return an instruction by name and version."""
    room = files("langgraph_harness_memory.curation")
    return room.joinpath("prompts").joinpath(f"{name}.md").read_text(encoding="utf-8")
