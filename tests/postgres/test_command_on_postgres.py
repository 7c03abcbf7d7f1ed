"""`harness-memory` takes a Postgres URL wherever it takes a folder, and moves a memory either way."""

import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).parent / "harness-memory"


def run(*arguments, folder, status=0):
    done = subprocess.run(
        [COMMAND, *map(str, arguments)], capture_output=True, text=True, cwd=folder, timeout=90, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.timeout(200)
def test_a_memory_moves_to_postgres_and_back(postgres_url, schema, tmp_path):
    """Copied to a schema it is searched, read, looked after and copied back; a second copy never mixes two memories."""
    if not COMMAND.exists():
        pytest.skip("the package's command is not installed")
    url = f"{postgres_url}?schema={schema}"
    folder = tmp_path / "ws"
    (folder / "memory").mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Memory\n- likes tea\n- Alembic for the database migration\n")
    (folder / "memory/2026-01-02.md").write_text("# 2026-01-02\n- prefers trains")
    assert "2 files" in run("copy", folder, url, folder=tmp_path)
    assert "likes tea" in run("search", "tea", "-w", url, folder=tmp_path)
    assert "Alembic" in run("get", "MEMORY.md", "-w", url, folder=tmp_path)
    run("reindex", "-w", url, folder=tmp_path)
    run("doctor", "-w", url, folder=tmp_path)
    run("copy", url, tmp_path / "back", folder=tmp_path)
    for path in ("MEMORY.md", "memory/2026-01-02.md"):
        assert (tmp_path / "back" / path).read_bytes() == (folder / path).read_bytes()
    assert "empty" in run("copy", folder, url, folder=tmp_path, status=2)
