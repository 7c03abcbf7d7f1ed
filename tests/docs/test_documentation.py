"""The documentation builds without a warning, its code runs, and it leaves nothing out."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from langgraph_harness_memory.testing import OpenAIServer, ScriptedChatModel

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = sorted(p for p in DOCS.rglob("*.md") if "_build" not in p.parts)
SNIPPETS = [p for p in PAGES if FENCE.search(p.read_text(encoding="utf-8"))]


def name(path: Path) -> str:
    return path.relative_to(DOCS).as_posix()


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """An empty folder to work in, and a server behind the model names that the pages use."""
    monkeypatch.chdir(tmp_path)
    with OpenAIServer(model=ScriptedChatModel(script=["We use Alembic."], repeat=True)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "unused")
        yield server


@pytest.mark.parametrize("page", SNIPPETS, ids=name)
def test_the_code_of_a_page_runs_as_it_stands(page: Path, served: OpenAIServer) -> None:
    """All blocks of a page, one after the other, in one program."""
    program = "\n".join(FENCE.findall(page.read_text(encoding="utf-8")))
    names: dict[str, object] = {"__name__": "page"}
    try:
        exec(compile(program, str(page), "exec"), names)
    finally:
        for value in names.values():
            if type(value).__name__ == "HarnessMemory":
                value.close()  # type: ignore[attr-defined]


@pytest.mark.timeout(300)
def test_it_builds_without_a_warning(tmp_path: Path) -> None:
    """Broken links, unknown names and bad markup are errors."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(DOCS), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "reference" / "settings.html").read_text(encoding="utf-8").count("trigger_messages") >= 2


def test_every_setting_is_on_the_page_of_settings() -> None:
    """The table is made from the source, and the source's groups are all in it."""
    sys.path.insert(0, str(DOCS))
    try:
        from settings_table import CONFIG, groups
    finally:
        sys.path.remove(str(DOCS))
    source = CONFIG.read_text(encoding="utf-8")
    fields = {
        (node.name, field.target.id)
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and node.name.endswith("Config")
        for field in node.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
    }
    assert {(group, setting) for group, _, settings in groups(source) for setting, _, _ in settings} == fields


def test_every_command_is_documented() -> None:
    """Each command of `harness-memory` is named in the README or in a page."""
    from langgraph_harness_memory.cli.app import app

    words = "\n".join(p.read_text(encoding="utf-8") for p in [*PAGES, ROOT / "README.md"])
    commands = {c.name or c.callback.__name__ for c in app.registered_commands if c.callback}
    assert {c for c in commands if f"harness-memory {c}" not in words} == set()


def test_every_exit_status_is_documented() -> None:
    """The page, the help and the module that ends the commands name the same ones."""
    from langgraph_harness_memory.cli import guard
    from langgraph_harness_memory.cli.app import app

    page = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    there = {0, guard.NO, guard.USAGE, guard.FAILED, guard.STOPPED}
    assert {int(n) for n in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)} == there
    assert {int(n) for n in re.findall(r"^(\d+) ", str(guard.__doc__), re.MULTILINE)} == there
    assert {int(n) for n in re.findall(r"\b\d+\b", str(app.info.epilog))} == there
