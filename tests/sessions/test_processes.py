"""Several processes and threads on one workspace: nothing is lost, nothing torn, no lock outlives its holder."""

import asyncio
import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_harness_memory.events import Event, ForkSeen
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.sessions.collecting import CollectionPause
from langgraph_harness_memory.sessions.fair_lock import FairLock
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.sessions.saver import SessionSaver
from langgraph_harness_memory.sessions.turnstile import Turnstile
from langgraph_harness_memory.workspace.local import LocalWorkspace
from tests.sessions.conftest import T1, THREAD, chat, say, texts

FORK = multiprocessing.get_context("fork")


def _in_children(work: Callable[[int], None], count: int) -> None:
    """Run work in forked processes at the same time, and see each end well."""
    children = [FORK.Process(target=work, args=(n,)) for n in range(count)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0] * count


def test_processes_and_threads_append_to_one_thread(tmp_path: Path) -> None:
    """Four processes with three threads each, small and large messages: every one is there, once, in place."""

    def work(process: int) -> None:
        log = SessionLog(LocalWorkspace(tmp_path, fsync=False))

        def one(thread: int) -> None:
            for n in range(10):
                size = (300, 20_000, 200_000)[n % 3]
                message = HumanMessage("x" * size, id=f"{process}-{thread}-{n}")
                assert log.append(THREAD, [message]) == log.append(THREAD, [message])

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(one, range(3)))

    _in_children(work, 4)
    events: list[Event] = []
    read = SessionLog(LocalWorkspace(tmp_path), on_event=events.append).read("t1")
    assert sorted(str(e.message.id) for e in read) == sorted(
        f"{p}-{t}-{n}" for p in range(4) for t in range(3) for n in range(10)
    )
    assert [e.position for e in read] == list(range(120))
    assert events == []


def test_the_same_message_from_many_processes_is_logged_once(tmp_path: Path) -> None:
    """Whoever comes first writes it; all get the same position."""

    def work(process: int) -> None:
        log = SessionLog(LocalWorkspace(tmp_path, fsync=False))
        for n in range(20):
            log.append(THREAD, [HumanMessage(f"m{n}", id=f"m{n}")])

    _in_children(work, 4)
    assert len(SessionLog(LocalWorkspace(tmp_path)).read("t1")) == 20


def test_no_users_message_is_missing_when_processes_drive_one_thread(folder: Path) -> None:
    """The state has the branch that was stored last; the log has all forty questions; the forks were told."""
    told = FORK.Queue()

    def work(process: int) -> None:
        events: list[Event] = []
        graph = chat(SessionSaver(folder, fsync=False, on_event=events.append))
        for n in range(10):
            say(graph, f"{process}-{n}")
        told.put(sum(isinstance(e, ForkSeen) for e in events))

    _in_children(work, 4)
    saver = SessionSaver(folder, fsync=False)
    logged = texts([e.message for e in saver.log.read("t1")])
    assert sorted(t for t in logged if not t.startswith("re")) == sorted(
        f"{p}-{n}" for p in range(4) for n in range(10)
    )
    state = chat(saver).get_state(T1).values["messages"]
    assert len({m.id for m in state}) == len(state)
    forks = sum(told.get(timeout=10) for _ in range(4))
    assert forks > 0 or len(state) == 80


def test_a_forked_child_goes_on_with_what_its_parent_opened(folder: Path) -> None:
    """Also when another thread of the parent holds a session's lock at that moment."""
    saver = SessionSaver(folder, fsync=False)
    say(chat(saver), "one")
    held, go = threading.Event(), threading.Event()

    def hold() -> None:
        with saver.log.pool.session("t1"):
            held.set()
            go.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(10)
    try:
        _in_children(lambda n: saver.log.append(THREAD, [HumanMessage("child", id=f"c{n}")]) and None, 2)
    finally:
        go.set()
        holder.join()
    assert len(say(chat(saver), "two")) == 4
    assert len(saver.log.read("t1")) == 6


