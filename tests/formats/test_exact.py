"""Every record as it stands in the file, field by field: a name that changes by accident makes old files unreadable."""

import json
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_harness_memory.formats import (
    chat_messages,
    checkpoint_log,
    claude_code,
    daily_log,
    foreign_memories,
    maintenance_state,
    messages,
    plain,
    session_log,
    tombstones,
    usage,
)

AT = datetime(2026, 4, 12, 3, 53, tzinfo=timezone(timedelta(hours=8)))
SERDE = JsonPlusSerializer()


def fields(line):
    """Return what a line holds, after its checksum was seen to stand last."""
    record = json.loads(line)
    assert line.endswith(b"\n")
    assert list(record)[-1] == "c"
    return {name: value for name, value in record.items() if name != "c"}


class TestSessionLog:
    def test_a_start(self) -> None:
        start = session_log.SessionStart(thread_id="t1", tenant="alice", begun_at=AT)
        line = session_log.render_start(start)
        assert fields(line) == {"v": 1, "kind": "session", "thread": "t1", "tenant": "alice", "at": AT.isoformat()}
        assert session_log.parse(line[:-1]) == start

    def test_a_start_whose_tenant_may_still_be_told_and_that_salts_its_hashes(self) -> None:
        start = session_log.SessionStart(thread_id="t1", tenant=None, begun_at=AT, is_tentative=True, salt="5a17")
        line = session_log.render_start(start)
        assert fields(line) == {
            "v": 1,
            "kind": "session",
            "thread": "t1",
            "tenant": None,
            "at": AT.isoformat(),
            "tentative": True,
            "salt": "5a17",
        }
        assert session_log.parse(line[:-1]) == start

    def test_an_owner(self) -> None:
        owner = session_log.OwnerLine(tenant="bob", at=AT)
        line = session_log.render_owner(owner)
        assert fields(line) == {"v": 1, "kind": "owner", "tenant": "bob", "at": AT.isoformat()}
        assert session_log.parse(line[:-1]) == owner

    @pytest.mark.parametrize(
        ("more", "written"),
        [
            ({}, {"message": {"type": "human", "content": "hi"}}),
            (
                {"namespace": "sub:1", "tenant": "bob"},
                {"ns": "sub:1", "tenant": "bob", "message": {"type": "human", "content": "hi"}},
            ),
            ({"message": None, "sealed": ["json+aes", "AAAA"]}, {"sealed": ["json+aes", "AAAA"]}),
        ],
    )
    def test_a_message(self, more, written) -> None:
        given = {"namespace": "", "tenant": None, "message": {"type": "human", "content": "hi"}, **more}
        message = session_log.MessageLine(
            position=7, message_id="m\u00e9", content_hash="0123456789abcdef", logged_at=AT, **given
        )
        line = session_log.render_message(message)
        assert fields(line) == {"v": 1, "n": 7, "id": "mé", "h": "0123456789abcdef", "at": AT.isoformat(), **written}
        assert session_log.parse(line[:-1]) == message
        assert session_log.peek(line[:-1]) == session_log.LineKey(7, "mé", "0123456789abcdef")


@pytest.mark.parametrize(
    ("key", "written"),
    [
        (
            checkpoint_log.CheckpointKey("", "c2", "c1"),
            {"kind": "checkpoint", "ns": "", "id": "c2", "parent": "c1"},
        ),
        (
            checkpoint_log.CheckpointKey("n:\u00e4", "c2", None, "c9", True),
            {"kind": "ancestor", "ns": "n:ä", "id": "c2", "parent": None, "late": "c9"},
        ),
        (checkpoint_log.WritesKey("n", "c2", "task"), {"kind": "writes", "ns": "n", "id": "c2", "task": "task"}),
        (checkpoint_log.FormKey(None, "0123456789abcdef"), {"kind": "form", "id": None, "h": "0123456789abcdef"}),
        (checkpoint_log.FormKey('m"1', "0123456789abcdef"), {"kind": "form", "id": 'm"1', "h": "0123456789abcdef"}),
    ],
)
@pytest.mark.parametrize("content", [("body", {"a": 1}), ("sealed", ["x", "y"])])
def test_a_checkpoints_line(key, written, content) -> None:
    """Its key, then its content under its name; both are read back."""
    line = checkpoint_log.render(key, content)
    assert fields(line) == {"v": 1, **written, content[0]: content[1]}
    assert checkpoint_log.peek(line[:-1]) == key
    assert checkpoint_log.content_of(line[:-1]) == content


