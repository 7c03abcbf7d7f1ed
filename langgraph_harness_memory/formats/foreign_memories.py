"""Facts out of the memories of other systems: texts in, facts out.

    agentscope   MEMORY.md, memory/YYYY-MM-DD.md, memory/archive/…      a workspace of the Java harness
    openclaw     MEMORY.md, memory/YYYY-MM-DD[-topic].md, USER.md       a workspace of the assistant
    deepagents   AGENTS.md and any Markdown below memories/             the folders of its memory files
    langmem      JSON or JSONL of store items                           namespace, key, value, created_at, updated_at

Each fact keeps the day that its source names, so that it lands in that day's log.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import PurePosixPath
from typing import Any, Literal, get_args

from langgraph_harness_memory.errors import ConversationUnreadable
from langgraph_harness_memory.formats import memory_md

System = Literal["agentscope", "openclaw", "deepagents", "langmem"]
SYSTEMS: tuple[System, ...] = get_args(System)

_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[-_][^/]*)?\.md")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignFact:
    """A fact of another system's memory."""

    text: str
    """One line without its bullet."""
    day: date | None
    """The day it belongs to; `None` where the source tells none."""
    origin: str
    """The file, or the item, that it stands in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignMemory:
    """What another system's memory holds."""

    facts: tuple[ForeignFact, ...]
    """Oldest day first, those without a day last; each text once."""
    notes: Mapping[str, str]
    """Whole files to take over by their path here: the persona `AGENTS.md`, and `knowledge/**.md`."""


def read_memory(system: System, files: Mapping[str, str]) -> ForeignMemory:
    """Read another system's memory.

    Args:
        system: Whose.
        files: Texts by relative POSIX path.

    Raises:
        ConversationUnreadable: A file of langmem is no JSON of store items, or nothing was found; the message names it.
    """
    facts = list(_items(files)) if system == "langmem" else list(_markdown(system, files))
    once: dict[str, ForeignFact] = {}
    for fact in sorted(facts, key=lambda f: (f.day is None, f.day or date.min)):
        once.setdefault(fact.text, fact)
    notes = {path: text for path, text in files.items() if _is_note(system, path)}
    if not once and not notes:
        raise ConversationUnreadable(f"{system}: none of the {len(files)} files holds a fact of its memory")
    return ForeignMemory(facts=tuple(once.values()), notes=notes)


def is_wanted(system: System, path: str) -> bool:
    """Say whether a file, by its relative path, can belong to a system's memory."""
    name = PurePosixPath(path)
    if system == "langmem":
        return name.suffix in (".json", ".jsonl")
    return name.suffix == ".md" and (_holds_facts(system, path) or _is_note(system, path))


def _holds_facts(system: System, path: str) -> bool:
    name = PurePosixPath(path)
    match system:
        case "agentscope":
            return path == "MEMORY.md" or (name.parts[0] == "memory" and _day(path) is not None)
        case "openclaw":
            return path in ("MEMORY.md", "memory.md", "USER.md") or name.parts[0] == "memory"
        case "deepagents":
            return True
        case "langmem":
            return False


def _is_note(system: System, path: str) -> bool:
    if system == "langmem":
        return False
    # deepagents learns into its AGENTS.md: it is memory there, and the persona everywhere else.
    persona = path == "AGENTS.md" and system != "deepagents"
    return persona or (path.startswith("knowledge/") and path.endswith(".md"))


def _markdown(system: System, files: Mapping[str, str]) -> Iterator[ForeignFact]:
    for path in sorted(files):
        if not _holds_facts(system, path) or _is_note(system, path):
            continue
        text = _COMMENT.sub("", _FRONT_MATTER.sub("", files[path].replace("\r\n", "\n").removeprefix("\ufeff")))
        for fact in memory_md.facts(text):
            if not fact.text.startswith(("```", "|", ">")):
                yield ForeignFact(text=fact.text, day=_day(path), origin=f"{path}#{fact.number}")


def _day(path: str) -> date | None:
    found = _DAY.fullmatch(PurePosixPath(path).name)
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None


def _items(files: Mapping[str, str]) -> Iterator[ForeignFact]:
    for path in sorted(files):
        for at, item in enumerate(_json_items(path, files[path]), start=1):
            text = _content(item.get("value")) if isinstance(item, dict) else None
            if text is None:
                raise ConversationUnreadable(f"{path}: item {at} is no store item with a memory in its value")
            moment = str(item.get("updated_at") or item.get("created_at") or "")
            yield ForeignFact(text=" ".join(text.split()), day=_day_of(moment), origin=f"{path}#{at}")


def _json_items(path: str, text: str) -> list[Any]:
    try:
        whole = json.loads(text)
        return whole if isinstance(whole, list) else [whole]
    except ValueError as error:
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            raise ConversationUnreadable(f"{path}: is neither JSON nor JSON lines ({error})") from error


def _content(value: Any) -> str | None:
    """Find the words of a memory: langmem wraps them as `{"kind": …, "content": {"content": …}}`."""
    if isinstance(value, str):
        return value or None
    if not isinstance(value, dict):
        return None
    inner = value.get("content", value.get("memory", value.get("text", value)))
    if isinstance(inner, dict) and inner is not value and "content" in inner and len(inner) == 1:
        return _content(inner["content"])
    if isinstance(inner, dict):
        # A schema of the user's own: its fields are said one by one.
        return "; ".join(f"{key}: {_said(item)}" for key, item in inner.items() if item is not None) or None
    return _said(inner)


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _day_of(moment: str) -> date | None:
    try:
        return datetime.fromisoformat(moment).date()
    except ValueError:
        return None
