"""The peers' checks before a model call, and ours, over the same messages."""

import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_harness_memory.config import CompactionConfig, ToolResultEvictionConfig
from langgraph_harness_memory.conversation.compaction import Turn
from langgraph_harness_memory.conversation.memory import CompactionMemory
from langgraph_harness_memory.conversation.tokens import TokenCounter
from langgraph_harness_memory.conversation.turn import call_with_memory
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.steps import Answer, AskModel, Called, CallModel, Logged, Step, drive
from langgraph_harness_memory.steps import AppendSessionLog as Append
from langgraph_harness_memory.testing import ScriptedChatModel

NEVER = 10**9
"""Tokens that no conversation here reaches."""

SUMMARY = "## SESSION INTENT\nHelp.\n## SUMMARY\nWe talked.\n## ARTIFACTS\nNone\n## NEXT STEPS\nNone"

Check = Callable[[list[BaseMessage]], Any]
"""Looks at messages before a model call; what it returns is of no interest."""


def conversation(count: int) -> list[BaseMessage]:
    """Return a tool-using conversation of about 300 characters a message."""
    messages: list[BaseMessage] = []
    for turn in range(count // 4):
        call = {"name": "lookup", "args": {"query": f"question {turn} " * 8}, "id": f"c{turn}"}
        messages += [
            HumanMessage(f"Turn {turn}: " + "what about the migration of the orders table? " * 6, id=f"h{turn}"),
            AIMessage("", tool_calls=[call], id=f"a{turn}"),
            ToolMessage(
                f"Row {turn}: " + "id=8841 status=shipped total=129.90 " * 8, tool_call_id=f"c{turn}", id=f"t{turn}"
            ),
            AIMessage(f"Answer {turn}: " + "the rows were copied in batches of fifty thousand. " * 6, id=f"b{turn}"),
        ]
    return messages


IN_A_RUN = AIMessage("", tool_calls=[{"name": "lookup", "args": {}, "id": "c"}])
"""An answer after which the same objects come back."""

AT_ITS_END = AIMessage("done")
"""An answer that ends a run; the next one loads its messages."""


def perform(step: Step, *, answer: AIMessage = AT_ITS_END) -> Any:
    """Answer every step at once: the model, the log and the queue cost nothing."""
    match step:
        case CallModel():
            return Called(result=answer)
        case AskModel():
            return Answer(text=SUMMARY)
        case Append():
            return Logged(positions={})
    return None


def ours(config: CompactionConfig, *, counter: TokenCounter | None = None, answer: AIMessage = AT_ITS_END) -> Check:
    """Return everything that we do around one model call, which itself costs nothing and gives this answer."""
    kept, thread = counter or TokenCounter(), ThreadRef(thread_id="t")

    def check(messages: list[BaseMessage]) -> Any:
        turn = Turn(
            thread=thread,
            messages=messages,
            counter=kept,
            memory=CompactionMemory(),
            compaction=config,
            eviction=ToolResultEvictionConfig(),
            window=200_000,
        )
        return drive(call_with_memory(turn), partial(perform, answer=answer))

    return check


def langchain(*, trigger: tuple[str, int], keep: tuple[str, int]) -> Check:
    """Return langchain's node before the model."""
    from langchain.agents.middleware import SummarizationMiddleware

    middleware: Any = SummarizationMiddleware(
        model=ScriptedChatModel(script=[SUMMARY], repeat=True),
        trigger=trigger,  # type: ignore[arg-type]  # a tuple of literals there
        keep=keep,  # type: ignore[arg-type]  # see above
    )
    return lambda messages: middleware.before_model({"messages": messages}, None)


def deepagents(*, trigger: tuple[str, int], keep: tuple[str, int], folder: Path) -> Check:
    """Return deepagents' wrapper around a model call that costs nothing."""
    from deepagents.backends import FilesystemBackend
    from deepagents.middleware.summarization import SummarizationMiddleware
    from langchain.agents.middleware.types import ModelRequest, ModelResponse

    model = ScriptedChatModel(script=[SUMMARY], repeat=True)
    middleware: Any = SummarizationMiddleware(
        model=model,
        backend=FilesystemBackend(root_dir=folder, virtual_mode=True),
        trigger=trigger,  # type: ignore[arg-type]  # a tuple of literals there
        keep=keep,  # type: ignore[arg-type]  # see above
    )
    answer = ModelResponse(result=[AIMessage("done")])

    def check(messages: list[BaseMessage]) -> Any:
        request: Any = ModelRequest(model=model, messages=messages, state={"messages": messages})  # type: ignore[arg-type,typeddict-item]
        return middleware.wrap_model_call(request, lambda _: answer)

    return check


def langmem(*, tokens: int) -> Check:
    """Return langmem's node."""
    from langmem.short_term import SummarizationNode

    node = SummarizationNode(model=ScriptedChatModel(script=[SUMMARY], repeat=True), max_tokens=tokens)
    return lambda messages: node.invoke({"messages": messages, "context": {}})


def peers(folder: Path) -> dict[str, Check]:
    """Return the peers' checks, set so that none of them fires."""
    settings: Any = {"trigger": ("tokens", NEVER), "keep": ("messages", 20)}
    return {
        "langchain": langchain(**settings),
        "deepagents": deepagents(**settings, folder=folder),
        "langmem": langmem(tokens=NEVER),
    }


def milliseconds(check: Check, inputs: Sequence[list[BaseMessage]]) -> float:
    """Return the median time of a check over prepared inputs, each used once.

    It is the thread's own processor time: a check does nothing but compute, and whatever else runs on the machine is
    not its doing.
    """
    times = []
    for messages in inputs:
        start = time.thread_time()
        check(messages)
        times.append(time.thread_time() - start)
    return sorted(times)[len(times) // 2] * 1e3


def temporary() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder for peers that want one."""
    return tempfile.TemporaryDirectory(prefix="checks-")