def test_a_start_of_checkpoints() -> None:
    line = checkpoint_log.render_start("t1", AT)
    assert fields(line) == {"v": 1, "kind": "checkpoints", "thread": "t1", "at": AT.isoformat()}
    assert checkpoint_log.thread_of(line[:-1]) == "t1"
    assert checkpoint_log.thread_of(line[:-1].replace(b"t1", b"t2")) is None
    assert checkpoint_log.thread_of(session_log.render_owner(session_log.OwnerLine(tenant="t1", at=AT))[:-1]) is None


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ((1, (2, "x")), {"$tuple": [1, {"$tuple": [2, "x"]}]}),
        (b"\x00\xff", {"$bytes": "AP8="}),
        (float("inf"), {"$float": "inf"}),
        (2**1023, 2**1023),
        (2**1024, {"$int": hex(2**1024)}),
        (-(2**1024), {"$int": hex(-(2**1024))}),
        ({1: "a", "b": (3,)}, {"$items": [[1, "a"], ["b", {"$tuple": [3]}]]}),
        ({"$tuple": [1]}, {"$items": [["$tuple", [1]]]}),
        ({"$tuple": [1], "and": 2}, {"$tuple": [1], "and": 2}),
        ([None, True, "s", 1.5, {"k": []}], [None, True, "s", 1.5, {"k": []}]),
    ],
)
def test_a_value_that_json_lacks(value, written) -> None:
    """Written under its marker, and read back as it was, with its type."""
    assert plain.plain(value, SERDE) == written
    back = plain.live(json.loads(json.dumps(written)), SERDE)
    assert back == value
    assert type(back) is type(value)


def test_a_value_that_only_the_serializer_takes() -> None:
    written = plain.plain({"day": date(2026, 4, 12)}, SERDE)
    assert list(written["day"]) == ["$serde"]
    assert plain.live(written, SERDE) == {"day": date(2026, 4, 12)}


