"""A disk that cannot be written, where the system lets a test make one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from pathlib import Path
from langgraph_harness_memory.index.sqlite import MemoryIndex

with MemoryIndex(Path(sys.argv[1])).open() as index:
    assert index.path is None, index.path
    assert index.search("lemon")[0].line_number == 3
    assert index.search("alembic")[0].path == "memory/2026-03-04.md"
    index.index_text("notes.md", "- walrus\\n")
    assert index.search("walrus")
    index.reindex()
print("done")
"""


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs a mount namespace of its own")
def test_read_only_disk(ws: Path) -> None:
    """On a read-only file system the index lives in memory, and every operation works."""
    (ws.parent / "program.py").write_text(PROGRAM, encoding="utf-8")
    mount = f"mount --bind {ws.parent} {ws.parent} && mount -o remount,ro,bind {ws.parent} {ws.parent}"
    run = subprocess.run(
        ["unshare", "-m", "sh", "-c", f"{mount} || exit 77; exec {sys.executable} {ws.parent}/program.py {ws}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if run.returncode == 77 or "unshare" in run.stderr:
        pytest.skip("this system makes no mount namespace")
    assert run.stdout.strip() == "done", run.stderr
    assert sorted(p.name for p in ws.parent.iterdir()) == ["program.py", "ws"]
