"""Postgres stopped for ten seconds under load, and started again.

Four threads hold conversations through a TCP proxy; the proxy is taken away and brought back. Every turn must be answered,
and afterwards everything that was said must be in the session logs and in exactly one flushed block, once.
"""

import argparse
import os
import threading
import time
from collections import Counter
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from benchmarks._replica import Answering, Heard, config
from benchmarks.outcome import Outcome, Target, table
from benchmarks.postgres_search import URL, fresh_schema
from langgraph_harness_memory import ExtractiveChatModel, HarnessMemory, create_memory_agent
from langgraph_harness_memory.formats.daily_log import day_of, parse
from langgraph_harness_memory.testing.tcp_proxy import TcpProxy
from langgraph_harness_memory.workspace import read_text

BEFORE = 3.0
AFTER = 5.0
"""Seconds of load before and after the outage."""


def converse(agent: Any, user: int, ends: float, turns: list[tuple[float, float]], errors: list[str]) -> None:
    """Hold one conversation until the time is over; note when each turn began and how long it took."""
    number = 0
    while time.monotonic() < ends:
        began = time.monotonic()
        said = {"messages": [("user", f"I prefer the colour shade-u{user}-t{number}.")]}
        try:
            agent.invoke(said, {"configurable": {"thread_id": f"t{user}", "user_id": f"user{user}"}})
        except Exception as error:  # noqa: BLE001  a failed turn is what is counted
            errors.append(f"{type(error).__name__}: {error}"[:200])
        turns.append((began, time.monotonic() - began))
        number += 1
        time.sleep(0.1)


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="python -m benchmarks outage")
    parser.add_argument("--postgres", default=os.environ.get("HARNESS_TEST_POSTGRES") or URL)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args(argv)
    parts = urlsplit(options.postgres)
    heard = Heard()
    turns: list[list[tuple[float, float]]] = [[] for _ in range(4)]
    errors: list[str] = []
    with fresh_schema(options.postgres) as direct, TcpProxy(parts.hostname or "127.0.0.1", parts.port or 5432) as proxy:
        user = parts.netloc.rpartition("@")[0]
        netloc = f"{user}@127.0.0.1:{proxy.port}" if user else f"127.0.0.1:{proxy.port}"
        url = urlunsplit(parts._replace(netloc=netloc, query=f"schema={direct.schema}"))
        with HarnessMemory(url, model=ExtractiveChatModel(), config=config(), on_event=heard) as memory:
            agent = create_memory_agent(Answering(), memory=memory)
            for number in range(4):
                hello = {"messages": [("user", "hello")]}
                agent.invoke(hello, {"configurable": {"thread_id": f"t{number}", "user_id": f"user{number}"}})
            ends = time.monotonic() + BEFORE + options.seconds + AFTER
            threads = [threading.Thread(target=converse, args=(agent, n, ends, turns[n], errors)) for n in range(4)]
            for thread in threads:
                thread.start()
            time.sleep(BEFORE)
            stopped = time.monotonic()
            proxy.stop()
            time.sleep(options.seconds)
            proxy.start()
            back = time.monotonic()
            for thread in threads:
                thread.join()
            memory.maintain()
        found = Counter[str]()
        for number in range(4):
            said = [str(m.message.content) for m in memory.sessions.read(f"t{number}") if m.message.type == "human"]
            wanted = ["hello", *(f"I prefer the colour shade-u{number}-t{n}." for n in range(len(turns[number])))]
            found["lost"] += len(set(wanted) - set(said))
            found["doubled"] += len(said) - len(set(said))
            found["unflushed"] += len(memory.sessions.unflushed(f"t{number}"))
            state = agent.get_state({"configurable": {"thread_id": f"t{number}"}}).values["messages"]
            found["state"] += str(state[-2].content) != wanted[-1]
            tree = direct.under(f"users/user{number}")
            blocks: Counter[int] = Counter()
            for info in tree.files("memory"):
                if day_of(info.path):
                    for section in parse((read_text(tree, info.path) or ("", ""))[0]):
                        if section.heading is not None and section.heading.part == 1:
                            blocks.update(section.heading.positions)
            found["flushed_twice"] += sum(count > 1 for count in blocks.values())
        memory.workspace.close()
    every = [turn for each in turns for turn in each]
    during = [took for began, took in every if stopped <= began < back]
    after = [began + took - back for began, took in every if began >= back]
    rows = [
        ["turns answered", len(every) - len(errors)],
        ["turns that failed", len(errors)],
        ["turns begun while Postgres was away", len(during)],
        ["longest of them, s", max(during, default=0.0)],
        ["first turn after its return, s", min(after, default=0.0)],
        [
            "warnings that memory could not do its part",
            heard.counts.get("Degraded", 0) + heard.counts.get("FlushFailed", 0),
        ],
    ]
    print(table(["", ""], rows))
    for error in errors[:5]:
        print("  ", error)
    targets = [
        Target(text="every turn is answered", seen=f"{len(errors)} failed", met=not errors and len(during) > 0),
        Target(text="it is warned", seen=str(rows[5][1]), met=rows[5][1] > 0),
        Target(text="nothing said is lost", seen=str(found["lost"]), met=found["lost"] == 0),
        Target(text="nothing is logged twice", seen=str(found["doubled"]), met=found["doubled"] == 0),
        Target(text="every pending flush arrived", seen=str(found["unflushed"]), met=found["unflushed"] == 0),
        Target(text="nothing is flushed twice", seen=str(found["flushed_twice"]), met=found["flushed_twice"] == 0),
        Target(text="the conversations' states are whole", seen=str(found["state"]), met=found["state"] == 0),
    ]
    return Outcome(
        figures={label.replace(" ", "_"): value for label, value in rows} | {"found": dict(found)}, targets=targets
    )
