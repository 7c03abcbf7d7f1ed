"""What is remarked, refused, named and paired when a file of conversations is read, word for word."""

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_harness_memory.errors import ConversationUnreadable
from langgraph_harness_memory.formats import claude_code
from langgraph_harness_memory.formats.conversations import Reading, read_conversations

HI = {"role": "user", "content": "hi"}
YES = {"role": "assistant", "content": "yes"}
BYE = {"role": "user", "content": "bye"}
BAD = {"role": "assistant", "content": "x", "usage_metadata": 5}
MISFIT = "has a field 'usage_metadata' that does not fit: Input should be a valid dictionary"


def read(value: Any, name: str = "talk.json", **more: Any) -> Reading:
    return read_conversations(value if isinstance(value, str | bytes) else json.dumps(value), name=name, **more)


def lines(*values: Any) -> str:
    return "\n".join(value if isinstance(value, str) else json.dumps(value) for value in values)


def said(reading: Reading) -> list[list[Any]]:
    return [[m.content for m in c.messages] for c in reading.conversations]


def digest(origin: str) -> str:
    return hashlib.sha256(origin.encode("utf-8", "surrogatepass")).hexdigest()[:8]


# -- remarks and refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "remarks"),
    [
        ([HI, YES], ()),
        ([HI, BAD], (f"message 2 {MISFIT}",)),
        ([BAD, HI, BAD], (f"message 1 {MISFIT}", f"message 3 {MISFIT}")),
        ([{"a": [BAD]}, {"a": [HI, BAD]}], (f"entry 1, message 1 {MISFIT}", f"entry 2, message 2 {MISFIT}")),
        (lines({"a": [HI]}, "", {"a": [HI, BAD]}), (f"line 3, message 2 {MISFIT}",)),
        (lines(HI, BAD), (f"talk.json, message 2 {MISFIT}",)),
        (lines(HI, 5, YES, {"note": 1}), ("line 2 is no chat message", "line 4 is no chat message")),
        (
            lines("{", HI, "[" * 100_000, YES),
            (
                "line 1 is no JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1))",
                "line 3 is no JSON (nested too deeply)",
            ),
        ),
    ],
)
def test_what_was_left_out_is_remarked_with_its_place(value: Any, remarks: tuple[str, ...]) -> None:
    """A line, an entry of a list, a message of a conversation, each counted from 1; the rest is read."""
    reading = read(value)
    assert reading.remarks == remarks
    assert reading.conversations


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "is empty"),
        (" \n\t", "is empty"),
        (b"ab\xff", "is no UTF-8 text (byte 2)"),
        ("oops", "is neither JSON nor JSON lines (Expecting value: line 1 column 1 (char 0))"),
        ("5\n6", "is neither JSON nor JSON lines (Extra data: line 2 column 1 (char 2))"),
        ("[" * 100_000, "is neither JSON nor JSON lines (nested too deeply)"),
        ([], "holds no chat messages (OpenAI, LangChain or Claude Code)"),
        ([BAD], f"message 1 {MISFIT}"),
        ([BAD] * 3, "; ".join(f"message {n} {MISFIT}" for n in (1, 2, 3))),
        ([BAD] * 5, "; ".join(f"message {n} {MISFIT}" for n in (1, 2, 3)) + "; and 2 more"),
        (
            lines("{", {"a": []}),
            "line 1 is no JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1))",
        ),
        (
            {"type": "assistant", "uuid": "u", "message": BAD},
            f"a message {MISFIT}",
        ),
    ],
)
def test_a_file_without_a_conversation_is_refused(value: Any, reason: str) -> None:
    """With its name and the first three reasons."""
    with pytest.raises(ConversationUnreadable) as refused:
        read(value, "a/talk.json")
    assert str(refused.value) == f"a/talk.json: {reason}"


def test_a_byte_order_mark_is_no_content() -> None:
    """Neither in bytes nor in text."""
    text = json.dumps([HI])
    assert said(read(b"\xef\xbb\xbf" + text.encode())) == said(read("\ufeff" + text)) == [["hi"]]


