"""What of the daily logs is new, line by line, and what of it may be promoted.

A log whose content is as it was is known by its hash and not read line by line. Otherwise each line has a key, and a
line is new when no log ever held its key. Lines that a tool said, lines of a block that names no source, what a person
removed and what was forgotten are set aside: they count as seen, stay in their log and never reach a model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from langgraph_harness_memory.curation.progress import same_as_any
from langgraph_harness_memory.curation.requests import NewLine
from langgraph_harness_memory.curation.wording import words
from langgraph_harness_memory.formats import daily_log
from langgraph_harness_memory.formats.consolidation_state import (
    ConsolidationState,
    is_from_before,
    line_key,
    text_hash,
)
from langgraph_harness_memory.formats.daily_log import LogLine
from langgraph_harness_memory.formats.tombstones import Tombstones
from langgraph_harness_memory.steps import Failed, Steps, list_files, read_text


@dataclass(frozen=True, kw_only=True, slots=True)
class Gathered:
    """What is new in the logs."""

    new: tuple[NewLine, ...] = ()
    """Lines to merge, oldest first."""
    set_aside: frozenset[bytes] = frozenset()
    """Keys of new lines that are not merged and count as seen."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Content hash by path of the logs that were read."""
    keys: Mapping[str, frozenset[bytes]] = field(default_factory=dict)
    """Keys of all lines of the logs whose content is not as it was when they were merged."""


def gather(
    tenant: str | None, state: ConsolidationState, tombstones: Tombstones, *, everything: bool
) -> Steps[Gathered | Failed]:
    """Read the daily logs and return what is new in them.

    Args:
        tenant: Whose logs.
        state: What was merged.
        tombstones: What was forgotten.
        everything: Take every line, merged or not, and the archive too: the memory is rebuilt.
    """
    paths = yield from list_files(tenant, daily_log.FOLDER)
    if isinstance(paths, Failed):
        return paths
    new: list[NewLine] = []
    aside: set[bytes] = set()
    files: dict[str, str] = {}
    keys: dict[str, frozenset[bytes]] = {}
    is_removed = same_as_any(state.removed)
    for path in _logs(paths, with_archive=everything):
        found = yield from read_text(tenant, path)
        if isinstance(found, Failed):
            return found
        if found is None:
            continue
        files[path] = text_hash(found.text)
        if state.files.get(path) == files[path] and not everything:
            continue
        lines = [(line, line_key(line)) for line in daily_log.lines(found.text)]
        keys[path] = frozenset(key for _, key in lines)
        day = daily_log.day_of(path)
        for line, key in lines:
            if _is_merged(line, key, day, state) and not everything:
                aside.add(key)
            elif is_trusted(line) and not is_removed(line.text) and not tombstones.covers(words(line.text)):
                new.append(_new_line(line, key, day, path))
            else:
                aside.add(key)
    new.sort(key=lambda line: (line.day or date.min, line.path, line.number))
    return Gathered(new=_once(new), set_aside=frozenset(aside) - state.merged, files=files, keys=keys)


def _logs(paths: Sequence[str], *, with_archive: bool) -> list[str]:
    """Return the daily logs among paths, oldest first."""
    logs = [path for path in paths if daily_log.day_of(path)]
    if not with_archive:
        logs = [path for path in logs if not path.startswith(f"{daily_log.ARCHIVE}/")]
    return sorted(logs, key=lambda path: (path.rsplit("/", 1)[-1], path))


def _is_merged(line: LogLine, key: bytes, day: date | None, state: ConsolidationState) -> bool:
    if key in state.merged:
        return True
    return state.merged_before is not None and is_from_before(line, day, state.merged_before)


def is_trusted(line: LogLine) -> bool:
    """Say whether a line may be promoted: a person wrote it by hand, or its block says that user or assistant said it."""
    if line.heading is None:
        return True
    return bool(line.heading.sources) and all(source in ("user", "assistant") for source in line.heading.sources)


def _new_line(line: LogLine, key: bytes, day: date | None, path: str) -> NewLine:
    at = line.heading.at.date() if line.heading else day
    return NewLine(text=line.text, day=at, source=line.source, path=path, number=line.number, key=key)


def _once(lines: Sequence[NewLine]) -> tuple[NewLine, ...]:
    """Drop lines of a copied log that stand in another one too."""
    return tuple({line.key: line for line in reversed(lines)}.values())[::-1]
