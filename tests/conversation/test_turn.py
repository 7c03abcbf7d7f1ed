"""A model call with everything before and after it, its steps answered by hand."""

import asyncio
import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.errors import GraphInterrupt
from langgraph.graph.message import add_messages

from langgraph_harness_memory.config import CompactionConfig, ToolResultEvictionConfig, TruncateArgsConfig
from langgraph_harness_memory.conversation.compaction import Turn
from langgraph_harness_memory.conversation.memory import CompactionMemory
from langgraph_harness_memory.conversation.tokens import TokenCounter
from langgraph_harness_memory.conversation.turn import call_with_memory, compact_now, prepare, send
from langgraph_harness_memory.events import ArgumentsTruncated, Compacted, CompactionFailed, Recovered
from langgraph_harness_memory.formats.forms import form_of
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.state import memory_messages
from langgraph_harness_memory.steps import (
    Answer,
    AppendSessionLog,
    AskModel,
    CallModel,
    Logged,
    QueueFlush,
    WriteEvicted,
    drive,
)
from langgraph_harness_memory.testing import assert_valid_request
from langgraph_harness_memory.testing.conversations import conversation


def events_of(done: Any, kind: type) -> list[Any]:
    return [event for event in done.events if isinstance(event, kind)]


# Compaction


def test_a_long_conversation_becomes_a_summary_and_its_tail(script: Any, turn: Any, chat: Any) -> None:
    """Fifty messages: thirty are folded, twenty stay, in one update that both reducers take."""
    messages = chat(51)
    done = script()
    sent = done.run(call_with_memory(turn(messages, log_path="sessions/t1.log.jsonl")))
    assert done.kinds == ["AppendSessionLog", "AskModel", "CallModel"]
    assert [form_of(m) for m in sent.view] == ["summary", *[None] * 20]
    assert sent.view[1:] == messages[31:]
    assert done.requests == [sent.view]
    assert [m.id for m in done.logged] == [f"m{i}" for i in range(31)]
    assert add_messages(messages, sent.update) == memory_messages(messages, sent.update) == sent.view
    assert isinstance(sent.view[0], HumanMessage)
    assert sent.view[0].id == "m0"
    assert "sessions/t1.log.jsonl" in sent.view[0].content
    event = events_of(done, Compacted)[0]
    assert (event.messages_before, event.messages_after) == (51, 21)
    assert event.tokens_after < event.tokens_before


def test_the_log_is_written_and_the_flush_queued_before_a_model_is_asked(script: Any, turn: Any, chat: Any) -> None:
    """Nothing may leave the state that is not on disk."""
    done = script()
    done.run(prepare(turn(chat(60))))
    kinds = [type(step) for step in done.steps]
    assert kinds.index(AppendSessionLog) < kinds.index(QueueFlush) < kinds.index(AskModel)


def test_a_short_conversation_is_sent_as_it_is(script: Any, turn: Any, chat: Any) -> None:
    """The same objects and no other step."""
    messages = chat(10)
    done = script()
    sent = done.run(call_with_memory(turn(messages, eviction=ToolResultEvictionConfig())))
    assert done.kinds == ["CallModel"]
    assert all(a is b for a, b in zip(done.requests[0], messages, strict=True))
    assert sent.update == []


def test_an_update_shows_no_removal_of_everything(script: Any, turn: Any, chat: Any) -> None:
    """Every removal names one message, and the summary takes the place of the first."""
    done = script()
    update = done.run(prepare(turn(chat(60)))).update
    assert [type(m) for m in update[1:]] == [RemoveMessage] * (len(update) - 1)
    assert {m.id for m in update} == {f"m{i}" for i in range(40)}


