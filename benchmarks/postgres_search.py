"""Search on Postgres beside search on SQLite: the same memories, the same questions.

Every LoCoMo conversation becomes one tenant's daily logs, a line for each turn; every question that names its evidence
is asked of both back ends. R@10 = the part of the evidence lines that stand among the first ten hits, mean over questions.
"""

import argparse
import os
import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks._locomo import Sample, samples
from benchmarks.outcome import Outcome, Target, table
from langgraph_harness_memory.identifiers import tenant_root
from langgraph_harness_memory.index.hits import Index
from langgraph_harness_memory.index.postgres import PostgresMemoryIndex
from langgraph_harness_memory.index.sqlite import MemoryIndex
from langgraph_harness_memory.workspace import Workspace
from langgraph_harness_memory.workspace.local import LocalWorkspace
from langgraph_harness_memory.workspace.postgres import PostgresWorkspace

URL = "postgresql://postgres@127.0.0.1:5432/test"
"""Where `HARNESS_TEST_POSTGRES` names no other server."""

ALLOWED = 0.03
"""How far R@10 on Postgres may be from SQLite's."""


@contextmanager
def fresh_schema(url: str) -> Iterator[PostgresWorkspace]:
    """Give a workspace in a schema of its own, dropped at the end."""
    import psycopg

    schema = f"hm_bench_{os.getpid()}_{secrets.token_hex(4)}"
    workspace = PostgresWorkspace.from_conn_string(url, schema=schema)
    try:
        yield workspace
    finally:
        workspace.close()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')


def write(workspace: Workspace, sample: Sample) -> dict[str, tuple[str, int]]:
    """Write a conversation as daily logs; return where each turn stands."""
    place: dict[str, tuple[str, int]] = {}
    lines: dict[str, list[str]] = {}
    for session in sample.sessions:
        path = f"memory/{session.at:%Y-%m-%d}.md"
        log = lines.setdefault(path, [f"# {session.at:%Y-%m-%d}", ""])
        for turn in session.turns:
            log.append(f"- {turn.speaker}: {turn.text}")
            place[turn.dia_id] = (path, len(log))
    for path, log in lines.items():
        workspace.replace(path, ("\n".join(log) + "\n").encode())
    return place


def ask(index: Index, sample: Sample, place: dict[str, tuple[str, int]]) -> tuple[list[float], list[float]]:
    """Ask every question with evidence; return recalls and seconds."""
    recalls: list[float] = []
    seconds: list[float] = []
    for question in sample.questions:
        if not question.evidence:
            continue
        began = time.perf_counter()
        hits = index.search(question.text, 10)
        seconds.append(time.perf_counter() - began)
        found = {(hit.path, hit.line_number) for hit in hits}
        recalls.append(sum(place[turn] in found for turn in question.evidence) / len(question.evidence))
    return recalls, seconds


def measure(workspace: Workspace, index: Any, conversations: list[Sample]) -> dict[str, float]:
    """Fill a back end with all conversations, each a tenant, and ask them all."""
    began = time.perf_counter()
    places = {s.name: write(workspace.under(tenant_root(s.name).as_posix()), s) for s in conversations}
    for sample in conversations:
        index.for_tenant(sample.name).search("warm up", 1)
    filled = time.perf_counter() - began
    recalls: list[float] = []
    seconds: list[float] = []
    for sample in conversations:
        found, took = ask(index.for_tenant(sample.name), sample, places[sample.name])
        recalls += found
        seconds += took
    ordered = sorted(seconds)
    return {
        "recall": sum(recalls) / len(recalls),
        "questions": len(recalls),
        "fill_s": filled,
        "p50_ms": ordered[len(ordered) // 2] * 1000,
        "p95_ms": ordered[int(len(ordered) * 0.95)] * 1000,
    }


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="python -m benchmarks postgres-search")
    parser.add_argument("--postgres", default=os.environ.get("HARNESS_TEST_POSTGRES") or URL)
    parser.add_argument("--conversations", type=int, default=0, help="how many; 0 = all")
    options = parser.parse_args(argv)
    conversations = samples()[: options.conversations or None]
    if not conversations:
        print("no LoCoMo data beside the checkout: nothing was measured")
        return Outcome(figures={"skipped": "no data"})
    with tempfile.TemporaryDirectory() as folder, fresh_schema(options.postgres) as remote:
        local = LocalWorkspace(Path(folder) / "ws", fsync=False)
        with MemoryIndex(local) as index:
            sqlite = measure(local, index, conversations)
        postgres = measure(remote, PostgresMemoryIndex(remote), conversations)
    rows = [
        [name, f"{f['recall']:.4f}", f"{f['p50_ms']:.2f}", f"{f['p95_ms']:.2f}", f"{f['fill_s']:.2f}"]
        for name, f in (("SQLite", sqlite), ("Postgres", postgres))
    ]
    print(f"{len(conversations)} conversations, {sqlite['questions']:.0f} questions\n")
    print(table(["back end", "R@10", "p50 ms", "p95 ms", "fill s"], rows))
    gap = abs(sqlite["recall"] - postgres["recall"])
    target = Target(text=f"R@10 on Postgres within {ALLOWED} of SQLite's", seen=f"{gap:.4f}", met=gap <= ALLOWED)
    return Outcome(figures={"sqlite": sqlite, "postgres": postgres, "recall_gap": gap}, targets=[target])
