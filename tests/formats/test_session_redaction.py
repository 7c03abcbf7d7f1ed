"""A redacted line of a session log: as long, as whole and as findable as before, and without what was said."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory.formats import records, session_log
from langgraph_harness_memory.formats.session_log import MessageLine
from langgraph_harness_memory.formats.session_redaction import redact_line

contents = st.text(max_size=80) | st.lists(
    st.fixed_dictionaries({"type": st.just("text"), "text": st.text(max_size=20)}), max_size=3
)


def line_of(message, **changes):
    facts = {"position": 3, "message_id": "m1", "content_hash": "0123456789abcdef", "namespace": "", "tenant": None}
    at = datetime(2026, 4, 12, tzinfo=UTC)
    return session_log.render_message(MessageLine(**{**facts, **changes}, logged_at=at, message=message))[:-1]


@given(contents, st.booleans())
def test_a_redacted_line_keeps_its_length_its_key_and_its_checksum(content, has_extras):
    """Whoever refers to the line by offset, position, id or hash finds it."""
    message = {"type": "human", "content": content}
    if has_extras:
        message |= {"additional_kwargs": {"note": "secret"}, "response_metadata": {"model": "secret"}}
    line = line_of(message)
    redacted = redact_line(line)
    if redacted is None:
        assert content in ("", "[forgotten]")
        return
    assert len(redacted) == len(line)
    assert records.is_whole(redacted)
    assert session_log.peek(redacted) == session_log.peek(line)
    assert session_log.parse(redacted).message["content"] in ("[forgotten]", "")
    assert b"secret" not in redacted


def test_calls_keep_their_ids_and_lose_their_arguments():
    """A request made from the redacted history is still valid: each result has its call."""
    message = {
        "type": "ai",
        "content": "",
        "tool_calls": [{"name": "web", "args": {"query": "where does Bob live"}, "id": "c1", "type": "tool_call"}],
    }
    redacted = json.loads(redact_line(line_of(message)))
    assert redacted["message"]["tool_calls"] == [{"name": "web", "args": {}, "id": "c1", "type": "tool_call"}]


def test_redacting_twice_changes_nothing_more():
    """A line without anything left to take out is said to be so."""
    once = redact_line(line_of({"type": "tool", "tool_call_id": "c1", "content": "Bob lives in Oslo"}))
    assert json.loads(once)["message"]["tool_call_id"] == "c1"
    assert redact_line(once) is None


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b'{"v":1,"n":3',
        session_log.render_message(
            MessageLine(
                position=0,
                message_id=None,
                content_hash="0" * 16,
                logged_at=datetime(2026, 4, 12, tzinfo=UTC),
                namespace="",
                tenant=None,
                message=None,
                sealed=["a", "b"],
            )
        )[:-1],
    ],
)
def test_what_is_no_plain_message_is_left_alone(line):
    """Damaged lines, other kinds and sealed messages are not touched."""
    assert redact_line(line) is None
