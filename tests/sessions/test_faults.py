"""Each operation on the workspace fails once: what was acknowledged is there, and trying again is safe."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, RemoveMessage

from langgraph_harness_memory.errors import WorkspaceError
from langgraph_harness_memory.events import Damaged, Event
from langgraph_harness_memory.formats.forms import marked
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.sessions.saver import SessionSaver
from langgraph_harness_memory.workspace.local import LocalWorkspace
from tests.sessions.conftest import T1, THREAD, chat, say

OPERATIONS = ("append", "replace", "delete", "lock", "read", "stat", "files")


class Failing:
    """A workspace of which one operation fails: the n-th one that is asked for, once or from then on."""

    def __init__(self, inner: LocalWorkspace, number: int, *, for_good: bool) -> None:
        self._inner = inner
        self._number = number
        self._for_good = for_good
        self.asked = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in OPERATIONS:
            return found

        def ask(*args: Any, **kwargs: Any) -> Any:
            self.asked += 1
            if self.asked == self._number or (self._for_good and self.asked > self._number):
                raise WorkspaceError(f"{name} failed")
            return found(*args, **kwargs)

        return ask


def _scenario(saver: SessionSaver, acknowledge: Callable[[str, Any], None]) -> None:
    """Turns, an append of a front door, a compaction, marks, a copy and a prune."""
    graph = chat(saver)
    for text in ("one", "two"):
        for message in say(graph, text, durability="sync"):
            acknowledge("message", message.id)
        acknowledge("state", graph.get_state(T1).values["messages"])
    saver.log.append(THREAD, [HumanMessage("logged", id="logged")])
    acknowledge("message", "logged")
    state = graph.get_state(T1).values["messages"]
    summary = HumanMessage("s", id=state[0].id, additional_kwargs=marked("summary"))
    graph.update_state(T1, {"messages": [summary, RemoveMessage(id=str(state[1].id))]})
    acknowledge("state", [summary, *state[2:]])
    saver.log.mark_flushed(THREAD, [0, 1])
    acknowledge("marks", {0, 1})
    saver.prune(["t1"])
    saver.copy_thread("t1", "t2")
    acknowledge("copy", [summary, *state[2:]])


def _failing(folder: Path, number: int, *, for_good: bool) -> tuple[dict[str, list[Any]], bool]:
    """Run the scenario over a workspace that fails; returns what was acknowledged, and whether it came to its end."""
    acknowledged: dict[str, list[Any]] = {}
    workspace: Any = Failing(LocalWorkspace(folder, fsync=False), number, for_good=for_good)
    saver = SessionSaver.over(SessionLog(workspace))
    try:
        _scenario(saver, lambda kind, value: acknowledged.setdefault(kind, []).append(value))
    except WorkspaceError:
        return acknowledged, False
    return acknowledged, True


@pytest.mark.parametrize("for_good", [False, True], ids=["once", "from then on"])
def test_no_failing_operation_loses_what_was_acknowledged(tmp_path: Path, for_good: bool) -> None:
    """For n = 1, 2, 3, …: the n-th operation fails; then everything is opened anew and held against the ledger."""
    number = 0
    is_done = False
    while not is_done:
        number += 1
        folder = tmp_path / f"n{number}"
        acknowledged, is_done = _failing(folder, number, for_good=for_good)
        events: list[Event] = []
        saver = SessionSaver.over(SessionLog(LocalWorkspace(folder, fsync=False), on_event=events.append))
        logged = [e.message.id for e in saver.log.read("t1")]
        assert set(acknowledged.get("message", [])) <= set(logged)
        found = saver.get_tuple(T1)
        if acknowledged.get("state"):
            assert found is not None
            # A step that was not acknowledged may have been stored; what was, is never undone.
            known = [m.id for m in acknowledged["state"][-1]]
            now = [m.id for m in found.checkpoint["channel_values"]["messages"]]
            assert set(known) <= set(now) or "s" in [m.text for m in found.checkpoint["channel_values"]["messages"]]
        if acknowledged.get("marks"):
            assert saver.log.flushed("t1").ranges == ((0, 1),)
        if acknowledged.get("copy"):
            copied = saver.get_tuple({"configurable": {"thread_id": "t2"}})
            assert copied is not None
            assert copied.checkpoint["channel_values"]["messages"] == acknowledged["copy"][-1]
        assert [e for e in events if isinstance(e, Damaged)] == []
        _goes_on(saver)
    assert number > 60


def _goes_on(saver: SessionSaver) -> None:
    before = len(saver.log.read("t1"))
    state = say(chat(saver), "after", durability="sync")
    assert [m.text for m in state[-2:]] == ["after", "re: after"]
    assert len(saver.log.read("t1")) == before + 2
    positions = saver.log.append(ThreadRef(thread_id="t1"), state[-2:])
    assert len(saver.log.read("t1")) == before + 2
    assert len(positions) == 2
