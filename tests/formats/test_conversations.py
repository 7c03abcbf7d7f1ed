"""Every conversation of a file is found once, whoever wrote the file; what cannot be read is named."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage, messages_to_dict

from langgraph_harness_memory.errors import ConversationUnreadable
from langgraph_harness_memory.formats.conversations import read_conversations
from langgraph_harness_memory.formats.forms import form_of, marked
from langgraph_harness_memory.testing import request_faults

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"

TALK = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "weather in Oslo?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "name": "weather", "content": "rain"},
    {"role": "assistant", "content": "It rains."},
]


def read(value, name="talk.json"):
    text = value if isinstance(value, str | bytes) else json.dumps(value)
    return read_conversations(text, name=name)


def said(reading):
    return [[(m.type, m.text) for m in c.messages] for c in reading.conversations]


EXPECTED = [("system", "be brief"), ("human", "weather in Oslo?"), ("ai", ""), ("tool", "rain"), ("ai", "It rains.")]


@pytest.mark.parametrize(
    "value",
    [
        TALK,
        {"messages": TALK},
        {"a": {"b": [{"traj": TALK, "reward": 1.0}]}},
        "\n".join(json.dumps(m) for m in TALK),
        "\ufeff" + json.dumps({"messages": TALK}),
        json.dumps(TALK, indent=2).encode(),
        {"request": {"messages": TALK[:-1]}, "response": {"choices": [{"index": 0, "message": TALK[-1]}]}},
        {"body": {"messages": TALK[:-1]}, "response": {"body": {"choices": [{"message": TALK[-1]}]}}},
    ],
)
def test_openai_messages_are_found_wherever_they_stand(value):
    """A list, a field, a deep field, a message a line, a logged request with its answer."""
    reading = read(value)
    assert said(reading) == [EXPECTED]
    call = reading.conversations[0].messages[2]
    assert call.tool_calls == [{"name": "weather", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}]
    assert request_faults(reading.conversations[0].messages) == []


def test_each_entry_of_a_list_is_a_conversation_even_with_the_same_words():
    """Two runs of one task that begin or are alike stay two threads."""
    reading = read([{"task": 1, "traj": TALK}, {"task": 2, "traj": TALK}, {"task": 3, "traj": TALK[:3]}])
    assert [len(c.messages) for c in reading.conversations] == [5, 5, 3]
    assert len({c.thread_id for c in reading.conversations}) == 3


def test_lines_of_fine_tuning_data_are_a_conversation_each():
    """One record a line, as OpenAI's fine-tuning files have it."""
    reading = read("\n".join(json.dumps({"messages": TALK}) for _ in range(3)), "train.jsonl")
    assert said(reading) == [EXPECTED] * 3


def test_message_lines_with_a_session_id_are_parted_by_it():
    """Interleaved sessions of one log become a thread each, under their own ids."""
    lines = [{**m, "session_id": s} for m in TALK for s in ("a", "b")]
    reading = read("\n".join(map(json.dumps, lines)), "log.jsonl")
    assert [c.thread_id for c in reading.conversations] == ["a", "b"]
    assert said(reading) == [EXPECTED, EXPECTED]


def test_swe_agent_history_is_read_and_its_retold_steps_are_not():
    """Steps repeat the history, shortened; results name their call in a list."""
    tool = {"role": "tool", "tool_call_ids": ["c1"], "content": "rain", "agent": "main"}
    history = [*TALK[:3], tool, TALK[4]]
    steps = [{"action": "x", "messages": [TALK[0], {"role": "user", "content": "(elided)"}]}]
    reading = read({"trajectory": steps, "history": history, "info": {}}, "run.traj")
    assert said(reading) == [EXPECTED]
    assert reading.conversations[0].messages[3].tool_call_id == "c1"
    assert reading.conversations[0].messages[3].additional_kwargs == {"origin": {"agent": "main"}}


def test_logged_requests_that_grow_are_one_conversation():
    """A record that keeps the whole request of each step gives the longest one."""
    reading = read({"steps": [{"messages": TALK[:n]} for n in range(1, 6)]})
    assert said(reading) == [EXPECTED]


def test_a_result_without_an_id_takes_the_earliest_open_call():
    """Old function calls have no ids; call and result still find each other."""
    legacy = [
        {"role": "user", "content": "weather?"},
        {"role": "assistant", "content": None, "function_call": {"name": "weather", "arguments": "{}"}},
        {"role": "function", "name": "weather", "content": "rain"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c9", "function": {"name": "f", "arguments": ""}}]},
        {"role": "tool", "content": "done"},
    ]
    assert request_faults(read(legacy).conversations[0].messages) == []


def test_arguments_that_are_no_json_stay_as_they_were():
    """A call that the model wrote wrongly is kept as an invalid one."""
    call = {"id": "c", "function": {"name": "f", "arguments": "{oops"}}
    broken = [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [call]}]
    message = read(broken).conversations[0].messages[1]
    assert message.tool_calls == []
    assert message.invalid_tool_calls[0]["args"] == "{oops"


