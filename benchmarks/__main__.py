"""Run one benchmark by its name: `python -m benchmarks NAME [options]`.

`NAME` is a module of this folder with dashes for underscores. It defines `main(argv) -> Outcome`, prints a table for
people, and this runner ends with one JSON line; the exit status is 1 when a target is missed.
"""

import importlib
import json
import sys
from pathlib import Path

from benchmarks.outcome import Outcome


def names() -> list[str]:
    """Return the benchmarks there are."""
    here = Path(__file__).parent
    hidden = {"__init__", "__main__", "outcome"}
    return sorted(p.stem.replace("_", "-") for p in here.glob("*.py") if p.stem not in hidden and p.stem[0] != "_")


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] not in names():
        print("usage: python -m benchmarks NAME\n\n  " + "\n  ".join(names()))
        return 2
    name = sys.argv[1]
    module = importlib.import_module(f"benchmarks.{name.replace('-', '_')}")
    outcome: Outcome = module.main(sys.argv[2:])
    for target in outcome.targets:
        print(f"{'met   ' if target.met else 'MISSED'}  {target.text}: {target.seen}")
    print(json.dumps({"benchmark": name, "met": outcome.met, **outcome.figures}, ensure_ascii=False, sort_keys=True))
    return 0 if outcome.met else 1


if __name__ == "__main__":
    raise SystemExit(main())
