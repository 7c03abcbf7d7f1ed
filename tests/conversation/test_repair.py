"""Making a request valid."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_harness_memory.conversation.repair import NO_RESULT, repair, sound_until
from langgraph_harness_memory.formats.forms import form_of
from langgraph_harness_memory.testing import assert_valid_request, request_faults
from langgraph_harness_memory.testing.conversations import conversation


def ai(*calls: Any, content: Any = "", **fields: Any) -> AIMessage:
    return AIMessage(content, tool_calls=[{"name": "work", "args": {}, "id": c} for c in calls], **fields)


def tool(call: str, text: str = "result") -> ToolMessage:
    return ToolMessage(text, tool_call_id=call)


def shapes(messages: list[BaseMessage]) -> list[str]:
    return [f"{m.type}:{m.tool_call_id}" if isinstance(m, ToolMessage) else m.type for m in messages]


def test_a_valid_request_is_sent_as_it_is() -> None:
    """The same objects, so that nothing about a prefix changes."""
    messages = [HumanMessage("q"), ai("a", "b"), tool("b"), tool("a"), ai(content="done")]
    assert sound_until(messages) == len(messages)
    assert all(sent is known for sent, known in zip(repair(messages), messages, strict=True))


def test_an_interrupted_call_gets_a_result_that_says_so() -> None:
    """A person stopped the run between the call and its tool."""
    repaired = repair([HumanMessage("q"), ai("a", "b"), tool("b"), HumanMessage("never mind")])
    assert shapes(repaired) == ["human", "ai", "tool:b", "tool:a", "human"]
    invented = repaired[3]
    assert (invented.content, form_of(invented)) == (NO_RESULT, "repair")
    assert isinstance(invented, ToolMessage)
    assert (invented.status, invented.name) == ("error", "work")


def test_a_result_without_a_call_is_left_out() -> None:
    """Providers refuse it."""
    assert shapes(repair([HumanMessage("q"), tool("gone"), ai(content="x")])) == ["human", "ai"]


def test_results_move_behind_their_call() -> None:
    """Another writer put a message between them."""
    repaired = repair([ai("a", "b"), HumanMessage("wait"), tool("b"), tool("a")])
    assert shapes(repaired) == ["ai", "tool:b", "tool:a", "human"]


def test_of_two_results_the_newer_stands() -> None:
    """A tool that ran again after a resume."""
    repaired = repair([ai("a"), tool("a", "first"), tool("a", "second"), HumanMessage("x")])
    assert shapes(repaired) == ["ai", "tool:a", "human"]
    assert repaired[1].content == "second"


def test_call_ids_may_come_back() -> None:
    """Each result belongs to the call before it."""
    messages = [ai("call_0"), tool("call_0", "one"), ai("call_0"), tool("call_0", "two"), ai(content="x")]
    assert [m.content for m in repair(messages)] == [m.content for m in messages]


def test_a_call_that_could_not_be_read_gets_a_result() -> None:
    """OpenAI clients send invalid calls along."""
    broken = [{"name": "work", "args": '{"a": ', "id": "x", "error": "cut off", "type": "invalid_tool_call"}]
    repaired = repair([HumanMessage("q"), AIMessage("", invalid_tool_calls=broken), HumanMessage("next")])
    assert shapes(repaired) == ["human", "ai", "tool:x", "human"]
    assert "cut off" in str(repaired[2].content)


def test_a_call_that_could_not_even_be_named_is_left_out() -> None:
    """No result could refer to it."""
    broken = [{"name": "work", "args": "{", "id": None, "error": None, "type": "invalid_tool_call"}]
    repaired = repair([HumanMessage("q"), AIMessage("text", invalid_tool_calls=broken)])
    assert isinstance(repaired[1], AIMessage)
    assert repaired[1].invalid_tool_calls == []
    assert repaired[1].content == "text"


def test_a_second_call_under_one_id_is_left_out() -> None:
    """In the calls and in the blocks."""
    block = {"type": "tool_use", "id": "a", "name": "work", "input": {}}
    repaired = repair([ai("a", "a", content=[block, dict(block)]), tool("a")])
    assert isinstance(repaired[0], AIMessage)
    assert [c["id"] for c in repaired[0].tool_calls] == ["a"]
    assert repaired[0].content == [block]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_use", "id": "gone", "name": "work", "input": {}},
        {"type": "function_call", "id": "fc_1", "call_id": "gone", "name": "work", "arguments": "{}"},
    ],
)
def test_a_block_without_its_call_is_left_out(block: dict[str, Any]) -> None:
    """An edit took the call away and left the provider's own block."""
    repaired = repair([HumanMessage("q"), AIMessage([{"type": "text", "text": "hm"}, block]), HumanMessage("x")])
    assert repaired[1].content == [{"type": "text", "text": "hm"}]
    alone = repair([HumanMessage("q"), AIMessage([block]), HumanMessage("x")])
    assert shapes(alone) == ["human", "human"]


def test_a_block_with_its_call_is_answered() -> None:
    """A Responses call that never ran gets its result under the call's id, not the block's."""
    block = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "work", "arguments": "{}"}
    repaired = repair([ai("a", content=[block]), HumanMessage("x")])
    assert shapes(repaired) == ["ai", "tool:a", "human"]
    assert repaired[0].content == [block]


