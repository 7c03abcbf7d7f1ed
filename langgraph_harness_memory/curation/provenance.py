"""Whose words a stretch of conversation holds: what may become a fact, and what a tool said first.

The defence against text that asks to be remembered is where it came from, never what it looks like:

* what our own tools returned is memory already and is no source;
* a tool's words stay the tool's when the assistant repeats them, sentence by sentence;
* what the user said first stays the user's, also when a tool says it again.

Each sentence of the assistant is compared with the tool results before it by the words it shares with them, in one
form per character, so that letter case, accents and invisible characters hide nothing.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_harness_memory.curation.answers import is_nothing
from langgraph_harness_memory.curation.wording import runs, share, tokens, words
from langgraph_harness_memory.formats.forms import form_of
from langgraph_harness_memory.steps import LoggedMessage

OWN_TOOLS = frozenset({"memory_search", "memory_get", "memory_save", "memory_forget", "session_search"})
"""Tools of ours: what they return is in memory already, or is not meant to be."""

REPEATED_SHARE = 0.6
"""Part of a sentence's words that a tool result must hold for the sentence to be the tool's."""
REPEATED_RUN = 5
"""Words in a row that make a sentence the tool's by themselves."""
CONTEXT_MESSAGES = 60
"""Messages before a stretch that are looked at to tell what is repeated."""
REMEMBERED_RESULTS = 40
"""Tool results that a sentence is compared with, newest first."""

_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_HEARTBEAT = re.compile(
    r"\W*(?:heartbeat(?:_ok| ok)?|ping|pong|keep-?alive)\W*|(?:\[heartbeat\]|heartbeat(?: poll| check)?:|read heartbeat\.md\b).*",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """Something that was said and may hold facts."""

    position: int
    """Log position of its message."""
    role: str
    """`user`, `assistant` or `tool`."""
    text: str
    sent: datetime
    """When it was said, aware."""
    tools: tuple[str, ...] = ()
    """The tools whose words it is or repeats; empty for words of the user's and the assistant's own."""

    @property
    def source(self) -> str:
        """The provenance of facts taken from it alone."""
        return ", ".join(f"tool:{tool}" for tool in self.tools) or self.role


@dataclass(slots=True)
class _Heard:
    """What was said so far: the user's words, and what each tool returned."""

    by_user: frozenset[str] = frozenset()
    runs_by_user: frozenset[tuple[str, ...]] = frozenset()
    results: list[tuple[str, frozenset[str], frozenset[tuple[str, ...]]]] = field(default_factory=list)

    def user(self, text: str) -> None:
        self.by_user |= words(text)
        self.runs_by_user |= runs(tokens(text), REPEATED_RUN)

    def tool(self, name: str, text: str) -> None:
        self.results = [*self.results[1 - REMEMBERED_RESULTS :], (name, words(text), runs(tokens(text), REPEATED_RUN))]

    def repeats(self, sentence: str) -> str | None:
        """Name the tool whose words a sentence is; `None` for one that is the speaker's own."""
        said = words(sentence)
        own_runs = runs(tokens(sentence), REPEATED_RUN) - self.runs_by_user
        by_user = share(said, self.by_user)
        for name, returned, returned_runs in reversed(self.results):
            repeated = share(said, returned)
            if own_runs & returned_runs or (repeated >= REPEATED_SHARE and repeated > by_user):
                return name
        return None


def sources(
    fresh: Sequence[LoggedMessage],
    *,
    before: Sequence[LoggedMessage] = (),
    allowed: frozenset[str],
    subagents: bool = False,
) -> tuple[Said, ...]:
    """Return what may hold facts in a stretch of conversation, in order, with its provenance.

    Args:
        fresh: The stretch, oldest first.
        before: Messages from before it; they tell what is repeated and are no sources.
        allowed: `user`, `assistant`, `tool`, `tool:<name>`: whose words may become facts.
        subagents: Messages of sub-agents count too.
    """
    heard = _Heard()
    for logged in before:
        _listen(heard, logged.message)
    found: list[Said] = []
    for logged in fresh:
        if subagents or not logged.namespace:
            found += _said(heard, logged, allowed)
        _listen(heard, logged.message)
    return tuple(found)


def speaker_of(text: str, conversation: Sequence[LoggedMessage]) -> str:
    """Say whose words a text is that is about to be saved: `user`, or `tool:<name>` for what a tool said first.

    Our own tools count here too: what a search found may have been a tool's word when it was written down.

    Args:
        text: What is to be saved.
        conversation: What was said before, oldest first.
    """
    heard = _Heard()
    for logged in conversation:
        _listen(heard, logged.message)
    tools = (heard.repeats(sentence) for sentence in _SENTENCE.split(text) if sentence.strip())
    return next((f"tool:{tool}" for tool in tools if tool), "user")


def _said(heard: _Heard, logged: LoggedMessage, allowed: frozenset[str]) -> Iterable[Said]:
    message, text = logged.message, logged.message.text.strip()
    if not text or form_of(message) is not None or is_noise(text):
        return ()
    match message:
        case HumanMessage() if "user" in allowed:
            return (Said(position=logged.position, role="user", text=text, sent=logged.logged_at),)
        case ToolMessage(name=name) if {"tool", f"tool:{name}"} & allowed and name not in OWN_TOOLS:
            return (
                Said(
                    position=logged.position, role="tool", text=text, sent=logged.logged_at, tools=(name or "unnamed",)
                ),
            )
        case AIMessage() if "assistant" in allowed:
            return _parted(heard, logged, text)
    return ()


def _parted(heard: _Heard, logged: LoggedMessage, text: str) -> Iterable[Said]:
    """Part an assistant's text into its own words and those it repeats, what repeats our own tools left out."""
    own: list[str] = []
    repeated: list[str] = []
    tools: dict[str, None] = {}
    last: str | None = None
    for sentence in filter(str.strip, _SENTENCE.split(text)):
        # Too short to tell on its own ("Yes, May 3rd."): it belongs to what stands before it.
        tool = heard.repeats(sentence) if len(words(sentence)) > 2 else heard.repeats(sentence) or last
        last = tool
        if tool is None:
            own.append(sentence)
        elif tool not in OWN_TOOLS:
            repeated.append(sentence)
            tools[tool] = None
    if own:
        yield Said(position=logged.position, role="assistant", text="\n".join(own), sent=logged.logged_at)
    if repeated:
        yield Said(
            position=logged.position,
            role="assistant",
            text="\n".join(repeated),
            sent=logged.logged_at,
            tools=tuple(tools),
        )


def is_noise(text: str) -> bool:
    """Say whether a message is a heartbeat, a ping or a sentinel: something machines say to each other."""
    return is_nothing(text) or bool(_HEARTBEAT.fullmatch(text.strip()))


def _listen(heard: _Heard, message: BaseMessage) -> None:
    match message:
        case HumanMessage() if form_of(message) is None:
            heard.user(message.text)
        case ToolMessage(name=name):
            heard.tool(name or "unnamed", message.text)
