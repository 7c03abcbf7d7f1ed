"""Conversations out of the files that other systems leave behind: text in, conversations out.

    JSON or JSONL ──► Claude Code lines?      one conversation for each session and side chain
                 └──► lists of chat messages, wherever they stand: one conversation each
                 └──► one chat message a line: one conversation, or one for each id that the lines name

tau-bench results, SWE-agent trajectories, fine-tuning files, logs of chat completions and LangChain dumps are all of
the second kind. Reading the same file twice gives the same thread and message ids.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage

from langgraph_harness_memory.errors import ConversationUnreadable
from langgraph_harness_memory.formats.chat_messages import Json, is_message, read_message
from langgraph_harness_memory.formats.claude_code import is_session_line, read_session, session_of

_SESSION_KEYS = ("session_id", "conversation_id", "thread_id", "sessionId", "conversationId", "threadId")


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """One conversation of a file."""

    thread_id: str
    """The same whenever the same file is read: the session's own id where it has one, else the file's name, a hash of its
    origin and the conversation's place in it."""
    messages: tuple[BaseMessage, ...]
    """Oldest first, each with an id that no other has in this conversation."""
    started_at: datetime | None = None
    """When its first message was said, where the file tells."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What a file gave."""

    conversations: tuple[Conversation, ...]
    """In the order of the file."""
    remarks: tuple[str, ...] = ()
    """What was left out and why, one sentence each."""


def read_conversations(text: str | bytes, *, name: str, origin: str | None = None) -> Reading:
    """Read every conversation of a file.

    Args:
        text: The file's content; bytes are UTF-8.
        name: The file's name or path, for messages and thread ids.
        origin: What tells this file from others of the same name, for example its absolute path; `None` = its name.

    Returns:
        At least one conversation.

    Raises:
        ConversationUnreadable: There is no conversation in it; the message names the file and the reason.
    """
    try:
        whole = text.decode("utf-8-sig") if isinstance(text, bytes) else text.removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ConversationUnreadable(f"{name}: is no UTF-8 text (byte {error.start})") from error
    records, remarks = _records(whole, name)
    found, more = _found(records, name)
    conversations = [
        _conversation(messages, name=name, origin=origin or name, place=place, session=session, started_at=at)
        for place, (session, messages, at) in enumerate(found, start=1)
        if messages
    ]
    if not conversations:
        reason = _few([*remarks, *more]) or "holds no chat messages (OpenAI, LangChain or Claude Code)"
        raise ConversationUnreadable(f"{name}: {reason}")
    return Reading(conversations=tuple(conversations), remarks=(*remarks, *more))


def _few(remarks: list[str]) -> str:
    rest = f"; and {len(remarks) - 3} more" if len(remarks) > 3 else ""
    return "; ".join(remarks[:3]) + rest


_Found = tuple[str | None, list[BaseMessage], datetime | None]


def _records(text: str, name: str) -> tuple[list[tuple[str, Any]], list[str]]:
    """Parse a file as one JSON value, else line by line; each record comes with its place for messages."""
    if not text.strip():
        raise ConversationUnreadable(f"{name}: is empty")
    try:
        return [("", json.loads(text))], []
    except (ValueError, RecursionError) as error:
        lines = [(f"line {n}", line) for n, line in enumerate(text.splitlines(), start=1) if line.strip()]
        whole_reason = _reason(error)
    records: list[tuple[str, Any]] = []
    remarks: list[str] = []
    for place, line in lines:
        try:
            records.append((place, json.loads(line)))
        except (ValueError, RecursionError) as error:
            remarks.append(f"{place} is no JSON ({_reason(error)})")
    if not any(isinstance(record, dict | list) for _, record in records):
        raise ConversationUnreadable(f"{name}: is neither JSON nor JSON lines ({whole_reason})")
    return records, remarks