@pytest.mark.parametrize(
    ("message", "written"),
    [
        (HumanMessage("hi", id="1", name="Ann"), {"type": "human", "content": "hi", "name": "Ann"}),
        (
            SystemMessage([{"type": "text", "text": "s"}]),
            {"type": "system", "content": [{"type": "text", "text": "s"}]},
        ),
        (
            AIMessage("", tool_calls=[{"name": "f", "args": {"a": 1}, "id": "c", "type": "tool_call"}]),
            {
                "type": "ai",
                "content": "",
                "tool_calls": [{"name": "f", "args": {"a": 1}, "id": "c", "type": "tool_call"}],
            },
        ),
        (
            ToolMessage("r", tool_call_id="c", status="error", artifact=(1,)),
            {"type": "tool", "content": "r", "tool_call_id": "c", "status": "error", "artifact": {"$tuple": [1]}},
        ),
        (FunctionMessage("r", name="f"), {"type": "function", "content": "r", "name": "f"}),
        (ChatMessage("c", role="critic"), {"type": "chat", "content": "c", "role": "critic"}),
        (HumanMessage("hi", tone="warm"), {"type": "human", "content": "hi", "extra": {"tone": "warm"}}),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else "",
)
def test_a_message_holds_its_type_and_what_differs_from_the_defaults(message, written) -> None:
    """Without its id, which stands in the line; what a class does not know goes under `extra`."""
    record = messages.message_json(message, SERDE)
    assert record == written
    back = messages.message_from(json.loads(json.dumps(record)), SERDE, message_id=message.id)
    assert back == message
    assert type(back) is type(message)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (
            {"role": "developer", "content": "d"},
            {"type": "system", "content": "d", "additional_kwargs": {"__openai_role__": "developer"}},
        ),
        (
            {"role": "user", "content": "u", "name": "Ann", "id": 5},
            {"type": "human", "content": "u", "name": "Ann", "id": "5"},
        ),
        ({"role": "user", "content": {"a": 1}}, {"type": "human", "content": '{"a": 1}'}),
        (
            {"role": "user", "content": {"type": "text", "text": "x"}},
            {"type": "human", "content": [{"type": "text", "text": "x"}]},
        ),
        (
            {"role": "tool", "content": "r", "tool_call_id": "c1", "name": "f"},
            {"type": "tool", "content": "r", "tool_call_id": "c1", "name": "f"},
        ),
        (
            {"role": "tool", "content": None, "tool_call_ids": ["c2", "c3"]},
            {"type": "tool", "content": "", "tool_call_id": "c2"},
        ),
        ({"role": "tool", "content": "r", "tool_call_ids": []}, {"type": "tool", "content": "r", "tool_call_id": ""}),
        (
            {"role": "function", "content": "r", "name": "f"},
            {"type": "tool", "content": "r", "name": "f", "tool_call_id": "function_f"},
        ),
        (
            {"type": "tool", "data": {"content": "r", "tool_call_id": "c", "status": "error", "artifact": [1]}},
            {"type": "tool", "content": "r", "tool_call_id": "c", "status": "error", "artifact": [1]},
        ),
        (
            {"type": "human", "content": "u", "mood": "good", "additional_kwargs": {"k": 1}},
            {
                "type": "human",
                "content": "u",
                "additional_kwargs": {"origin": {"mood": "good"}, "origin_kwargs": {"k": 1}},
            },
        ),
        (
            {
                "role": "assistant",
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
            },
            {
                "type": "ai",
                "content": "",
                "tool_calls": [{"name": "f", "args": {"a": 1}, "id": "c", "type": "tool_call"}],
            },
        ),
        (
            {"role": "assistant", "function_call": {"name": "f", "arguments": ""}},
            {
                "type": "ai",
                "content": "",
                "tool_calls": [{"name": "f", "args": {}, "id": "function_f", "type": "tool_call"}],
            },
        ),
        (
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"name": "f", "arguments": "[1]"}, {"name": "g", "args": {"b": 2}}],
            },
            {
                "type": "ai",
                "content": "",
                "tool_calls": [{"name": "g", "args": {"b": 2}, "id": "call_1", "type": "tool_call"}],
                "invalid_tool_calls": [
                    {
                        "type": "invalid_tool_call",
                        "id": "call_0",
                        "name": "f",
                        "args": "[1]",
                        "error": "its arguments are no JSON object",
                    }
                ],
            },
        ),
        (
            {"role": "assistant", "content": [{"type": "tool_use", "id": "u1", "name": "f", "input": {"a": 1}}]},
            {
                "type": "ai",
                "content": [{"type": "tool_use", "id": "u1", "name": "f", "input": {"a": 1}}],
                "tool_calls": [{"name": "f", "args": {"a": 1}, "id": "u1", "type": "tool_call"}],
            },
        ),
        (
            {
                "type": "AIMessageChunk",
                "content": "x",
                "usage_metadata": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
                "response_metadata": {"m": 1},
            },
            {
                "type": "ai",
                "content": "x",
                "usage_metadata": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
                "response_metadata": {"m": 1},
            },
        ),
    ],
)
def test_a_message_of_another_system(given, read) -> None:
    """Each dialect's fields land where LangChain keeps them, and nowhere else."""
    (message,) = chat_messages.read_message(given)
    held = {
        name: value for name, value in message.model_dump(exclude_defaults=True).items() if value not in (None, {}, [])
    }
    assert {"type": message.type, "content": message.content, **held} == read