def test_a_killed_holder_keeps_nobody_out(tmp_path: Path) -> None:
    """A process that is killed inside a write section leaves no lock behind."""
    code = (
        "import sys, time\n"
        "from langgraph_harness_memory.sessions.log import SessionLog\n"
        "from langgraph_harness_memory.workspace.local import LocalWorkspace\n"
        "log = SessionLog(LocalWorkspace(sys.argv[1]))\n"
        "with log.pool.writing('t1'):\n"
        "    print('held', flush=True)\n"
        "    time.sleep(60)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    start = time.perf_counter()
    SessionLog(LocalWorkspace(tmp_path)).append(THREAD, [HumanMessage("x")])
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize("size", [300, 20_000, 2_000_000])
def test_an_acknowledged_message_survives_a_kill(tmp_path: Path, size: int) -> None:
    """Children are killed while they write; what they had acknowledged is read, and the next append is whole."""
    for seed in range(6):
        heard, told = os.pipe()

        def write(told: int = told, seed: int = seed) -> None:
            log = SessionLog(LocalWorkspace(tmp_path))
            for n in range(10_000):
                log.append(THREAD, [HumanMessage("x" * size, id=f"{seed}-{n}")])
                os.write(told, f"{seed}-{n}\n".encode())

        child = FORK.Process(target=write)
        child.start()
        os.close(told)
        with os.fdopen(heard) as said:
            first = said.readline().strip()
            time.sleep(random.Random(seed).uniform(0, 0.05))
            child.kill()
            child.join()
            acknowledged = {first, *said.read().split()} - {""}
        log = SessionLog(LocalWorkspace(tmp_path))
        log.append(THREAD, [AIMessage("after", id=f"after {seed}")])
        ids = {e.message.id for e in log.read("t1")}
        assert acknowledged <= ids
        assert f"after {seed}" in ids
        log.delete("t1")


def test_other_processes_see_a_prune_a_deletion_and_a_new_beginning(folder: Path) -> None:
    """A checkpointer that has a thread open notices that its files were rewritten, removed and begun anew."""
    saver, other = SessionSaver(folder, fsync=False), SessionSaver(folder, fsync=False)
    state = say(chat(saver), "one", "two")
    assert chat(other).get_state(T1).values["messages"] == state
    saver.prune(["t1"])
    assert len(list(other.list(T1))) == 1
    assert chat(other).get_state(T1).values["messages"] == state
    assert len(say(chat(other), "three")) == 6
    assert len(chat(saver).get_state(T1).values["messages"]) == 6
    saver.delete_thread("t1")
    assert chat(other).get_state(T1).values == {}
    say(chat(saver), "anew")
    assert texts(say(chat(other), "again")) == ["anew", "re: anew", "again", "re: again"]
    assert [e.position for e in other.log.read("t1")] == [0, 1, 2, 3]


def test_threads_of_one_process_read_and_write_together(saver: SessionSaver) -> None:
    """Eight threads on two conversations, reading while others write: every turn is in the log."""
    graph = chat(saver)

    def turns(worker: int) -> None:
        config: Any = {"configurable": {"thread_id": f"t{worker % 2}"}}
        for n in range(5):
            say(graph, f"{worker}-{n}", config=config)
            graph.get_state(config)
            list(saver.list(config, limit=2))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(turns, range(8)))
    for thread in (0, 1):
        said = texts([e.message for e in saver.log.read(f"t{thread}")])
        wanted = {f"{w}-{n}" for w in range(8) if w % 2 == thread for n in range(5)}
        assert {t for t in said if not t.startswith("re")} == wanted


def test_a_lock_lets_threads_in_as_they_came() -> None:
    """First come, first served, and its holder may take it again."""
    lock, order, waiting = FairLock(), [], []

    def take(number: int) -> None:
        with lock, lock:
            order.append(number)

    with lock, lock:
        for number in range(20):
            thread = threading.Thread(target=take, args=(number,))
            thread.start()
            waiting.append(thread)
            time.sleep(0.002)
    for thread in waiting:
        thread.join(10)
    assert order == list(range(20))