# -- names of threads and messages ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("talk.json", "talk"),
        ("runs/My Talk (2).tar.jsonl", "my-talk-2-tar"),
        ("__.json", "conversation"),
        ("名.json", "conversation"),
        (f"{'ab' * 40}.json", "ab" * 30),
    ],
)
def test_a_thread_is_named_by_its_file_its_origin_and_its_place(name: str, stem: str) -> None:
    """The same whenever the same file is read."""
    reading = read([{"a": [HI]}, {"a": [YES]}], name)
    assert [c.thread_id for c in reading.conversations] == [f"{stem}-{digest(name)}-00{n}" for n in (1, 2)]
    (moved,) = read([HI], name, origin="/x/\ud800").conversations
    assert moved.thread_id == f"{stem}-{digest(chr(0x2F) + 'x/' + chr(0xD800))}-001"
    assert moved.started_at is None


def test_a_conversation_that_gave_nothing_keeps_its_place() -> None:
    """The names of those behind it do not move once it can be read."""
    (found,) = read([{"a": [BAD]}, {"a": [HI]}]).conversations
    assert found.thread_id.endswith("-002")


@pytest.mark.parametrize(
    ("fields", "thread_id"),
    [
        *(
            ({key: "s"}, "s")
            for key in ("session_id", "conversation_id", "thread_id", "sessionId", "conversationId", "threadId")
        ),
        ({"session_id": 7}, "7"),
        ({"session_id": None, "threadId": "t"}, "t"),
        ({"session_id": ["s"], "conversation_id": "c", "thread_id": "t"}, "c"),
        ({"session": "s"}, f"talk-{digest('talk.json')}-001"),
        ({"session_id": None}, f"talk-{digest('talk.json')}-001"),
    ],
)
def test_a_line_names_its_session_in_one_of_many_ways(fields: dict[str, Any], thread_id: str) -> None:
    """The first key that holds a string or a number."""
    reading = read(lines({**HI, **fields}, {**YES, **fields}))
    assert [c.thread_id for c in reading.conversations] == [thread_id]


def test_messages_without_an_id_are_named_by_thread_place_kind_and_words() -> None:
    """Those with one keep it, and nobody has another one's."""
    (found,) = read([{**HI, "id": "m"}, HI, {**YES, "id": "m"}, {"role": "user", "content": "\ud800"}]).conversations
    assert [m.id for m in found.messages] == [
        "m",
        *(
            "replayed-"
            + hashlib.sha256(json.dumps([found.thread_id, at, kind, words]).encode()).hexdigest()[:24]
            for at, kind, words in ((1, "human", "hi"), (2, "ai", "yes"), (3, "human", "\ud800"))
        ),
    ]  # fmt: skip


def test_the_order_of_a_blocks_keys_changes_no_id() -> None:
    """The same words of another writer get the same id."""
    one, other = (
        read([{"role": "user", "content": [block]}]).conversations[0].messages[0].id
        for block in ({"type": "text", "text": "é"}, {"text": "é", "type": "text"})
    )
    assert one == other


def test_results_take_the_earliest_open_call() -> None:
    """One that names its call closes that one; with no call open, it answers none."""
    calls = {"role": "assistant", "content": "", "tool_calls": [{"id": c, "name": "f"} for c in ("a", "b", "c")]}
    bare = {"role": "tool", "content": "r"}
    (found,) = read([bare, calls, {**bare, "tool_call_id": "b"}, bare, HI, bare, bare]).conversations
    assert [m.tool_call_id for m in found.messages if isinstance(m, ToolMessage)] == ["", "b", "a", "c", ""]


# -- where conversations stand ----------------------------------------------------------------------------------------


def asked(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"messages": [HI, *messages], **more}


