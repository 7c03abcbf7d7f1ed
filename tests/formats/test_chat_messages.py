"""Messages of other systems: which JSON is one, and what becomes of each of its fields."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_harness_memory.formats.chat_messages import is_message, read_message

CLASSES = ("Human", "AI", "System", "Tool", "Function", "Chat")


def held(message: BaseMessage) -> dict[str, Any]:
    """What a message holds beside its class's defaults."""
    dumped = message.model_dump(exclude_defaults=True)
    return {"type": message.type, "content": message.content} | {
        k: v for k, v in dumped.items() if v not in (None, {}, [])
    }


def dumped(cls: str, /, **fields: Any) -> dict[str, Any]:
    """A message as LangChain's `dumpd` writes it."""
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", cls], "kwargs": fields}


@pytest.mark.parametrize(
    "value",
    [
        *({"role": role, "content": "x"} for role in ["system", "developer", "user", "human", "assistant", "ai", "model", "tool", "function"]),
        {"role": "user", "content": None},
        {"role": "assistant", "tool_calls": [{}]},
        {"role": "assistant", "function_call": {"name": "f"}},
        {"role": "user", "content": "x", "lc": 1},
        {"role": "user", "content": "x", "type": "constructor"},
        {"role": "user", "content": "x", "type": 5},
        *({"type": kind, "content": "x"} for kind in ("human", "ai", "system", "tool", "function", "chat")),
        *({"type": f"{cls}Message{end}", "content": "x"} for cls in CLASSES for end in ("", "Chunk")),
        *(dumped(f"{cls}Message{end}", content="x") for cls in CLASSES for end in ("", "Chunk")),
        dumped("HumanMessage"),
        {"type": "human", "data": {"content": "x"}},
        {"type": "human", "data": {"content": "x"}, "role": "owner"},
        {"type": "human", "data": {"no": "content"}, "content": "x"},
        {"type": "human", "data": "text", "content": "x"},
    ],
)  # fmt: skip
def test_what_is_a_chat_message(value: Any) -> None:
    """A known role with something said or called, or a kind of LangChain's with content."""
    assert is_message(value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "user",
        ["role", "content"],
        {},
        {"content": "x"},
        {"role": "owner", "content": "x"},
        {"role": ["user"], "content": "x"},
        {"role": "owner", "content": "x", "type": "human"},
        {"role": "user"},
        {"role": "user", "type": "human", "data": {"content": "x"}},
        {"role": "assistant", "tool_calls": [], "function_call": {}},
        {"type": "human"},
        {"type": "remove", "content": "x"},
        {"type": 5, "content": "x"},
        {"type": ["human"], "content": "x"},
        {"type": "human", "data": {"text": "x"}},
        dumped("RemoveMessage", content="x"),
        dumped("Message", content="x"),
        {**dumped("HumanMessage", content="x"), "lc": 2},
        {**dumped("HumanMessage", content="x"), "type": "not_implemented"},
        {**dumped("HumanMessage", content="x"), "id": "HumanMessage"},
        {**dumped("HumanMessage", content="x"), "id": []},
        {**dumped("HumanMessage", content="x"), "kwargs": ["content"]},
        {**dumped("HumanMessage", content="x"), "id": ["HumanMessage", "x"]},
    ],
)
def test_what_is_none(value: Any) -> None:
    """Something near it, with one thing missing."""
    assert not is_message(value)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"role": "system", "content": "x"}, "system"),
        ({"role": "user", "content": "x"}, "human"),
        ({"role": "human", "content": "x"}, "human"),
        ({"role": "assistant", "content": "x"}, "ai"),
        ({"role": "ai", "content": "x"}, "ai"),
        ({"role": "model", "content": "x"}, "ai"),
        ({"role": "tool", "content": "x"}, "tool"),
        ({"role": "function", "content": "x"}, "tool"),
        ({"type": "AIMessage", "content": "x"}, "ai"),
        ({"type": "function", "content": "x"}, "tool"),
        ({"type": "chat", "content": "x"}, "human"),
        ({"type": "chat", "data": {"content": "x", "role": "assistant"}}, "ai"),
        ({"type": "chat", "data": {"content": "x", "role": "critic"}}, "human"),
        (dumped("ChatMessage", content="x", role="system"), "system"),
        (dumped("ChatMessageChunk", content="x", role="tool"), "tool"),
        (dumped("HumanMessage", content="x", role="assistant"), "human"),
        (dumped("SystemMessageChunk", content="x"), "system"),
        ({"type": "human", "data": {"content": "x"}, "content": "not this"}, "human"),
    ],
)
def test_the_kind_of_a_message(value: dict[str, Any], kind: str) -> None:
    """Its role where it has one of ours; a chat message with a role of its own was said by a person."""
    (message,) = read_message(value)
    assert (message.type, message.content) == (kind, "x")
    assert message.additional_kwargs == {}


