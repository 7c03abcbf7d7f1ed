"""A session in the formats of others."""

import json
from collections.abc import Sequence

from langchain_core.load import dumps
from langchain_core.messages import BaseMessage, convert_to_openai_messages

from langgraph_harness_memory.steps import LoggedMessage


def newest_versions(logged: Sequence[LoggedMessage]) -> list[LoggedMessage]:
    """Keep the last version of each message, at the place where it was first said."""
    newest: dict[object, LoggedMessage] = {}
    for entry in logged:
        newest[entry.message.id if entry.message.id is not None else entry.position] = entry
    return list(newest.values())


def openai_jsonl(messages: Sequence[BaseMessage]) -> str:
    """Return messages as one line of OpenAI chat JSONL, newline included; empty where there are none."""
    if not messages:
        return ""
    return json.dumps({"messages": convert_to_openai_messages(list(messages))}) + "\n"


def langchain_dump(messages: Sequence[BaseMessage]) -> str:
    """Return messages as LangChain dumps them: one JSON list, which `langchain_core.load.loads` reads."""
    return dumps(list(messages))
