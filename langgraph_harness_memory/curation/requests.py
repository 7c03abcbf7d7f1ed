"""What curating models are asked: instructions in the system message, material as one JSON object in the user message.

Text that was said stands in JSON strings only, so that no heading, fence or tag in it can end the place it stands in.
The model-free extractor reads the same JSON with `material`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langgraph_harness_memory.config import fill_prompt
from langgraph_harness_memory.curation import prompts
from langgraph_harness_memory.curation.provenance import Said


@dataclass(frozen=True, kw_only=True, slots=True)
class NewLine:
    """A line that is to be merged into `MEMORY.md`."""

    text: str
    day: date | None
    """The day it belongs to; `None` = not known."""
    source: str
    """Whose words it is; empty where nothing is said."""
    path: str
    number: int
    """Its line in `path`, from 1."""
    key: bytes = b""
    """Its mark; empty for a line of `MEMORY.md` itself, which has none."""

    @property
    def origin(self) -> str:
        """Where it stands, for people."""
        return f"{self.path}#{self.number}" + (f", {self.source}" if self.source else "")


def flush_request(
    said: Sequence[Said], *, at: datetime, memory: str, log: Sequence[str], prompt: str | None = None
) -> list[BaseMessage]:
    """Ask for the facts of a stretch of conversation.

    Args:
        said: The stretch, oldest first.
        at: When it is written down, in the zone that names the log.
        memory: `MEMORY.md`, cut to fit, so that it is not repeated.
        log: The last facts of today's log, for the same.
        prompt: Instructions in the place of the built-in ones.
    """
    return _request(
        prompt or prompts.prompt(prompts.FLUSH),
        {
            "task": "flush",
            "today": at.date().isoformat(),
            "known": {"memory": memory, "log": list(log)},
            "messages": [_message(part, at) for part in said],
        },
    )


def consolidation_request(
    new: Sequence[NewLine],
    *,
    memory: str,
    removed: Sequence[str],
    budget: int,
    today: date,
    complaint: str = "",
    prompt: str | None = None,
) -> list[BaseMessage]:
    """Ask for a new `MEMORY.md`.

    Args:
        new: Lines to merge, oldest first.
        memory: The present file; empty where there is none.
        removed: Facts that a person took out.
        budget: Characters the new file may have.
        today: The day it is written on.
        complaint: Why the last answer could not be used; empty at the first try.
        prompt: Instructions in the place of the built-in ones, with the place `{budget}`.
    """
    fields: dict[str, Any] = {"task": "consolidation", "today": today.isoformat(), "budget_characters": budget}
    if complaint:
        fields["your_last_answer_was_refused"] = complaint
    fields |= {
        "removed": list(removed),
        "memory": memory,
        "new": [_line(line) for line in new],
    }
    return _request(fill_prompt(prompt or prompts.prompt(prompts.CONSOLIDATION), budget=str(budget)), fields)


def material(messages: Sequence[BaseMessage]) -> dict[str, Any] | None:
    """Read the JSON of a request; `None` where the messages are no request of ours."""
    if not messages:
        return None
    try:
        fields = json.loads(messages[-1].text)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) and fields.get("task") in ("flush", "consolidation") else None


def _request(instruction: str, fields: dict[str, Any]) -> list[BaseMessage]:
    # Lone surrogates cannot be sent; escaping everything would triple the price of other scripts.
    text = json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
    return [SystemMessage(instruction), HumanMessage(text)]


def _line(line: NewLine) -> dict[str, str | None]:
    """Return one line as the model sees it; its source only where it is not simply what was said in a conversation."""
    said = bool(line.source) and set(line.source.split(", ")) <= {"user", "assistant"}
    source = {} if said else {"source": line.source or "person"}
    return {"date": line.day.isoformat() if line.day else None, **source, "text": line.text}


def _message(said: Said, at: datetime) -> dict[str, str]:
    """Return one message as the model sees it; its day only where it is another than today."""
    day = said.sent.astimezone(at.tzinfo).date()
    sent = {"sent": day.isoformat()} if day != at.date() else {}
    return {"role": said.role, **sent, "text": said.text} | ({"repeats": said.source} if said.tools else {})
