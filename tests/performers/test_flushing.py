"""A block and its mark: one critical section, and a crash between the two is recognised."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.errors import GraphInterrupt

from langgraph_harness_memory import HarnessMemory, MemoryConfig, StorageConfig, TenantMismatch
from langgraph_harness_memory.formats.daily_log import BlockHeading, render_block
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.performers import Caller
from langgraph_harness_memory.performers.performer import Performer
from langgraph_harness_memory.steps import (
    AlreadyFlushed,
    Appended,
    AppendFlushed,
    AppendSessionLog,
    AppendText,
    Called,
    CallModel,
    Conflict,
    Failed,
    ListFiles,
    Logged,
    MoveFile,
    Now,
    Overflowed,
    ReadLogged,
    ReadText,
    ReadUnflushed,
    RemoveLines,
    TextFile,
    WriteEvicted,
    WriteText,
)
from langgraph_harness_memory.testing import FrozenClock, ScriptedChatModel

NOON = datetime(2026, 4, 12, 12, 0, tzinfo=UTC)
THREAD = ThreadRef(thread_id="t1")


def memory(tmp_path: Path, *, clock: Any = None) -> HarnessMemory:
    return HarnessMemory(
        tmp_path / "w" / "memory",
        model=ScriptedChatModel(),
        config=MemoryConfig(storage=StorageConfig(timezone="Asia/Shanghai")),
        clock=clock or FrozenClock(NOON),
    )


@pytest.fixture
def performer(tmp_path: Path) -> Performer:
    return memory(tmp_path)._parts.acting


def logged(performer: Performer, count: int, thread: ThreadRef = THREAD) -> None:
    messages = [HumanMessage(f"message {n}", id=f"m{n}") for n in range(count)]
    assert isinstance(performer.perform(AppendSessionLog(thread=thread, messages=messages)), Logged)


def block(*positions: int, day: str = "2026-04-12", session: str = "t1") -> AppendFlushed:
    heading = BlockHeading(at=NOON, session=session, positions=frozenset(positions), sources=("user",))
    return AppendFlushed(
        thread=ThreadRef(thread_id=session), positions=positions, day=day, text=render_block([(heading, ["a fact"])])
    )


def text_of(performer: Performer, path: str) -> str:
    found = performer.perform(ReadText(tenant=None, path=path))
    return found.text if isinstance(found, TextFile) else ""


def test_block_is_written_and_marked_together(performer: Performer) -> None:
    """After the step the block stands and its messages are no longer new."""
    logged(performer, 3)
    assert performer.perform(block(0, 1)) == Appended(path="memory/2026-04-12.md")
    assert text_of(performer, "memory/2026-04-12.md").count("- a fact") == 1
    assert [m.position for m in performer.perform(ReadUnflushed(thread=THREAD))] == [2]


def test_second_flush_of_the_same_messages_writes_nothing(performer: Performer) -> None:
    """Whoever comes second is told."""
    logged(performer, 3)
    performer.perform(block(0, 1))
    assert performer.perform(block(1, 2)) == AlreadyFlushed()
    assert text_of(performer, "memory/2026-04-12.md").count("- a fact") == 1
    assert [m.position for m in performer.perform(ReadUnflushed(thread=THREAD))] == [2]


def test_crash_between_block_and_mark_is_recognised(performer: Performer) -> None:
    """A block that stands without its mark is marked and not written again."""
    logged(performer, 2)
    step = block(0, 1)
    performer.perform(AppendText(tenant=None, path="memory/2026-04-12.md", text=step.text or ""))
    assert performer.perform(step) == Appended(path="memory/2026-04-12.md")
    assert text_of(performer, "memory/2026-04-12.md").count("- a fact") == 1
    assert performer.perform(ReadUnflushed(thread=THREAD)) == ()


def test_block_of_a_crash_days_ago_is_recognised_also_in_the_archive(tmp_path: Path) -> None:
    """However long the next start takes: the log of that day is looked at, wherever it lies."""
    clock = FrozenClock(NOON)
    performer = memory(tmp_path, clock=clock)._parts.acting
    logged(performer, 2)
    step = block(0, 1)
    performer.perform(AppendText(tenant=None, path="memory/archive/2026-04-12.md", text=step.text or ""))
    clock.advance(timedelta(days=100))
    assert performer.perform(block(0, 1, day="2026-07-21")) == Appended(path="memory/archive/2026-04-12.md")
    assert text_of(performer, "memory/2026-07-21.md") == ""


def test_block_that_stands_for_a_part_leaves_the_rest_to_be_flushed(performer: Performer) -> None:
    """After a crash more was said; only what the standing block covers is marked."""
    logged(performer, 4)
    performer.perform(AppendText(tenant=None, path="memory/2026-04-12.md", text=block(0, 1).text or ""))
    assert performer.perform(block(0, 1, 2, 3)) == AlreadyFlushed()
    assert [m.position for m in performer.perform(ReadUnflushed(thread=THREAD))] == [2, 3]


def test_block_of_another_session_is_nobodys_mark(performer: Performer) -> None:
    """The same range of another conversation means nothing."""
    logged(performer, 2)
    performer.perform(AppendText(tenant=None, path="memory/2026-04-12.md", text=block(0, 1, session="t2").text or ""))
    performer.perform(block(0, 1))
    assert text_of(performer, "memory/2026-04-12.md").count("- a fact") == 2


def test_nothing_worth_writing_is_marked_alone(performer: Performer) -> None:
    """No text, no file, and the messages are done."""
    logged(performer, 2)
    step = AppendFlushed(thread=THREAD, positions=(0, 1), day="2026-04-12", text=None)
    assert performer.perform(step) == Appended(path=None)
    assert text_of(performer, "memory/2026-04-12.md") == ""
    assert performer.perform(ReadUnflushed(thread=THREAD)) == ()


def test_many_flushes_at_once_write_one_block(performer: Performer) -> None:
    """Eight threads race for the same messages."""
    logged(performer, 2)
    answers: list[Any] = []
    threads = [threading.Thread(target=lambda: answers.append(performer.perform(block(0, 1)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers.count(Appended(path="memory/2026-04-12.md")) == 1
    assert text_of(performer, "memory/2026-04-12.md").count("- a fact") == 1


def test_file_steps_answer_as_their_rules_expect(performer: Performer) -> None:
    """Read, write at a version, list, move, remove lines: each answer, and each conflict."""
    perform = performer.perform
    assert perform(ReadText(tenant="ann", path="MEMORY.md")) is None
    version = perform(WriteText(tenant="ann", path="MEMORY.md", text="- a\n- b\n", expect=None))
    assert isinstance(version, str)
    assert perform(WriteText(tenant="ann", path="MEMORY.md", text="x", expect=None)) == Conflict()
    assert perform(WriteText(tenant="ann", path="MEMORY.md", text="x", expect="old")) == Conflict()
    newer = perform(RemoveLines(tenant="ann", path="MEMORY.md", numbers=frozenset({1}), expect=version))
    assert perform(ReadText(tenant="ann", path="MEMORY.md")) == TextFile(text="- b\n", version=newer)
    assert perform(RemoveLines(tenant="ann", path="MEMORY.md", numbers=frozenset({1}), expect=version)) == Conflict()
    assert perform(ListFiles(tenant="ann", folder="")) == ("MEMORY.md",)
    assert perform(MoveFile(tenant="ann", source="MEMORY.md", target="knowledge/a.md")) is None
    assert isinstance(perform(MoveFile(tenant="ann", source="MEMORY.md", target="x.md")), Failed)
    assert perform(ReadText(tenant=None, path="MEMORY.md")) is None


def test_backups_are_kept_and_the_oldest_go(tmp_path: Path) -> None:
    """Each rewrite that asks for it leaves the version before; twenty stay."""
    clock = FrozenClock(NOON)
    performer = memory(tmp_path, clock=clock)._parts.acting
    version: Any = performer.perform(WriteText(tenant=None, path="MEMORY.md", text="0", expect=None))
    for n in range(1, 25):
        clock.advance(timedelta(minutes=1))
        step = WriteText(tenant=None, path="MEMORY.md", text=str(n), expect=version, backup=True)
        version = performer.perform(step)
    listed = performer.perform(ListFiles(tenant=None, folder="memory/.backups"))
    assert len(listed) == 20
    assert text_of(performer, listed[-1]) == "23"
    assert text_of(performer, listed[0]) == "4"


def test_time_is_in_the_configured_zone(performer: Performer) -> None:
    """Noon in Greenwich is eight in the evening in Shanghai."""
    assert performer.perform(Now()).isoformat() == "2026-04-12T20:00:00+08:00"


def test_evicted_texts_are_named_by_what_they_hold(performer: Performer) -> None:
    """The same text is one file, two texts are two, and no id leaves its folder."""
    one = performer.perform(WriteEvicted(thread=THREAD, name="../../x", text="a"))
    assert performer.perform(WriteEvicted(thread=THREAD, name="../../x", text="a")) == one
    two = performer.perform(WriteEvicted(thread=THREAD, name="../../x", text="b"))
    assert one != two
    assert all(path.startswith("large_tool_results/t1/") and ".." not in path for path in (one, two))


def test_stretch_of_a_session_is_read(performer: Performer) -> None:
    """From a position up to, and without, another."""
    logged(performer, 5)
    found = performer.perform(ReadLogged(thread=THREAD, start=1, end=3))
    assert [message.position for message in found] == [1, 2]


def test_async_side_answers_the_same(performer: Performer) -> None:
    """Every step has the same answer on the event loop."""
    logged(performer, 2)

    async def run() -> None:
        assert await performer.aperform(block(0, 1)) == Appended(path="memory/2026-04-12.md")
        assert await performer.aperform(ReadUnflushed(thread=THREAD)) == ()
        assert (await performer.aperform(Now())).hour == 20
        assert isinstance(await performer.aperform(MoveFile(tenant=None, source="no", target="x")), Failed)

    asyncio.run(run())


def test_thread_of_another_tenant_is_no_failure(performer: Performer) -> None:
    """It ends the run, since an answer `Failed` would let the turn go on with somebody else's thread."""
    logged(performer, 1, ThreadRef(thread_id="t1", tenant="ann"))
    step = AppendSessionLog(thread=ThreadRef(thread_id="t1", tenant="bob"), messages=[HumanMessage("hi", id="x")])
    with pytest.raises(TenantMismatch, match="belongs to tenant 'ann'"):
        performer.perform(step)
    with pytest.raises(TenantMismatch, match="belongs to tenant 'ann'"):
        asyncio.run(performer.aperform(step))


def test_agents_call_overflows_fails_or_interrupts(performer: Performer) -> None:
    """An overflow is an answer, any other error and an interrupt are raised as they were."""

    def raising(error: Exception) -> Performer:
        def call(_: Any) -> Any:
            raise error

        async def acall(_: Any) -> Any:
            raise error

        return performer.for_caller(Caller(call=call, acall=acall))

    overflow = ValueError("prompt is too long: 212345 tokens > 200000 maximum")
    assert raising(overflow).perform(CallModel(messages=[])) == Overflowed(error=overflow)
    assert asyncio.run(raising(overflow).aperform(CallModel(messages=[]))) == Overflowed(error=overflow)
    for error in (ValueError("no connection"), GraphInterrupt(())):
        with pytest.raises(type(error)):
            raising(error).perform(CallModel(messages=[]))
        with pytest.raises(type(error)):
            asyncio.run(raising(error).aperform(CallModel(messages=[])))
    answered = performer.for_caller(Caller(call=len))
    assert answered.perform(CallModel(messages=[])) == Called(result=0)
