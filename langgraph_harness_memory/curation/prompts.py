"""The instructions to models, as versioned Markdown files beside this module.

They are read with the module, as its code is: on an event loop the first use would block it, and under `langgraph dev`
every use would fail.
"""

from importlib.resources import files
from typing import Final, Literal

FLUSH: Final = "flush.v1"
CONSOLIDATION: Final = "consolidation.v1"

_ROOM = files("langgraph_harness_memory.curation").joinpath("prompts")
_TEXTS = {name: _ROOM.joinpath(f"{name}.md").read_text(encoding="utf-8") for name in (FLUSH, CONSOLIDATION)}


def prompt(name: Literal["flush.v1", "consolidation.v1"]) -> str:
    """Return an instruction by name and version."""
    return _TEXTS[name]