@pytest.mark.parametrize(
    ("content", "read"),
    [
        (None, ""),
        ("", ""),
        ("é", "é"),
        (["a", {"type": "text", "text": "b"}], ["a", {"type": "text", "text": "b"}]),
        ([], []),
        ({"type": "text", "text": "é"}, [{"type": "text", "text": "é"}]),
        ({"text": "é"}, '{"text": "é"}'),
        (["é", 1], '["é", 1]'),
        (5, "5"),
        (True, "true"),
    ],
)
def test_content_of_every_shape(content: Any, read: Any) -> None:
    """Text and blocks stand as they are; any other JSON is said in its own words."""
    (message,) = read_message({"role": "user", "content": content})
    assert message.content == read


@pytest.mark.parametrize(
    ("call", "read"),
    [
        (
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
            {"id": "c1", "name": "f", "args": {"a": 1}},
        ),
        ({"id": "c1", "name": "f", "args": {"a": 1}}, {"id": "c1", "name": "f", "args": {"a": 1}}),
        ({"id": "c1", "name": "f", "arguments": {"a": 1}}, {"id": "c1", "name": "f", "args": {"a": 1}}),
        ({"id": "c1", "name": "f", "args": {"a": 1}, "arguments": "{}"}, {"id": "c1", "name": "f", "args": {"a": 1}}),
        ({"id": "c1", "name": "f", "function": "g", "args": {}}, {"id": "c1", "name": "f", "args": {}}),
        ({"id": 7, "name": 5, "args": None}, {"id": "7", "name": "5", "args": {}}),
        ({"id": "", "function": {"arguments": ""}}, {"id": "call_0", "name": "", "args": {}}),
        ({"id": True, "name": "f"}, {"id": "call_0", "name": "f", "args": {}}),
    ],
)
def test_a_call_in_each_of_its_dialects(call: dict[str, Any], read: dict[str, Any]) -> None:
    """OpenAI's nests its function, LangChain's does not; an id that is missing is made of its place."""
    (message,) = read_message({"role": "assistant", "tool_calls": ["no call", call]})
    assert isinstance(message, AIMessage)
    assert message.tool_calls == [{"type": "tool_call", **read}]
    assert message.invalid_tool_calls == []


@pytest.mark.parametrize(
    ("args", "kept"),
    [("[1]", "[1]"), ("{oops", "{oops"), ("5", "5"), (5, "5"), (["a"], "['a']"), ("[" * 100_000, "[" * 100_000)],
)
def test_arguments_that_are_no_object_make_an_invalid_call(args: Any, kept: str) -> None:
    """As they were, and why."""
    (message,) = read_message(
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": args}}]}
    )
    assert isinstance(message, AIMessage)
    assert message.tool_calls == []
    assert message.invalid_tool_calls == [
        {
            "type": "invalid_tool_call",
            "id": "c",
            "name": "f",
            "args": kept,
            "error": "its arguments are no JSON object",
        }
    ]