def test_system_messages_and_the_question_of_a_long_tool_loop_stay(script: Any, turn: Any) -> None:
    """They stand where they stood, word for word."""
    loop = [
        m
        for i in range(40)
        for m in (
            AIMessage("", id=f"a{i}", tool_calls=[{"name": "w", "args": {}, "id": f"c{i}"}]),
            ToolMessage("r", id=f"r{i}", tool_call_id=f"c{i}", name="w"),
        )
    ]
    messages = [SystemMessage("rules", id="s"), HumanMessage("the question", id="q"), *loop[:40]]
    messages += [SystemMessage("note", id="n"), *loop[40:]]
    done = script()
    view = done.run(prepare(turn(messages))).view
    assert [m.id for m in view[:4]] == ["s", "q", "a0", "n"]
    assert form_of(view[2]) == "summary"
    assert_valid_request(view, history=messages)


def test_few_but_huge_messages_still_shrink(script: Any, turn: Any, chat: Any) -> None:
    """15 messages of 14 000 characters with `keep_messages=20`, over the trigger by tokens."""
    done = script()
    config = CompactionConfig(trigger_tokens=30_000)
    view = done.run(prepare(turn(chat(15, words=2_800), compaction=config))).view
    assert TokenCounter().messages(view) <= 0.6 * 30_000


def test_the_same_conversation_recovers_from_an_overflow(script: Any, turn: Any, chat: Any) -> None:
    """Below every trigger, and still too long for the provider."""
    messages = chat(15, words=2_800)
    done = script(window=20_000)
    sent = done.run(call_with_memory(turn(messages, compaction=CompactionConfig(trigger_tokens=0))))
    assert TokenCounter().messages(sent.view) <= 20_000
    assert sent.view[-1] is messages[-1]
    assert add_messages(messages, sent.update) == sent.view


def test_one_huge_result_is_clipped_into_a_file(script: Any, turn: Any) -> None:
    """With nothing to fold, the open exchange itself has to shrink."""
    messages = [
        HumanMessage("q", id="q"),
        AIMessage("", id="a", tool_calls=[{"name": "w", "args": {}, "id": "c"}]),
        ToolMessage("HEAD" + "word " * 90_000 + "TAIL", id="r", tool_call_id="c", name="w"),
    ]
    done = script()
    prepared = done.run(prepare(turn(messages, reader="read_file")))
    assert [m.id for m in prepared.update] == ["r"]
    assert len(prepared.view[2].content) < 9_000
    assert "HEAD" in prepared.view[2].content
    assert next(iter(done.written.values())).endswith("TAIL")
    assert [m.id for m in done.logged] == ["q", "a", "r"]


def test_system_prompt_and_schemas_fire_the_trigger_and_only_once(script: Any, turn: Any, chat: Any) -> None:
    """40 000 characters of each were not counted; and where they alone are over the limit nothing may fire at every step."""
    config = CompactionConfig(trigger_tokens=5_000, keep_messages=1)
    memory, messages, done = CompactionMemory(), chat(3), script(summary="short")
    for step in range(6):
        prepared = done.run(prepare(turn(messages, compaction=config, overhead=20_000, memory=memory)))
        messages = [*memory_messages(messages, prepared.update), *chat(1, start=10 + step)]
    assert len(done.asked) == 1


def test_a_stale_usage_does_not_compact_again(script: Any, turn: Any, chat: Any) -> None:
    """The kept reply reports 9 100 tokens; three checks without a new reply: one summary."""
    config = CompactionConfig(trigger_tokens=5_000, trigger_messages=0, keep_messages=4)
    messages = chat(30, words=120)
    messages[-1].usage_metadata = {"input_tokens": 5_600, "output_tokens": 5, "total_tokens": 5_605}
    memory, done = CompactionMemory(), script()
    for _ in range(3):
        prepared = done.run(prepare(turn(messages, compaction=config, memory=memory)))
        messages = memory_messages(messages, prepared.update)
    assert len(done.asked) == 1


def test_after_a_compaction_the_next_one_is_far_away(script: Any, turn: Any, chat: Any) -> None:
    """The tail of twenty long messages is itself near the limit."""
    config = CompactionConfig(trigger_tokens=20_000, trigger_messages=0)
    messages, memory, done, fired = chat(20, words=900), CompactionMemory(), script(), []
    for step in range(40):
        prepared = done.run(prepare(turn(messages, compaction=config, memory=memory)))
        fired += [step] if prepared.update else []
        messages = [*memory_messages(messages, prepared.update), *chat(1, words=900, start=100 + step)]
    assert all(later - earlier >= 5 for earlier, later in itertools.pairwise(fired))
    assert len(fired) > 2


