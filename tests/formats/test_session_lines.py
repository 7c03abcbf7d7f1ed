"""Lines of a session's files, byte for byte: what is whole, what is found in damage, and what redaction leaves."""

import hashlib
import json
import zlib
from datetime import UTC, datetime
from typing import Any

import pytest

from langgraph_harness_memory.formats import checkpoint_log, records, session_log, session_redaction
from langgraph_harness_memory.formats.checkpoint_log import CheckpointKey, FormKey, WritesKey
from langgraph_harness_memory.formats.session_log import LineKey, MessageLine, OwnerLine, SessionStart

AT = datetime(2026, 4, 12, 3, 53, 10, tzinfo=UTC)
MOMENT = "2026-04-12T03:53:10+00:00"


def line(text: str) -> bytes:
    """A line with its checksum, without its newline."""
    body = text.encode()
    return body + b',"c":"%08x"}' % zlib.crc32(body)


# -- any line ---------------------------------------------------------------------------------------------------------


def test_a_record_is_ascii_without_blanks_and_ends_in_its_checksum() -> None:
    """Any character stands as an escape; a number that JSON lacks is refused."""
    assert records.render({"v": 1, "a": ["é", None]}) == line('{"v":1,"a":["\\u00e9",null]') + b"\n"
    lone = records.parse(records.render({"v": 1, "a": "\ud800"})[:-1])
    assert lone is not None
    assert lone["a"] == "\ud800"
    with pytest.raises(ValueError, match="not JSON compliant"):
        records.render({"v": 1, "a": float("nan")})


@pytest.mark.parametrize(
    ("data", "is_whole"),
    [
        (line('{"v":1'), True),
        (line('{"v":1')[:-1], False),
        (b" " + line('{"v":1'), False),
        (line('{"v":1').replace(b"1,", b"2,"), False),
        (line('{"v":1').upper(), False),
        (b',"c":"00000000"}', True),
        (b"", False),
    ],
)
def test_a_line_is_whole_with_the_right_checksum(data: bytes, is_whole: bool) -> None:
    """Of every byte before it."""
    assert records.is_whole(data) is is_whole


@pytest.mark.parametrize(
    ("data", "record"),
    [
        (line('{"v":1'), {"v": 1}),
        (line('{"v":1') + b"\n", None),
        (line('{"v":oops'), None),
        (line('{"v":"\xe9"'), None),
        (line('["v"'), None),
        (line('{"v":' + "[" * 100_000), None),
    ],
)
def test_a_line_is_read_back_or_is_none(data: bytes, record: dict[str, Any] | None) -> None:
    """With the right checksum it may still be no JSON, no ASCII, or no object."""
    found = records.parse(data)
    assert (found and {key: value for key, value in found.items() if key != "c"}) == record


ONE, TWO, THREE = (line(f'{{"v":1,"n":{n}') for n in (1, 2, 3))


@pytest.mark.parametrize(
    ("damaged", "found"),
    [
        (ONE + TWO, [ONE, TWO]),
        (b"torn" + ONE, [ONE]),
        (b'{"v":1,"n":9' + ONE + b"rest" + TWO, [ONE, TWO]),
        (ONE[:-3] + TWO, [TWO]),
        (ONE + TWO[5:] + THREE, [ONE, THREE]),
        (ONE[:-2] + b'x"}' + TWO, [TWO]),
        (line('{"v":1,"x":{"v":1'), [line('{"v":1,"x":{"v":1')]),
        (b'{"v":1' + ONE[:-1], []),
        (b"", []),
    ],
)
def test_whole_records_are_found_in_a_damaged_line(damaged: bytes, found: list[bytes]) -> None:
    """Where they stand, in order, each once."""
    pieces = list(records.pieces(damaged))
    assert [piece for _, piece in pieces] == found
    assert [damaged[start : start + len(piece)] for start, piece in pieces] == found