def test_invalid_calls_of_a_dump_come_first_and_as_text() -> None:
    """What LangChain set aside stays set aside; a field that is missing stays missing."""
    given = [{"id": 1, "name": "f", "args": {"a": 1}, "error": "bad"}, {}, "none"]
    call = {"id": "d", "name": "g", "args": "oops"}
    (message,) = read_message({"type": "ai", "content": "", "invalid_tool_calls": given, "tool_calls": [call]})
    assert isinstance(message, AIMessage)
    assert message.invalid_tool_calls == [
        {"type": "invalid_tool_call", "id": "1", "name": "f", "args": "{'a': 1}", "error": "bad"},
        {"type": "invalid_tool_call", "id": None, "name": None, "args": None, "error": None},
        {
            "type": "invalid_tool_call",
            "id": "d",
            "name": "g",
            "args": "oops",
            "error": "its arguments are no JSON object",
        },
    ]


def called(message: dict[str, Any]) -> list[tuple[Any, ...]]:
    (read,) = read_message({"role": "assistant", **message})
    assert isinstance(read, AIMessage)
    return [(call["id"], call["name"], call["args"]) for call in read.tool_calls]


def test_a_call_that_is_said_twice_is_one() -> None:
    """In the list of calls and as a block, or beside the function call of old times."""
    use = {"type": "tool_use", "id": "u", "name": "f", "input": {"a": 1}}
    call = {"id": "u", "name": "f", "args": {"b": 2}}
    other = {"type": "tool_use", "id": "w", "name": "g", "input": {}}
    legacy = {"name": "h", "arguments": '{"c": 3}'}
    assert called({"content": [use, {"type": "text", "text": "t"}, other]}) == [("u", "f", {"a": 1}), ("w", "g", {})]
    assert called({"content": [use, other], "tool_calls": [call]}) == [("u", "f", {"b": 2}), ("w", "g", {})]
    assert called({"content": None, "function_call": legacy}) == [("function_h", "h", {"c": 3})]
    assert called({"content": None, "function_call": legacy, "tool_calls": [call]}) == [("u", "f", {"b": 2})]
    assert called({"content": "x", "function_call": "h"}) == []
    assert called({"content": "x", "tool_calls": {"id": "u"}}) == []
    assert called({"content": "x", "tool_calls": [{"name": "f"}, {"name": "g"}]}) == [
        ("call_0", "f", {}),
        ("call_1", "g", {}),
    ]


@pytest.mark.parametrize(
    ("fields", "call_id"),
    [
        ({"tool_call_id": "c", "tool_call_ids": ["d"]}, "c"),
        ({"tool_call_id": 5}, "5"),
        ({"tool_call_id": "", "tool_call_ids": ["d", "e"]}, "d"),
        ({"tool_call_ids": "de"}, ""),
        ({"name": "f"}, ""),
        ({"role": "function", "name": "f"}, "function_f"),
        ({"role": "function", "name": "f", "tool_call_id": "c"}, "c"),
    ],
)
def test_the_call_that_a_result_answers(fields: dict[str, Any], call_id: str) -> None:
    """By its id, by the first of several, or by the function's name."""
    (message,) = read_message({"role": "tool", "content": "r", **fields})
    assert isinstance(message, ToolMessage)
    assert message.tool_call_id == call_id


@pytest.mark.parametrize(
    ("fields", "status", "artifact"),
    [
        ({}, "success", None),
        ({"status": "error"}, "error", None),
        ({"status": "done"}, "success", None),
        ({"artifact": 0}, "success", 0),
        ({"artifact": None}, "success", None),
    ],
)
def test_how_a_result_ended(fields: dict[str, Any], status: str, artifact: Any) -> None:
    """Only an error is one."""
    (message,) = read_message({"role": "tool", "content": "r", "tool_call_id": "c", **fields})
    assert isinstance(message, ToolMessage)
    assert (message.status, message.artifact) == (status, artifact)


