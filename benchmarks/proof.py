"""Every promise, against crashes, faults, misbehaving models, damaged files and everything at once.

    python -m benchmarks proof            the whole, about 15 minutes on two cores
    python -m benchmarks proof --quick    a part of each kind, under a minute; the test run does this one

Each row says what was done, how often, and which end state was asserted after it; the table sums up by kind how often it
was tried, how often every promise held, and what was lost. The targets: nothing is lost; in the whole run at least 1 000
kills, 20 kinds of fault and 100 000 fuzzed inputs.
"""

import argparse
import logging
import time

from benchmarks._faults import FAULTS, misbehave_all, suffer_all
from benchmarks._fuzz import fuzz
from benchmarks._kills import CONTEXT, OPERATIONS, PRELOAD, Tried, kill_at_every_call, kill_at_random
from benchmarks._life import END_STATE
from benchmarks._storms import storm
from benchmarks.outcome import Outcome, Target, table


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="benchmarks proof")
    parser.add_argument("--quick", action="store_true", help="a part of each kind")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    logging.disable(logging.CRITICAL)
    begun = time.monotonic()
    tried = prove(quick=options.quick, seed=options.seed)
    logging.disable(logging.NOTSET)
    return outcome(tried, seconds=time.monotonic() - begun, quick=options.quick)


def prove(*, quick: bool, seed: int) -> list[Tried]:
    """Run every kind of trial."""
    CONTEXT.set_forkserver_preload([*PRELOAD, "benchmarks._faults", "benchmarks._storms"])
    tried: list[Tried] = []
    print(f"Asserted after every try: {END_STATE}. Beside it, after those of a row:\n", flush=True)

    def note(more: list[Tried]) -> None:
        for one in more:
            print(
                f"{one.survived:>7} of {one.tries:<7} {one.kind}: {one.ends.removesuffix(f'; {END_STATE}')}", flush=True
            )
            for line in one.lost[:5]:
                print(f"        LOST  {line}", flush=True)
        tried.extend(more)

    for operation in OPERATIONS:
        note(
            [
                kill_at_every_call(
                    operation, most=4 if quick else 400, stride=23 if quick else _STRIDES.get(operation.name, 1)
                )
            ]
        )
    note([kill_at_random(10 if quick else 300, seed=seed)])
    note(suffer_all(rounds=1, seed=seed) if quick else suffer_all(rounds=4, seed=seed))
    note(misbehave_all())
    note(fuzz(3_000 if quick else 200_000, seed=seed))
    note([storm(2.0 if quick else 60.0, seed=seed)])
    return tried


_STRIDES = {"turn with its checkpoints": 3, "eviction": 4, "compaction": 6, "maintenance tick": 2}
"""Where an operation makes hundreds of system calls in the same few patterns, every so many is tried."""


def outcome(tried: list[Tried], *, seconds: float, quick: bool) -> Outcome:
    """Judge a run."""
    kinds = ("kill", "fault", "model", "fuzz", "concurrency")
    rows = []
    for kind in kinds:
        own = [one for one in tried if one.kind.startswith(kind)]
        rows.append(
            [kind, len(own), sum(o.tries for o in own), sum(o.survived for o in own), sum(len(o.lost) for o in own)]
        )
    print()
    print(table(["kind", "kinds", "tries", "survived", "promises broken"], rows))
    kills, faults, fuzzed = rows[0][2], len(FAULTS), rows[3][2]
    broken = sum(row[4] for row in rows)
    targets = [Target(text="nothing is lost", seen=f"{broken} promises broken", met=broken == 0)]
    if not quick:
        targets += [
            Target(text="at least 1 000 kills", seen=str(kills), met=kills >= 1_000),
            Target(text="at least 20 kinds of fault", seen=str(faults), met=faults >= 20),
            Target(text="at least 100 000 fuzzed inputs", seen=str(fuzzed), met=fuzzed >= 100_000),
            Target(text="within 15 minutes", seen=f"{seconds:.0f} s", met=seconds <= 900),
        ]
    return Outcome(
        figures={"kills": kills, "faults": faults, "fuzzed": fuzzed, "broken": broken, "seconds": round(seconds)},
        targets=targets,
    )