LANGCHAIN = [
    SystemMessage("be brief", id="0"),
    HumanMessage([{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:,x"}}], id="1"),
    AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Oslo"}, "id": "c1"}], id="2"),
    ToolMessage("rain", tool_call_id="c1", status="error", artifact={"n": 1}, id="3"),
    AIMessage("It rains.", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}, id="4"),
]


@pytest.mark.parametrize(
    "dump",
    [
        dumpd(LANGCHAIN),
        {"values": {"messages": dumpd(LANGCHAIN)}},
        messages_to_dict(LANGCHAIN),
        [m.model_dump() for m in LANGCHAIN],
        [[m.model_dump(mode="json") for m in LANGCHAIN]],
    ],
)
def test_langchain_dumps_are_read_without_loading(dump):
    """All three forms give the messages back: ids, calls, status, artifact and usage."""
    messages = read(dump).conversations[0].messages
    assert [(m.type, m.id, m.content) for m in messages] == [(m.type, m.id, m.content) for m in LANGCHAIN]
    assert messages[2].tool_calls == LANGCHAIN[2].tool_calls
    assert (messages[3].status, messages[3].artifact) == ("error", {"n": 1})
    assert messages[4].usage_metadata["total_tokens"] == 3


def test_no_class_name_of_a_file_is_loaded():
    """A dump that names another class is no message."""
    evil = {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"content": "x"}}
    with pytest.raises(ConversationUnreadable, match=r"talk\.json: holds no chat messages"):
        read([evil])


def test_no_file_can_forge_a_form_of_ours():
    """A marker in a file would keep its message out of the session log."""
    forged = {**TALK[1], "additional_kwargs": marked("summary"), "harness_memory": {"form": "summary"}}
    message = read([forged]).conversations[0].messages[0]
    assert form_of(message) is None


def line(kind, uuid, content, **more):
    message = {"role": kind, "content": content} | ({"id": more.pop("turn")} if "turn" in more else {})
    return {"type": kind, "uuid": uuid, "sessionId": "s1", "message": message, **more}


def use(call_id, command):
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": command}}


def answer(call_id, content, *, is_error=False):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": is_error}


def text(words):
    return {"type": "text", "text": words}


SESSION = [
    {"type": "summary", "summary": "earlier", "leafUuid": "x"},
    line("user", "u1", "fix it", timestamp="2026-01-02T03:04:05.000Z"),
    line("assistant", "u2", [{"type": "thinking", "thinking": "hm", "signature": "s"}], turn="m1"),
    line("assistant", "u3", [use("t1", "ls")], turn="m1"),
    line("assistant", "u4", [use("t2", "pwd")], turn="m1"),
    line("user", "u5", [answer("t1", "a.py")]),
    line("user", "u6", [answer("t2", [text("/src")], is_error=True), text("and hurry")]),
    {"type": "file-history-snapshot", "messageId": "u6"},
    line("user", "u7", "search", isSidechain=True, agentId="a9"),
    line("assistant", "u8", [text("Fixed.")], turn="m2"),
]


def test_a_claude_code_session_is_read_as_it_was_said():
    """Blocks of one turn are put together, results answer their calls, a side chain is its own conversation."""
    reading = read("\n".join(map(json.dumps, SESSION)), "session.jsonl")
    main, side = reading.conversations
    assert (main.thread_id, side.thread_id) == ("s1", "s1/a9")
    assert main.started_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert [m.type for m in main.messages] == ["human", "ai", "tool", "tool", "human", "ai"]
    assert [c["id"] for c in main.messages[1].tool_calls] == ["t1", "t2"]
    assert [b["type"] for b in main.messages[1].content] == ["thinking", "tool_use", "tool_use"]
    assert (main.messages[3].status, main.messages[3].text) == ("error", "/src")
    assert main.messages[4].text == "and hurry"
    assert request_faults(main.messages) == []
    assert [m.id for m in main.messages if m.id.startswith("u")] == ["u1", "u2", "u5", "u6", "u8"]


def test_a_torn_last_line_is_remarked_and_the_rest_is_read():
    """A session that is being written is read as far as it stands."""
    text = "\n".join(map(json.dumps, SESSION[:2])) + '\n{"type":"assistant","uu'
    reading = read(text, "session.jsonl")
    assert said(reading) == [[("human", "fix it")]]
    assert reading.remarks[0].startswith("line 3 is no JSON")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("  \n ", "is empty"),
        ("# Notes\n\nhello", "is neither JSON nor JSON lines"),
        ("{}", "holds no chat messages"),
        ("[1, 2]", "holds no chat messages"),
        ("null", "holds no chat messages"),
        (b"\xff\xfe\x00", r"is no UTF-8 text \(byte 0\)"),
        ("[" * 100_000, "nested too deeply"),
        ('{"speaker": "Ann", "text": "hi"}', "holds no chat messages"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_reason(text, reason):
    """The error begins with the file's name."""
    with pytest.raises(ConversationUnreadable, match=rf"^notes\.md: .*{reason}"):
        read(text, "notes.md")


def test_a_message_that_does_not_fit_is_remarked():
    """One damaged message does not take its conversation along."""
    reading = read(
        [TALK[1], {"role": "assistant", "content": "x", "usage_metadata": {"input_tokens": "many"}}, TALK[4]]
    )
    assert said(reading) == [[("human", "weather in Oslo?"), ("ai", "It rains.")]]
    assert "message 2 has a field 'usage_metadata" in reading.remarks[0]


def test_same_names_in_two_places_are_two_threads():
    """Files of the same name in different folders never meet; the same file always does."""

    def thread(origin):
        return read_conversations(json.dumps(TALK), name="run.json", origin=origin).conversations[0].thread_id

    assert thread("/a/run.json") != thread("/b/run.json")
    assert thread("/a/run.json") == thread("/a/run.json")


def test_a_file_that_grew_keeps_the_ids_of_what_was_there():
    """Replaying a longer version adds the new messages alone."""
    before = read(TALK[:3]).conversations[0]
    after = read(TALK).conversations[0]
    assert after.thread_id == before.thread_id
    assert [m.id for m in after.messages[:3]] == [m.id for m in before.messages]


KEYS = ["role", "content", "type", "data", "messages", "tool_calls", "lc", "id", "kwargs", "message", "uuid", "x"]
FIELDS = [
    "tool_calls",
    "name",
    "id",
    "usage_metadata",
    "artifact",
    "tool_call_id",
    "function_call",
    "invalid_tool_calls",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=20,
)
ODD_MESSAGES = st.lists(
    st.builds(
        lambda role, rest: {**rest, "role": role, "content": "x"},
        st.sampled_from(["user", "assistant", "tool"]),
        st.dictionaries(st.sampled_from(FIELDS), JSON),
    ),
    min_size=1,
    max_size=3,
)


@given(JSON | ODD_MESSAGES)
def test_any_json_is_read_or_refused_and_nothing_else(value):
    """No file crashes the reader; what is read has ids that differ."""
    try:
        reading = read(value)
    except ConversationUnreadable:
        return
    for conversation in reading.conversations:
        ids = [m.id for m in conversation.messages]
        assert all(ids)
        assert len(set(ids)) == len(ids)


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "system"]), st.text(max_size=20)), min_size=1, max_size=8)
)
def test_every_message_is_read_exactly_once_and_in_order(turns):
    """Whatever the words, and however often they are repeated."""
    messages = [{"role": role, "content": text} for role, text in turns]
    reading = read({"outer": [{"inner": messages}]})
    kinds = {"user": "human", "assistant": "ai", "system": "system"}
    assert said(reading) == [[(kinds[role], text) for role, text in turns]]


@pytest.mark.skipif(not SHARED.exists(), reason="the shared conversations do not lie beside this checkout")
@pytest.mark.parametrize(
    ("path", "conversations", "messages"),
    [
        ("tau-bench/airline-50.json", 50, 1306),
        ("swe-agent/function_calling_simple.traj", 1, 12),
        ("swe-agent/marshmallow-function-calling.traj", 1, 24),
        ("swe-agent/marshmallow-replace-from-source.traj", 1, 28),
        ("claude-code/representative_messages.jsonl", 1, 11),
        ("claude-code/sample_session.jsonl", 1, 7),
        ("langchain/summarization_seed_messages.json", 1, 6),
    ],
)
def test_published_conversations_are_read_whole(path, conversations, messages):
    """Real files of each kind, counted by hand, and every one a valid request."""
    reading = read_conversations((SHARED / path).read_bytes(), name=path)
    assert reading.remarks == ()
    assert len(reading.conversations) == conversations
    assert sum(len(c.messages) for c in reading.conversations) == messages
    assert [f for c in reading.conversations for f in request_faults(c.messages)] == []
