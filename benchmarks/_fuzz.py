"""Mutated files, ids, paths and queries for every reader: it answers, or says what is wrong in an error of ours.

Seeds are real files that a memory wrote. A mutation flips, drops, doubles, cuts, swaps or splices bytes, or puts hostile
text into them; the dice are seeded, so that a finding can be repeated by its number.
"""

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._kills import Tried
from benchmarks._life import Life, open_agent, open_memory
from langgraph_harness_memory.errors import HarnessMemoryError
from langgraph_harness_memory.formats import (
    changes,
    checkpoint_log,
    consolidation_state,
    daily_log,
    maintenance_state,
    marks,
    memory_md,
    records,
    session_log,
    tombstones,
)
from langgraph_harness_memory.formats.conversations import read_conversations
from langgraph_harness_memory.identifiers import file_stem
from langgraph_harness_memory.testing import FrozenClock

HOSTILE = [
    b"\0", b"\xff\xfe", b"\n", b"\r\n", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"{", b"[" * 3_000, b'"', b"\\u", b"-1", b"1e999",
    b"NaN", b"null", b"## 10:00 ", b"<!-- harness-memory {", b"-->", b"NO_REPLY", b"9" * 5_000, b"../../etc/passwd",
]  # fmt: skip

WORDS = [
    "AND", "OR", "NOT", "NEAR(a b)", "*", "^x", '"', "'", "foo:bar", "C++", "C#", "a:b", "-prod", "(", ")", "\0", "🚀", "数据库",
    "しりとり", "끝말잇기", "\ud800", "%", "_", ";--", "' OR 1=1 --", "\\", "getUserById", "2026-05-08", "last week", "POL-358", "{", "a" * 300,
]  # fmt: skip

IDS = ["../x", "a/b", "", "\0", "CON", "a.log", "A", "é", "x" * 300, "\ud800", "..", "~", "a\nb", "🚀", "a:b", " "]

PATHS = [
    "../secret.md", "/etc/passwd", "memory/../../x", "memory/2026-13-45.md", "memory//a.md", "memory/\0.md", "C:\\x", "~/x", "memory/.",
    "users/ann/MEMORY.md", "sessions/t1.log.jsonl", "memory/.locks/x", "MEMORY.md/x", "a" * 5_000, "memory/\ud800.md", "./MEMORY.md", "",
]  # fmt: skip


