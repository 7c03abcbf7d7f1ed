"""How many credentials of current vendor formats are hidden, how often something else is, and how fast.

The credentials and the look-alikes are made when the benchmark runs (`testing/credentials.py`); both were written beside the
rules, so that the figures say that the rules hold and not how they do on formats nobody thought of. What no rule was written for is
the prose and code of the replay data: every hit there is printed.

A scanner that is installed is measured on the same texts (`detect_secrets`).
"""

import argparse
import importlib.util
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.outcome import Outcome, Target, table
from langgraph_harness_memory.curation.redaction import find_secrets, redact
from langgraph_harness_memory.testing.credentials import FakeCredential, fake_credentials, look_alikes

SHARED = Path(__file__).parents[1] / ".." / "shared" / "data"
SEEDS = range(10)

Scanner = Callable[[str], bool]
"""Whether a text holds a secret."""


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="secrets", description=__doc__)
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    seeds = range(parser.parse_args(argv).seeds)
    fakes = [fake for seed in seeds for fake in fake_credentials(seed=seed)]
    alikes = [line for seed in seeds for line in look_alikes(seed=seed)]
    missed = [fake for fake in fakes if fake.secret in redact(fake.text)]
    false = [line for line in alikes if redact(line) != line]
    print(
        table(
            ["scanner", "hidden", "of", "false alarms", "of"],
            [["ours", len(fakes) - len(missed), len(fakes), len(false), len(alikes)], *_peers(fakes, alikes)],
        )
    )
    for what, texts in (("missed", sorted({fake.kind for fake in missed})), ("false", sorted(set(false)))):
        print(f"{what}: {', '.join(texts) or 'none'}")
    prose = _prose()
    hidden = 1 - len(missed) / len(fakes)
    return Outcome(
        figures={"hidden": round(hidden, 4), "false_alarms": round(len(false) / len(alikes), 4), **prose},
        targets=[
            Target(
                text="at least 36 of 41 credentials are hidden", seen=f"{hidden * 41:.1f} of 41", met=hidden >= 36 / 41
            ),
            Target(
                text="at most 1 false alarm in 26 look-alikes",
                seen=f"{len(false) / len(alikes) * 26:.1f} of 26",
                met=len(false) / len(alikes) <= 1 / 26,
            ),
        ],
    )


def _peers(fakes: list[FakeCredential], alikes: list[str]) -> Iterator[list[Any]]:
    """Measure detect-secrets with its default plugins where it is installed."""
    if importlib.util.find_spec("detect_secrets") is None:
        return
    scan = _detect_secrets()
    yield ["detect-secrets", sum(map(scan, (f.text for f in fakes))), len(fakes), sum(map(scan, alikes)), len(alikes)]


def _detect_secrets() -> Scanner:
    import tempfile

    from detect_secrets import SecretsCollection
    from detect_secrets.settings import default_settings

    def scan(text: str) -> bool:
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file, default_settings():
            file.write(text)
            file.flush()
            found = SecretsCollection()
            found.scan_file(file.name)
            return bool(found.data)

    return scan


def _prose() -> dict[str, Any]:
    """Scan the replay data: how fast, and what is taken for a secret there."""
    texts = [text for path in sorted(SHARED.rglob("*")) if path.is_file() for text in _strings(path)]
    if not texts:
        return {"prose": "the replay data is not there"}
    started = time.perf_counter()
    found = [(secret, text) for text in texts for secret in find_secrets(text)]
    seconds = time.perf_counter() - started
    size = sum(map(len, texts))
    for secret, text in found:
        print(f"in the replay data: {secret.kind}: …{text[max(0, secret.start - 60) : secret.start]}█")
    print(
        f"{size / 1e6:.1f} million characters of replay data: {len(found)} hits, {size / seconds / 1e6:.1f} million characters a second"
    )
    return {"prose_characters": size, "prose_hits": len(found), "characters_per_second": round(size / seconds)}


def _strings(path: Path) -> Iterator[str]:
    if path.suffix not in (".json", ".jsonl", ".traj"):
        return
    text = path.read_text(encoding="utf-8")
    for document in [text] if path.suffix != ".jsonl" else text.splitlines():
        yield from _leaves(json.loads(document))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _leaves(entry)