def test_the_whole_lines_of_a_stretch_are_read_with_their_places() -> None:
    """Damaged ones are left out, and what is no object; one that is no JSON does not take the others along."""
    data = ONE + b"\n" + b"damaged\n\n" + TWO + b"\n" + line('["v"') + b"\n" + THREE
    found = records.parse_all(data, 100)
    assert [(start, length, record["n"]) for start, length, record in found] == [
        (100 + data.index(each), len(each), number) for number, each in ((1, ONE), (2, TWO), (3, THREE))
    ]
    odd = ONE + b"\n" + line('{"v":oops') + b"\n" + TWO
    assert [(start, record["n"]) for start, _, record in records.parse_all(odd, 0)] == [(0, 1), (odd.index(TWO), 2)]
    assert records.parse_all(b"", 7) == []


# -- the session log --------------------------------------------------------------------------------------------------


def canonical(message: Any) -> str:
    return json.dumps(message, separators=(",", ":"), sort_keys=True)


@pytest.mark.parametrize(
    ("message", "counted"),
    [
        ({"b": 1, "a": "é"}, {"a": "é", "b": 1}),
        ({"a": "\U0001f680"}, {"a": "\U0001f680"}),
        ({"a": "x\ud800"}, {"a": "x?"}),
        ({"a": "\ud83dx\U0001f680"}, {"a": "?x\U0001f680"}),
        ({"a": "\\ud800"}, {"a": "\\ud800"}),
    ],
)
def test_the_hash_of_a_message_does_not_change_between_releases(message: Any, counted: Any) -> None:
    """SHA-256 of its JSON with sorted keys, behind the log's salt."""
    for salt in (b"", b"salt"):
        whole = hashlib.sha256(salt + canonical(counted).encode()).hexdigest()
        assert session_log.hash_of(message, salt=salt) == whole[:16]
    assert session_log.hash_of(message) == session_log.hash_of(message, salt=b"")
    with pytest.raises(ValueError, match="not JSON compliant"):
        session_log.hash_of({"a": float("inf")})


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (
            f'{{"v":1,"kind":"session","thread":"t","tenant":"a","at":"{MOMENT}"',
            SessionStart(thread_id="t", tenant="a", begun_at=AT),
        ),
        (
            f'{{"v":9,"kind":"session","thread":"t","tenant":null,"at":"{MOMENT}","tentative":true,"salt":["a","b"],"new":1',
            SessionStart(thread_id="t", tenant=None, begun_at=AT, is_tentative=True, salt=["a", "b"]),
        ),
        (f'{{"v":1,"kind":"owner","tenant":null,"at":"{MOMENT}"', OwnerLine(tenant=None, at=AT)),
        (
            f'{{"v":1,"n":3,"id":null,"h":"{"0" * 16}","at":"{MOMENT}","message":{{}}',
            MessageLine(
                position=3, message_id=None, content_hash="0" * 16, logged_at=AT, namespace="", tenant=None, message={}
            ),
        ),
        (
            f'{{"v":1,"n":3,"id":"m","h":"0","at":"{MOMENT}","ns":"x","tenant":"a","sealed":["a","b"]',
            MessageLine(
                position=3,
                message_id="m",
                content_hash="0",
                logged_at=AT,
                namespace="x",
                tenant="a",
                message=None,
                sealed=["a", "b"],
            ),
        ),
        ('{"v":1,"kind":"new"', None),
        (f'{{"v":1,"kind":"session","tenant":null,"at":"{MOMENT}"', None),
        (f'{{"v":1,"kind":"session","thread":"t","at":"{MOMENT}"', None),
        ('{"v":1,"kind":"session","thread":"t","tenant":null,"at":"soon"', None),
        ('{"v":1,"kind":"owner","tenant":null,"at":5', None),
        (f'{{"v":1,"kind":"owner","at":"{MOMENT}"', None),
        (f'{{"v":1,"n":3,"h":"0","at":"{MOMENT}"', None),
        (f'{{"v":1,"n":3,"id":"m","at":"{MOMENT}"', None),
        ('{"v":1,"n":3,"id":"m","h":"0"', None),
    ],
)  # fmt: skip
def test_a_line_of_the_log_is_read_by_what_it_holds(text: str, read: Any) -> None:
    """Fields of newer formats are passed by; a line that lacks one is none."""
    assert session_log.parse(line(text)) == read
    assert session_log.parse(line(text) + b" ") is None


