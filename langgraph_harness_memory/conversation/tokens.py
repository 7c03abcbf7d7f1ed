"""Counting a request's tokens by the best evidence there is, once per message.

    provider's own count of the last reply's input      (what it covered, kept within reason)
      + estimate of that reply and of what came after
    or, where no reply tells: estimate of everything + system prompt and tool schemas

Counting never downloads: tiktoken is used where its vocabulary already lies on this disk. What was counted is
remembered by content, never by id alone, so that a message which was replaced is counted anew.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from langchain_core.messages import AIMessage, BaseMessage

from langgraph_harness_memory.conversation.estimate import estimate_tokens
from langgraph_harness_memory.conversation.ledger import Ledger, Ledgers
from langgraph_harness_memory.formats.forms import MARKER, form_of

MESSAGE_TOKENS = 4
"""What a message costs beside its content: its role and its borders (3 to 4 at OpenAI)."""

CALL_TOKENS = 9
"""What a tool call costs beside its name and arguments: id, type and borders."""

RESULT_TOKENS = 4
"""What naming the call costs a tool's result."""

MEDIA_TOKENS: Mapping[str, int] = {
    "image": 1_000,
    "image_url": 1_000,
    "input_image": 1_000,
    "audio": 1_500,
    "input_audio": 1_500,
    "video": 4_000,
    "file": 3_000,
    "input_file": 3_000,
    "document": 3_000,
    "media": 3_000,
}
"""Flat prices by block type. Providers charge by pixels, seconds and pages, which are not to be had from base64; a
1 MB PDF counted by its length would be 333 000 tokens."""

BASE64_TOKENS = 1_000
"""Flat price of a base64 string anywhere else in a block."""

BASE64_CHARS = 512
"""Characters from which on an unbroken string of base64 letters in a block is taken for one."""

EVIDENCE_BAND = 2.0
"""The provider's count is believed between half and twice the estimate; beyond, it was of another request (a first
reply that reports 10 000 tokens for 50 visible ones), unless two replies agree on the surplus."""

SURPLUS_AGREES = 1.25
"""Two replies agree on what they count beyond the estimate when one's surplus is at most this much of the other's."""

EVIDENCE_DEPTH = 64
"""Newest messages that are searched for a reply that reports its usage."""


class TextCounter(Protocol):
    """Counts the tokens of one text."""

    def __call__(self, text: str, /) -> int: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What a provider said about a request."""

    index: int
    """The reply's place in the messages."""
    input_tokens: int
    """The provider's count of what it was sent."""


class TokenCounter:
    """Counts messages, requests and tool schemas, and remembers what it counted.

    One counter serves any number of conversations and threads of execution at once: what it remembers are values that
    are replaced, never changed.

    Args:
        text: Counts one text.
        messages: The user's own counter of a list of messages; it takes the place of `text` for whole messages and is
            asked for one message at a time.
    """

    def __init__(
        self,
        *,
        text: TextCounter = estimate_tokens,
        messages: Callable[[list[BaseMessage]], int] | None = None,
    ) -> None:
        self._text = text
        self._own = messages
        self._ledgers = Ledgers(self._count)
        self._schemas: dict[int, tuple[Any, int]] = {}

    def text(self, text: str) -> int:
        """Count the tokens of a text."""
        return self._text(text) if text else 0

    def message(self, message: BaseMessage) -> int:
        """Count the tokens of one message."""
        return self._ledgers.message(message)

    def messages(self, messages: Sequence[BaseMessage], *, conversation: str = "") -> int:
        """Count the tokens of messages without asking what a provider said.

        Args:
            messages: Oldest first.
            conversation: Whose messages these are, so that the next count of the same ones only counts what is new.
        """
        return self.look(messages, conversation=conversation).total

    def look(self, messages: Sequence[BaseMessage], *, conversation: str = "") -> Ledger:
        """Count messages and return what is known of them, message by message."""
        return self._ledgers.look(messages, conversation)

    def let_go(self, conversation: str) -> None:
        """Keep what was counted of a conversation and let go of its messages, at the end of a run."""
        self._ledgers.let_go(conversation)

    def request(
        self,
        messages: Sequence[BaseMessage],
        *,
        overhead: int | None = 0,
        conversation: str = "",
        ledger: Ledger | None = None,
    ) -> int:
        """Count the tokens of a request by the best evidence there is.

        Args:
            messages: Oldest first.
            overhead: Tokens of the system prompt and the tool schemas that go with them; `None` = not known.
            conversation: Whose messages these are.
            ledger: What a look at the same messages returned; `None` = look now.
        """
        if ledger is None:
            ledger = self.look(messages, conversation=conversation)
        evidence = _evidence(messages)
        if evidence is None:
            return ledger.total + (overhead or 0)
        believed = self._believed(messages, ledger, evidence, overhead)
        return believed + ledger.between(evidence.index, len(messages))

    def schemas(self, tools: Sequence[Any]) -> int:
        """Count the tokens of the schemas of tools.

        Args:
            tools: Whatever can be bound to a chat model: tools, functions, pydantic classes, dicts.
        """
        return sum(map(self._schema, tools))

    def _schema(self, tool: Any) -> int:
        known = self._schemas.get(id(tool))
        if known is not None and known[0] is tool:
            return known[1]
        from langchain_core.utils.function_calling import convert_to_openai_tool  # noqa: PLC0415  loaded with a chat model

        try:
            schema = tool if isinstance(tool, dict) else convert_to_openai_tool(tool)
        except (ValueError, TypeError, AttributeError, NotImplementedError):
            schema = {"name": str(getattr(tool, "name", tool)), "description": str(getattr(tool, "description", ""))}
        tokens = self._text(_as_json(schema)) + CALL_TOKENS
        self._schemas[id(tool)] = (tool, tokens)
        return tokens

    def _believed(
        self, messages: Sequence[BaseMessage], ledger: Ledger, evidence: Evidence, overhead: int | None
    ) -> int:
        covered = ledger.between(0, evidence.index)
        estimate = covered + (overhead or 0)
        highest = estimate * EVIDENCE_BAND
        if evidence.input_tokens > highest:
            earlier = _evidence(messages, before=evidence.index)
            if earlier is not None:
                surplus = earlier.input_tokens - ledger.between(0, earlier.index)
                highest = max(highest, covered + surplus * SURPLUS_AGREES)
        return round(min(max(evidence.input_tokens, estimate / EVIDENCE_BAND), highest))

    def _count(self, message: BaseMessage) -> int:
        if self._own is not None:
            return self._own([message])
        tokens = MESSAGE_TOKENS + self._content(message.content, calls_counted=_has_calls(message))
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                tokens += CALL_TOKENS + self._text(call["name"]) + self._text(_as_json(call["args"]))
            for broken in message.invalid_tool_calls:
                tokens += CALL_TOKENS + self._text(f"{broken.get('name') or ''} {broken.get('args') or ''}")
            if not message.tool_calls and not message.invalid_tool_calls:
                tokens += self._legacy_calls(message)
        elif message.type == "tool":
            tokens += RESULT_TOKENS
        return tokens

    def _legacy_calls(self, message: AIMessage) -> int:
        kept = {key: message.additional_kwargs[key] for key in LEGACY_CALLS if key in message.additional_kwargs}
        return self._text(_as_json(kept)) if kept else 0

    def _content(self, content: str | list[str | dict[Any, Any]], *, calls_counted: bool) -> int:
        if isinstance(content, str):
            return self.text(content)
        return sum(self._block(block, calls_counted=calls_counted) for block in content)

    def _block(self, block: Any, *, calls_counted: bool) -> int:
        if not isinstance(block, Mapping):
            return self.text(str(block))
        kind = str(block.get("type"))
        if kind in MEDIA_TOKENS:
            return MEDIA_TOKENS[kind] + self.text(str(block.get("text") or ""))
        if kind in CALL_BLOCKS and calls_counted:
            return 0
        if kind == "tool_result" and isinstance(block.get("content"), list):
            return self._content(block["content"], calls_counted=calls_counted)
        return self._values(block)

    def _values(self, value: Any) -> int:
        """Count every text inside a block; signatures and base64 are not text."""
        if isinstance(value, str):
            return BASE64_TOKENS if is_base64(value) else self.text(value)
        if isinstance(value, Mapping):
            if (kind := str(value.get("type"))) in MEDIA_TOKENS:
                return MEDIA_TOKENS[kind]
            return sum(self._values(part) for key, part in value.items() if key not in UNCOUNTED_KEYS)
        if isinstance(value, list | tuple):
            return sum(map(self._values, value))
        return 0 if value is None else 1


