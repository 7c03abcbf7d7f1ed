"""Reads a conversation out of a request for a summary.

    <previous_summary> … </previous_summary>
    [user] …    [assistant] …    → called tool(arguments)    [result of tool (error)] …

This is how requests of this package write it, in a block `<messages>` or wherever a prompt of the user's own puts it. What
LangChain writes (`Human: …`, `<message type="human">…`) is read as well, and a conversation that ends in a short request to
summarise it is taken as it stands.
"""

import re
from collections.abc import Iterator, Sequence

from langchain_core.messages import BaseMessage

from langgraph_harness_memory.curation.rules.summary import SECTIONS, Turn

_BLOCK = re.compile(r"(?ms)^<messages>[ \t]*$\n(?P<inside>.*)^</messages>")
_EARLIER_STARTS = re.compile(r"(?m)^<previous_summary>[ \t]*\n")
_EARLIER_ENDS = re.compile(r"(?m)^</previous_summary>")
_MARK = re.compile(
    r"(?m)^(?:\[(?P<role>user|assistant|system)\]|\[result of (?P<tool>[^\]\n]{1,200}?)(?P<failed> \(error\))?\]"
    r"|(?P<spoken>Human|AI|User|Assistant|Tool|System):|<message type=\"(?P<typed>human|ai|tool|system)\"[^>\n]*>)[ \t]*"
)
_CALL = re.compile(r"(?m)^→ called (?P<call>.{1,1000})$")
_ROLES = {"human": "user", "ai": "assistant"}


_ABOVE = re.compile(r"(?:summar(?:y|ize|ise)|zusammenfass|résum|resum)\w*\b[^?]*\Z", re.IGNORECASE | re.DOTALL)
_SO_FAR = re.compile(
    r"summary of (?:the|this|our) conversation so far:\s*(?P<inside>.*?)(?:\n\s*\n|\Z)", re.IGNORECASE | re.DOTALL
)
_SHORT = 400
"""Characters of a request that may ask to summarise what stands above it, an earlier summary left out."""


def is_summary_request(messages: Sequence[BaseMessage]) -> bool:
    """Tell a request for a summary: the four sections are asked for, or one message holds a rendered conversation."""
    if not messages:
        return False
    last = messages[-1].text
    if all(section in last for section in SECTIONS) or (len(messages) == 1 and _is_rendered(last)):
        return True
    return _asks_for_what_is_above(messages)


def read_transcript(messages: Sequence[BaseMessage]) -> tuple[str, list[Turn]]:
    """Return the earlier summary, empty without one, and the turns of a request, oldest first."""
    text = messages[-1].text
    if _asks_for_what_is_above(messages):
        so_far = _SO_FAR.search(text)
        return (so_far["inside"] if so_far else ""), [turn for message in messages[:-1] for turn in _turn(message)]
    block = _BLOCK.search(text)
    body = block["inside"] if block else text
    earlier, said = _earlier(body)
    return _plain(earlier), list(_turns(said))


def _earlier(body: str) -> tuple[str, str]:
    """Part the earlier summary from what was said since; empty without one."""
    start = _EARLIER_STARTS.search(body)
    end = _EARLIER_ENDS.search(body, start.end()) if start else None
    return (body[start.end() : end.start()].strip(), body[end.end() :]) if start and end else ("", body)


def _asks_for_what_is_above(messages: Sequence[BaseMessage]) -> bool:
    """Tell a conversation that ends in a short request to summarise it; a question about a summary is none."""
    text = messages[-1].text
    asked = _SO_FAR.sub("", text)
    return (
        messages[-1].type == "human" and len(messages) > 2 and len(asked) <= _SHORT and _ABOVE.search(asked) is not None
    ) and not _MARK.search(text)


def _turn(message: BaseMessage) -> Iterator[Turn]:
    role = _ROLES.get(message.type, message.type)
    if role in ("user", "assistant", "tool"):
        calls = [f"{call['name']}({call['args']})" for call in getattr(message, "tool_calls", ())]
        yield Turn(role=role, text=message.text, name=message.name or "", calls=tuple(calls))


def _is_rendered(text: str) -> bool:
    return bool(_earlier(text)[0]) or sum(1 for mark in _MARK.finditer(text) if mark["role"]) >= 2


def _turns(text: str) -> Iterator[Turn]:
    marks = list(_MARK.finditer(text))
    if not marks and text.strip():
        yield Turn(role="user", text=_plain(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in zip(marks, ends, strict=False):
        body = text[mark.end() : end].strip().removesuffix("</message>")
        spoken = (mark["role"] or mark["spoken"] or mark["typed"] or "tool").lower()
        role = _ROLES.get(spoken, spoken)
        if role == "system":
            continue
        said = _plain(_CALL.sub("", body).strip())
        calls = tuple(_plain(found["call"]) for found in _CALL.finditer(body))
        yield Turn(role=role, text=said, name=mark["tool"] or "", calls=calls, failed=mark["failed"] is not None)


def _plain(text: str) -> str:
    """Give back the brackets that were taken from look-alikes of blocks."""
    return text.replace("&lt;", "<")
