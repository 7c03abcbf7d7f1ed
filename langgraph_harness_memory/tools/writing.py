"""`memory_save` and `memory_forget`: bound on request only."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from langchain_core.tools import BaseTool, ToolException
from langgraph.types import interrupt
from pydantic import BaseModel, Field

from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.outcome import finish_in_thread
from langgraph_harness_memory.tenancy import ambient_thread
from langgraph_harness_memory.tools.calling import LINE_CHARS, MOST_RESULTS, build, clipped, place

_LINES = re.compile(r"\s*(\d{1,9})\s*(?:[-–:]\s*(\d{1,9})\s*)?\Z")


class SaveArgs(BaseModel):
    """Arguments of `memory_save`."""

    text: str = Field(description="One fact, complete in itself")


class ForgetArgs(BaseModel):
    """Arguments of `memory_forget`."""

    query: str = Field(default="", description="Forget every line that holds all these words")
    path: str = Field(default="", description="Or: the file of the lines")
    lines: str = Field(default="", description="With path: '12' or '12-15'")


@dataclass(frozen=True, kw_only=True, slots=True)
class ForgetRequest:
    """What a model wants forgotten."""

    query: str | None = None
    path: str | None = None
    lines: tuple[int, int] | None = None
    """First and last line in `path`, from 1."""


Save = Callable[[str, ThreadRef], str]
"""Saves a text for a thread's tenant and says where it stands."""

Forget = Callable[[ForgetRequest, ThreadRef], str]
"""Forgets for a thread's tenant and says what was done."""

Preview = Callable[[ForgetRequest, ThreadRef], list[str]]
"""Says which lines a request names."""


def memory_save_tool(save: Save, asave: Callable[[str, ThreadRef], Awaitable[str]]) -> BaseTool:
    """Build `memory_save`.

    Args:
        save: Appends to the tenant's log of today.
        asave: Its twin.
    """

    def keep(text: str) -> str:
        return save(text, ambient_thread())

    async def akeep(text: str) -> str:
        return await asave(text, ambient_thread())

    return build("memory_save", "Save a fact to long-term memory at once.", SaveArgs, keep, akeep)


def memory_forget_tool(
    forget: Forget,
    aforget: Callable[[ForgetRequest, ThreadRef], Awaitable[str]],
    *,
    preview: Preview,
    confirm: Callable[[dict[str, Any]], Any] | None = interrupt,
) -> BaseTool:
    """Build `memory_forget`.

    Args:
        forget: Removes what a request names from both layers.
        aforget: Its twin.
        preview: Says what a request names, for the person who is asked.
        confirm: Asks a person and returns the answer; the default interrupts the run, which is resumed with `True` to
            agree. `None` = nobody is asked.
    """

    def agreed(request: ForgetRequest, thread: ThreadRef) -> str | None:
        """Return why nothing may be done; `None` = go on."""
        found = preview(request, thread)
        if not found:
            return "Nothing in memory matches; nothing was forgotten."
        if confirm is None:
            return None
        question = {
            "type": "memory_forget",
            "question": f"Forget {len(found)} line(s) of memory?",
            "lines": [clipped(line, LINE_CHARS) for line in found[:MOST_RESULTS]],
        }
        return None if _is_yes(_asked(confirm, question)) else "A person declined; nothing was forgotten."

    def drop(query: str = "", path: str = "", lines: str = "") -> str:
        request, thread = _forget_request(query, path, lines), ambient_thread()
        return agreed(request, thread) or forget(request, thread)

    async def adrop(query: str = "", path: str = "", lines: str = "") -> str:
        request, thread = _forget_request(query, path, lines), ambient_thread()
        refused = await finish_in_thread(agreed, request, thread)
        return refused or await aforget(request, thread)

    about = "Forget lines of long-term memory for good; a person is asked first. Give query, or path and lines."
    return build("memory_forget", about, ForgetArgs, drop, adrop)


def _asked(confirm: Callable[[dict[str, Any]], Any], question: dict[str, Any]) -> Any:
    try:
        return confirm(question)
    except (RuntimeError, KeyError) as error:
        raise ToolException(
            "A person must agree to forgetting, and outside a run with a checkpointer nobody can be asked."
        ) from error


def _is_yes(answer: Any) -> bool:
    """Read a person's answer, also in the forms that human-in-the-loop front ends send."""
    match answer:
        case bool():
            return answer
        case str():
            return answer.strip().lower() in {"yes", "y", "true", "ok", "approve", "approved", "accept"}
        case {"decisions": [first, *_]} | [first, *_]:
            return _is_yes(first)
        case {"type": kind}:
            return _is_yes(kind)
        case {"approved": verdict} | {"approve": verdict}:
            return _is_yes(verdict)
        case _:
            return False


def _forget_request(query: str, path: str, lines: str) -> ForgetRequest:
    if bool(query.strip()) == bool(path.strip()):
        raise ToolException("Give either query, or path and lines.")
    if query.strip():
        return ForgetRequest(query=query)
    wanted, cited = place(path)
    found = _LINES.fullmatch(lines or str(cited or ""))
    if found is None:
        raise ToolException("Give lines as '12' or '12-15', as memory_get numbers them.")
    first = int(found[1])
    return ForgetRequest(path=wanted, lines=(first, int(found[2] or first)))
