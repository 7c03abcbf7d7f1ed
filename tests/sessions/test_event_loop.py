"""The async methods never hold up the event loop, and a cancelled one has ended when its caller goes on."""

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base.id import uuid6

from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.sessions.saver import SessionSaver
from langgraph_harness_memory.workspace.local import LocalWorkspace
from tests.sessions.conftest import T1, THREAD, chat, say

SLOW = 0.1
"""Seconds that an append to a slow disk takes."""


class SlowDisk(LocalWorkspace):
    """A folder whose disk takes its time."""

    def append(self, *args: Any, **kwargs: Any) -> int:
        time.sleep(SLOW)
        return super().append(*args, **kwargs)


def test_a_slow_disk_does_not_hold_up_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a turn is stored and read, other tasks of the loop go on: its own thread touches no file."""
    by: dict[str, set[int]] = {}
    for name in ("append", "files", "lock", "read", "replace", "stat"):
        monkeypatch.setattr(LocalWorkspace, name, _noting(by, name))
    saver = SessionSaver.over(SessionLog(LocalWorkspace(tmp_path, fsync=False)))

    async def talk() -> int:
        await chat(saver).ainvoke({"messages": [HumanMessage("x", id="x")]}, T1)
        await saver.log.aappend(THREAD, [HumanMessage("y", id="y")])
        await saver.aget_tuple(T1)
        _ = [t async for t in saver.alist(T1)]
        return threading.get_ident()

    loop = asyncio.run(talk())
    assert by.keys() >= {"append", "stat"}, by.keys()
    assert all(loop not in threads for threads in by.values())


def _noting(by: dict[str, set[int]], name: str) -> Any:
    plain = getattr(LocalWorkspace, name)

    def noted(*args: Any, **kwargs: Any) -> Any:
        by.setdefault(name, set()).add(threading.get_ident())
        return plain(*args, **kwargs)

    return noted


@pytest.mark.parametrize("after", [0.0, 0.15])
def test_a_cancelled_put_has_ended_and_leaves_the_checkpointer_usable(tmp_path: Path, after: float) -> None:
    """Written or not is known when the cancellation arrives, and the thread goes on."""
    saver = SessionSaver.over(SessionLog(SlowDisk(tmp_path, fsync=False)))
    say(chat(saver), "one")

    async def cancelled() -> None:
        found = await saver.aget_tuple(T1)
        assert found is not None
        values = {**found.checkpoint["channel_values"], "note": "x"}
        versions = {**found.checkpoint["channel_versions"], "note": 1}
        checkpoint: Any = {
            **found.checkpoint,
            "id": str(uuid6()),
            "channel_values": values,
            "channel_versions": versions,
        }
        putting = asyncio.create_task(saver.aput(found.config, checkpoint, found.metadata, {"note": 1}))
        await asyncio.sleep(after)
        putting.cancel()
        await asyncio.wait([putting])
        sizes = [p.stat().st_size for p in sorted((tmp_path / "sessions").iterdir())]
        await asyncio.sleep(SLOW * 2)
        assert [p.stat().st_size for p in sorted((tmp_path / "sessions").iterdir())] == sizes

    asyncio.run(cancelled())
    assert len(say(chat(saver), "two")) == 4