def test_results_alone_make_no_message_of_the_user() -> None:
    """What stood beside the user's words goes to the first result; a result without an id answers nobody."""
    results = [{"type": "tool_result", "content": None}, {"type": "tool_result", "tool_use_id": 7, "content": "é"}]
    told = {"role": "user", "content": results, "id": "m", "name": "Ann", "mood": "good"}
    assert [held(message) for message in read_message(told)] == [
        {
            "type": "tool",
            "content": "",
            "tool_call_id": "",
            "id": "m",
            "additional_kwargs": {"origin": {"mood": "good"}},
        },
        {"type": "tool", "content": "é", "tool_call_id": "7"},
    ]


def test_no_field_of_a_known_kind_is_an_extra_one() -> None:
    """Everything else is kept apart, out of the way of keys that have a meaning here."""
    known: dict[str, Any] = {
        "role": "tool",
        "type": "tool",
        "content": "r",
        "id": "i",
        "name": "n",
        "tool_calls": [],
        "invalid_tool_calls": [],
        "tool_call_id": "c",
        "tool_call_ids": ["c"],
        "function_call": {},
        "usage_metadata": {},
        "response_metadata": {},
        "artifact": 1,
        "status": "success",
        "example": True,
        "tool_call_chunks": [],
        "chunk_position": "last",
    }
    (message,) = read_message({**known, "additional_kwargs": {}})
    assert message.additional_kwargs == {}
    (message,) = read_message({**known, "additional_kwargs": ["no dict"], "cost": 0, "note": None})
    assert message.additional_kwargs == {"origin": {"cost": 0}}
    (message,) = read_message({**known, "additional_kwargs": {"k": 1}, "cost": 0.5})
    assert message.additional_kwargs == {"origin": {"cost": 0.5}, "origin_kwargs": {"k": 1}}
    (message,) = read_message({"role": "user", "content": "x", "additional_kwargs": {"k": 1}})
    assert message.additional_kwargs == {"origin_kwargs": {"k": 1}}


@pytest.mark.parametrize(
    ("given", "read"),
    [("a", "a"), (0, "0"), (7, "7"), ("", None), (None, None), (True, None), (1.5, None), (["a"], None)],
)
def test_ids_and_names_are_text(given: Any, read: str | None) -> None:
    """Numbers count as text; anything else is none."""
    (message,) = read_message({"role": "user", "content": "x", "id": given, "name": given})
    assert (message.id, message.name) == (read, read)
    assert isinstance(message, HumanMessage)


def test_usage_of_a_model_is_kept_where_there_is_some() -> None:
    """Empty ones are left out; a developer's words are the system's, marked."""
    (message,) = read_message({"role": "assistant", "content": "x", "usage_metadata": {}, "response_metadata": None})
    assert held(message) == {"type": "ai", "content": "x"}
    (message,) = read_message({"role": "developer", "content": "x", "cost": 1})
    assert message.additional_kwargs == {"origin": {"cost": 1}, "__openai_role__": "developer"}


def test_a_field_that_does_not_fit_is_named_with_its_place() -> None:
    """And with the reason."""
    bad = {"role": "assistant", "content": "x", "usage_metadata": {"input_tokens": "many"}}
    reason = r"^has a field 'usage_metadata\.input_tokens' that does not fit: Input should be a valid integer"
    with pytest.raises(ValueError, match=reason):
        read_message(bad)


@pytest.mark.parametrize(
    ("value", "shown"),
    [({"é": 1}, '{"é": 1}'), ({"x": "a" * 100}, '{"x": "' + "a" * 73)],
)
def test_what_is_no_message_is_shown(value: dict[str, Any], shown: str) -> None:
    """Its first 80 characters, in its own script."""
    with pytest.raises(ValueError, match="is no chat message") as refused:
        read_message(value)
    assert str(refused.value) == f"is no chat message: {shown}"
