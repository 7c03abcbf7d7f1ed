"""`MEMORY.md` by rules: new lines merged into the present file, repeats folded, later values kept, the budget held.

Lines are taken over as they are, so that nothing is invented. A new line gains its date, since the file has no heading that
tells it. What does not fit is the least telling; nothing is left out while there is room, but repeats and outdated values.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from langgraph_harness_memory.curation.rules.frames import Frame, frame_of
from langgraph_harness_memory.curation.rules.repeats import Repeats
from langgraph_harness_memory.curation.rules.salience import judge, sentences_of
from langgraph_harness_memory.curation.wording import words
from langgraph_harness_memory.formats.daily_log import bullet_text

PREFERENCES, PLANS, FACTS = "Preferences and rules", "Decisions and plans", "People and facts"
"""Headings of a file that has none of its own."""

_HEADING = re.compile(r"\s*#{1,6}\s+(?P<title>.*)")
_SPEAKER = re.compile(r"(?P<speaker>[^\s:][^:\n]{0,40}?):\s+(?=\S)")
_DATE = re.compile(r"\((\d{4}-\d{2}-\d{2})\)\s*\Z")
_INSTEAD = re.compile(
    r"\b(?:instead of|rather than|no longer|anstatt|statt|au lieu de|en (?:lugar|vez) de|invece di|em vez de|вместо)\s+(?P<old>[^.;!?,]{2,80})",
    re.IGNORECASE,
)
_PREFERS = re.compile(
    r"\b(?:prefer\w*|favou?rite|like|likes|love|loves|hate|hates|enjoy\w*|always|never|must|allerg\w*|vegan|vegetarian|please|rule|don't want|"
    r"bevorzug\w*|lieber|mag|liebe|hasse|immer|nie|préfère|aime|toujours|jamais|prefiero|gusta|siempre|nunca|prefiro|preferisco|sempre|mai|"
    r"предпочита\w*|люблю|всегда|никогда)\b|喜欢|讨厌|偏好|总是|从不|必须|好き|嫌い|いつも|必ず|좋아|싫어|항상",
    re.IGNORECASE,
)
_LASTING = re.compile(
    r"\b(?:prefer\w*|always|never|must|allerg\w*|vegan|vegetarian\w*|bevorzug\w*|immer|niemals|muss|préfère|toujours|jamais|prefiero|siempre|"
    r"nunca|prefiro|sempre|предпочита\w*|всегда|никогда)\b|偏好|总是|从不|必须|过敏|必ず|いつも|항상|반드시",
    re.IGNORECASE,
)
_PLANS = re.compile(
    r"\b(?:decid\w+|chose|chosen|agreed|settled|switch\w*|migrat\w*|plan|plans|planned|planning|going to|will|deadline|due|schedul\w*|booked|"
    r"intend\w*|entschieden|beschlossen|geplant|termin|décidé|decid\w*|planea\w*|решил\w*|план\w*)\b|决定|计划|打算|採用|決定|予定|결정|계획|예정",
    re.IGNORECASE,
)
_BELONGS = (
    (PREFERENCES, re.compile(r"prefer|rule|like|vorlieb|préf|偏好|好み|선호", re.IGNORECASE)),
    (PLANS, re.compile(r"plan|decision|decid|todo|next|entscheid|决定|计划|予定|결정", re.IGNORECASE)),
)
"""Headings of a person's own that a line of this kind belongs under."""