@pytest.mark.parametrize(
    ("start", "key"),
    [
        ('{"v":1,"n":12,"id":"m","h":"0123456789abcdef"', LineKey(12, "m", "0123456789abcdef")),
        ('{"v":22,"n":0,"id":null,"h":"0123456789abcdef","more"', LineKey(0, None, "0123456789abcdef")),
        ('{"v":1,"n":1,"id":"null","h":"0123456789abcdef"', LineKey(1, "null", "0123456789abcdef")),
        ('{"v":1,"n":1,"id":"a\\"b\\\\\\u00e9","h":"0123456789abcdef"', LineKey(1, 'a"b\\é', "0123456789abcdef")),
        ('{"v":1,"n":1,"id":"","h":"0123456789abcdef"', LineKey(1, "", "0123456789abcdef")),
        ('{"v":1,"n":1,"id":"m","h":"0123"', None),
        ('{"v":1,"n":1,"id":m,"h":"0123456789abcdef"', None),
        ('{"v":1,"n":1234567890123456,"id":"m","h":"0123456789abcdef"', None),
        ('{"v":1,"kind":"session"', None),
        (' {"v":1,"n":12,"id":"m","h":"0123456789abcdef"', None),
        ("", None),
    ],
)
def test_a_messages_key_is_read_from_the_beginning_of_its_line(start: str, key: LineKey | None) -> None:
    """Without reading the rest."""
    assert session_log.peek(start.encode()) == key


# -- checkpoints ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "key"),
    [
        ('{"v":1,"kind":"checkpoint","ns":"","id":"c","parent":null', CheckpointKey("", "c", None)),
        ('{"v":1,"kind":"checkpoint","ns":"n","id":"","parent":""', CheckpointKey("n", "", "")),
        ('{"v":1,"kind":"checkpoint","ns":"n","id":"c","parent":"p","late":"l"', CheckpointKey("n", "c", "p", "l")),
        ('{"v":1,"kind":"ancestor","ns":"\\u00e9","id":"c","parent":"p"', CheckpointKey("é", "c", "p", None, True)),
        ('{"v":1,"kind":"writes","ns":"","id":"","task":""', WritesKey("", "", "")),
        ('{"v":1,"kind":"writes","ns":"n","id":"c","task":"t\\n"', WritesKey("n", "c", "t\n")),
        ('{"v":1,"kind":"form","id":null,"h":"0123456789abcdef"', FormKey(None, "0123456789abcdef")),
        ('{"v":1,"kind":"form","id":"m","h":"0123456789abcdef"', FormKey("m", "0123456789abcdef")),
        ('{"v":1,"kind":"form","id":"m","h":"0123"', None),
        ('{"v":1,"kind":"checkpoints","thread":"t"', None),
        ('{"v":1,"kind":"new","ns":"","id":"c","parent":null', None),
        ("", None),
    ],
)
def test_a_checkpoints_key_is_read_from_the_beginning_of_its_line(start: str, key: Any) -> None:
    """Empty names are names; none is none."""
    assert checkpoint_log.peek(start.encode()) == key


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ('{"v":1,"body":{"a":1}', ("body", {"a": 1})),
        ('{"v":1,"sealed":["a","b"]', ("sealed", ["a", "b"])),
        ('{"v":1,"body":{"a":1},"sealed":["a"]', ("sealed", ["a"])),
        ('{"v":1,"body":{"a":1},"sealed":"a"', ("body", {"a": 1})),
        ('{"v":1,"body":[]', None),
        ('{"v":1', None),
    ],
)
def test_the_content_of_a_line_is_its_body_or_is_sealed(text: str, content: Any) -> None:
    """A damaged line has none."""
    assert checkpoint_log.content_of(line(text)) == content
    assert checkpoint_log.content_of(line(text)[1:]) is None