def test_thinking_blocks_are_not_touched() -> None:
    """Their signatures cover them."""
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    block = {"type": "tool_use", "id": "a", "name": "work", "input": {}}
    repaired = repair([HumanMessage("q"), ai("a", content=[thinking, block]), HumanMessage("x")])
    assert repaired[1].content == [thinking, block]


def test_the_state_is_not_changed() -> None:
    """Repair copies what it changes."""
    message = ai("a", "a")
    repair([message])
    assert len(message.tool_calls) == 2


def test_what_is_known_to_be_valid_is_not_looked_at_again() -> None:
    """The place that was reached is the start of the next look."""
    messages = [HumanMessage("q"), ai("a"), tool("a"), ai("b")]
    assert sound_until(messages[:2]) == 1
    assert sound_until(messages, start=1) == 3
    assert shapes(repair([*messages, HumanMessage("x")], sound=3))[-2:] == ["tool:b", "human"]


@given(st.randoms(use_true_random=False))
def test_any_conversation_becomes_a_valid_request(random: Any) -> None:
    """Dangling, doubled, orphaned and interleaved results, at any place; a valid one goes out unchanged."""
    messages = conversation(random, pending=True, disorder=True)
    repaired = repair(messages)
    assert_valid_request(repaired)
    assert [m for m in repaired if m.type in ("human", "system")] == [
        m for m in messages if m.type in ("human", "system")
    ]
    if not request_faults(messages):
        assert sound_until(messages) == len(messages)
        assert all(sent is known for sent, known in zip(repaired, messages, strict=True))


@given(st.randoms(use_true_random=False), st.integers(0, 40))
def test_any_part_of_a_conversation_becomes_a_valid_request(random: Any, start: int) -> None:
    """Also where somebody else cut it anywhere."""
    messages = conversation(random, pending=True)[start:]
    if any(m.type != "tool" for m in messages):
        assert_valid_request(repair(messages))


@given(st.randoms(use_true_random=False), st.integers(0, 40))
def test_repair_from_a_sound_place_equals_repair_from_the_start(random: Any, start: int) -> None:
    """What was sound stays sound when more arrives."""
    messages = conversation(random, pending=True, disorder=True)
    sound = sound_until(messages[:start])
    assert sound_until(messages) == sound_until(messages, start=sound)
    assert shapes(repair(messages, sound=sound)) == shapes(repair(messages))


def test_an_invented_result_says_why_and_for_which_call() -> None:
    """Interrupted, unreadable with its error, or cut off; marked as ours, and an error."""
    reply = AIMessage(
        "",
        id="a",
        tool_calls=[{"name": "work", "args": {}, "id": "c1"}],
        invalid_tool_calls=[
            {"name": "look", "args": "{", "id": "c2", "error": "no end", "type": "invalid_tool_call"},
            {"name": None, "args": "{", "id": "c3", "error": None, "type": "invalid_tool_call"},
        ],
    )
    _, *results = repair([reply])
    assert [(r.tool_call_id, r.name, r.status, r.content) for r in results] == [
        ("c1", "work", "error", "This call was interrupted and has no result."),
        ("c2", "look", "error", "This call could not be carried out: its arguments were not valid JSON (no end)."),
        ("c3", None, "error", "This call could not be carried out: its arguments were not valid JSON (cut off)."),
    ]
    assert {str(r.additional_kwargs) for r in results} == {"{'harness_memory': {'form': 'repair'}}"}


@pytest.mark.parametrize(("identifier", "named"), [("a", "call_a_1"), (None, "call_unnamed_1")])
def test_a_call_without_an_id_is_named_after_its_message(identifier: str | None, named: str) -> None:
    """So that a result can refer to it; the others keep theirs."""
    calls = [{"name": "work", "args": {}, "id": "c1"}, {"name": "look", "args": {}, "id": None}]
    reply, *results = repair([AIMessage("", id=identifier, tool_calls=calls)])
    assert [call["id"] for call in reply.tool_calls] == ["c1", named]
    assert [(r.tool_call_id, r.name) for r in results] == [("c1", "work"), (named, "look")]


def test_a_conversation_is_sound_up_to_its_first_fault() -> None:
    """A call that waits, a foreign result, or a reply that needs repair; known parts are not looked at."""
    call = AIMessage("", tool_calls=[{"name": "work", "args": {}, "id": "c1"}])
    twice = AIMessage("", tool_calls=[{"name": "work", "args": {}, "id": "c1"}] * 2)
    result = ToolMessage("r", tool_call_id="c1")
    said = HumanMessage("q")
    assert sound_until([]) == 0
    assert sound_until([said, call, result, said]) == 4
    assert sound_until([said, call]) == 1
    assert sound_until([said, call, said, result]) == 1
    assert sound_until([said, result]) == 1
    assert sound_until([said, call, result, result]) == 3
    assert sound_until([said, twice, result]) == 1
    assert sound_until([result, said, said], start=1) == 3
    assert sound_until([said, said, result], start=1) == 2
