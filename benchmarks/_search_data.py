"""What searches are measured on: LoCoMo and precision-mem-bench where they lie, and questions of our own.

Each set is a list of `Corpus`: the files of one memory and questions with the lines that answer them. LoCoMo is CC BY-NC 4.0: it
is read, never kept.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

SHARED = Path(__file__).parents[1] / ".." / "shared" / "data"
OWN = Path(__file__).parents[1] / "tests" / "index" / "data" / "questions.tsv"

Line = tuple[str, int]
"""A file and the number of a line in it."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question and what answers it."""

    text: str
    answers: tuple[frozenset[Line], ...]
    """Each piece of evidence, as the lines where it stands."""
    group: str = ""


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """The files of one memory and questions about it."""

    name: str
    files: dict[str, str]
    questions: list[Question]

    def write(self, root: Path) -> Path:
        """Write the files under a folder and return it."""
        for name, text in self.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return root


def locomo(kind: str) -> list[Corpus]:
    """Return the conversations with their answerable questions (categories 1 to 4).

    Args:
        kind: `turns`, a bullet for each thing said, or `facts`, a bullet for each observation.
    """
    paths = sorted((SHARED / "locomo").glob("conv-*.json"))
    return [_conversation(json.loads(path.read_text(encoding="utf-8")), path.stem, kind) for path in paths]


def _conversation(sample: dict[str, Any], name: str, kind: str) -> Corpus:
    files: dict[str, list[str]] = {}
    where: dict[str, set[Line]] = defaultdict(set)
    section = None
    for at, text, ids in _said(sample) if kind == "turns" else _observed(sample):
        path = f"memory/{at:%Y-%m-%d}.md"
        lines = files.setdefault(path, [f"# {at:%Y-%m-%d}", ""])
        if section != at:
            section = at
            lines.append(f"## Session at {at:%H:%M} on {at.day} {at:%B %Y}")
        lines.append(f"- {text}")
        for turn in ids:
            where[turn].add((path, len(lines)))
    questions = []
    for qa in sample["qa"]:
        found = (f"D{int(a)}:{int(b)}" for raw in qa["evidence"] for a, b in re.findall(r"D:?(\d+):(\d+)", raw))
        evidence = tuple(frozenset(where[turn]) for turn in dict.fromkeys(found) if turn in where)
        if evidence and qa["category"] != 5:
            questions.append(Question(text=qa["question"], answers=evidence))
    return Corpus(name=name, files={p: "\n".join(t) + "\n" for p, t in files.items()}, questions=questions)


def _sessions(sample: dict[str, Any]) -> Iterator[tuple[int, datetime]]:
    talk = sample["conversation"]
    for number in sorted(int(key.split("_")[1]) for key in talk if re.fullmatch(r"session_\d+", key)):
        yield number, datetime.strptime(talk[f"session_{number}_date_time"].upper(), "%I:%M %p ON %d %B, %Y")  # noqa: DTZ007  the data names no zone


def _said(sample: dict[str, Any]) -> Iterator[tuple[datetime, str, list[str]]]:
    for number, at in _sessions(sample):
        for turn in sample["conversation"][f"session_{number}"] or []:
            text = " ".join(turn["text"].split())
            photo = f" [shared photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield at, f"{turn['speaker']}: {text}{photo}", [turn["dia_id"]]


def _observed(sample: dict[str, Any]) -> Iterator[tuple[datetime, str, list[str]]]:
    for number, at in _sessions(sample):
        for facts in sample["observation"].get(f"session_{number}_observation", {}).values():
            for text, ids in facts:
                raw = ids if isinstance(ids, list) else [ids]
                named = [f"D{int(a)}:{int(b)}" for i in raw for a, b in re.findall(r"D:?(\d+):(\d+)", i)]
                yield at, " ".join(text.split()), named


def own() -> Corpus:
    """Return our own questions: over two hundred in groups, all lines in one memory, a file for each group."""
    files: dict[str, list[str]] = {}
    questions: list[Question] = []
    for row in OWN.read_text(encoding="utf-8").split("\n"):
        if not row or row.startswith("# "):
            continue
        group, line, question = row.split("\t")
        lines = files.setdefault(f"knowledge/{group}.md", [])
        lines.append(f"- {line}")
        place = (f"knowledge/{group}.md", len(lines))
        questions.append(Question(text=question, answers=(frozenset({place}),), group=group))
    return Corpus(name="own", files={p: "\n".join(t) + "\n" for p, t in files.items()}, questions=questions)


def precision(*, with_content: bool) -> list[Corpus]:
    """Return precision-mem-bench: one memory for each scope, questions with exactly the beliefs that should surface.

    Args:
        with_content: Write the beliefs' sentences too; else names and aliases alone, as the benchmark feeds its contenders.
    """
    folder = SHARED / "precision-mem-bench"
    if not folder.is_dir():
        return []
    beliefs = json.loads((folder / "beliefs.seed.json").read_text(encoding="utf-8"))
    cases = json.loads((folder / "retrieval.cases.json").read_text(encoding="utf-8"))
    return [
        _scope(scope, beliefs, cases, with_content=with_content)
        for scope in sorted({scope for case in cases for scope in case["scope"]})
    ]


def _scope(scope: str, beliefs: list[Any], cases: list[Any], *, with_content: bool) -> Corpus:
    kept = [
        belief
        for belief in beliefs
        if belief["user_id"] == "test-user"
        and scope in belief["scope"]
        and not (belief["pinned"] or belief["resolved_at"] or belief["superseded_by"])
        and belief["type"] != "open_question"
    ]
    names = [" ".join([belief["canonical_name"], *belief["aliases"]]) for belief in kept]
    lines = [f"- {n}: {b['content']}" if with_content else f"- {n}" for n, b in zip(names, kept, strict=True)]
    place = {belief["_id"]: ("MEMORY.md", number) for number, belief in enumerate(kept, 1)}
    questions = []
    for case in cases:
        wanted = (case["expect"].get("relevantBeliefs") or {}).get("shouldOnlyInclude")
        if wanted and scope in case["scope"] and any(belief in place for belief in wanted):
            answers = tuple(frozenset({place[belief]}) for belief in wanted if belief in place)
            questions.append(Question(text=case["query"], answers=answers, group=case["category"]))
    return Corpus(name=scope, files={"MEMORY.md": "\n".join(lines) + "\n"}, questions=questions)