def mutated(data: bytes, dice: random.Random) -> bytes:
    """Change a few places of a file."""
    out = bytearray(data)
    for _ in range(dice.choice([1, 1, 2, 5])):
        at = dice.randrange(len(out) + 1)
        match dice.randrange(7):
            case 0 if out:
                out[at % len(out)] ^= 1 << dice.randrange(8)
            case 1:
                del out[at : at + dice.randrange(1, 40)]
            case 2:
                out[at:at] = dice.choice(HOSTILE)
            case 3:
                out[at:at] = out[at : at + dice.randrange(1, 200)]
            case 4:
                del out[at:]
            case 5:
                other = dice.randrange(len(out) + 1)
                out[at : at + 20] = out[other : other + 20]
            case _:
                out[at:at] = bytes(dice.randrange(256) for _ in range(dice.randrange(1, 12)))
    return bytes(out)


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Something that reads what may be damaged."""

    name: str
    seeds: list[Any]
    read: Callable[[Any], Any]
    change: Callable[[Any, random.Random], Any]
    """Makes an input from a seed."""


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _lines(parse: Callable[[bytes], Any]) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        for line in data.split(b"\n"):
            parse(line)

    return read


def _checkpoint(line: bytes) -> None:
    if records.is_whole(line):
        checkpoint_log.peek(line)
    checkpoint_log.content_of(line)


STATES = frozenset({"marks", "consolidation state", "tombstones"})
"""Their parsers say in a `ValueError` what is wrong, and whoever reads the file names it."""


def _written(folder: Path) -> dict[str, bytes]:
    """Files that a memory wrote in a short life."""
    life = Life(root=folder)
    with open_memory(folder, clock=FrozenClock()) as memory:
        agent = open_agent(memory)
        for n in range(6):
            life.turn(agent, "t1", f"s{n}", " Please read the log." if n == 2 else "")
        memory.consolidate()
        memory.forget("Codeword t1-s1")
        return {
            info.path: stored.data
            for info in memory.workspace.files()
            if (stored := memory.workspace.read(info.path)) is not None
        }


def _small(data: bytes) -> list[bytes]:
    """Whole lines of a file, some kilobytes at most, so that an input costs little."""
    lines = data.split(b"\n")
    return [b"\n".join(lines[at : at + 4]) for at in range(0, min(len(lines), 40), 4)] or [b""]


def readers(files: dict[str, bytes], memory: Any) -> Iterator[Reader]:
    """Give every reader with its seeds."""
    log = next(data for path, data in files.items() if daily_log.day_of(path))
    by_bytes: list[tuple[str, list[bytes], Callable[[bytes], Any]]] = [
        ("session log", _small(files["sessions/t1.log.jsonl"]), _lines(session_log.parse)),
        ("session log, in one piece", _small(files["sessions/t1.log.jsonl"]), lambda d: records.parse_all(d, 0)),
        ("checkpoints", _small(files["sessions/t1.jsonl"]), _lines(_checkpoint)),
        ("marks", [files["sessions/t1.marks.json"]], marks.parse),
        ("daily log", [log], lambda d: (daily_log.render(daily_log.parse(_text(d))), list(daily_log.lines(_text(d))))),
        ("MEMORY.md", [files["MEMORY.md"]], lambda d: memory_md.facts(_text(d))),
        ("change log", [files["memory/CHANGES.md"]], lambda d: changes.parse(_text(d))),
        ("consolidation state", [files["memory/.consolidation_state"]], lambda d: consolidation_state.parse(_text(d))),
        ("tombstones", [files["memory/.tombstones"]], lambda d: tombstones.parse(_text(d))),
        ("maintenance state", [files["memory/.maintenance.json"]], lambda d: maintenance_state.parse(_text(d))),
        (
            "conversations",
            [*_small(files["sessions/t1.log.jsonl"]), *CONVERSATIONS],
            lambda d: read_conversations(d, name="x.json"),
        ),
    ]
    for name, seeds, read in by_bytes:
        yield Reader(name=name, seeds=seeds, read=read, change=mutated)
    yield Reader(name="ids", seeds=IDS, read=file_stem, change=_mixed)
    yield Reader(name="queries", seeds=WORDS, read=lambda q: memory.index.search(q, 3), change=_sentence)
    tools = {tool.name: tool for tool in memory.tools_for(write=False)}
    yield Reader(
        name="tool: memory_get", seeds=PATHS, read=lambda p: tools["memory_get"].invoke({"path": p}), change=_mixed
    )
    yield Reader(
        name="tool: read_file", seeds=PATHS, read=lambda p: tools["read_file"].invoke({"path": p}), change=_mixed
    )
    yield Reader(
        name="tool: memory_search",
        seeds=WORDS,
        read=lambda q: tools["memory_search"].invoke({"query": q, "since": q[:12]}),
        change=_sentence,
    )
    yield Reader(
        name="tool: session_search",
        seeds=WORDS,
        read=lambda q: tools["session_search"].invoke({"query": q}),
        change=_sentence,
    )


CONVERSATIONS = [
    b'[{"role":"user","content":"hi"},{"role":"assistant","content":"hello","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}]',
    b'{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}\n',
    b'{"traj":[{"role":"system","content":"s"},{"role":"user","content":"q"}],"task_id":3}',
]


def _mixed(seed: str, dice: random.Random) -> str:
    parts = [
        seed,
        *(
            chr(dice.choice([0, 10, 46, 47, 92, 65, 97, 0x4E2D, 0x1F680, 0xD800, 0x301]))
            for _ in range(dice.randrange(4))
        ),
    ]
    dice.shuffle(parts)
    return "".join(parts)


def _sentence(_: str, dice: random.Random) -> str:
    words = [dice.choice(WORDS) for _ in range(dice.randrange(6))]
    return dice.choice([" ", "", "\n", "  "]).join(words)


SHARES = {
    "queries": 0.04,
    "tool: memory_get": 0.02,
    "tool: read_file": 0.02,
    "tool: memory_search": 0.03,
    "tool: session_search": 0.01,
}
"""Part of all inputs that a slower reader gets; the others share the rest."""


def fuzz(count: int, *, seed: int) -> list[Tried]:
    """Give every reader its share of a number of inputs."""
    tried: list[Tried] = []
    with tempfile.TemporaryDirectory(prefix="proof-") as folder:
        files = _written(Path(folder))
        with open_memory(Path(folder)) as memory:
            known = list(readers(files, memory))
            rest = (1 - sum(SHARES.values())) / sum(r.name not in SHARES for r in known)
            tried += [_fuzz_one(r, int(count * SHARES.get(r.name, rest)), seed) for r in known]
    return tried


SLOW_SECONDS = 2.0
"""What one small input may take at most; more is a way to stop an agent."""


def _fuzz_one(reader: Reader, count: int, seed: int) -> Tried:
    lost: list[str] = []
    for n in range(count):
        dice = random.Random(f"{seed}-{reader.name}-{n}")
        given = reader.change(dice.choice(reader.seeds), dice)
        begun = time.perf_counter()
        try:
            reader.read(given)
        except HarnessMemoryError:
            pass  # says what is wrong
        except ValueError as error:
            if reader.name not in STATES or isinstance(error, UnicodeError):
                lost.append(f"{reader.name}, input {n}: {type(error).__name__}: {error}"[:300])
        except Exception as error:  # noqa: BLE001  anything else is a finding
            lost.append(f"{reader.name}, input {n}: {type(error).__name__}: {error}"[:300])
        if time.perf_counter() - begun > SLOW_SECONDS:
            lost.append(f"{reader.name}, input {n}: took {time.perf_counter() - begun:.1f} s")
    return Tried(
        kind=f"fuzz: {reader.name}",
        tries=count,
        survived=count - len(lost),
        lost=tuple(lost),
        ends=f"an answer or an error of ours within {SLOW_SECONDS:g} s, and nothing else raised",
    )
