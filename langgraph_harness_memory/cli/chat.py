"""`chat`: talk with the memory agent in a terminal."""

import asyncio
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from datetime import datetime
from typing import Annotated, Any

import typer
from langchain_core.messages import AIMessage, AIMessageChunk, RemoveMessage, ToolMessage
from langgraph.types import Command
from rich.markup import escape

from langgraph_harness_memory.agent import create_memory_agent
from langgraph_harness_memory.cli import options
from langgraph_harness_memory.cli.console import Terminal
from langgraph_harness_memory.cli.guard import guarded
from langgraph_harness_memory.cli.happenings import Happenings
from langgraph_harness_memory.cli.offline import OfflineChatModel
from langgraph_harness_memory.cli.opening import choose_model, open_memory, tenant_workspace
from langgraph_harness_memory.config import FlushConfig, MemoryConfig
from langgraph_harness_memory.errors import HarnessMemoryError
from langgraph_harness_memory.memory import HarnessMemory
from langgraph_harness_memory.workspace import read_text

WATCHED = MemoryConfig(flush=FlushConfig(min_new_tokens=0))
"""Who chats in a terminal watches what is remembered, so that a turn is not kept waiting for more."""

HELP = """[bold]/memory[/]          show MEMORY.md
[bold]/search WORDS[/]    find lines of the memory
[bold]/forget WORDS[/]    remove lines from the memory, after asking
[bold]/compact[/]         fold the conversation into a summary now
[bold]/status[/]          how long the conversation is
[bold]/help[/]            this
[bold]/quit[/]            leave (Ctrl-D too)"""


@guarded
def chat(
    *,
    workspace: options.Workspace = options.DEFAULT_WORKSPACE,
    user: options.User = None,
    model: options.Model = None,
    thread: Annotated[str | None, typer.Option("--thread", "-t", help="Conversation to go on with.")] = None,
) -> None:
    """Talk with an agent that remembers.

    Answers stream; tool calls and what memory does are shown.

    Example: harness-memory chat -w workspace --model openai:gpt-5.5
    """
    terminal = Terminal()
    talker = choose_model(model)
    # What happens in the background is told between two lines, never in the middle of an answer.
    waiting: deque[str] = deque()
    happened = Happenings(waiting.append)
    with open_memory(workspace, must_exist=False, model=talker, config=WATCHED, on_event=happened) as memory:
        thread_id = thread or f"chat-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
        seat = Seat(terminal, memory, talker or OfflineChatModel(), thread_id=thread_id, user=user)
        name = "offline, by rules" if talker is None else (model or "the model of the environment")
        terminal.say(f"[bold]{escape(thread_id)}[/] [dim]· {escape(name)} · /help for commands, Ctrl-D to leave[/]")
        with closing(seat):
            while (line := _read_line(terminal)) is not None and seat.take(line):
                _tell(terminal, waiting)
    _tell(terminal, waiting)
    terminal.say("[dim]bye[/]")


def _tell(terminal: Terminal, waiting: deque[str]) -> None:
    while waiting:
        terminal.say(f"  [dim]·[/] {waiting.popleft()}")


def _read_line(terminal: Terminal, prompt: str = "you> ") -> str | None:
    try:
        if sys.stdin.isatty():
            import readline  # noqa: F401  gives input() history and editing
        return input(prompt if terminal.out.is_terminal else "")
    except EOFError:
        return None