SMALL_TALK = 1.5
"""Score up to which a sentence is worth nothing in the file."""
LASTING_WORTH = 1.5
"""What a rule or a trait is worth beyond its words: it matters as long as it is not taken back."""
ASSISTANT_SHARE = 0.5
"""What a line of an assistant without a name is worth beside a person's."""
MAX_DROPPED = 0.25
"""Part of the present file, by lines and by length, that one merge may drop for new lines: a file that changes faster is
more likely flooded than outdated, and is refused by the guard against shrinking."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewFact:
    """A line that is to be merged."""

    text: str
    day: date | None = None
    """The day it belongs to; `None` = not known."""


@dataclass(slots=True)
class _Entry:
    """A line of the new file while it is put together."""

    text: str
    section: str
    is_old: bool
    worth: float
    order: int


def merge(memory: str, new: Sequence[NewFact], *, budget: int, removed: Sequence[str] = ()) -> str:
    """Return the new `MEMORY.md`.

    Args:
        memory: The present file; headings and lines of a person stay where they are.
        new: Lines to merge, oldest first.
        budget: Characters the file may have.
        removed: Lines that a person took out; what repeats one is not merged.
    """
    entries = _present(memory)
    gone = Repeats()
    for text in removed:
        gone.add(text)
    _fold(entries, [fact for fact in new if gone.find(_bare(fact.text)) is None])
    return _render(_within(entries, budget))


def split_speaker(text: str) -> tuple[str, str]:
    """Part a line into who said it and what; nobody where no name stands in front."""
    match = _SPEAKER.match(text)
    return (match["speaker"], text[match.end() :]) if match else ("", text)


def _present(memory: str) -> list[_Entry]:
    entries: list[_Entry] = []
    section = ""
    for line in memory.split("\n"):
        heading = _HEADING.match(line)
        if heading:
            section = line.strip()
        elif line.strip():
            entries.append(
                _Entry(text=line.rstrip(), section=section, is_old=True, worth=_worth(line), order=len(entries))
            )
    return entries


def _fold(entries: list[_Entry], new: Sequence[NewFact]) -> None:
    """Merge new lines into the entries, oldest first."""
    repeats = Repeats()
    values: dict[Frame, _Value] = {}
    for number, entry in enumerate(entries):
        repeats.add(_bare(entry.text))
        _claim(values, number, entry.text, _day_of(entry.text))
    for fact in sorted(new, key=lambda fact: fact.day or date.min):
        text = " ".join(bullet_text(fact.text).split())
        if not _bare(text) or repeats.find(_bare(text)) is not None:
            continue
        number = repeats.add(_bare(text))
        day = _day_of(text) or fact.day
        dated = text if day is None or _DATE.search(text) else f"{text} ({day.isoformat()})"
        entries.append(
            _Entry(
                text=f"- {dated}", section=_section_for(text, entries), is_old=False, worth=_worth(text), order=number
            )
        )
        for outdated in _claim(values, number, text, day):
            _strike(entries[outdated.line], outdated.sentence)
        for replaced in _INSTEAD.finditer(text):
            _strike_replaced(entries[:number], replaced["old"], about=text)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Value:
    """Where a value stands, and of which day it is."""

    line: int
    sentence: str
    day: date


def _claim(values: dict[Frame, _Value], number: int, line: str, day: date | None) -> list[_Value]:
    """Note the values a line gives, and return those that are outdated by now: earlier ones, or its own."""
    speaker, said = split_speaker(_bare(line))
    outdated: list[_Value] = []
    for sentence in sentences_of(said):
        frame = frame_of(speaker, sentence)
        if frame is None:
            continue
        value = _Value(line=number, sentence=sentence, day=day or date.min)
        standing = values.get(frame)
        if standing is None or standing.line == number:
            values[frame] = value
        elif value.day >= standing.day:
            values[frame] = value
            outdated.append(standing)
        else:
            outdated.append(value)
    return outdated


def _strike_replaced(entries: Sequence[_Entry], old: str, *, about: str) -> None:
    """Take out earlier sentences that say what a later line says to hold no more ("… instead of Thursdays at 17:00")."""
    gone = words(old)
    if len(gone) < 2:
        return  # one word may stand in many lines that are still true
    beside = words(about) - gone
    for entry in entries:
        _, said = split_speaker(_bare(entry.text))
        for sentence in sentences_of(said):
            told = words(sentence)
            if gone <= told and told & beside and not _INSTEAD.search(sentence):
                _strike(entry, sentence)


def _strike(entry: _Entry, sentence: str) -> None:
    """Take an outdated sentence out of its line; the line goes with its last one."""
    rest = entry.text.replace(sentence, "", 1)
    said = _bare(rest).rpartition(":")[2] if sentence not in rest else rest
    entry.text = "" if not said.strip(" .!,;:") else re.sub(r"[ \t]{2,}", " ", rest).rstrip()


def _day_of(line: str) -> date | None:
    """Return the day behind a line."""
    found = _DATE.search(line)
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None


def _bare(line: str) -> str:
    """Return a line's words alone: no bullet, no date behind it."""
    return _DATE.sub("", bullet_text(line)).strip()


def _section_for(text: str, entries: Sequence[_Entry]) -> str:
    """Choose a heading: one of the file's own where one fits, else ours."""
    kind = PREFERENCES if _PREFERS.search(text) else PLANS if _PLANS.search(text) else FACTS
    for name, pattern in _BELONGS:
        if name == kind:
            own = next((e.section for e in entries if e.section and pattern.search(e.section)), None)
            return own or f"## {kind}"
    return f"## {kind}"


def _worth(line: str) -> float:
    """Say how much a line is worth keeping when there is no room for all: what it tells beyond small talk, per length."""
    speaker, said = split_speaker(_bare(line))
    tells = sum(max(0.0, judge(sentence).score - SMALL_TALK) for sentence in sentences_of(said))
    worth = (tells + bool(_LASTING.search(said)) * LASTING_WORTH) / (len(line) + 60)
    return worth * ASSISTANT_SHARE if speaker == "Assistant" else worth


def _within(entries: list[_Entry], budget: int) -> list[_Entry]:
    """Leave out what is worth least until the file fits."""
    kept = [entry for entry in entries if entry.text.strip()]
    if len(_render(kept)) <= budget:
        return kept
    room = budget - sum(len(section) + 3 for section in {entry.section for entry in kept})
    protected = _protected([entry for entry in kept if entry.is_old])
    chosen: list[_Entry] = []
    for entry in sorted(kept, key=lambda e: (e.order not in protected, -e.worth, e.order)):
        if len(entry.text) + 1 <= room:
            chosen.append(entry)
            room -= len(entry.text) + 1
    return sorted(chosen, key=lambda e: e.order)


def _protected(old: list[_Entry]) -> set[int]:
    """Return the lines of the present file that stay in any case: the ones worth most, up to all but `MAX_DROPPED`."""
    length = sum(len(entry.text) for entry in old) * (1 - MAX_DROPPED)
    count = len(old) * (1 - MAX_DROPPED)
    protected: set[int] = set()
    for entry in sorted(old, key=lambda e: (-e.worth, e.order)):
        if length <= 0 and len(protected) >= count:
            break
        protected.add(entry.order)
        length -= len(entry.text)
    return protected


def _render(entries: Sequence[_Entry]) -> str:
    sections: dict[str, list[str]] = {}
    for entry in entries:
        sections.setdefault(entry.section, []).append(entry.text)
    blocks = ["\n".join([*([section, ""] if section else []), *lines]) for section, lines in sections.items()]
    return "\n\n".join(blocks) + "\n" if blocks else ""