def test_a_fraction_of_the_window_triggers(script: Any, turn: Any, chat: Any) -> None:
    """80 000 tokens do not fit a model of 8 000."""
    messages = chat(20, words=400)
    assert script().run(prepare(turn(messages))).update == []
    assert script().run(prepare(turn(messages, window=8_000))).update != []


def test_triggers_can_be_off(script: Any, turn: Any, chat: Any) -> None:
    """0 switches each of them off."""
    config = CompactionConfig(trigger_messages=0, trigger_tokens=0, trigger_fraction=0)
    assert script().run(prepare(turn(chat(300, words=400), compaction=config, window=8_000))).update == []
    assert script().run(prepare(turn(chat(300), compaction=None))).update == []


def test_sixty_parallel_calls_shrink(script: Any, turn: Any) -> None:
    """More calls in one reply than messages may stay."""
    names = [f"c{i}" for i in range(60)]
    messages = [
        HumanMessage("q", id="q"),
        AIMessage("", id="a", tool_calls=[{"name": "w", "args": {}, "id": c} for c in names]),
        *(ToolMessage("a result of some words", id=f"r{c}", tool_call_id=c, name="w") for c in names),
        AIMessage("all done", id="b"),
        HumanMessage("thanks, next", id="n"),
    ]
    view = script().run(prepare(turn(messages))).view
    assert len(view) < 10
    assert_valid_request(view, history=messages)


def test_compaction_on_request_keeps_the_tail(script: Any, turn: Any, chat: Any) -> None:
    """Below every trigger, whoever asks for it gets it; with nothing over the tail nothing happens."""
    assert len(script().run(compact_now(turn(chat(30)))).view) == 21
    assert script().run(compact_now(turn(chat(20)))).update == []


# Failing summaries


@pytest.mark.parametrize(
    "answer",
    [RuntimeError("429"), TimeoutError(), "", "NO_REPLY", "I'm sorry, I can't.", "word " * 9_000,
     Answer(text="x", truncated=True), Answer(text="", has_tool_calls=True)],
)  # fmt: skip
def test_a_useless_summary_leaves_the_history(script: Any, turn: Any, chat: Any, answer: Any) -> None:
    """The turn goes on with every message, and an event says why."""
    messages, memory = chat(60), CompactionMemory()
    done = script(summary=answer)
    sent = done.run(call_with_memory(turn(messages, memory=memory)))
    assert sent.view == messages
    assert sent.update == []
    assert memory.failures == 1
    assert [e.failures for e in events_of(done, CompactionFailed)] == [1]


def test_failures_back_off(script: Any, turn: Any, chat: Any) -> None:
    """A model that fails is not asked at every step."""
    memory, done = CompactionMemory(), script(summary=RuntimeError("down"))
    for _ in range(40):
        done.run(prepare(turn(chat(60), memory=memory)))
    assert 4 <= len(done.asked) <= 6


def test_one_success_ends_the_back_off(script: Any, turn: Any, chat: Any) -> None:
    """Failures are counted in a row."""
    memory = CompactionMemory(failures=2, rest=0)
    script().run(prepare(turn(chat(60), memory=memory)))
    assert (memory.failures, memory.rest) == (0, 0)


def test_on_the_brink_the_rules_summarise_after_too_many_failures(script: Any, turn: Any, chat: Any) -> None:
    """The context is about to overflow and the model has failed three times."""
    memory = CompactionMemory(failures=3, rest=7)
    done = script(summary=RuntimeError("down"))
    messages = chat(40, words=1_200)
    prepared = done.run(prepare(turn(messages, memory=memory, window=40_000)))
    assert [step.by_rules for step in done.asked] == [True]
    assert len(prepared.view) < 30
    assert events_of(done, Compacted)[0].by_rules