@pytest.mark.parametrize(
    ("text", "thread"),
    [
        ('{"v":1,"kind":"checkpoints","thread":"t"', "t"),
        ('{"v":1,"kind":"checkpoints","thread":5', None),
        ('{"v":1,"kind":"checkpoints"', None),
        ('{"v":1,"kind":"session","thread":"t"', None),
    ],
)
def test_the_first_line_names_the_thread(text: str, thread: str | None) -> None:
    """A damaged one names none."""
    assert checkpoint_log.thread_of(line(text)) == thread
    assert checkpoint_log.thread_of(line(text)[1:]) is None


# -- redaction --------------------------------------------------------------------------------------------------------


def told(message: dict[str, Any], **more: Any) -> bytes:
    return records.render({"v": 1, "n": 3, "id": "m", "h": "0" * 16, "at": MOMENT, "message": message, **more})[:-1]


@pytest.mark.parametrize(
    ("message", "left"),
    [
        ({"type": "human", "content": "my secret"}, {"type": "human", "content": ""}),
        ({"type": "human", "content": "my long secret"}, {"type": "human", "content": "[forgotten]"}),
        (
            {"type": "tool", "content": "[forgotten]!", "tool_call_id": "c", "name": "n", "role": "r", "artifact": 1},
            {"type": "tool", "tool_call_id": "c", "name": "n", "role": "r", "content": "[forgotten]"},
        ),
        (
            {"type": "ai", "content": "x" * 12, "tool_calls": [{"name": "f", "args": {"a": 1}, "id": "c"}, "odd"]},
            {"type": "ai", "tool_calls": [{"name": "f", "args": {}, "id": "c"}, "odd"], "content": "[forgotten]"},
        ),
        ({"type": "ai", "content": "x" * 12, "tool_calls": "odd"}, {"type": "ai", "content": "[forgotten]"}),
        ({"content": ["é" * 9]}, {"content": "[forgotten]"}),
    ],
)
def test_what_redaction_leaves_of_a_message(message: dict[str, Any], left: dict[str, Any]) -> None:
    """What refers to it and to its calls, on a line as long as it was, padded before its checksum."""
    given = told(message, tenant="a")
    redacted = session_redaction.redact_line(given)
    assert redacted is not None
    assert len(redacted) == len(given)
    record = records.parse(redacted)
    assert record is not None
    assert record["message"] == left
    assert {k: v for k, v in record.items() if k not in ("message", "c")} == {
        "v": 1,
        "n": 3,
        "id": "m",
        "h": "0" * 16,
        "at": MOMENT,
        "tenant": "a",
    }
    shortest = records.render({k: v for k, v in record.items() if k != "c"})[:-1]
    assert redacted[: len(shortest) - 16] == shortest[:-16]
    assert redacted[len(shortest) - 16 : -16].strip() == b""
    assert session_redaction.redact_line(redacted) is None


@pytest.mark.parametrize("content", ["", "[forgotten]"])
def test_a_message_that_says_nothing_more_is_left_alone(content: str) -> None:
    """It was redacted before, or never said anything."""
    assert session_redaction.redact_line(told({"type": "human", "content": content})) is None


def test_a_line_too_short_for_what_refers_to_it_is_left_alone() -> None:
    """Nothing was said in it that could be taken out."""
    assert session_redaction.redact_line(told({})) is None
    assert session_redaction.redact_line(told({"message": "x"})[:-1]) is None
    assert session_redaction.redact_line(records.render({"v": 1, "message": "text"})[:-1]) is None
