"""Reads a conversation out of a request for a summary.

    <previous_summary> … </previous_summary>
    [user] …    [assistant] …    → called tool(arguments)    [result of tool (error)] …

This is how requests of this package write it, in a block `<messages>` or wherever a prompt of the user's own puts it. Lines
such as `Human: …`, which LangChain writes, are read as well.
"""

import re
from collections.abc import Iterator, Sequence

from langchain_core.messages import BaseMessage

from langgraph_harness_memory.curation.rules.summary import SECTIONS, Turn

_BLOCK = re.compile(r"(?ms)^<messages>[ \t]*$\n(?P<inside>.*)^</messages>")
_EARLIER = re.compile(r"(?ms)^<previous_summary>[ \t]*$\n(?P<inside>.*?)\n</previous_summary>")
_MARK = re.compile(
    r"(?m)^(?:\[(?P<role>user|assistant|system)\]|\[result of (?P<tool>[^\]\n]{1,200}?)(?P<failed> \(error\))?\]"
    r"|(?P<spoken>Human|AI|User|Assistant|Tool|System):)[ \t]*"
)
_CALL = re.compile(r"(?m)^→ called (?P<call>.{1,1000})$")
_ROLES = {"human": "user", "ai": "assistant"}


def is_summary_request(messages: Sequence[BaseMessage]) -> bool:
    """Tell a request for a summary: the four sections are asked for, or one message holds a rendered conversation."""
    if not messages:
        return False
    last = messages[-1].text
    return all(section in last for section in SECTIONS) or (len(messages) == 1 and _is_rendered(last))


def read_transcript(text: str) -> tuple[str, list[Turn]]:
    """Return the earlier summary, empty without one, and the turns of a request, oldest first."""
    block = _BLOCK.search(text)
    body = block["inside"] if block else text
    earlier = _EARLIER.search(body)
    said = body[earlier.end() :] if earlier else body
    return (_plain(earlier["inside"]) if earlier else ""), list(_turns(said))


def _is_rendered(text: str) -> bool:
    return _EARLIER.search(text) is not None or sum(1 for mark in _MARK.finditer(text) if mark["role"]) >= 2


def _turns(text: str) -> Iterator[Turn]:
    marks = list(_MARK.finditer(text))
    if not marks and text.strip():
        yield Turn(role="user", text=_plain(text))
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        body = text[mark.end() : following.start() if following else len(text)].strip()
        spoken = (mark["role"] or mark["spoken"] or "tool").lower()
        role = _ROLES.get(spoken, spoken)
        if role == "system":
            continue
        said = _plain(_CALL.sub("", body).strip())
        calls = tuple(_plain(found["call"]) for found in _CALL.finditer(body))
        yield Turn(role=role, text=said, name=mark["tool"] or "", calls=calls, failed=mark["failed"] is not None)


def _plain(text: str) -> str:
    """Give back the brackets that were taken from look-alikes of blocks."""
    return text.replace("&lt;", "<")