def test_the_third_failure_on_the_brink_is_answered_by_the_rules(script: Any, turn: Any, chat: Any) -> None:
    """It is the one that exhausts the patience."""
    done = script(summary="")
    prepared = done.run(prepare(turn(chat(40, words=1_200), memory=CompactionMemory(failures=2), window=40_000)))
    assert [step.by_rules for step in done.asked] == [False, True]
    assert prepared.update != []


def test_a_log_that_cannot_be_written_keeps_the_history(script: Any, turn: Any, chat: Any) -> None:
    """Without it what is folded would be lost, so that no model is asked."""
    messages = chat(60)
    done = script(fails=(AppendSessionLog,))
    sent = done.run(call_with_memory(turn(messages)))
    assert sent.view == messages
    assert done.asked == []
    assert len(events_of(done, CompactionFailed)) == 1


def test_a_log_that_cannot_be_written_does_not_end_a_turn_that_overflows(script: Any, turn: Any, chat: Any) -> None:
    """The request is cut and the state is not."""
    done = script(fails=(AppendSessionLog,), window=20_000)
    sent = done.run(call_with_memory(turn(chat(15, words=2_800))))
    assert len(sent.view) < 15
    assert sent.update == []


def test_without_offload_nothing_is_logged(script: Any, turn: Any, chat: Any) -> None:
    """`offload_before_compact=False`, and `flush_before_compact=False`."""
    done = script()
    config = CompactionConfig(offload_before_compact=False, flush_before_compact=False)
    done.run(prepare(turn(chat(60), compaction=config)))
    assert done.of(AppendSessionLog) == done.of(QueueFlush) == []


def test_a_failed_flush_queue_does_not_stop_a_compaction(script: Any, turn: Any, chat: Any) -> None:
    """What is logged and unmarked is found by the next flush."""
    done = script(fails=(QueueFlush,))
    assert len(done.run(prepare(turn(chat(60)))).view) == 21


@pytest.mark.parametrize("error", [KeyboardInterrupt, asyncio.CancelledError, GraphInterrupt])
@pytest.mark.parametrize("at", [AskModel, QueueFlush, AppendSessionLog, CallModel])
def test_interrupts_and_cancellation_propagate(turn: Any, chat: Any, script: Any, error: type, at: type) -> None:
    """They unwind the rules, wherever they strike."""
    done = script()

    def perform(step: Any) -> Any:
        if isinstance(step, at):
            raise error
        return done(step)

    with pytest.raises(error):
        drive(call_with_memory(turn(chat(60))), perform)


def test_a_paid_summary_is_not_paid_for_twice(script: Any, turn: Any, chat: Any) -> None:
    """The model call after the compaction raised, so that its update was lost; the next turn uses the summary again."""
    memory, messages = CompactionMemory(), chat(60)
    done = script()

    def perform(step: Any) -> Any:
        if isinstance(step, CallModel):
            raise ConnectionError("the provider is down")
        return done(step)

    with pytest.raises(ConnectionError, match="the provider is down"):
        drive(call_with_memory(turn(messages, memory=memory)), perform)
    memory = CompactionMemory.of(json.loads(json.dumps(memory.as_json())))
    sent = done.run(call_with_memory(turn(messages, memory=memory)))
    assert len(done.asked) == 1
    assert len(sent.view) == 21


def test_a_message_that_changed_is_summarised_anew(script: Any, turn: Any, chat: Any) -> None:
    """A paid summary stands for the texts that it was made of, not for their ids."""
    memory, messages, done = CompactionMemory(), chat(60), script()
    done.run(prepare(turn(messages, memory=memory)))
    messages[3] = messages[3].model_copy(update={"content": messages[3].content.replace("word", "ward", 1)})
    done.run(prepare(turn(messages, memory=memory)))
    assert len(done.asked) == 2


# Recovery


def test_an_overflow_without_compaction_is_rethrown_unchanged(script: Any, turn: Any, chat: Any) -> None:
    """The provider's own error, and no attempt."""
    done = script(window=10)
    with pytest.raises(ValueError, match="prompt is too long") as caught:
        done.run(call_with_memory(turn(chat(60), compaction=None)))
    assert caught.value is done.overflow
    assert len(done.requests) == 1


