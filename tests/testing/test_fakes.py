"""The public fakes keep the promises that tests build on."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta

import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from langgraph_harness_memory.clock import Clock
from langgraph_harness_memory.formats.forms import marked
from langgraph_harness_memory.testing import (
    Failure,
    FrozenClock,
    Reply,
    ScriptedChatModel,
    assert_valid_request,
    echo,
    request_faults,
)
from langgraph_harness_memory.testing.scripted import ScriptExhausted


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return city


def call(*ids: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "weather", "args": {"city": i}, "id": i} for i in ids])


def result(call_id: str) -> ToolMessage:
    return ToolMessage("rain", tool_call_id=call_id)


class TestScriptedChatModel:
    def test_each_call_takes_one_entry_and_is_recorded(self):
        """Text, whole messages, functions of the request and failures follow each other as written."""
        model = ScriptedChatModel(script=["one", AIMessage("two", id="x"), echo, ValueError("four")])
        assert model.invoke("a").text == "one"
        assert model.invoke("b").id == "x"
        assert model.invoke("c").text == "c"
        with pytest.raises(ValueError, match="four"):
            model.invoke("d")
        assert [r.messages[0].content for r in model.requests] == ["a", "b", "c", "d"]

    def test_a_used_up_script_says_so(self):
        """An unexpected call is an assertion error that quotes the request."""
        model = ScriptedChatModel(script=["one"])
        model.invoke("a")
        with pytest.raises(ScriptExhausted, match="call 2 of a script of 1 entries: 'b"):
            model.invoke("b")

    def test_repeat_says_the_last_entry_again(self):
        """The script ends in its last entry for ever."""
        model = ScriptedChatModel(script=["one", "two"], repeat=True)
        assert [model.invoke("x").text for _ in range(4)] == ["one", "two", "two", "two"]

    def test_streamed_pieces_add_up_to_the_whole(self):
        """Text, calls, usage and the reason to stop are the same streamed and whole."""
        reply = Reply(text="It is  raining.", calls=[("weather", {"city": "Tromsø", "days": [1, 2]})], usage=(5, 6))
        whole = ScriptedChatModel(script=[reply]).invoke("x")
        pieces = list(ScriptedChatModel(script=[reply]).stream("x"))
        added = sum(pieces[1:], start=pieces[0])
        assert len([p for p in pieces if p.text]) == 3
        assert (added.text, added.tool_calls, added.usage_metadata) == (
            whole.text,
            whole.tool_calls,
            whole.usage_metadata,
        )
        assert added.response_metadata["finish_reason"] == whole.response_metadata["finish_reason"] == "tool_calls"

    @pytest.mark.asyncio
    async def test_async_calls_are_the_same(self):
        """The async twins take the same script and never block the loop while they wait."""
        model = ScriptedChatModel(script=[Reply(text="slow", delay=timedelta(seconds=0.2)), "a b"])
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        assert (await model.ainvoke("x")).text == "slow"
        ticking.cancel()
        assert ticks >= 5
        assert "".join([p.text async for p in model.astream("x")]) == "a b"

    def test_a_failure_after_text_streams_the_text_first(self):
        """A stream that breaks gives what came before."""
        seen = []
        with pytest.raises(ConnectionError, match="gone"):
            seen.extend(
                p.text
                for p in ScriptedChatModel(script=[Failure(error=ConnectionError("gone"), text="a b")]).stream("x")
            )
        assert "".join(seen) == "a b"

    def test_a_bound_model_shares_script_and_records(self):
        """Tools are recorded with the request, in OpenAI's form."""
        model = ScriptedChatModel(script=["one"])
        model.bind_tools([weather], tool_choice="any").invoke("x")
        assert model.requests[0].tools[0]["function"]["name"] == "weather"
        assert model.requests[0].options["tool_choice"] == "any"

    def test_the_window_is_told_and_enforced(self):
        """A request over the window overflows without using up the script."""
        model = ScriptedChatModel(script=["fine"], context_window=20)
        assert model.profile["max_input_tokens"] == 20
        with pytest.raises(ContextOverflowError, match=r"prompt is too long: 2[0-9]+ tokens > 20 maximum"):
            model.invoke("x" * 1_000)
        assert model.invoke("x").text == "fine"

    def test_threads_share_the_script(self):
        """Each entry is said once, however many threads ask."""
        model = ScriptedChatModel(script=[str(n) for n in range(40)])
        said: list[str] = []
        threads = [
            threading.Thread(target=lambda: said.extend(model.invoke("x").text for _ in range(10))) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(said, key=int) == [str(n) for n in range(40)]

    def test_what_is_recorded_does_not_change_with_the_callers_list(self):
        """A request is recorded as it stood."""
        messages = [HumanMessage("a")]
        model = ScriptedChatModel(script=["one"])
        model.invoke(messages)
        messages.append(HumanMessage("b"))
        assert len(model.requests[0].messages) == 1


class TestFrozenClock:
    def test_time_stands_until_it_is_moved(self):
        """Wall clock and monotonic time move together by `advance`."""
        clock: Clock = FrozenClock("2026-03-29T01:00:00+01:00")
        assert clock.now() == datetime(2026, 3, 29, 0, 0, tzinfo=UTC)
        before = clock.monotonic()
        clock.advance(hours=1)
        clock.advance(timedelta(minutes=30))
        assert clock.now() == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
        assert clock.monotonic() - before == 5_400

    def test_the_wall_clock_goes_back_only_when_set(self):
        """A clock set back leaves monotonic time alone."""
        clock = FrozenClock()
        before = clock.monotonic()
        clock.set("2020-01-01T00:00:00+00:00")
        assert clock.now().year == 2020
        assert clock.monotonic() == before
        with pytest.raises(ValueError, match="does not go back"):
            clock.advance(hours=-1)

    def test_a_moment_without_a_zone_is_refused(self):
        """Nobody knows which moment it is."""
        with pytest.raises(ValueError, match="no time zone"):
            FrozenClock("2026-01-01T00:00:00")


class TestRequestFaults:
    @pytest.mark.parametrize(
        "request_",
        [
            [HumanMessage("x")],
            [SystemMessage("s"), HumanMessage("x"), call("a", "b"), result("b"), result("a"), AIMessage("done")],
            [HumanMessage("x"), call("a"), result("a"), call("a"), result("a")],
        ],
    )
    def test_valid_requests_have_none(self, request_):
        """Results in any order, ids used again in a later exchange."""
        assert request_faults(request_) == []

    @pytest.mark.parametrize(
        ("request_", "fault"),
        [
            ([], "no message"),
            ([HumanMessage("x"), result("a")], "without its call"),
            ([HumanMessage("x"), call("a", "b"), result("a"), HumanMessage("y")], "the call 'b' has no result before"),
            ([HumanMessage("x"), call("a")], "the call 'a' has no result"),
            ([HumanMessage("x"), call("a"), result("a"), result("a")], "a second time"),
            ([HumanMessage("x"), call("a"), HumanMessage("y"), result("a")], "without its call"),
            ([HumanMessage("x", id="1"), HumanMessage("y", id="1")], "two messages have the id '1'"),
            ([HumanMessage("x"), RemoveMessage(id="1")], "a removal"),
        ],
    )
    def test_each_fault_is_named(self, request_, fault):
        """One sentence says what a provider would refuse."""
        assert any(fault in f for f in request_faults(request_))
        with pytest.raises(AssertionError, match=fault):
            assert_valid_request(request_)

    def test_open_calls_are_fine_in_a_state(self):
        """While tools run, the newest calls are open."""
        assert request_faults([HumanMessage("x"), call("a", "b"), result("a")], pending=True) == []

    def test_blocks_must_agree_with_calls(self):
        """A provider reads the blocks, so a shortened call with long blocks is a fault."""
        blocks = [{"type": "tool_use", "id": "a", "name": "weather", "input": {"city": "long"}}]
        message = AIMessage(blocks, tool_calls=[{"name": "weather", "args": {"city": "short"}, "id": "a"}])
        assert any("differs" in f for f in request_faults([HumanMessage("x"), message, result("a")]))

    def test_the_last_user_message_must_be_verbatim(self):
        """A summary in the user's role is no user message; a changed one is a fault."""
        history = [
            SystemMessage("be kind"),
            HumanMessage("old", id="1"),
            AIMessage("ok"),
            HumanMessage("exact words", id="2"),
        ]
        summary = HumanMessage("…", id="1", additional_kwargs=marked("summary"))
        good = [SystemMessage("be kind\n\nmemory: tea"), summary, HumanMessage("exact words", id="2")]
        assert request_faults(good, history=history) == []
        changed = [SystemMessage("be kind"), summary, HumanMessage("exact", id="2")]
        assert any("not verbatim" in f for f in request_faults(changed, history=history))
        assert any("system message" in f for f in request_faults(good[1:], history=history))
