"""One agent object serves many users, and none of them meets another."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langgraph_harness_memory import HarnessMemory, TenantMismatch, create_memory_agent
from langgraph_harness_memory.testing import ScriptedChatModel
from tests.front_doors.conftest import says, thread


def seen_by_model(model: ScriptedChatModel) -> str:
    return model.requests[-1].text


def test_each_user_sees_their_own_memory(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """The injected memory is the user's, and a user without one sees nobody else's."""
    memory = build()
    memory.workspace.replace("users/ann/MEMORY.md", b"- Ann likes tea\n")
    memory.workspace.replace("MEMORY.md", b"- Everybody likes cake\n")
    model = says("fine")
    agent = door(model, [], memory)
    agent.invoke({"messages": [HumanMessage("hi")]}, thread("one", "ann"))
    assert "Ann likes tea" in seen_by_model(model)
    assert "cake" not in seen_by_model(model)
    agent.invoke({"messages": [HumanMessage("hi")]}, thread("two", "bob"))
    assert "likes" not in seen_by_model(model)
    agent.invoke({"messages": [HumanMessage("hi")]}, thread("three"))
    assert "Everybody likes cake" in seen_by_model(model)


@pytest.mark.parametrize("other", ["bob", None], ids=["another user", "no user"])
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_thread_of_another_user_is_refused(
    door: Any, build: Callable[..., HarnessMemory], other: str | None, *, is_async: bool
) -> None:
    """A run that names a thread of somebody else ends before the model is asked and before anything is written."""
    memory = build()
    model = says("fine")
    agent = door(model, [], memory)
    agent.invoke({"messages": [HumanMessage("my secret")]}, thread("t", "ann"))
    asked = model.calls
    before = {info.path: info.size for info in memory.workspace.files("sessions")}
    given = {"messages": [HumanMessage("what did she say?")]}
    config = thread("t", other)
    with pytest.raises(TenantMismatch, match="belongs to tenant 'ann'"):
        asyncio.run(agent.ainvoke(given, config)) if is_async else agent.invoke(given, config)
    assert model.calls == asked
    if other is not None:
        # A run that names nobody may name its user in the context, which no checkpointer sees; its input is saved first.
        assert {info.path: info.size for info in memory.workspace.files("sessions")} == before
    agent.invoke({"messages": [HumanMessage("still mine")]}, thread("t", "ann"))


def test_facts_go_to_the_users_own_log(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """Daily log, marks and consolidation are the user's."""
    memory = build(model=says("- Ann moves to Oslo on May 3rd", "# Memory\n\n- Ann moves to Oslo on May 3rd"))
    door(says("fine"), [], memory).invoke({"messages": [HumanMessage("I move")]}, thread("t", "ann"))
    memory.maintain()
    paths = [info.path for info in memory.workspace.files() if info.path.endswith(".md")]
    assert "users/ann/MEMORY.md" in paths
    assert all(path.startswith("users/ann/") for path in paths)


def test_user_may_come_from_the_runs_context(build: Callable[..., HarnessMemory]) -> None:
    """The run's context names the tenant."""

    @dataclass
    class Context:
        user_id: str

    memory = build()
    memory.workspace.replace("users/ann/MEMORY.md", b"- Ann likes tea\n")
    model = says("fine")
    agent = create_memory_agent(model, memory=memory, context_schema=Context)
    agent.invoke({"messages": [HumanMessage("hi")]}, thread("t"), context=Context(user_id="ann"))
    assert "Ann likes tea" in seen_by_model(model)
    assert memory.sessions.tenant("t") == "ann"


def test_many_users_at_once(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """Twenty users in one event loop: each request holds its own user's memory alone."""
    memory = build()
    for n in range(20):
        memory.workspace.replace(f"users/u{n}/MEMORY.md", f"- the word of u{n} is w{n}w\n".encode())
    seen: dict[str, str] = {}

    def answer(messages: list[Any]) -> str:
        text = "\n".join(str(m.text) for m in messages)
        seen[str(messages[-1].text)] = text
        return "fine"

    agent = door(ScriptedChatModel(script=[answer], repeat=True), [], memory)

    async def run() -> None:
        runs = (agent.ainvoke({"messages": [HumanMessage(f"I am u{n}")]}, thread(f"t{n}", f"u{n}")) for n in range(20))
        await asyncio.gather(*runs)

    asyncio.run(run())
    for n in range(20):
        words = [m for m in range(20) if f"w{m}w" in seen[f"I am u{n}"]]
        assert words == [n]


def test_deleted_user_leaves_nothing(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """Conversations, checkpoints, memory, backups, index: no byte of them is left anywhere."""
    fact = "- Ann's word is xyzzyplugh of May 3rd"
    memory = build(model=says("NO_REPLY", fact, f"# Memory\n\n{fact}"))
    agent = door(says("fine"), [], memory)
    agent.invoke({"messages": [HumanMessage("my word is other")]}, thread("u", "bob"))
    agent.invoke({"messages": [HumanMessage("my word is xyzzyplugh")]}, thread("t", "ann"))
    memory.consolidate(user_id="ann")
    assert memory.index.for_tenant("ann").search("xyzzyplugh")
    deleted = memory.delete_user("ann")
    assert deleted.threads == ("t",)
    assert deleted.files > 0
    memory.close()
    from pathlib import Path

    root = Path(memory.workspace.name).parent
    for file in root.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            at = data.find(b"xyzzyplugh")
            assert at < 0, f"{file.name}: {data[max(0, at - 60) : at + 30]!r}"
    assert memory.sessions.tenant("u") == "bob"