@pytest.mark.parametrize(
    ("value", "found"),
    [
        # A logged request and its answer, in the places where loggers put them.
        (asked(choices=[{"message": YES}]), [["hi", "yes"]]),
        ({"request": asked(), "response": {"choices": [{"message": YES}, {"message": HI}]}}, [["hi", "yes"]]),
        ({"body": asked(), "choices": [{"message": YES}]}, [["hi"]]),
        ({"request": asked(), "response": {"body": {"choices": [{"message": YES}]}}}, [["hi", "yes"]]),
        ({"request": asked(), "response": {"body": "gone", "choices": [{"message": YES}]}}, [["hi", "yes"]]),
        ({"request": asked(), "response": "timed out"}, [["hi"]]),
        ({"request": "see below", "messages": [HI], "choices": [{"message": YES}]}, [["hi"]]),
        (asked(choices=[]), [["hi"]]),
        (asked(choices={"message": YES}), [["hi"]]),
        (asked(choices=["yes"]), [["hi"]]),
        (asked(choices=[{"message": "yes"}]), [["hi"]]),
        (asked(choices=[{"message": {"role": "assistant"}}]), [["hi"]]),
        (asked("not a message", choices=[{"message": YES}]), [["hi"]]),
        ({"messages": [], "choices": [{"message": YES}], "more": [HI]}, [["hi"]]),
        # Lists below lists and dicts, in the order of the file.
        ({"a": [HI], "b": {"c": [YES, {"d": [BYE, HI]}]}}, [["hi"], ["yes"], ["bye", "hi"]]),
        ({"a": ["x", HI, 5, YES, [YES, HI], {"e": [YES, YES]}]}, [["hi", "yes"], ["yes", "hi"], ["yes", "yes"]]),
        ({"a": HI, "b": [YES]}, [["yes"]]),
        # SWE-agent's retold steps are left out only beside a history of messages.
        ({"trajectory": [{"messages": [YES]}], "history": [HI]}, [["hi"]]),
        ({"trajectory": [{"messages": [YES]}], "history": [{"no": "message"}]}, [["yes"]]),
        ({"trajectory": [{"messages": [YES]}], "history": HI}, [["yes"]]),
        ({"steps": [{"messages": [YES]}], "history": [HI]}, [["yes"], ["hi"]]),
        # What begins another list of the same record was logged on its way there.
        ({"a": [HI], "b": [HI, YES], "c": [YES], "d": [HI]}, [["hi", "yes"], ["yes"]]),
        ({"a": [HI, YES], "b": [HI, YES], "c": [HI, HI]}, [["hi", "yes"], ["hi", "hi"]]),
        ({"a": [{**HI, "cost": 1}], "b": [{**HI, "cost": 2}, YES]}, [["hi", "yes"]]),
        ({"a": [{**HI, "role": "system"}], "b": [HI, YES]}, [["hi"], ["hi", "yes"]]),
        (
            {"a": [{"role": "tool", "tool_call_id": n, "content": "r"} for n in ("1",)],
             "b": [{"role": "tool", "tool_call_id": n, "content": "r"} for n in ("2", "3")]},
            [["r"], ["r", "r"]],
        ),
        ({"a": [BAD, HI], "b": [BAD, HI, YES]}, [["hi", "yes"]]),
        ({"a": [{**BAD, "content": "z"}, HI], "b": [BAD, HI, YES]}, [["hi"], ["hi", "yes"]]),
    ],
)  # fmt: skip
def test_conversations_are_found_where_they_stand(value: Any, found: list[list[str]]) -> None:
    """Each once, in the order of the file."""
    assert said(read(value)) == found


def test_a_list_of_one_records_conversations_is_parted_into_entries() -> None:
    """A list with a message in it is one conversation; JSON lines are records of their own."""
    assert said(read([[HI], [HI, YES]])) == [["hi"], ["hi", "yes"]]
    assert said(read([HI, [YES]])) == [["hi"], ["yes"]]
    assert said(read(lines([HI], [HI, YES]))) == [["hi"], ["hi", "yes"]]
    assert said(read(lines({"a": [HI]}, {"b": YES}))) == [["hi"]]


# -- Claude Code ------------------------------------------------------------------------------------------------------


def turn(kind: str, uuid: str | None, content: Any, **more: Any) -> dict[str, Any]:
    """A line of a session; `turn` is the id that the blocks of one turn share."""
    message = {"role": kind, "content": content, **({"id": more.pop("turn")} if "turn" in more else {})}
    return {"type": kind, **({"uuid": uuid} if uuid else {}), "message": message, **more}


