"""How much of a conversation is still found in the daily logs alone, and in `MEMORY.md` alone, with no model at all.

The seven LoCoMo conversations are replayed session by session as chats, flushed by the model-free extractor into daily logs and
consolidated after each session. Then each answerable question is asked of four memories: every turn as it was said, the daily
logs, `MEMORY.md`, and random bullets of the daily logs of the size of `MEMORY.md`.

A bullet counts as the evidence that a question names when it comes from that turn *and* still holds every word of the answer that
the turn holds; a bullet that kept the greeting and lost the fact is no evidence. The figure by turn alone stands beside it.
"""

import argparse
import random
import re
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks._locomo import Question, Sample, Turn, samples
from benchmarks.outcome import Outcome, Target, table
from langgraph_harness_memory import ExtractiveChatModel, HarnessMemory, MemoryConfig, MemoryIndex, StorageConfig
from langgraph_harness_memory.curation.provenance import Said
from langgraph_harness_memory.curation.requests import flush_request
from langgraph_harness_memory.curation.wording import share, words
from langgraph_harness_memory.testing import FrozenClock

CUTOFF = 10
"""Hits that are looked at."""
SEEDS = range(5)
"""Draws of random bullets that are averaged."""

_ASKED = re.compile(r"\(asked: [^)]*\) ")
_ADDED_DATE = re.compile(r" \(\d{4}(?:-\d{2})?(?:-\d{2})?(?: – \d{4}-\d{2}-\d{2})?\)")


@dataclass(frozen=True, kw_only=True)
class Memory:
    """A searchable memory of one conversation, and which turns its lines come from."""

    root: Path
    size: int
    """Bytes of its files."""
    origin: Mapping[tuple[str, int], str]
    """Turn by path and line."""


@dataclass(frozen=True, kw_only=True)
class Recall:
    """Mean share of a question's evidence among the first hits."""

    by_turn: float
    whole: float
    """With all of the answer's words that the turn holds."""
    questions: int
    size: int


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="retention", description=__doc__)
    parser.add_argument("--conversations", type=int, default=None, help="only the first so many")
    args = parser.parse_args(argv)
    replayed = samples()[: args.conversations]
    if not replayed:
        return Outcome(figures={"skipped": "the LoCoMo data is not there"})
    scores: dict[str, list[list[Recall]]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="retention-") as folder:
        for sample in replayed:
            for name, memories in _memories(sample, Path(folder) / sample.name).items():
                scores[name].append([_recall(sample, memory) for memory in memories])
    totals = {name: _total(rows) for name, rows in scores.items()}
    return _outcome(totals, speed=_speed(replayed))


def _speed(replayed: Sequence[Sample]) -> float:
    """Messages a second that the extractor turns into facts, a session at a time."""
    sessions = [session for sample in replayed for session in sample.sessions]
    requests = [
        flush_request(
            [
                Said(
                    position=n,
                    role=m.type.replace("human", "user").replace("ai", "assistant"),
                    text=m.text,
                    sent=session.at,
                )
                for n, m in enumerate(session.messages)
            ],
            at=session.at,
            memory="",
            log=[],
        )
        for session in sessions
    ]
    model = ExtractiveChatModel()
    started = time.perf_counter()
    for request in requests:
        model.invoke(request)
    return sum(len(session.turns) for session in sessions) / (time.perf_counter() - started)


def _memories(sample: Sample, root: Path) -> dict[str, list[Memory]]:
    raw = _raw(sample, root / "raw" / "workspace")
    chats = root / "chats" / "workspace"
    _replay(sample, chats)
    turns = _Origins(sample)
    daily = {
        path.relative_to(chats).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((chats / "memory").glob("*.md"))
    }
    daily.pop("memory/CHANGES.md", None)
    memory = (chats / "MEMORY.md").read_text(encoding="utf-8")
    return {
        "every turn": [raw],
        "daily logs": [_written(root / "daily" / "workspace", daily, turns)],
        "MEMORY.md": [_written(root / "memory" / "workspace", {"MEMORY.md": memory}, turns)],
        "random bullets": [
            _written(
                root / f"random-{seed}" / "workspace", {"MEMORY.md": _random(daily, len(memory.encode()), seed)}, turns
            )
            for seed in SEEDS
        ],
    }


def _raw(sample: Sample, root: Path) -> Memory:
    """Write every turn as a bullet of its day's log."""
    files: dict[str, list[str]] = {}
    origin: dict[tuple[str, int], str] = {}
    for session in sample.sessions:
        path = f"memory/{session.at:%Y-%m-%d}.md"
        lines = files.setdefault(path, [])
        lines.append(f"## {session.at:%Y-%m-%d %H:%M}")
        for turn in session.turns:
            lines.append(f"- {turn.speaker}: {turn.text}")
            origin[path, len(lines)] = turn.dia_id
        lines.append("")
    texts = {path: "\n".join(lines) + "\n" for path, lines in files.items()}
    return Memory(root=root, size=_write(root, texts), origin=origin)


def _replay(sample: Sample, root: Path) -> None:
    """Hold every session as a chat, flushed when it ends and consolidated after it."""
    clock = FrozenClock(sample.sessions[0].at)
    config = MemoryConfig(maintenance=None, storage=StorageConfig(timezone="UTC", fsync=False))
    with HarnessMemory(root, model=ExtractiveChatModel(), config=config, clock=clock) as memory:
        for session in sample.sessions:
            clock.set(session.at)
            memory.flush(session.messages, session.thread_id)
            memory.consolidate()