def test_results_that_an_anthropic_user_carries_come_before_what_the_user_says() -> None:
    """An error stays one, and the id goes to the first."""
    told = {
        "role": "user",
        "id": "m",
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "fine"},
            {"type": "text", "text": "and?"},
            {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "bad"}], "is_error": True},
        ],
    }
    first, second, rest = chat_messages.read_message(told)
    assert (first.tool_call_id, first.content, first.status, first.id) == ("a", "fine", "success", "m")
    assert (second.tool_call_id, second.text, second.status, second.id) == ("b", "bad", "error", None)
    assert isinstance(rest, HumanMessage)
    assert rest.content == [{"type": "text", "text": "and?"}]


def test_what_is_no_message_is_said_with_its_beginning() -> None:
    with pytest.raises(ValueError, match=r'^is no chat message: \{"role": "owner", "x": "a{50,}$') as refused:
        chat_messages.read_message({"role": "owner", "x": "a" * 200})
    assert len(str(refused.value)) == len("is no chat message: ") + 80


@pytest.mark.parametrize(
    ("system", "wanted", "unwanted"),
    [
        ("langmem", ["store.json", "a/items.jsonl"], ["MEMORY.md", "AGENTS.md", "knowledge/a.md"]),
        (
            "agentscope",
            ["MEMORY.md", "memory/2026-01-02.md", "AGENTS.md", "knowledge/a/b.md"],
            [
                "memory/notes.md",
                "other.md",
                "memory/2026-01-02.txt",
                "knowledge/a.txt",
                "a.json",
                "memory/2026-13-02.md",
            ],
        ),
        (
            "openclaw",
            ["MEMORY.md", "memory.md", "USER.md", "memory/notes.md", "AGENTS.md", "knowledge/a.md"],
            ["src/readme.md", "MEMORY.txt", "memory/a.json"],
        ),
        ("deepagents", ["AGENTS.md", "memories/style.md", "knowledge/a.md"], ["a.json", "AGENTS.txt"]),
    ],
)
def test_only_the_files_of_a_systems_memory_are_wanted(system, wanted, unwanted) -> None:
    assert [path for path in wanted if not foreign_memories.is_wanted(system, path)] == []
    assert [path for path in unwanted if foreign_memories.is_wanted(system, path)] == []


class TestMaintenanceState:
    def test_every_field_stands_in_one_line(self) -> None:
        state = maintenance_state.MaintenanceState(tenant="bob", ticked_at=AT, consolidated_at=AT, requested_at=AT)
        moment = "2026-04-11T19:53:00+00:00"
        text = maintenance_state.render(state)
        assert (
            text
            == json.dumps(
                {"v": 1, "tenant": "bob", "ticked_at": moment, "consolidated_at": moment, "requested_at": moment}
            )
            + "\n"
        )
        assert maintenance_state.parse(text) == state

    @pytest.mark.parametrize("name", ["ticked_at", "consolidated_at", "requested_at"])
    @pytest.mark.parametrize("value", [5, None, "soon", "2026-04-11T19:53:00"])
    def test_a_bad_moment_counts_as_never(self, name, value) -> None:
        good = {"tenant": "bob", "ticked_at": "2026-04-11T19:53:00+00:00"}
        state = maintenance_state.parse(json.dumps({**good, name: value}))
        assert getattr(state, name) is None
        assert state.tenant == "bob"

    @pytest.mark.parametrize("text", ["", "{", "[]", "5", "[" * 100_000])
    def test_what_is_no_state_is_an_empty_one(self, text) -> None:
        assert maintenance_state.parse(text) == maintenance_state.MaintenanceState()


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("## A title ##  \n", "A title ##"),
        ("### X marks # \n", "X marks #"),
        ("\ufeff# First\r\n", "First"),
        ("## 10:00 <!-- harness-memory {} --> \n", "10:00"),
        ("## XX <!-- a note -->\n", "XX <!-- a note -->"),
        ("#no heading\n", "#no heading\n"),
        ("plain <!-- harness-memory {} -->\n", "plain <!-- harness-memory {} -->\n"),
    ],
)
def test_a_heading_is_shown_without_hashes_and_machine_part(line, shown) -> None:
    assert daily_log.visible(line) == shown