@pytest.mark.parametrize(
    ("record", "is_one"),
    [
        ({"type": "user", "uuid": "u", "message": HI}, True),
        ({"type": "assistant", "sessionId": "s", "message": YES}, True),
        ({"type": "system", "uuid": "u", "message": HI}, False),
        ({"type": "user", "message": HI}, False),
        ({"type": "user", "uuid": "u", "message": "hi"}, False),
        ({"type": "user", "uuid": "u"}, False),
        ("user", False),
    ],
)
def test_which_lines_are_of_a_session_of_claude_code(record: Any, is_one: bool) -> None:
    """A user's or an assistant's message with the id of its line or session."""
    assert claude_code.is_session_line(record) is is_one


def test_the_blocks_of_a_turn_are_one_message() -> None:
    """Text becomes a block, nothing becomes none, calls that cannot be read stay; another turn begins anew."""
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}
    odd = {"type": "tool_use", "id": "o", "name": "g", "input": [1]}
    found = claude_code.read_session(
        [
            turn("assistant", "1", "first", turn="m1"),
            turn("assistant", "2", "", turn="m1"),
            turn("assistant", "3", [use], turn="m1"),
            turn("assistant", "4", [odd], turn="m1"),
            turn("assistant", "5", "again", turn="m2"),
            turn("assistant", "6", "loose"),
            turn("assistant", "7", "loose too"),
            turn("user", "8", "same id", turn="m3"),
            turn("user", "9", "twice", turn="m3"),
            turn("assistant", "10", "back", turn="m2"),
        ]
    )
    assert [m.id for m in found] == ["1", "5", "6", "7", "8", "9", "10"]
    first = found[0]
    assert isinstance(first, AIMessage)
    assert first.content == [{"type": "text", "text": "first"}, use, odd]
    assert [call["id"] for call in first.tool_calls] == ["t"]
    assert [call["id"] for call in first.invalid_tool_calls] == ["o"]
    assert [m.content for m in found[1:]] == ["again", "loose", "loose too", "same id", "twice", "back"]


def test_calls_of_both_halves_of_a_turn_are_kept() -> None:
    """The valid ones and those that were not, in their order."""
    halves = [
        turn(
            "assistant",
            str(n),
            [
                {"type": "tool_use", "id": f"t{n}", "name": "f", "input": {}},
                {"type": "tool_use", "id": f"o{n}", "name": "f", "input": 1},
            ],
            turn="m",
        )
        for n in (1, 2)
    ]
    (message,) = claude_code.read_session(halves)
    assert isinstance(message, AIMessage)
    assert [call["id"] for call in message.tool_calls] == ["t1", "t2"]
    assert [call["id"] for call in message.invalid_tool_calls] == ["o1", "o2"]


@pytest.mark.parametrize(
    ("moment", "read_as"),
    [
        ("2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05", None),
        ("yesterday", None),
        (None, None),
    ],
)
def test_a_session_begins_when_its_first_line_says(moment: Any, read_as: datetime | None) -> None:
    """A moment without a zone says nothing; lines without a session are one under the file's name."""
    first = turn("user", "1", "a", timestamp=moment)
    (found,) = read(lines(first, turn("assistant", "2", "b", timestamp="2027-01-01T00:00:00Z"))).conversations
    assert found.started_at == read_as
    assert found.thread_id == f"talk-{digest('talk.json')}-001"
    assert [type(m) for m in found.messages] == [HumanMessage, AIMessage]


def test_a_single_line_of_a_session_is_a_session() -> None:
    """Other lines beside it are book-keeping."""
    reading = read(lines({"type": "summary"}, turn("user", "1", "a", sessionId="s"), HI))
    assert [(c.thread_id, [m.id for m in c.messages]) for c in reading.conversations] == [("s", ["1"])]
    assert said(read(turn("user", "1", "a", sessionId="s"))) == [["a"]]
    assert reading.remarks == ()
