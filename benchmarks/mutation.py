"""How many small faults in the rules the tests notice: mutmut on a seeded sample of each room.

Each room is copied with its tests to a folder of its own, mutated there, and judged by the tests that stand for it; nothing
of the checkout changes. A mutant that makes its tests hang counts as noticed. Needs the dependency group `release`.

    python -m benchmarks mutation --sample 60 --room formats --room curation
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.outcome import Outcome, Target, table

ROOT = Path(__file__).parents[1]
PACKAGE = "langgraph_harness_memory"

KILLED = 0.85
"""At least so many of a room's mutants are noticed."""

TESTS = {
    "conversation": ["tests/conversation", "tests/state"],
    "curation": ["tests/curation", "tests/extractor", "tests/redaction"],
    "sessions": [
        "tests/sessions",
        "tests/postgres/test_postgres_saver.py",
        "tests/postgres/test_waiting_checkpoints.py",
    ],
    "formats": ["tests/formats"],
}
"""The tests that stand for a room."""

SLOW = [
    "tests/sessions/test_processes.py",
    "tests/sessions/test_machine.py",
    "tests/sessions/test_faults.py",
    "tests/sessions/test_event_loop.py",
    "tests/sessions/test_damage.py::test_a_log_cut_at_any_byte_loses_nothing_that_is_whole",
    "tests/sessions/test_damage.py::test_checkpoints_cut_at_any_byte_give_the_last_whole_one",
    "tests/curation/test_machine.py",
    "tests/curation/test_consolidation.py::test_ninety_logs_of_fifty_kilobytes_are_merged_in_batches",
    "tests/curation/test_provenance.py::test_a_huge_result_is_compared_quickly",
    "tests/extractor/test_hostile.py",
    "tests/redaction/test_redaction.py::test_no_text_takes_more_than_linear_time",
]
"""Tests that mostly wait for other processes, walk at random or through every byte, or measure time, of which instrumented code
takes more; they only confirm what others show."""

SETTINGS = """
[tool.mutmut]
source_paths = ["{package}"]
only_mutate = ["{package}/{room}/*"]
do_not_mutate_patterns = ["logger\\\\."]
pytest_add_cli_args_test_selection = {tests}
pytest_add_cli_args = {arguments}
also_copy = ["benchmarks", "README.md", "conftest.py"]
"""

FORGETFUL = '''"""Empties the caches of the package before each test, which would else see what the original said.

Also tells which test reaches a function whose answer is cached: not only the first one that asked.
"""

import functools
import gc

CACHES = []


def pytest_collection_finish(session):
    held = (each for each in gc.get_objects() if isinstance(each, functools._lru_cache_wrapper))
    CACHES[:] = [each for each in held if (each.__module__ or "").startswith("{package}")]


def pytest_runtest_setup(item):
    for each in CACHES:
        each.cache_clear()
'''

NOTICED = ("killed", "timeout", "segfault", "suspicious", "caught by type check")
UNREACHED = "no tests"
UNTRIED = "not checked"


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="mutation")
    parser.add_argument("--room", action="append", choices=sorted(TESTS), help="a room; all of them without it")
    parser.add_argument("--sample", type=int, default=60, help="mutants of each room; 0 = all")
    parser.add_argument("--seed", type=int, default=20261201)
    parser.add_argument("--keep", type=Path, help="an empty or missing folder for the copies; else a temporary one")
    options = parser.parse_args(argv)
    rooms = options.room or sorted(TESTS)
    if options.keep:
        return _judged(rooms, options.sample, options.seed, options.keep)
    with tempfile.TemporaryDirectory() as folder:
        return _judged(rooms, options.sample, options.seed, Path(folder))


def _judged(rooms: list[str], size: int, seed: int, folder: Path) -> Outcome:
    rows, targets, figures = [], [], {}
    for room in rooms:
        copy = _copied(room, folder / room)
        mutants = _mutants(copy)
        sample = sorted(random.Random(seed).sample(mutants, min(size or len(mutants), len(mutants))))
        verdicts = _tried(copy, sample)
        counts = Counter(verdicts.values())
        noticed = sum(counts[name] for name in NOTICED)
        share = noticed / len(sample)
        rows.append(
            [room, len(mutants), len(sample), noticed, counts[UNREACHED], len(sample) - noticed, f"{share:.0%}"]
        )
        figures[room] = {"mutants": len(mutants), "tried": len(sample), "noticed": noticed, "share": round(share, 3)}
        targets.append(Target(text=f"{room}: at least {KILLED:.0%} noticed", seen=f"{share:.0%}", met=share >= KILLED))
        for name in (name for name, verdict in verdicts.items() if verdict not in NOTICED):
            print(f"-- {verdicts[name]}\n{_mutmut(copy, 'show', name)}")
    print(table(["room", "mutants", "tried", "noticed", "no test", "survived", "share"], rows))
    return Outcome(figures={"seed": seed, **figures}, targets=targets)


def _copied(room: str, folder: Path) -> Path:
    """Copy what the room's tests need, with the settings of the tool."""
    folder.mkdir(parents=True)
    for name in (PACKAGE, "tests", "benchmarks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder / name)
    arguments = ["-p", "no:cacheprovider", *(f"--deselect={path}" for path in SLOW)]
    settings = SETTINGS.format(
        package=PACKAGE, room=room, tests=json.dumps(TESTS[room]), arguments=json.dumps(arguments)
    )
    (folder / "pyproject.toml").write_text(
        (ROOT / "pyproject.toml").read_text(encoding="utf-8") + settings, encoding="utf-8"
    )
    (folder / "conftest.py").write_text(FORGETFUL.format(package=PACKAGE), encoding="utf-8")
    return folder


def _mutants(copy: Path) -> list[str]:
    """Write all mutants, find which test reaches which function, and return the mutants' names."""
    _mutmut(copy, "run", "--max-children", "1", "none.of.them")
    names = [
        name for path in sorted(copy.rglob("*.py.meta")) for name in json.loads(path.read_text())["exit_code_by_key"]
    ]
    if not (copy / "mutants" / "mutmut-stats.json").exists() or not names:
        raise SystemExit(f"the tests of {copy.name} do not pass unmutated, or nothing can be mutated: look at {copy}")
    return sorted(names)


def _tried(copy: Path, names: list[str]) -> dict[str, str]:
    _mutmut(copy, "run", "--max-children", "1", *names)
    lines = (line.strip().rpartition(": ") for line in _mutmut(copy, "results", "--all", "true").splitlines())
    verdicts = {name: verdict for name, _, verdict in lines}
    if all(verdicts.get(name, UNTRIED) == UNTRIED for name in names):
        raise SystemExit(f"no mutant of {copy.name} was tried: {copy / 'mutmut.log'} says why")
    return {name: verdicts.get(name, UNTRIED) for name in names}


def _mutmut(copy: Path, *arguments: str) -> str:
    program: list[Any] = [Path(sys.executable).with_name("mutmut"), *arguments]
    ran = subprocess.run(program, cwd=copy, capture_output=True, text=True, check=False)
    if arguments[0] == "run":
        (copy / "mutmut.log").write_text(ran.stdout + ran.stderr, encoding="utf-8")
    return ran.stdout


if __name__ == "__main__":
    raise SystemExit(0 if main(sys.argv[1:]).met else 1)
