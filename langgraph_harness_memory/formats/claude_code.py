"""Sessions of Claude Code: one JSON record a line, of which some are messages.

    {"type":"user","sessionId":"…","uuid":"…","timestamp":"…","isSidechain":false,"message":{"role":"user","content":…}}

A turn of the assistant is written block by block, one line each with the same `message.id`; lines that follow each
other directly are put together again. A side chain (a sub-agent) is a conversation of its own. Summaries, snapshots
and other book-keeping are no messages.
"""

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from langgraph_harness_memory.formats.chat_messages import Json, is_message, read_message


def is_session_line(record: Any) -> bool:
    """Say whether a line's record is a message of a Claude Code session."""
    return (
        isinstance(record, dict)
        and record.get("type") in ("user", "assistant")
        and ("uuid" in record or "sessionId" in record)
        and is_message(record.get("message"))
    )


def session_of(record: Json) -> str:
    """Name the conversation that a line belongs to; empty where the line names none."""
    session = str(record.get("sessionId") or "")
    return f"{session}/{record.get('agentId') or 'sidechain'}" if record.get("isSidechain") else session


def read_session(records: list[Json]) -> list[BaseMessage]:
    """Read the messages of one conversation.

    Args:
        records: Lines for which `is_session_line` holds, in the order of the file.

    Returns:
        The messages, oldest first; ids are the lines' `uuid`.

    Raises:
        ValueError: A message's fields do not fit its kind.
    """
    out: list[BaseMessage] = []
    turn: str | None = None
    for record in records:
        turn_of_line = record["message"].get("id") if record["type"] == "assistant" else None
        messages = read_message({**record["message"], "id": record.get("uuid")})
        if turn_of_line is not None and turn_of_line == turn:
            out[-1] = _joined(out[-1], messages[0])
        else:
            out += messages
        turn = turn_of_line
    return out


def _joined(first: BaseMessage, second: BaseMessage) -> BaseMessage:
    if not isinstance(first, AIMessage) or not isinstance(second, AIMessage):
        return first
    return first.model_copy(
        update={
            "content": [*_blocks(first), *_blocks(second)],
            "tool_calls": [*first.tool_calls, *second.tool_calls],
            "invalid_tool_calls": [*first.invalid_tool_calls, *second.invalid_tool_calls],
        }
    )


def _blocks(message: BaseMessage) -> list[Any]:
    if isinstance(message.content, str):
        return [{"type": "text", "text": message.content}] if message.content else []
    return list(message.content)