def test_what_cannot_shrink_is_the_providers_own_error(script: Any, turn: Any) -> None:
    """A single question that is too long is never cut."""
    done = script(window=100)
    with pytest.raises(ValueError, match="prompt is too long") as caught:
        done.run(call_with_memory(turn([HumanMessage("long " * 5_000, id="q")])))
    assert caught.value is done.overflow
    assert len(done.requests) == 1


def test_at_most_two_summaries_in_a_turn(script: Any, turn: Any, chat: Any) -> None:
    """An irreducible context costs two calls of the summary model, and a few of the agent's."""
    done = script(window=1)
    with pytest.raises(ValueError, match="prompt is too long"):
        done.run(call_with_memory(turn(chat(60, words=500))))
    assert len([step for step in done.asked if not step.by_rules]) <= 2
    assert len(done.requests) <= 4
    sizes = [TokenCounter().messages(request) for request in done.requests]
    assert all(later < earlier for earlier, later in itertools.pairwise(sizes))


def test_recovery_says_how_often_it_tried(script: Any, turn: Any, chat: Any) -> None:
    """An event for the person who watches."""
    done = script(window=12_000)
    done.run(send(turn(chat(40, words=500))))
    assert [e.attempts for e in events_of(done, Recovered)] == [len(done.requests) - 1]


def test_recovery_works_where_the_summary_model_fails(script: Any, turn: Any, chat: Any) -> None:
    """The rules summarise at once, since the turn would end."""
    done = script(window=12_000, summary=RuntimeError("down"))
    sent = done.run(send(turn(chat(40, words=500))))
    assert TokenCounter().messages(sent.view) <= 12_000
    assert [step.by_rules for step in done.asked][:2] == [False, True]


def test_recovery_clips_the_open_exchange(script: Any, turn: Any) -> None:
    """Ten results that the model has yet to see, and arguments as long."""
    calls = [{"name": "w", "args": {"text": "word " * 2_000}, "id": f"c{i}"} for i in range(10)]
    messages = [
        HumanMessage("the question", id="q"),
        AIMessage("", id="a", tool_calls=calls),
        *(ToolMessage("word " * 2_000, id=f"r{i}", tool_call_id=f"c{i}", name="w") for i in range(10)),
    ]
    done = script(window=5_000)
    sent = done.run(send(turn(messages, compaction=CompactionConfig(trigger_tokens=0))))
    assert_valid_request(sent.view, history=messages)
    assert add_messages(messages, sent.update) == memory_messages(messages, sent.update) == sent.view
    logged = {m.id: m for m in done.logged if form_of(m) is None}
    assert all(logged[m.id].content == m.content for m in messages)


def test_reasoning_and_signatures_in_the_kept_tail_are_not_touched(script: Any, turn: Any, chat: Any) -> None:
    """A provider refuses a signed block that was changed."""
    signed = AIMessage(
        [{"type": "thinking", "thinking": "hm " * 900, "signature": "c2ln"}, {"type": "text", "text": "so " * 900}],
        id="t",
    )
    messages = [*chat(60, words=100), HumanMessage("and?", id="h"), signed, HumanMessage("last", id="l")]
    done = script(window=9_000)
    sent = done.run(call_with_memory(turn(messages)))
    assert [m for m in sent.view if m.id == "t"] in ([signed], [])


def test_the_same_question_is_sent_once(script: Any, turn: Any, chat: Any) -> None:
    """Recovery repeats the call and not the user."""
    messages = [*chat(40, words=500), HumanMessage("THE QUESTION", id="q")]
    done = script(window=12_000)
    sent = done.run(send(turn(messages)))
    assert [m.content for m in sent.view].count("THE QUESTION") == 1
    assert [m.content for m in memory_messages(messages, sent.update)].count("THE QUESTION") == 1


# Truncation, eviction, repair