def test_a_full_disk_loses_nothing_and_can_be_tried_again(tmp_path: Path) -> None:
    """The append raises, nothing of it stays, and the same append works once there is room."""
    import resource

    def work(_: int) -> None:
        log = SessionLog(LocalWorkspace(tmp_path, fsync=False))
        log.append(THREAD, [HumanMessage("x" * 1000, id="before")])
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, hard))
        message = HumanMessage("y" * 5000, id="large")
        with pytest.raises(OSError, match=r"t1\.log\.jsonl"):
            log.append(THREAD, [message])
        assert [e.message.id for e in log.read("t1")] == ["before"]
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert log.append(THREAD, [message]) == {"large": 1}

    _in_children(work, 1)
    assert [e.message.id for e in SessionLog(LocalWorkspace(tmp_path)).read("t1")] == ["before", "large"]


def test_two_threads_of_control_over_two_sessions_do_not_wait_for_each_other(log: SessionLog) -> None:
    """Copies in both directions at once come to an end."""
    log.append(ThreadRef(thread_id="a"), [HumanMessage("x", id="a")])
    log.append(ThreadRef(thread_id="b"), [HumanMessage("x", id="b")])
    with ThreadPoolExecutor(2) as pool:
        there = [pool.submit(log.copy, *pair) for _ in range(20) for pair in (("a", "b"), ("b", "a"))]
        assert all(done.result(30) for done in there)
    assert len(log.read("a")) == len(log.read("b")) == 2


def test_reading_while_another_process_prunes_is_no_damage(folder: Path) -> None:
    """A reader sees the thread before or after each prune, whole, and nothing is told as damage."""
    writer = SessionSaver(folder, fsync=False)
    say(chat(writer), *"abcdefgh")
    events: list[Event] = []
    reader = SessionSaver(folder, fsync=False, on_event=events.append)
    done = threading.Event()

    def prune_and_go_on() -> None:
        for n in range(15):
            writer.prune(["t1"])
            say(chat(writer), f"more {n}")
        done.set()

    writing = threading.Thread(target=prune_and_go_on)
    writing.start()
    lengths = []
    while not done.is_set():
        found = reader.get_tuple(T1)
        assert found is not None
        lengths.append(len(found.checkpoint["channel_values"]["messages"]))
        for listed in reader.list(T1, limit=3):
            assert listed.checkpoint["channel_values"].get("messages", [None])
    writing.join()
    assert events == []
    assert lengths == sorted(lengths)


def test_a_turnstile_keeps_the_order_in_which_threads_joined() -> None:
    """Also when they come to their turn in another order, and when one of them never comes."""
    turnstile, order = Turnstile(), []
    tickets = [turnstile.join() for _ in range(6)]

    def pass_through(number: int) -> None:
        with tickets[number]:
            order.append(number)

    threads = [threading.Thread(target=pass_through, args=(n,)) for n in (5, 3, 4, 1, 0)]
    for thread in threads:
        thread.start()
        time.sleep(0.005)
    assert order == [0, 1]
    tickets[2].leave()
    tickets[2].leave()
    for thread in threads:
        thread.join(10)
    assert order == [0, 1, 3, 4, 5]
    with turnstile.join():
        pass


@pytest.mark.parametrize("way", ["sync", "async"])
def test_the_log_holds_messages_in_the_order_in_which_they_were_said(folder: Path, way: str) -> None:
    """With writes and checkpoints stored by many threads, question and answer alternate in the log."""
    saver = SessionSaver(folder, fsync=False)
    graph = chat(saver)
    if way == "sync":
        say(graph, *map(str, range(60)))
    else:

        async def turns() -> None:
            for n in range(60):
                await graph.ainvoke({"messages": [HumanMessage(str(n))]}, T1)

        asyncio.run(turns())
    said = texts([e.message for e in saver.log.read("t1")])
    assert said == [text for n in range(60) for text in (str(n), f"re: {n}")]


def test_the_collector_is_on_again_after_a_pause() -> None:
    """Nested pauses count as one, and where the application switched the collector off it stays off."""
    pause = CollectionPause()
    assert gc.isenabled()
    with pause:
        with pause:
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with pause:
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
