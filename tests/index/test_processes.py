"""Several processes use one index at once, and a fork does not carry its connections over."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from langgraph_harness_memory.index.sqlite import MemoryIndex

WORKER = """
import sys
from pathlib import Path
from langgraph_harness_memory.index.sqlite import MemoryIndex

root, me = Path(sys.argv[1]), sys.argv[2]
with MemoryIndex(root).open() as index:
    for step in range(12):
        with (root / "memory" / f"2026-01-0{me}.md").open("a", encoding="utf-8") as log:
            log.write(f"- walrus{me}x{step} was seen\\n")
        hits = index.search(f"walrus{me}x{step}")
        assert hits and hits[0].line_number == step + 1, (me, step, hits)
        if step == 6:
            index.reindex()
print("done")
"""


def test_six_processes(ws: Path) -> None:
    """Six processes that write and search at once all find their own lines, and the index is whole afterwards."""
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(ws), str(n)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for n in range(1, 7)
    ]
    told = [run.communicate(timeout=100) for run in runs]
    assert [(out.strip(), run.returncode) for (out, _), run in zip(told, runs, strict=True)] == [(b"done", 0)] * 6, told
    with MemoryIndex(ws) as index:
        for n in range(1, 7):
            for step in range(12):
                assert index.search(f"walrus{n}x{step}")[0].line_number == step + 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_opens_its_own(ws: Path, opened: Callable[..., MemoryIndex]) -> None:
    """A child of a fork searches and writes, and the parent's index stays whole."""
    index = opened(ws)
    assert index.search("lemon")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            (ws / "memory" / "2026-05-05.md").write_text("- walrus of the child\n", encoding="utf-8")
            status = 0 if index.search("walrus") and index.search("lemon") else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert index.search("walrus")
    assert index.search("lemon")
