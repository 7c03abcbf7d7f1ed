"""`memory/CHANGES.md`: what each change of `MEMORY.md` added, changed and dropped, and where it came from.

    ## 2026-04-12 03:53 +08:00 · consolidation <!-- harness-memory-change 5f0c… -->
    - changed: Lives in Rome → Lives in Oslo (later: memory/2026-04-12.md#7, user)
    - dropped: Has a cold

Append-only, newest last. A person may cut it down at any time; nothing depends on it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from langgraph_harness_memory.formats.daily_log import fact_line

PATH = "memory/CHANGES.md"

Kind = Literal["added", "changed", "dropped", "left", "refused", "note"]
"""What happened to a line: new in `MEMORY.md`; worded anew; no longer there; not taken over and still in its daily log;
kept out since a person removed or forgot it; a remark about the whole change."""

ARROW = " → "

_ENTRY = re.compile(
    r"## (\d{4}-\d{2}-\d{2} \d{2}:\d{2}) ([+-]\d{2}:\d{2}) · (.*?) <!-- harness-memory-change (\w*) -->"
)
_LINE = re.compile(rf"- ({'|'.join(get_args(Kind))}): (.*)")
_ORIGIN = re.compile(r" \((later|from): ([^()]*)\)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What became of one line."""

    kind: Kind
    text: str
    """The line as it now stands, or stood."""
    before: str = ""
    """The earlier wording, for `changed`."""
    origin: str = ""
    """Where it came from, for example `memory/2026-04-12.md#7, user`; empty where that is not known."""
    supersedes: bool = False
    """The new wording won since it is the later one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One change of `MEMORY.md`."""

    at: datetime
    """When, aware, to the minute."""
    what: str
    """Who changed it: `consolidation`, `forget`, `restore`, `save` …"""
    id: str
    """Letters and digits that tell it from every other entry."""
    changes: tuple[Change, ...]


def render(entry: Entry) -> str:
    """Write an entry, ready to be appended."""
    digits = entry.at.strftime("%z") or "+0000"
    when = f"{entry.at:%Y-%m-%d %H:%M} {digits[:3]}:{digits[3:5]}"
    head = f"## {when} · {_flat(entry.what)} <!-- harness-memory-change {entry.id} -->\n"
    return head + "".join(_render_change(change) for change in entry.changes) + "\n"


def parse(text: str) -> tuple[Entry, ...]:
    """Read the entries, oldest first; lines that are none of ours are skipped."""
    entries: list[Entry] = []
    for line in text.split("\n"):
        head = _ENTRY.match(line)
        at = _moment(head[1], head[2]) if head else None
        if head and at:
            entries.append(Entry(at=at, what=head[3], id=head[4], changes=()))
        elif entries and (found := _LINE.match(line.rstrip("\r"))):
            last = entries.pop()
            entries.append(
                Entry(
                    at=last.at, what=last.what, id=last.id, changes=(*last.changes, _parse_change(found[1], found[2]))
                )
            )
    return tuple(entries)


def _moment(at: str, offset: str) -> datetime | None:
    """Read a heading's moment; `None` where somebody's edit made it one that does not exist."""
    try:
        return datetime.strptime(f"{at} {offset}", "%Y-%m-%d %H:%M %z")
    except ValueError:
        return None


def has_entry(text: str, entry_id: str) -> bool:
    """Say whether an entry stands in the log."""
    return f"<!-- harness-memory-change {entry_id} -->" in text


def said(line: str) -> tuple[str, ...]:
    """Return the facts that a line of the log quotes; none for any other line."""
    found = _LINE.match(line.rstrip("\r\n"))
    if not found:
        return ()
    change = _parse_change(found[1], found[2])
    return (change.text, change.before) if change.before else (change.text,)


def count(changes: Sequence[Change], kind: Kind) -> int:
    """Count the changes of one kind."""
    return sum(1 for change in changes if change.kind == kind)


def _flat(text: str) -> str:
    return fact_line(text)[2:-1]


def _render_change(change: Change) -> str:
    said = f"{_flat(change.before)}{ARROW}{_flat(change.text)}" if change.before else _flat(change.text)
    origin = change.origin.replace("(", "[").replace(")", "]")
    where = f" ({'later' if change.supersedes else 'from'}: {_flat(origin)})" if origin else ""
    return f"- {change.kind}: {said}{where}\n"


def _parse_change(kind: str, said: str) -> Change:
    origin = _ORIGIN.search(said)
    bare = said[: origin.start()] if origin else said
    before, arrow, after = bare.partition(ARROW) if kind == "changed" else ("", "", bare)
    known = next(name for name in get_args(Kind) if name == kind)
    return Change(
        kind=known,
        text=after if arrow or kind != "changed" else before,
        before=before if arrow else "",
        origin=origin[2] if origin else "",
        supersedes=bool(origin and origin[1] == "later"),
    )
