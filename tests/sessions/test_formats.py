"""The files of every released format are read, and a line is what it says it is."""

import json
import shutil
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_harness_memory.formats import checkpoint_log, marks, records, session_log
from langgraph_harness_memory.formats.checkpoint_log import CheckpointKey, FormKey, WritesKey
from langgraph_harness_memory.formats.forms import marked
from langgraph_harness_memory.formats.marks import Marks
from langgraph_harness_memory.formats.session_log import LineKey, MessageLine, OwnerLine, SessionStart
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.sessions.saver import SessionSaver
from langgraph_harness_memory.workspace.local import LocalWorkspace

VERSIONS = sorted(p.name for p in (Path(__file__).parent / "data").iterdir())
names = st.text(st.characters(), max_size=20)
moments = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - the zone is given beside


@pytest.mark.parametrize("version", VERSIONS)
def test_a_session_of_an_earlier_release_is_read_and_goes_on(tmp_path: Path, version: str) -> None:
    """Its messages, checkpoints, forms, writes and marks are what they were."""
    shutil.copytree(Path(__file__).parent / "data" / version, tmp_path / "sessions")
    log = SessionLog(LocalWorkspace(tmp_path, fsync=False))
    call = {"name": "book", "args": {"city": "Zürich", "days": [1, 2]}, "id": "c1", "type": "tool_call"}
    usage = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}
    question = HumanMessage("Book me a hotel in Zürich \U0001f3e8", id="m1")
    answer = AIMessage("", id="m2", tool_calls=[call], usage_metadata=usage, response_metadata={"model_name": "m"})
    result = ToolMessage("booked", tool_call_id="c1", id="m3", artifact={"price": (120, "CHF"), "raw": b"\x00\xff"})
    thanks = HumanMessage("thanks", id="m4")
    assert [e.message for e in log.read("Trip 1")] == [question, answer, result, thanks, AIMessage("thinking", id="m5")]
    assert [e.namespace for e in log.read("Trip 1")] == ["", "", "", "", "helper"]
    assert [e.position for e in log.unflushed("Trip 1")] == [2, 4]
    assert log.tenant("Trip 1") == "alice"
    saver = SessionSaver.over(log)
    newest, first = list(saver.list({"configurable": {"thread_id": "Trip 1"}}))
    summary = HumanMessage("Summary: hotel booked", id="m1", additional_kwargs=marked("summary"))
    assert newest.checkpoint["channel_values"] == {"messages": [summary, thanks], "files": {"a": 1}}
    assert first.checkpoint["channel_values"] == {"messages": [question, answer, result], "files": {"a": 1}}
    assert first.pending_writes == [("task-1", "messages", [thanks])]
    assert newest.metadata == {"source": "loop", "step": 1, "parents": {}}
    assert newest.checkpoint["versions_seen"] == {"chat": {"messages": 1}}
    config = saver.put(newest.config, {**newest.checkpoint, "id": "1f0-3"}, {}, {})
    assert saver.get_tuple(config).checkpoint["channel_values"] == newest.checkpoint["channel_values"]  # type: ignore[union-attr]


def test_each_line_is_plain_json_that_ends_in_its_own_checksum() -> None:
    """Any JSON reader reads a line, and its last field is the CRC-32 of the bytes before it."""
    for path in (Path(__file__).parent / "data").rglob("*.jsonl"):
        for line in path.read_bytes().splitlines():
            record = json.loads(line)
            assert list(record)[-1] == "c"
            assert line.isascii()
            body, _, end = line.rpartition(b',"c":"')
            assert end == b'%08x"}' % zlib.crc32(body)


@given(names, st.none() | names, moments, st.booleans())
def test_first_lines_are_read_as_they_were_written(thread: str, tenant: str | None, at: datetime, guess: bool) -> None:
    """Any id, any tenant."""
    start = SessionStart(thread_id=thread, tenant=tenant, begun_at=at, is_tentative=guess)
    line = session_log.render_start(start)
    assert line.endswith(b"\n")
    assert session_log.parse(line[:-1]) == start
    assert session_log.peek(line[:-1]) is None
    owner = OwnerLine(tenant=tenant, at=at)
    assert session_log.parse(session_log.render_owner(owner)[:-1]) == owner


@given(st.integers(0, 10**14), st.none() | names, moments, names, st.none() | names, names)
def test_messages_lines_are_read_as_they_were_written(
    position: int, message_id: str | None, at: datetime, namespace: str, tenant: str | None, text: str
) -> None:
    """In full and by their key alone."""
    line = MessageLine(
        position=position,
        message_id=message_id,
        content_hash=session_log.hash_of({"content": text}),
        logged_at=at,
        namespace=namespace,
        tenant=tenant,
        message={"type": "human", "content": text},
    )
    data = session_log.render_message(line)[:-1]
    assert b"\n" not in data
    assert session_log.parse(data) == line
    assert session_log.peek(data) == LineKey(position, message_id, line.content_hash)


@given(
    st.one_of(
        st.builds(CheckpointKey, names, names, st.none() | names, st.none() | names, st.booleans()),
        st.builds(WritesKey, names, names, names),
        st.builds(FormKey, st.none() | names, st.text("0123456789abcdef", min_size=16, max_size=16)),
    )
)
def test_checkpoint_lines_are_read_as_they_were_written(key: checkpoint_log.Key) -> None:
    """By their key alone and by their content."""
    line = checkpoint_log.render(key, ("body", {"values": {"a": '"]}\n'}}))[:-1]
    assert checkpoint_log.peek(line) == key
    assert checkpoint_log.content_of(line) == ("body", {"values": {"a": '"]}\n'}})
    assert checkpoint_log.content_of(checkpoint_log.render(key, ("sealed", ["a", "b"]))[:-1]) == ("sealed", ["a", "b"])


@given(st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)))
def test_marks_are_a_set(one: set[int], other: set[int]) -> None:
    """Ranges hold exactly the positions that were put in, sorted, merged, and come back from their file."""
    found = Marks().including(one).including(other)
    assert {p for p in range(70) if p in found} == one | other
    assert len(found) == len(one | other)
    assert all(a[1] + 1 < b[0] for a, b in zip(found.ranges, found.ranges[1:], strict=False))
    assert marks.parse(marks.render(found, log_begun="x")) == (found, "x")
    assert found.below(30) == len([p for p in one | other if p < 30])


@given(st.lists(st.dictionaries(names, names, max_size=3), min_size=1, max_size=4), st.binary(max_size=20))
def test_records_are_found_in_whatever_stands_around_them(bodies: list[dict[str, str]], noise: bytes) -> None:
    """Records that lost the newlines between them are found, in order, behind any torn start."""
    lines = [records.render({"v": 1, "body": body})[:-1] for body in bodies]
    found = [piece for _, piece in records.pieces(noise.replace(b"{", b"") + b"".join(lines))]
    assert found == lines
    assert all(records.parse(piece) is not None for piece in found)


@pytest.mark.parametrize("text", ["a\ud800b", "\udfff é", "🚀\ud83d", "\\ud800"])
def test_a_lone_surrogate_and_what_other_checkpointers_make_of_it_are_one_content(text: str) -> None:
    """A user saw the same message twice in the log after a run with `InMemorySaver`, which stores `a?b`."""
    replaced = text.encode("utf-8", "replace").decode()
    assert session_log.hash_of({"content": text}) == session_log.hash_of({"content": replaced})
    assert session_log.hash_of({"content": "🚀"}) != session_log.hash_of({"content": "??"})