def test_long_arguments_are_shortened_without_a_summary(script: Any, turn: Any) -> None:
    """30 messages, the second a call with 10 000 characters: the request is small, and so is the state."""
    call = AIMessage("", id="a", tool_calls=[{"name": "write_file", "args": {"text": "x" * 10_000}, "id": "c"}])
    messages = [HumanMessage("q", id="q"), call, ToolMessage("ok", id="r", tool_call_id="c")]
    messages += [HumanMessage(f"m{i}", id=f"m{i}") for i in range(27)]
    done = script()
    sent = done.run(call_with_memory(turn(messages, compaction=CompactionConfig(truncate_args=TruncateArgsConfig()))))
    assert done.asked == []
    assert [m.id for m in sent.update] == ["a"]
    assert len(str(memory_messages(messages, sent.update)[1])) < 3_000
    assert [m.content for m in done.requests[0]] == [m.content for m in messages]
    assert done.logged[1].tool_calls[0]["args"]["text"] == "x" * 10_000
    assert events_of(done, ArgumentsTruncated)[0].characters_saved == 8_000


def test_truncation_waits_for_a_log(script: Any, turn: Any) -> None:
    """What was said has to be somewhere."""
    call = AIMessage("", id="a", tool_calls=[{"name": "w", "args": {"text": "x" * 10_000}, "id": "c"}])
    messages = [call, ToolMessage("ok", id="r", tool_call_id="c"), *(HumanMessage("m", id=f"m{i}") for i in range(30))]
    config = CompactionConfig(truncate_args=TruncateArgsConfig())
    assert script(fails=(AppendSessionLog,)).run(prepare(turn(messages, compaction=config))).update == []


def test_between_two_moves_of_the_border_requests_share_their_prefix(script: Any, turn: Any) -> None:
    """A provider's prompt cache holds: a request begins as the last one did."""
    config = CompactionConfig(truncate_args=TruncateArgsConfig(), trigger_messages=0, trigger_tokens=0)
    counter, memory, messages, broken, last = TokenCounter(), CompactionMemory(), [], 0, []
    for i in range(100):
        call = {"name": "w", "args": {"text": "x" * 5_000}, "id": f"c{i}"}
        messages = [
            *messages,
            AIMessage("", id=f"a{i}", tool_calls=[call]),
            ToolMessage("ok", id=f"r{i}", tool_call_id=f"c{i}"),
        ]
        prepared = script().run(prepare(turn(messages, compaction=config, counter=counter, memory=memory)))
        messages = memory_messages(messages, prepared.update)
        broken += messages[: len(last)] != last
        last = messages
    assert broken <= 200 // 10


def test_the_newest_results_are_evicted_before_the_model_sees_them(script: Any, turn: Any) -> None:
    """In the view and in the state."""
    messages = [
        HumanMessage("q", id="q"),
        AIMessage("", id="a", tool_calls=[{"name": "w", "args": {}, "id": "c"}]),
        ToolMessage("x" * 90_000, id="r", tool_call_id="c", name="w"),
    ]
    done = script()
    sent = done.run(call_with_memory(turn(messages, eviction=ToolResultEvictionConfig())))
    assert form_of(done.requests[0][2]) == "evicted"
    assert form_of(memory_messages(messages, sent.update)[2]) == "evicted"


def test_the_request_is_repaired_and_the_state_is_not(script: Any, turn: Any) -> None:
    """A call that an interrupt left open gets its result in the request alone."""
    messages = [
        AIMessage("", id="a", tool_calls=[{"name": "w", "args": {}, "id": "c"}]),
        HumanMessage("never mind", id="h"),
    ]
    done = script()
    sent = done.run(call_with_memory(turn(messages)))
    assert_valid_request(done.requests[0])
    assert sent.update == []
    assert sent.view == messages


# history="keep"


