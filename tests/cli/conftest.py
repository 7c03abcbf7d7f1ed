"""The command as a person runs it: in this process where that is enough, else in one of its own."""

import json
import os
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

DATA = Path(__file__).parent / "data"


@pytest.fixture(autouse=True)
def no_model_in_the_environment(monkeypatch):
    """Whatever key the machine has, no test may call a real model."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "HARNESS_MEMORY_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)


class Command:
    """Runs the command in this process."""

    def __init__(self):
        from langgraph_harness_memory.cli.app import app

        self.app = app
        self.runner = CliRunner()

    def __call__(self, *arguments, status=0, **options):
        """Run it and return what it printed; an exit status that is not expected fails with everything it said."""
        ran = self.runner.invoke(self.app, [str(a) for a in arguments], **options)
        shown = f"{ran.output}\n{ran.exception!r}"
        assert ran.exit_code == status, shown
        return ran

    def json(self, *arguments, status=0):
        """Run it with `--json` and return the document."""
        return json.loads(self(*arguments, "--json", status=status).stdout)


@pytest.fixture
def command():
    return Command()


@pytest.fixture
def program():
    """The command line that runs the command in a process of its own, and its environment."""
    start = "from langgraph_harness_memory.cli import main; main()"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI")} | {
        "COLUMNS": "120",
        "NO_COLOR": "1",
    }
    return [sys.executable, "-c", start], environment
