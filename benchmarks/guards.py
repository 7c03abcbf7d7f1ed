"""Every guard of a promise, taken away once: the tests that stand for it must fail, and pass with it.

    python -m benchmarks guards                 all of them
    python -m benchmarks guards --only fsync    those whose name holds a word

A test that passes without what it stands for shows nothing. Each row of the table is a guard: a sync, a lock, a check, an
escape. The named tests are run as they are, then in a process in which that guard alone is gone; the package has no switch
for it.
"""

import argparse
import multiprocessing
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._guards import GUARDS, Guard
from benchmarks.outcome import Outcome, Target, table

ROOT = Path(__file__).parent.parent
LONGEST = 300.0
"""Seconds that the tests of one guard may take."""

CONTEXT = multiprocessing.get_context("forkserver")
PRELOAD = [
    "langgraph_harness_memory.memory",
    "langgraph_harness_memory.middleware",
    "langgraph_harness_memory.index.sqlite",
]


class Recorder:
    """A pytest plugin that notes how each test ended."""

    def __init__(self, *, until_seen: bool) -> None:
        self.ends: dict[str, str] = {}
        self._until_seen = until_seen

    def pytest_runtest_setup(self, item: Any) -> None:
        """Where a guard is gone, one case that fails is enough."""
        import pytest

        name = item.nodeid.partition("[")[0]
        if self._until_seen and any(k.partition("[")[0] == name and v == "failed" for k, v in self.ends.items()):
            pytest.skip("was seen to fail")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.ends[report.nodeid] = report.outcome

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.ends[report.nodeid] = "not collected"


@dataclass(frozen=True, kw_only=True)
class Seen:
    """How the tests of one guard ended."""

    ends: dict[str, str]
    seconds: float

    def of(self, test: str) -> list[str]:
        """How a named test ended, in each of its cases."""
        return [end for name, end in self.ends.items() if name == test or name.startswith((f"{test}[", f"{test}::"))]


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="benchmarks guards")
    parser.add_argument("--only", default="", help="part of a guard's name")
    options = parser.parse_args(argv)
    chosen = [guard for guard in GUARDS if options.only in guard.name]
    CONTEXT.set_forkserver_preload(PRELOAD)
    begun = time.monotonic()
    with_all = run(sorted({test for guard in chosen for test in guard.tests}), None)
    rows, useless, broken = [], [], []
    for guard in chosen:
        without = run(guard.tests, guard.name)
        failing = [test for test in guard.tests if set(with_all.of(test)) != {"passed"}]
        passing = [test for test in guard.tests if "failed" not in without.of(test)]
        broken += failing
        useless += [f"{guard.name}: {test}" for test in passing]
        verdict = "FAILS WITH IT" if failing else "PASSES WITHOUT IT" if passing else "seen to fail"
        rows.append([guard.name, guard.keeps, len(guard.tests), f"{without.seconds:.1f} s", verdict])
        print(f"{verdict:<18} {guard.name}", *(f"\n{'':19}{test}" for test in [*failing, *passing]), flush=True)
    print()
    print(table(["guard", "keeps", "tests", "time", "without it"], rows))
    return Outcome(
        figures={
            "guards": len(chosen),
            "tests": len({test for guard in chosen for test in guard.tests}),
            "failed_with_it": len(broken),
            "passed_without_it": len(useless),
            "seconds": round(time.monotonic() - begun),
        },
        targets=[
            Target(text="at least 25 guards", seen=str(len(chosen)), met=len(chosen) >= 25 or bool(options.only)),
            Target(text="every test passes with its guard", seen=f"{len(broken)} do not", met=not broken),
            Target(text="every test was seen to fail without it", seen=f"{len(useless)} were not", met=not useless),
        ],
    )


def run(tests: tuple[str, ...] | list[str], removed: str | None) -> Seen:
    """Run tests in a process of their own, with one guard taken away or with none."""
    ours, theirs = CONTEXT.Pipe(duplex=False)
    child = CONTEXT.Process(target=_run, args=(list(tests), removed, theirs))
    begun = time.monotonic()
    child.start()
    theirs.close()
    ends: dict[str, str] = {}
    if ours.poll(LONGEST if removed else LONGEST * 4):
        try:
            ends = ours.recv()
        except EOFError:
            ends = {}
    if child.is_alive():
        child.join(2)
        child.kill()
    child.join()
    ours.close()
    return Seen(ends=ends, seconds=time.monotonic() - begun)


def _run(tests: list[str], removed: str | None, pipe: Any) -> None:
    import pytest

    os.chdir(ROOT)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    if removed is not None:
        guard: Guard = next(guard for guard in GUARDS if guard.name == removed)
        guard.remove()
    recorder = Recorder(until_seen=removed is not None)
    pytest.main(
        ["-q", "-W", "ignore::pytest.PytestAssertRewriteWarning", "-p", "no:cacheprovider", "--timeout=60", *tests],
        plugins=[recorder],
    )
    pipe.send(recorder.ends)
    pipe.close()
    os._exit(0)