LEGACY_CALLS = ("tool_calls", "function_call")
"""Where chat models of old kept calls, in `additional_kwargs`."""

CALL_BLOCKS = frozenset(
    {"tool_use", "tool_call", "function_call", "invalid_tool_call", "tool_call_chunk", "input_json_delta"}
)
"""Content blocks that repeat the message's `tool_calls`."""

UNCOUNTED_KEYS = frozenset(
    {"type", "id", "index", "signature", "cache_control", "extras", "encrypted_content", "phase"}
)
"""Keys of blocks that are no text to the model."""


def is_base64(text: str) -> bool:
    """Say whether a string in a block is base64 or a data URL rather than text."""
    if text.startswith("data:") and ";base64," in text[:128]:
        return True
    head = text[:BASE64_CHARS]
    return len(text) >= BASE64_CHARS and head.isascii() and head.rstrip("=").translate(_BASE64).isalnum()


_BASE64 = str.maketrans("+/-_", "aaaa")


def is_stale(message: BaseMessage, messages: Sequence[BaseMessage], index: int) -> bool:
    """Say whether a reply's usage was counted before the compaction that this summary stands for.

    Args:
        message: The summary.
        messages: The messages it stands in, oldest first.
        index: The reply's place.
    """
    newest = message.additional_kwargs[MARKER].get("tail")
    return newest is not None and any(later.id == newest for later in messages[index:])


def summary_in(messages: Sequence[BaseMessage]) -> BaseMessage | None:
    """Find the summary that stands for the folded part of a conversation.

    It stands in the place of the first folded message: after system messages and at most one question that was kept.
    """
    others = 0
    for message in messages:
        if form_of(message) == "summary":
            return message
        others += message.type != "system"
        if others > 2:
            return None
    return None


def _evidence(messages: Sequence[BaseMessage], *, before: int | None = None) -> Evidence | None:
    end = len(messages) if before is None else before
    for index in range(end - 1, max(-1, end - 1 - EVIDENCE_DEPTH), -1):
        message = messages[index]
        if message.type == "ai" and isinstance(message, AIMessage) and message.usage_metadata:
            tokens = message.usage_metadata.get("input_tokens") or 0
            summary = summary_in(messages)
            if tokens <= 0 or (summary is not None and is_stale(summary, messages, index)):
                return None
            return Evidence(index=index, input_tokens=tokens)
    return None


def _has_calls(message: BaseMessage) -> bool:
    return isinstance(message, AIMessage) and bool(message.tool_calls or message.invalid_tool_calls)


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
