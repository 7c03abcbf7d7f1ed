"""`view`: write the HTML page that shows a memory."""

import webbrowser
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from langchain_core.messages import BaseMessage
from rich.markup import escape

from langgraph_harness_memory.cli import options
from langgraph_harness_memory.cli.console import Terminal
from langgraph_harness_memory.cli.guard import guarded
from langgraph_harness_memory.cli.opening import open_memory, tenant_workspace
from langgraph_harness_memory.cli.view import SessionView, page, points
from langgraph_harness_memory.conversation.tokens import TokenCounter
from langgraph_harness_memory.errors import SettingError, WorkspaceError
from langgraph_harness_memory.memory import HarnessMemory


@guarded
def view(
    *,
    workspace: options.Workspace = options.DEFAULT_WORKSPACE,
    user: options.User = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the page.")] = Path("memory.html"),
    browser: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
    as_json: options.Json = False,
) -> None:
    """Write one HTML page that shows the memory.

    Days, MEMORY.md and its history, daily logs, a search box, context sizes as charts. It loads nothing.

    Example: harness-memory view -w workspace -o memory.html --open
    """
    terminal = Terminal(as_json=as_json)
    output = output.expanduser()
    if output.is_dir() or not output.parent.is_dir():
        reason = "it is a folder" if output.is_dir() else f"there is no folder {str(output.parent)!r}"
        raise SettingError.refused("--output", str(output), f"{reason}; name a file to write, for example memory.html")
    with open_memory(workspace) as memory:
        known = memory.sessions.threads(tenant=user)
        sessions: list[SessionView] = []
        with terminal.progress("reading sessions", len(known)) as bar:
            for at, info in enumerate(known, start=1):
                sessions.append(
                    SessionView(
                        thread_id=info.thread_id,
                        messages=info.messages,
                        unflushed=info.unflushed,
                        first_at=info.first_at,
                        last_at=info.last_at,
                        points=points(_checkpoints(memory, info.thread_id), TokenCounter().message),
                    )
                )
                bar.to(at)
        text = page(
            tenant_workspace(memory.workspace, user),
            sessions,
            name=memory.workspace.name,
            user=user,
            written_at=datetime.now(UTC),
        )
    try:
        output.touch(mode=0o600)  # it holds all that the memory's own files, which are for their owner alone, hold
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise WorkspaceError(
            f"{output} could not be written: {error.strerror or error}; see the disk and its rights"
        ) from error
    terminal.answer({"path": str(output.resolve()), "sessions": len(sessions), "bytes": len(text.encode())})
    terminal.say(f"written to [bold]{escape(str(output))}[/] ({len(text.encode()):,} bytes)")
    if browser:
        webbrowser.open(output.resolve().as_uri())


def _checkpoints(memory: HarnessMemory, thread_id: str) -> Iterator[tuple[str, list[BaseMessage]]]:
    """Give moment and messages of a thread's checkpoints, oldest first."""
    found = list(memory.checkpointer.list({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}))
    for saved in reversed(found):
        messages = saved.checkpoint["channel_values"].get("messages")
        if isinstance(messages, list):
            yield saved.checkpoint["ts"], messages