def test_with_keep_the_state_stays_whole_and_the_view_is_compacted(script: Any, turn: Any, chat: Any) -> None:
    """Over three compactions, with the memory going through JSON each time; the first fact reaches the third prompt."""
    config, memory, messages, done = CompactionConfig(history="keep"), CompactionMemory(), chat(50), script()
    messages[0].content = "the code word is heliotrope"
    done.summary = lambda step: (
        "## SUMMARY\nheliotrope" if "heliotrope" in step.messages[0].content else "## SUMMARY\nlost"
    )
    for step in range(100):
        memory = CompactionMemory.of(json.loads(json.dumps(memory.as_json())))
        sent = done.run(call_with_memory(turn(messages, compaction=config, memory=memory)))
        assert sent.update == []
        assert len(sent.view) <= 50
        assert_valid_request(sent.view, history=messages)
        messages = [*messages, *chat(1, start=1_000 + step)]
    assert 3 <= len(done.asked) <= 6
    assert all("heliotrope" in step.messages[0].content for step in done.asked)
    assert len([m for m in memory.view if m["type"] == "human"]) == 1


def test_with_keep_a_view_follows_the_state(script: Any, turn: Any, chat: Any) -> None:
    """What the application removes from the state is gone from the view."""
    config, memory, messages = CompactionConfig(history="keep"), CompactionMemory(), chat(60)
    script().run(prepare(turn(messages, compaction=config, memory=memory)))
    left = [m for m in messages if m.id != "m59"]
    assert [m.id for m in script().run(prepare(turn(left, compaction=config, memory=memory))).view][-1] == "m58"


# Everything at once


CONFIGS = st.builds(
    lambda trigger, keep, tokens, kept, truncates: CompactionConfig(
        trigger_messages=trigger,
        keep_messages=max(1, min(keep, trigger - 1)),
        trigger_tokens=tokens,
        keep_tokens=kept,
        clip_chars=500,
        truncate_args=TruncateArgsConfig(trigger_messages=8, keep_messages=4, max_arg_length=100)
        if truncates
        else None,
    ),
    st.integers(2, 40),
    st.integers(1, 30),
    st.sampled_from([0, 500, 2_000, 20_000]),
    st.sampled_from([0, 0, 300]),
    st.booleans(),
)


@given(st.randoms(use_true_random=False), CONFIGS, st.sampled_from([None, None, 1_500, 400]), st.booleans())
def test_any_turn_keeps_its_promises(random: Any, config: CompactionConfig, window: int | None, disorder: bool) -> None:
    """Valid request, question verbatim, system messages in place, logged before it left, both reducers at the same end."""
    messages = conversation(random, turns=12, pending=True, disorder=disorder)
    counter, logged, left_without_log = TokenCounter(), set[str](), []

    def perform(step: Any) -> Any:
        match step:
            case AskModel():
                return Answer(text="## SUMMARY\nok") if random.random() < 0.8 else Answer(text="")
            case AppendSessionLog():
                logged.update(str(m.id) for m in step.messages)
                return Logged(positions={})
            case WriteEvicted():
                return "large_tool_results/t/w.txt"
            case CallModel():
                from langgraph_harness_memory.steps import Called, Overflowed

                if any(m.type != "system" for m in step.messages):
                    assert_valid_request(step.messages, history=messages)
                too_long = window is not None and counter.messages(step.messages) > window
                return Overflowed(error=ValueError("too long")) if too_long else Called(result="answer")
        return None

    turn = Turn(
        thread=ThreadRef(thread_id="t"),
        messages=messages,
        counter=counter,
        memory=CompactionMemory(),
        compaction=config,
        eviction=ToolResultEvictionConfig(max_result_chars=300, max_total_chars=900),
    )
    try:
        sent = drive(call_with_memory(turn), perform)
    except ValueError:
        assert window is not None
        return
    assert sent.result == "answer"
    assert add_messages(messages, sent.update) == memory_messages(messages, sent.update) == sent.view
    standing = {m.id: m for m in sent.view}
    left_without_log = [m.id for m in messages if standing.get(m.id) != m and m.id not in logged]
    assert left_without_log == []
    again = memory_messages(memory_messages(messages, sent.update), sent.update)
    assert again == sent.view


def test_the_original_messages_are_never_changed(script: Any, turn: Any, chat: Any) -> None:
    """Forms are copies: the log and other holders of the objects see what was said."""
    messages = chat(60)
    before = [m.model_copy(deep=True) for m in messages]
    script().run(call_with_memory(turn(messages)))
    assert messages == before