def _written(root: Path, texts: Mapping[str, str], turns: "_Origins") -> Memory:
    origin = {
        (path, number): turn
        for path, text in texts.items()
        for number, line in enumerate(text.splitlines(), start=1)
        if line.startswith("- ") and (turn := turns.of(line))
    }
    return Memory(root=root, size=_write(root, texts), origin=origin)


def _write(root: Path, texts: Mapping[str, str]) -> int:
    for path, text in texts.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return sum(len(text.encode()) for text in texts.values())


def _random(daily: Mapping[str, str], size: int, seed: int) -> str:
    bullets = [line for text in daily.values() for line in text.splitlines() if line.startswith("- ")]
    random.Random(seed).shuffle(bullets)
    kept: list[str] = []
    for bullet in bullets:
        size -= len(bullet.encode()) + 1
        if size < 0:
            break
        kept.append(bullet)
    return "\n".join(kept) + "\n"


class _Origins:
    """Finds the turn a bullet comes from: of the same speaker, and holding nearly all of its words."""

    def __init__(self, sample: Sample) -> None:
        self.turns = {turn.dia_id: turn for session in sample.sessions for turn in session.turns}
        self._words = {dia_id: words(turn.text) for dia_id, turn in self.turns.items()}
        self._holding: dict[str, list[str]] = defaultdict(list)
        for dia_id, said in self._words.items():
            for word in said:
                self._holding[word].append(dia_id)

    def of(self, line: str) -> str | None:
        speaker, _, said = line.removeprefix("- ").partition(": ")
        about = words(_ADDED_DATE.sub("", _ASKED.sub("", said)))
        known = [word for word in about if word in self._holding]
        near = {
            dia_id for word in sorted(known, key=lambda w: len(self._holding[w]))[:4] for dia_id in self._holding[word]
        }
        mine = [dia_id for dia_id in sorted(near) if self.turns[dia_id].speaker == speaker]
        best = max(
            mine, key=lambda dia_id: (share(about, self._words[dia_id]), -len(self._words[dia_id])), default=None
        )
        return best if best is not None and share(about, self._words[best]) >= 0.9 else None


def _recall(sample: Sample, memory: Memory) -> Recall:
    turns = {turn.dia_id: turn for session in sample.sessions for turn in session.turns}
    by_turn: list[float] = []
    whole: list[float] = []
    with MemoryIndex(memory.root).open() as index:
        for question in _answerable(sample.questions):
            found: set[str] = set()
            answered: set[str] = set()
            for hit in index.search(question.text, CUTOFF):
                turn = memory.origin.get((hit.path, hit.line_number))
                if turn in question.evidence:
                    found.add(turn)
                    if _still_answers(hit.content, turns[turn], question.answer or ""):
                        answered.add(turn)
            by_turn.append(len(found) / len(question.evidence))
            whole.append(len(answered) / len(question.evidence))
    return Recall(by_turn=_mean(by_turn), whole=_mean(whole), questions=len(whole), size=memory.size)


def _answerable(questions: Sequence[Question]) -> list[Question]:
    return [question for question in questions if question.category in (1, 2, 3, 4) and question.evidence]


def _still_answers(line: str, turn: Turn, answer: str) -> bool:
    return words(answer) & words(turn.text) <= words(line)


def _total(rows: Iterable[list[Recall]]) -> Recall:
    """Average over all questions of all conversations, and over draws where there are several."""
    flat = [recall for row in rows for recall in row]
    questions = sum(recall.questions for recall in flat)
    return Recall(
        by_turn=sum(r.by_turn * r.questions for r in flat) / questions,
        whole=sum(r.whole * r.questions for r in flat) / questions,
        questions=questions,
        size=sum(r.size for r in flat) // len(flat),
    )


def _outcome(totals: Mapping[str, Recall], *, speed: float) -> Outcome:
    raw, daily, memory, drawn = (totals[name] for name in ("every turn", "daily logs", "MEMORY.md", "random bullets"))
    rows = [
        [name, r.size / raw.size, r.by_turn, r.by_turn / raw.by_turn, r.whole, r.whole / raw.whole]
        for name, r in totals.items()
    ]
    print(table(["memory", "size", f"R@{CUTOFF} by turn", "of raw", f"R@{CUTOFF} with answer", "of raw"], rows))
    kept, size = daily.whole / raw.whole, daily.size / raw.size
    return Outcome(
        figures={"messages_per_second": round(speed)}
        | {
            name: {"size": r.size, "by_turn": round(r.by_turn, 4), "with_answer": round(r.whole, 4)}
            for name, r in totals.items()
        },
        targets=[
            Target(text="daily logs find at least 85 % of what every turn finds", seen=f"{kept:.1%}", met=kept >= 0.85),
            Target(text="… in at most 60 % of the size", seen=f"{size:.1%}", met=size <= 0.60),
            Target(
                text="MEMORY.md finds more than random bullets of its size",
                seen=f"{memory.whole:.3f} against {drawn.whole:.3f}",
                met=memory.whole > drawn.whole,
            ),
            Target(text="at least 1 000 messages a second", seen=f"{speed:,.0f}", met=speed >= 1_000),
        ],
    )


def _mean(values: Sequence[float]) -> float:
    return statistics.fmean(values) if values else 0.0