def _reason(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _found(records: list[tuple[str, Any]], name: str) -> tuple[list[_Found], list[str]]:
    values = [record for _, record in records]
    if any(is_session_line(value) for value in values):
        return _sessions([v for v in values if is_session_line(v)], name)
    if len(records) > 1 and any(is_message(value) for value in values):
        return _message_lines(records, name)
    found: list[_Found] = []
    remarks: list[str] = []
    for place, value in _parted(records):
        for messages in _without_copies(list(_lists(value))):
            read, more = _read(messages, place)
            found.append((None, read, None))
            remarks += more
    return found, remarks


def _parted(records: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Take a list of records for what it is: two runs with the same words are two conversations."""
    if len(records) == 1 and isinstance(records[0][1], list) and not any(map(is_message, records[0][1])):
        return [(f"entry {n}", value) for n, value in enumerate(records[0][1], start=1)]
    return records


def _sessions(lines: list[Json], name: str) -> tuple[list[_Found], list[str]]:
    groups: dict[str, list[Json]] = {}
    for line in lines:
        groups.setdefault(session_of(line), []).append(line)
    try:
        found = [(session or None, read_session(group), _moment(group[0])) for session, group in groups.items()]
    except ValueError as error:
        raise ConversationUnreadable(f"{name}: a message {error}") from error
    return list(found), []


def _message_lines(records: list[tuple[str, Any]], name: str) -> tuple[list[_Found], list[str]]:
    groups: dict[str | None, list[Json]] = {}
    remarks: list[str] = []
    for place, record in records:
        if is_message(record):
            groups.setdefault(_named_session(record), []).append(record)
        else:
            remarks.append(f"{place} is no chat message")
    found: list[_Found] = []
    for session, group in groups.items():
        read, more = _read(group, name)
        found.append((session, read, None))
        remarks += more
    return found, remarks


def _named_session(record: Json) -> str | None:
    named = next((record[key] for key in _SESSION_KEYS if isinstance(record.get(key), str | int)), None)
    return None if named is None else str(named)


def _lists(value: Any) -> Iterator[list[Json]]:
    """Find the lists of chat messages in a JSON value, in its order, not looking into messages.

    An answer that stands beside its request (`messages` and `choices` in one record) is the conversation's last message.
    """
    waiting: list[Any] = [value]
    while waiting:
        here = waiting.pop()
        if isinstance(here, list):
            messages = [item for item in here if is_message(item)]
            if messages:
                yield messages
            waiting += [item for item in reversed(here) if not is_message(item)]
        elif isinstance(here, dict):
            if is_message(here):
                continue
            answered = _request_with_answer(here)
            if answered is not None:
                yield answered
            else:
                waiting += reversed([here[key] for key in here if not _is_retold(key, here)])


def _is_retold(key: str, record: Json) -> bool:
    """SWE-agent keeps each step a second time, shortened, beside the history."""
    history = record.get("history")
    return key == "trajectory" and isinstance(history, list) and any(map(is_message, history))


def _request_with_answer(record: Json) -> list[Json] | None:
    """Read one logged chat completion: its request's messages and its first answer."""
    request = record.get("request", record.get("body", record))
    response = record.get("response", record)
    if not (isinstance(request, dict) and isinstance(response, dict)):
        return None
    body = response.get("body")
    response = body if isinstance(body, dict) else response
    messages, choices = request.get("messages"), response.get("choices")
    if not (isinstance(messages, list) and messages and all(is_message(m) for m in messages)):
        return None
    if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)):
        return None
    answer = choices[0].get("message")
    return [*messages, answer] if isinstance(answer, dict) and is_message(answer) else None


def _without_copies(lists: list[list[Json]]) -> list[list[Json]]:
    """Leave out lists that are the beginning of another one of the same record, as logs keep each step's whole request."""
    beginnings: set[bytes] = set()
    kept: list[int] = []
    for at, messages in sorted(enumerate(lists), key=lambda pair: (-len(pair[1]), pair[0])):
        digests = _beginnings(messages)
        if digests[-1] not in beginnings:
            kept.append(at)
            beginnings.update(digests)
    return [lists[at] for at in sorted(kept)]


def _beginnings(messages: list[Json]) -> list[bytes]:
    digests: list[bytes] = []
    digest = b""
    for message in messages:
        digest = hashlib.sha256(digest + _key(message).encode("utf-8", "surrogatepass")).digest()
        digests.append(digest)
    return digests


def _key(message: Json) -> str:
    """Tell messages apart by what they say; notes beside the words (costs, tags, cache marks) do not make another one."""
    said = _read_or_none(message)
    parts = [(m.type, m.text, getattr(m, "tool_call_id", None)) for m in said] if said else message
    return json.dumps(parts, sort_keys=True, default=str)


def _read_or_none(message: Json) -> list[BaseMessage] | None:
    """Read one chat message; `None` where its fields do not fit."""
    try:
        return read_message(message)
    except ValueError:
        return None


def _read(messages: Sequence[Json], place: str) -> tuple[list[BaseMessage], list[str]]:
    out: list[BaseMessage] = []
    remarks: list[str] = []
    for at, message in enumerate(messages, start=1):
        try:
            out += read_message(message)
        except ValueError as error:
            remarks.append(f"{place + ', ' if place else ''}message {at} {error}")
    return out, remarks


def _conversation(
    messages: Iterable[BaseMessage],
    *,
    name: str,
    origin: str,
    place: int,
    session: str | None,
    started_at: datetime | None,
) -> Conversation:
    thread_id = session if session is not None else _thread_id(name, origin, place)
    paired = _paired(list(messages))
    return Conversation(thread_id=thread_id, messages=_identified(paired, thread_id), started_at=started_at)


def _thread_id(name: str, origin: str, place: int) -> str:
    stem = re.sub(r"[^a-z0-9]+", "-", PurePath(name).stem.lower()).strip("-")[:60] or "conversation"
    digest = hashlib.sha256(origin.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{stem}-{digest}-{place:03}"


def _paired(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Give results that name no call the earliest open one, as readers of files without call ids do."""
    open_calls: list[str] = []
    out: list[BaseMessage] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            call_id = message.tool_call_id or (open_calls[0] if open_calls else "")
            open_calls = [c for c in open_calls if c != call_id]
            out.append(message.model_copy(update={"tool_call_id": call_id}))
            continue
        open_calls += [str(c["id"]) for c in getattr(message, "tool_calls", [])]
        out.append(message)
    return out


def _identified(messages: list[BaseMessage], thread_id: str) -> tuple[BaseMessage, ...]:
    """Give each message without an id, or with one that an earlier message has, an id out of its place and words."""
    taken: set[str] = set()
    out: list[BaseMessage] = []
    for at, message in enumerate(messages):
        identifier = message.id
        if not identifier or identifier in taken:
            words = json.dumps([thread_id, at, message.type, message.content], sort_keys=True, default=str)
            identifier = "replayed-" + hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:24]
        taken.add(identifier)
        out.append(message.model_copy(update={"id": identifier}))
    return tuple(out)


def _moment(line: Json) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(line.get("timestamp")))
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
