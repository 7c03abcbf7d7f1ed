"""What a client has seen of a stream is on disk, when a node logs it and the process is killed in that moment."""

import multiprocessing
import os
import random
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.sessions.saver import SessionSaver
from langgraph_harness_memory.tenancy import ambient_thread
from langgraph_harness_memory.workspace.local import LocalWorkspace
from tests.sessions.conftest import T1, chat

FORK = multiprocessing.get_context("fork")


def _stream_for_ever(folder: Path, told: int, mode: str) -> None:
    log = SessionLog(LocalWorkspace(folder))
    saver = SessionSaver.over(log)

    def answer(state: Any) -> Any:
        message = AIMessage("answer", id=str(uuid4()))
        log.append(ambient_thread(), [*state["messages"], message])
        return {"messages": [message]}

    graph = chat(saver, answer)
    while True:
        question = HumanMessage("question", id=str(uuid4()))
        for seen in graph.stream({"messages": [question]}, T1, stream_mode=mode, durability="async"):
            messages = seen["chat"]["messages"] if mode == "updates" else seen["messages"]
            for message in messages[-2:]:
                # The values of a run's input are shown before anything has run.
                if mode == "updates" or isinstance(messages[-1], AIMessage):
                    os.write(told, f"{message.id}\n".encode())


@pytest.mark.parametrize("mode", ["updates", "values"])
def test_every_message_of_a_step_that_was_streamed_is_in_the_log(tmp_path: Path, mode: str) -> None:
    """With LangGraph's default durability, a killed process has lost no message that a client was shown."""
    for seed in range(12):
        folder = tmp_path / str(seed)
        heard, told = os.pipe()
        child = FORK.Process(target=_stream_for_ever, args=(folder, told, mode))
        child.start()
        os.close(told)
        with os.fdopen(heard) as said:
            shown = {said.readline().strip()}
            time.sleep(random.Random(seed).uniform(0, 0.03))
            child.kill()
            child.join()
            shown |= {line.strip() for line in said.read().splitlines()}
        logged = {e.message.id for e in SessionLog(LocalWorkspace(folder)).read("t1")}
        assert shown - {""} <= logged
