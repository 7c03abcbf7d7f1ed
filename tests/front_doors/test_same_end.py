"""The same conversation through every front door ends in the same messages, logs and files."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool

from langgraph_harness_memory import HarnessMemory
from langgraph_harness_memory.testing import ScriptedChatModel, assert_valid_request
from langgraph_harness_memory.testing.scripted import Reply
from tests.front_doors.conftest import DOORS, says, thread, told

FACTS = "- Ann plans a trip to Oslo on May 3rd"


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"It rains in {city}."


def conversation() -> ScriptedChatModel:
    turns = [[Reply(calls=[("weather", {"city": f"Oslo {n}"})]), f"Rain again, number {n}."] for n in range(5)]
    return ScriptedChatModel(script=[entry for turn in turns for entry in turn])


def talk(agent: Any, *, is_async: bool) -> list[Any]:
    result: Any = None
    config = thread(user_id="ann")
    for n in range(5):
        given = {"messages": [HumanMessage(f"How is the weather in Oslo {n}?", id=f"question-{n}")]}
        result = asyncio.run(agent.ainvoke(given, config)) if is_async else agent.invoke(given, config)
    messages: list[Any] = result["messages"]
    return messages


def files(memory: HarnessMemory) -> dict[str, str]:
    """The files for people, without moments and ids."""
    found = {}
    for info in memory.workspace.files():
        if info.path.endswith(".md"):
            stored = memory.workspace.read(info.path)
            assert stored is not None
            found[info.path] = "\n".join(line for line in stored.data.decode().splitlines() if line.startswith("-"))
    return found


def run(door: str, build: Callable[..., HarnessMemory], *, is_async: bool) -> dict[str, Any]:
    model = conversation()
    with build(f"{door}-{is_async}", model=says(FACTS, "NO_REPLY")) as memory:
        state = talk(DOORS[door](model, [weather], memory), is_async=is_async)
        for request in model.requests:
            assert_valid_request(request.messages)
        logged = [entry.message for entry in memory.sessions.read("t1")]
        return {
            "state": told(state),
            "log": told(logged),
            "unflushed": len(memory.sessions.unflushed("t1")),
            "files": files(memory),
            "requests": [told([m for m in request.messages if m.type != "system"]) for request in model.requests],
        }


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_every_door_ends_the_same(build: Callable[..., HarnessMemory], *, is_async: bool) -> None:
    """State, session log, daily log and what the model saw are the same whichever way the agent was built."""
    ends = {door: run(door, build, is_async=is_async) for door in DOORS}
    first = ends["nodes"]
    assert len(first["log"]) == 20
    assert len(first["state"]) < 10
    assert "Ann plans a trip" in str(first["files"])
    for end in ends.values():
        assert end == first


def test_each_message_is_logged_once_and_as_it_was(
    door: Any, build: Callable[..., HarnessMemory], tmp_path: Path
) -> None:
    """Whatever path a message takes, its line stands in the log once."""
    with build() as memory:
        talk(door(conversation(), [weather], memory), is_async=False)
        path = memory.workspace.name + "/" + memory.sessions.path_of("t1")
    lines = [json.loads(line) for line in Path(path).read_text().splitlines()]
    ids = [line["id"] for line in lines if "message" in line]
    assert len(ids) == len(set(ids)) == 20
