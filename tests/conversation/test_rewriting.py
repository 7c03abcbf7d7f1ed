"""A call is stated in several places, and a change reaches all of them."""

import json

import pytest
from langchain_core.messages import AIMessage

from langgraph_harness_memory.conversation.rewriting import block_id, with_arguments, with_calls


def call(identifier, **args):
    return {"name": "work", "args": args, "id": identifier, "type": "tool_call"}


def broken(identifier):
    return {"name": "work", "args": "{", "id": identifier, "error": None, "type": "invalid_tool_call"}


def legacy(identifier, arguments):
    return {"id": identifier, "function": {"name": "work", "arguments": arguments}}


@pytest.mark.parametrize(
    ("block", "identifier"),
    [
        ({"type": "tool_use", "id": "c1"}, "c1"),
        ({"type": "tool_call", "id": "c1"}, "c1"),
        ({"type": "function_call", "id": "fc_9", "call_id": "c1"}, "c1"),
        ({"type": "tool_use"}, None),
        ({"type": "text", "id": "c1"}, None),
        ("tool_use", None),
    ],
)
def test_a_block_states_the_call_with_its_id(block, identifier):
    """Where a block has an id of its own, the call's counts."""
    assert block_id(block) == identifier


def test_arguments_change_wherever_they_stand():
    """Calls, blocks of each provider, streamed JSON, and what old clients kept; everything else stays."""
    long = {"q": "x" * 50}
    text = json.dumps(long)
    message = AIMessage(
        [
            "said",
            {"type": "text", "text": "x"},
            {"type": "tool_use", "id": "c1", "name": "work", "input": long},
            {"type": "tool_call", "id": "c1", "name": "work", "args": long},
            {"type": "function_call", "call_id": "c1", "arguments": text},
            {"type": "input_json_delta", "id": "c1", "partial_json": text, "input": text},
            {"type": "tool_use", "id": "c1", "input": "not JSON"},
        ],
        id="a",
        tool_calls=[call("c1", **long)],
        additional_kwargs={"tool_calls": [legacy("c1", text), legacy("c2", 7), "odd"], "other": 1},
    )
    changed = with_arguments(message, lambda arguments: {"q": arguments["q"][:3]})
    short = {"q": "xxx"}
    assert changed.tool_calls == [call("c1", **short)]
    assert changed.content == [
        "said",
        {"type": "text", "text": "x"},
        {"type": "tool_use", "id": "c1", "name": "work", "input": short},
        {"type": "tool_call", "id": "c1", "name": "work", "args": short},
        {"type": "function_call", "call_id": "c1", "arguments": '{"q": "xxx"}'},
        {"type": "input_json_delta", "id": "c1", "partial_json": '{"q": "xxx"}', "input": '{"q": "xxx"}'},
        {"type": "tool_use", "id": "c1", "input": "not JSON"},
    ]
    assert changed.additional_kwargs == {
        "other": 1,
        "tool_calls": [legacy("c1", '{"q": "xxx"}'), legacy("c2", 7), "odd"],
    }
    assert message.tool_calls == [call("c1", **long)]
    assert changed.id == "a"


def test_json_that_would_grow_stays_as_it_is():
    """And other scripts are not escaped."""
    message = AIMessage(
        "", additional_kwargs={"tool_calls": [legacy("c1", '{"q":"é"}'), legacy("c2", '{"q": "é and more"}')]}
    )
    changed = with_arguments(message, lambda arguments: {"q": "é"})
    assert [c["function"]["arguments"] for c in changed.additional_kwargs["tool_calls"]] == ['{"q":"é"}', '{"q": "é"}']


def test_calls_that_are_not_kept_go_from_every_place():
    """Each that is kept stays once, the first of its id; one that could be read wins over one that could not."""
    message = AIMessage(
        [
            {"type": "text", "text": "x"},
            {"type": "tool_use", "id": "c1", "n": 1},
            {"type": "tool_use", "id": "c1", "n": 2},
            {"type": "tool_use", "id": "c2"},
        ],
        tool_calls=[call("c1", n=1), call("c1", n=2), call("c2")],
        invalid_tool_calls=[broken("c1"), broken("c3"), broken("c3"), broken("c4")],
        additional_kwargs={"tool_calls": [legacy("c1", "{}"), legacy("c2", "{}")]},
    )
    kept = with_calls(message, frozenset({"c1", "c3"}))
    assert kept.tool_calls == [call("c1", n=1)]
    assert kept.invalid_tool_calls == [broken("c3")]
    assert kept.content == [{"type": "text", "text": "x"}, {"type": "tool_use", "id": "c1", "n": 1}]
    assert kept.additional_kwargs == {"tool_calls": [legacy("c1", "{}")]}
    none = with_calls(message, frozenset())
    assert (none.tool_calls, none.invalid_tool_calls, none.additional_kwargs) == ([], [], {})
    assert with_calls(AIMessage("plain"), frozenset({"c1"})).content == "plain"