def test_a_heading_of_ours_says_all_that_it_holds() -> None:
    """In words for people, and in a comment that reads back as the same."""
    heading = daily_log.BlockHeading(
        at=AT,
        session="t1",
        positions=frozenset({0, 1, 2, 5}),
        sources=("user", "tool:web"),
        size=12,
        part=1,
        parts=2,
    )
    line = daily_log.render_heading(heading)
    told, _, machine = line.partition(" <!-- harness-memory ")
    assert told == "## 2026-04-12 03:53 +08:00 · session t1 · messages 0-2,5 · from user, tool:web"
    assert set(json.loads(machine.removesuffix(" -->\n"))) >= {"v"}
    assert daily_log.parse_heading(line) == heading


@pytest.mark.parametrize("text", ["3-1", "-1", "a", "0-1000001", "1-2-3"])
def test_positions_that_are_no_ranges_are_refused(text) -> None:
    with pytest.raises(ValueError, match=r"range of log positions|invalid literal"):
        daily_log.parse_positions(text)


def test_positions_are_read_as_they_are_written() -> None:
    assert daily_log.parse_positions("0-2,5") == {0, 1, 2, 5}
    assert daily_log.parse_positions("") == frozenset()
    assert len(daily_log.parse_positions("0-1000000")) == 1_000_001
    assert daily_log.render_positions(frozenset({5, 0, 2, 1})) == "0-2,5"


def test_moments_are_kept_in_utc() -> None:
    """A state that was written in one zone is read in another."""
    state = maintenance_state.parse(maintenance_state.render(maintenance_state.MaintenanceState(ticked_at=AT)))
    assert state.ticked_at == AT
    assert state.ticked_at.tzinfo == UTC


def test_tombstones_hold_hashes_and_nothing_of_what_was_forgotten() -> None:
    """A stone of a query says so; both read back as they were."""
    stones = tombstones.Tombstones(key="cd" * 16).with_stone(["likes", "tea"], at=AT)
    stones = stones.with_stone(["nuts"], at=AT, said_before=True)
    text = tombstones.render(stones)
    line, query = ({"at": AT.isoformat(), "words": sorted(stone.words)} for stone in stones.stones)
    assert json.loads(text) == {"v": 1, "key": "cd" * 16, "stones": [line, {**query, "said_before": True}]}
    assert "tea" not in text
    assert tombstones.parse(text) == stones


def test_a_call_of_anthropics_without_an_id_gets_one() -> None:
    (message,) = chat_messages.read_message(
        {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": {"a": 1}}]}
    )
    assert [(call["id"], call["name"], call["args"]) for call in message.tool_calls] == [("call_0", "f", {"a": 1})]


@pytest.mark.parametrize(
    ("record", "session"),
    [
        ({"sessionId": "s"}, "s"),
        ({}, ""),
        ({"sessionId": "s", "isSidechain": True}, "s/sidechain"),
        ({"sessionId": "s", "isSidechain": True, "agentId": "a1"}, "s/a1"),
        ({"sessionId": "s", "isSidechain": False, "agentId": "a1"}, "s"),
    ],
)
def test_a_line_of_claude_code_names_its_conversation(record, session) -> None:
    """A sub-agent's conversation is one of its own."""
    assert claude_code.session_of(record) == session


def test_what_was_spent_is_summed_field_by_field() -> None:
    one, two = usage.Spent(calls=1, failures=2, tokens=30), usage.Spent(calls=10, failures=20, tokens=300)
    assert one.plus(two) == usage.Spent(calls=11, failures=22, tokens=330)