class Seat:
    """One person, one thread, one agent."""

    def __init__(
        self, terminal: Terminal, memory: HarnessMemory, model: Any, *, thread_id: str, user: str | None
    ) -> None:
        """Sit down.

        Args:
            terminal: Where to print.
            memory: The memory.
            model: Who talks.
            thread_id: The conversation.
            user: Whose memory it is; `None` = the shared one.
        """
        self.terminal = terminal
        self.memory = memory
        self.user = user
        self.agent = create_memory_agent(model, memory=memory)
        configurable = {"thread_id": thread_id} | ({"user_id": user} if user is not None else {})
        self.config: Any = {"configurable": configurable}
        # One loop for the whole conversation: clients of providers keep their connections in it, and Ctrl-C cancels
        # what runs there at once, where a thread would be waited for.
        self._loop = asyncio.Runner()
        self.commands: dict[str, Callable[[str], None]] = {
            "/memory": self._memory,
            "/search": self._search,
            "/forget": self._forget,
            "/compact": self._compact,
            "/status": self._status,
            "/help": lambda _rest: terminal.say(HELP),
        }

    def close(self) -> None:
        """Stand up: close the loop and the connections in it."""
        self._loop.close()

    def take(self, line: str) -> bool:
        """Take one line; `False` = leave."""
        word, _, rest = line.strip().partition(" ")
        if word in ("/quit", "/exit"):
            return False
        try:
            if word.startswith("/"):
                command = self.commands.get(word)
                if command is None:
                    self.terminal.say(f"there is no {escape(word)}; /help lists what there is")
                else:
                    command(rest.strip())
            elif word:
                self._ask(line)
        except HarnessMemoryError as error:
            self.terminal.note(f"[red]error:[/] {escape(str(error))}")
        except KeyboardInterrupt:
            self.terminal.say("\n[dim]stopped; the conversation goes on[/]")
        return True

    def _ask(self, text: str) -> None:
        asked: Any = {"messages": [{"role": "user", "content": text}]}
        while asked is not None:
            self._loop.run(self._stream(asked))
            asked = self._interrupted()

    async def _stream(self, asked: Any) -> None:
        is_open = False
        stream: AsyncIterator[Any] = self.agent.astream(asked, self.config, stream_mode=["messages", "updates"])
        async for mode, part in stream:
            if mode == "messages":
                message, _ = part
                if isinstance(message, AIMessage | AIMessageChunk) and (piece := str(message.text)):
                    self.terminal.out.print(piece, end="", markup=False)
                    is_open = True
            else:
                if is_open:
                    self.terminal.out.print()
                    is_open = False
                self._show_tools(part)
        if is_open:
            self.terminal.out.print()

    def _show_tools(self, update: dict[str, Any]) -> None:
        for node, change in update.items():
            if node == "compaction":
                continue
            messages = change.get("messages", []) if isinstance(change, dict) else []
            for message in messages if isinstance(messages, list) else [messages]:
                if isinstance(message, AIMessage):
                    for call in message.tool_calls:
                        shown = ", ".join(f"{key}={value!r}" for key, value in call["args"].items())
                        self.terminal.say(f"  [cyan]→ {escape(call['name'])}[/]({escape(shown[:200])})")
                elif isinstance(message, ToolMessage):
                    text = " ".join(str(message.text).split())
                    self.terminal.say(f"  [cyan]←[/] [dim]{escape(text[:200])}{'…' if len(text) > 200 else ''}[/]")

    def _interrupted(self) -> Any:
        """Ask the person where a tool waits for one; `None` = nothing waits."""
        interrupts = self.agent.get_state(self.config).interrupts
        if not interrupts:
            return None
        self.terminal.say(f"[yellow]the agent asks:[/] {escape(str(interrupts[0].value))}")
        answer = (_read_line(self.terminal, "[y/N] ") or "").strip().lower()
        return Command(resume=answer in ("y", "yes"))

    def _memory(self, _rest: str) -> None:
        read = read_text(tenant_workspace(self.memory.workspace, self.user), "MEMORY.md")
        self.terminal.say(escape(read[0].rstrip()) if read and read[0].strip() else "[dim]MEMORY.md is empty so far[/]")

    def _search(self, words: str) -> None:
        if not words:
            self.terminal.say("name what to find: /search WORDS")
            return
        hits = self.memory.index.for_tenant(self.user).search(words, 5)
        for hit in hits:
            self.terminal.say(f"  [bold]{escape(hit.path)}#{hit.line_number}[/]  {escape(hit.content)}")
        if not hits:
            self.terminal.say("[dim]nothing found[/]")

    def _forget(self, words: str) -> None:
        from langgraph_harness_memory.cli.care import forget_asking

        if not words:
            self.terminal.say("name the words of the lines to forget: /forget WORDS")
            return
        forget_asking(
            self.terminal,
            self.memory,
            query=words,
            user=self.user,
            ask=lambda: _read_line(self.terminal, "forget these lines? [y/N] "),
        )

    def _compact(self, _rest: str) -> None:
        before = self.agent.get_state(self.config).values.get("messages", [])
        configurable = self.config["configurable"]
        view = self.memory.compact(before, thread_id=configurable["thread_id"], user_id=self.user)
        if len(view) >= len(before):
            self.terminal.say("[dim]there is nothing to fold yet[/]")
            return
        known = {message.id: message for message in before}
        kept = {message.id for message in view}
        changed = [message for message in view if known.get(message.id) != message]
        gone = [RemoveMessage(id=str(message.id)) for message in before if message.id not in kept]
        self.agent.update_state(self.config, {"messages": [*changed, *gone]}, as_node="flush")
        self.terminal.say(f"{len(before)} messages → {len(view)}")

    def _status(self, _rest: str) -> None:
        messages = self.agent.get_state(self.config).values.get("messages", [])
        logged = len(self.memory.sessions.read(self.config["configurable"]["thread_id"]))
        self.terminal.say(f"{len(messages)} messages in the conversation, {logged} in the session log")
