"""Reads the LoCoMo conversations where they lie; they are CC BY-NC 4.0, so nothing of them is kept in this repository.

for sample in samples():           # [] where the data is not there
    for session in sample.sessions:
        session.messages           # speaker_a as the user, speaker_b as the assistant
"""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langgraph_harness_memory.formats.conversations import Conversation

DATA = Path(__file__).parents[1] / ".." / "shared" / "data" / "locomo"
"""The data's folder, beside the checkout."""

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open domain", 4: "single-hop", 5: "adversarial"}

_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One thing that was said."""

    dia_id: str
    """Its name in the evidence of questions, for example `D3:7`."""
    speaker: str
    text: str
    """In one line; the caption of a shared photo stands in brackets behind it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """One sitting of the two speakers."""

    thread_id: str
    at: datetime
    """When it began; the data names no zone, so UTC stands for it."""
    turns: tuple[Turn, ...]
    user: str
    """The speaker who takes the user's part."""

    @property
    def messages(self) -> list[BaseMessage]:
        """The turns as messages, each beginning with its speaker's name; ids are those of the turns."""
        kinds = {True: HumanMessage, False: AIMessage}
        return [kinds[t.speaker == self.user](f"{t.speaker}: {t.text}", id=t.dia_id) for t in self.turns]

    @property
    def conversation(self) -> Conversation:
        """The session as `replay` takes it."""
        return Conversation(thread_id=self.thread_id, messages=tuple(self.messages), started_at=self.at)


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question about a conversation."""

    text: str
    answer: str | None
    """`None` for an adversarial question, which has none."""
    evidence: tuple[str, ...]
    """The turns that answer it, each once, only such as exist."""
    category: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One long conversation of two people with its questions."""

    name: str
    sessions: tuple[Session, ...]
    """Oldest first."""
    questions: tuple[Question, ...]


def samples(folder: Path = DATA) -> list[Sample]:
    """Read every conversation of a folder, by name; none where the folder is not there."""
    return [read_sample(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("conv-*.json"))]


def read_sample(text: str) -> Sample:
    """Read one conversation from its JSON."""
    data = json.loads(text)
    said = data["conversation"]
    numbers = sorted(int(m[1]) for key in said if (m := re.fullmatch(r"session_(\d+)", key)))
    sessions = tuple(_session(data["sample_id"], n, said) for n in numbers if said[f"session_{n}"])
    known = {turn.dia_id for session in sessions for turn in session.turns}
    return Sample(name=data["sample_id"], sessions=sessions, questions=tuple(_question(q, known) for q in data["qa"]))


def session_time(text: str) -> datetime:
    """Read a moment such as `1:56 pm on 8 May, 2023`, whatever the language of this machine."""
    match = re.fullmatch(r"(\d+):(\d+)\s*(am|pm) on (\d+) (\w+),? (\d{4})", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no moment such as '1:56 pm on 8 May, 2023'")
    hour = int(match[1]) % 12 + (12 if match[3] == "pm" else 0)
    return datetime(int(match[6]), _MONTHS.index(match[5]) + 1, int(match[4]), hour, int(match[2]), tzinfo=UTC)


def _session(sample: str, number: int, said: dict) -> Session:
    return Session(
        thread_id=f"{sample}-{number:02}",
        at=session_time(said[f"session_{number}_date_time"]),
        turns=tuple(_turn(turn) for turn in said[f"session_{number}"]),
        user=said["speaker_a"],
    )


def _turn(turn: dict) -> Turn:
    caption = f" [shared photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return Turn(dia_id=turn["dia_id"], speaker=turn["speaker"], text=" ".join(turn["text"].split()) + caption)


def _question(question: dict, known: set[str]) -> Question:
    """Evidence is written in several ways (`D8:6; D9:17`, `D:11:26`, `D30:05`), and now and then names no turn."""
    named = [f"D{int(a)}:{int(b)}" for raw in question["evidence"] for a, b in re.findall(r"D:?(\d+):(\d+)", raw)]
    answer = question.get("answer")
    return Question(
        text=question["question"],
        answer=None if answer is None else str(answer),
        evidence=tuple(dict.fromkeys(e for e in named if e in known)),
        category=question["category"],
    )
