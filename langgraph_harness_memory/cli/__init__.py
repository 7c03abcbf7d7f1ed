"""The command `harness-memory`; the one room, with `deploy`, that reads the environment."""

import sys


def main() -> None:
    """Run the command; say which extra is missing where typer or rich are not installed."""
    try:
        from langgraph_harness_memory.cli.app import app
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("typer", "rich"):
            raise
        from langgraph_harness_memory.errors import MissingExtra

        sys.stderr.write(f"error: {MissingExtra('the command harness-memory', 'cli')}\n")
        raise SystemExit(2) from None
    app()
