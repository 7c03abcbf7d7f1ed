"""`chat` in a real terminal: what a person types and sees."""

import os
import pty
import re
import select
import signal
import time

import pytest

from langgraph_harness_memory.curation.extractor import ExtractiveChatModel
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.testing import OpenAIServer, Reply, ScriptedChatModel
from langgraph_harness_memory.workspace.local import LocalWorkspace

pytestmark = pytest.mark.timeout(180)


SCREENS = []
"""Commands that have not ended."""


@pytest.fixture(autouse=True)
def no_command_left():
    """A test that fails leaves no command behind."""
    yield
    for screen in SCREENS:
        os.kill(screen.pid, signal.SIGKILL)
        os.waitpid(screen.pid, 0)
        os.close(screen.terminal)
    SCREENS.clear()


class Screen:
    """A pseudo-terminal with the command in it."""

    def __init__(self, program, *arguments, extra=None):
        line, environment = program
        environment = {**environment, "TERM": "xterm-256color", "COLUMNS": "200", "LINES": "40", **(extra or {})}
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execve(line[0], [*line, "chat", *map(str, arguments)], environment)
        SCREENS.append(self)
        self.seen = ""

    def wait_for(self, pattern, seconds=60):
        """Read until a pattern stands on the screen; what came before it is forgotten."""
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.seen)):
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            try:
                data = os.read(self.terminal, 65_536) if ready else b""
            except OSError:
                data = b""
            assert data, f"{pattern!r} did not appear in: {self.seen[-2_000:]}"
            self.seen += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", data.decode("utf-8", "replace"))
        before = self.seen[: found.end()]
        self.seen = self.seen[found.end() :]
        return before

    def type(self, text):
        os.write(self.terminal, text.encode() + b"\n")

    def end(self):
        """Wait for the command's end and return its exit status."""
        _, status = os.waitpid(self.pid, 0)
        SCREENS.remove(self)
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(status)


def _told_of_a_flush(screen):
    """Press return until the flush of the background is told, as it is between two lines."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        screen.type("")
        shown = screen.wait_for("you> ")
        if "flushed" in shown:
            return shown
        time.sleep(0.1)
    raise AssertionError("no flush was told")


def test_an_offline_conversation_and_its_commands(program, tmp_path):
    """Say something, ask for it in another conversation, use each command, leave with Ctrl-D."""
    folder = tmp_path / "w"
    screen = Screen(program, "-w", folder, "--thread", "first")
    screen.wait_for(r"/help for commands")
    screen.wait_for("you> ")
    screen.type("I prefer the night train to Vienna.")
    screen.wait_for("Noted.")
    screen.wait_for("you> ")
    screen.type("/status")
    screen.wait_for("2 messages in the conversation, 2 in the session log")
    screen.wait_for("you> ")
    assert re.search(r"flushed +1 fact", _told_of_a_flush(screen))
    screen.type("/help")
    screen.wait_for("/forget WORDS")
    screen.type("/nonsense")
    screen.wait_for("there is no /nonsense")
    screen.type("/search")
    screen.wait_for("name what to find: /search WORDS")
    screen.type("/forget")
    screen.wait_for("name the words of the lines to forget")
    screen.type("/search night train")
    screen.wait_for(r"memory/\d{4}-\d\d-\d\d\.md#\d+ .*night train to Vienna")
    screen.type("/compact")
    screen.wait_for("nothing to fold")
    screen.wait_for("you> ")
    screen.type("\x04")
    screen.wait_for("bye")
    assert screen.end() == 0

    screen = Screen(program, "-w", folder, "--thread", "second")
    screen.wait_for("you> ")
    screen.type("Which train do I prefer to Vienna?")
    screen.wait_for(r"→ memory_search\(")
    screen.wait_for("My memory says:")
    screen.wait_for("night train to Vienna")
    screen.wait_for("you> ")
    screen.type("/forget night train")
    screen.wait_for(r"#\d+ .*night train")
    screen.wait_for(r"forget these lines\? \[y/N\] ")
    screen.type("y")
    screen.wait_for("lines? forgotten")
    screen.type("/search night train")
    screen.wait_for("nothing found")
    screen.type("/quit")
    screen.wait_for("bye")
    assert screen.end() == 0
    log = SessionLog(LocalWorkspace(folder))
    assert [e.message.type for e in log.read("second")] == ["human", "ai", "tool", "ai"]


def test_a_model_streams_calls_tools_and_is_folded(program, tmp_path):
    """With a server in the environment: words come one by one, tools are shown, `/compact` folds, the thread goes on later."""
    script = [
        Reply(calls=[("memory_search", {"query": "holiday"})]),
        "You never told me about a holiday.",
        *[f"Answer {n}." for n in range(14)],
    ]

    def answer(messages, place=[0]):  # noqa: B006  the place in the script is kept on purpose
        if '"task"' in messages[-1].text:
            return "NO_REPLY" if '"flush"' in messages[-1].text else rules.invoke(messages).text
        place[0] += 1
        return script[place[0] - 1]

    rules = ExtractiveChatModel()
    with OpenAIServer(model=ScriptedChatModel(script=[answer], repeat=True)) as server:
        environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "unused"}
        screen = Screen(program, "-w", tmp_path / "w", "--thread", "t", extra=environment)
        screen.wait_for("you> ")
        screen.type("When is my holiday?")
        screen.wait_for(r"→ memory_search\(query='holiday'\)")
        screen.wait_for("← ")
        screen.wait_for("You never told me about a holiday.")
        for n in range(12):
            screen.wait_for("you> ")
            screen.type(f"Question {n}?")
            screen.wait_for(f"Answer {n}.")
        screen.wait_for("you> ")
        screen.type("/compact")
        screen.wait_for(r"28 messages → 2\d")
        screen.wait_for("you> ")
        screen.type("/quit")
        screen.wait_for("bye")
        assert screen.end() == 0
    streamed = [r.body for r in server.requests if r.body.get("stream")]
    assert len(streamed) >= 14
    assert [r.status for r in server.requests] == [200] * len(server.requests)


def test_ctrl_c_stops_an_answer_and_not_the_conversation(program, tmp_path):
    """A hanging answer is left with Ctrl-C; the next question is answered."""
    from datetime import timedelta

    def answer(messages):
        if '"task"' in messages[-1].text:
            return "NO_REPLY"
        return Reply(text="late", delay=timedelta(seconds=60)) if "slow" in messages[-1].text else "quick answer"

    with OpenAIServer(model=ScriptedChatModel(script=[answer], repeat=True)) as server:
        environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "unused"}
        screen = Screen(program, "-w", tmp_path / "w", "--thread", "t", extra=environment)
        screen.wait_for("you> ")
        screen.type("be slow")
        # A request is recorded when its answer begins, so that nothing here tells when it is under way but time.
        time.sleep(2)
        os.write(screen.terminal, b"\x03")
        screen.wait_for("stopped; the conversation goes on")
        screen.wait_for("you> ")
        screen.type("and now?")
        screen.wait_for("quick answer")
        screen.type("/quit")
        screen.wait_for("bye")
        assert screen.end() == 0
