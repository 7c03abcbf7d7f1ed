"""One compaction, recovery and eviction as the steps they take: what is asked, logged, queued, told and marked."""

from dataclasses import replace
from datetime import timedelta

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.types import Command

from langgraph_harness_memory.config import CompactionConfig, ToolResultEvictionConfig, TruncateArgsConfig
from langgraph_harness_memory.conversation.compaction import Folded, Kept, compact
from langgraph_harness_memory.conversation.cutoff import Tail
from langgraph_harness_memory.conversation.eviction import Place, choose, evict, messages_in, move_out, with_messages
from langgraph_harness_memory.conversation.folding import fold_key, fold_update
from langgraph_harness_memory.conversation.memory import CompactionMemory
from langgraph_harness_memory.conversation.recovery import clip
from langgraph_harness_memory.conversation.summary import (
    PROMPT,
    NoSummary,
    Summary,
    SummarySettings,
    chunked,
    judge,
    summarise,
    summary_text,
)
from langgraph_harness_memory.conversation.tokens import TokenCounter
from langgraph_harness_memory.conversation.turn import call_with_memory, prepare, send
from langgraph_harness_memory.events import (
    ArgumentsTruncated,
    Compacted,
    CompactionFailed,
    Evicted,
    EvictionFailed,
    Recovered,
)
from langgraph_harness_memory.formats.forms import form_of, marked
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.steps import Answer, AppendSessionLog, AskModel, QueueFlush, WriteEvicted

ALICE = ThreadRef(thread_id="t1", tenant="alice", namespace="sub")
GIST = "## SUMMARY\nThe gist."


def config(**settings):
    return CompactionConfig(**{"trigger_messages": 10, "keep_messages": 4, "truncate_args": None, **settings})


def whose(done):
    """Return the threads and tenants that the steps of a run name."""
    threads = {step.thread for step in done.steps if hasattr(step, "thread")}
    return threads, {event.tenant for event in done.events}, {event.thread_id for event in done.events}


def test_a_compaction_step_by_step(script, turn, chat):
    """What leaves is logged and queued, then summarised under the settings' deadline, marked and told; all of it the thread's own."""
    messages = chat(12)
    done = script(summary=GIST)
    memory = CompactionMemory(failures=1)
    one = turn(
        messages,
        thread=ALICE,
        memory=memory,
        compaction=config(timeout=timedelta(seconds=7), max_summary_tokens=900),
        overhead=50,
        waits_for_flush=True,
        log_path="log",
        session_reader="session_search",
    )
    prepared = done.run(prepare(one))
    assert whose(done) == ({ALICE}, {"alice"}, {"t1"})
    (flush,) = done.of(QueueFlush)
    assert flush == QueueFlush(thread=ALICE, wait=True)
    (asked,) = done.asked
    assert (asked.purpose, asked.timeout, asked.by_rules) == ("summary", timedelta(seconds=7), False)
    assert "at most 900 tokens" in asked.messages[0].text
    counter = TokenCounter()
    summary, text = prepared.view[0], summary_text(GIST, log_path="log", reader="session_search")
    assert summary.text == text
    after = counter.messages(messages[8:]) + counter.text(text) + 50
    assert summary.additional_kwargs["harness_memory"] == {
        "form": "summary",
        "key": fold_key(messages[:8]),
        "folded": [f"m{n}" for n in range(8)],
        "earlier": [],
        "chain": [],
        "tail": "m11",
        "by_rules": False,
        "messages_after": 5,
        "tokens_after": after,
    }
    assert done.events == [
        Compacted(
            thread_id="t1",
            tenant="alice",
            messages_before=12,
            messages_after=5,
            tokens_before=counter.messages(messages) + 50,
            tokens_after=after,
            by_rules=False,
        )
    ]
    assert memory == CompactionMemory(paid_key=fold_key(messages[:8]), paid_text=GIST)
    assert prepared.update == [summary, *prepared.update[1:]]
    assert prepared.compactions == 1
    assert prepared.ledger.total == counter.messages(prepared.view)


@pytest.mark.parametrize(
    ("changes", "windows"),
    [({"window": 10_000, "summary_window": 2_000}, 2_000), ({"window": 2_000}, 2_000), ({}, 100_000)],
)
def test_a_summary_is_asked_in_pieces_that_fit_its_model(script, turn, chat, changes, windows):
    """The summarising model's window, else the agent's, else a usual one."""
    done = script(summary=GIST)
    one = turn(chat(40, words=60), compaction=config(max_summary_tokens=200), **changes)
    done.run(compact(one, list(one.messages), Tail(keep_messages=4), config=one.compaction))
    assert (len(done.asked) > 1) == (windows == 2_000)


def test_what_is_not_wanted_is_not_done(script, turn, chat):
    """No log, no flush, no removals, nothing kept waiting; the log's path is not named where there is none."""
    done = script(summary=GIST)
    one = turn(chat(12), compaction=config(offload_before_compact=False), needs_removals=False, flushes=False)
    prepared = done.run(prepare(one))
    assert (done.of(AppendSessionLog), done.of(QueueFlush)) == ([], [])
    assert [form_of(m) for m in prepared.update] == ["summary"]
    assert "session log" not in prepared.view[0].text
    done = script(summary=GIST)
    done.run(prepare(turn(chat(12), compaction=config(flush_before_compact=False))))
    assert done.of(QueueFlush) == []
    done = script(summary=GIST)
    done.run(prepare(turn(chat(12), compaction=config())))
    assert done.of(QueueFlush) == [QueueFlush(thread=ThreadRef(thread_id="t1"), wait=False)]


def test_a_failure_keeps_the_history_and_is_told(script, turn, chat):
    """Why, and which in a row."""
    memory = CompactionMemory(failures=1)
    done = script(summary=OSError("no route"))
    one = turn(chat(12), thread=ALICE, memory=memory, compaction=config())
    outcome = done.run(compact(one, list(one.messages), Tail(keep_messages=4), config=one.compaction))
    assert outcome == Kept(reason="OSError: no route")
    assert done.events == [CompactionFailed(thread_id="t1", tenant="alice", reason="OSError: no route", failures=2)]
    assert memory.rest == 3
    done = script(fails=(AppendSessionLog,))
    outcome = done.run(compact(one, list(one.messages), Tail(keep_messages=4), config=one.compaction))
    assert outcome == Kept(reason="the session log could not be written: OSError: no space left on device")
    assert done.events[0].failures == 3


def test_where_room_is_needed_the_rules_take_over(script, turn, chat):
    """Their summary says so; what could not be logged leaves the request and not the state."""
    done = script(summary=OSError("no route"), fails=(AppendSessionLog,))
    one = turn(chat(12), compaction=config())
    outcome = done.run(compact(one, list(one.messages), Tail(keep_messages=4), config=one.compaction, needs_room=True))
    assert isinstance(outcome, Folded)
    assert outcome.update == []
    assert len(outcome.view) == 5
    assert [asked.by_rules for asked in done.asked] == [False, True]
    assert done.of(QueueFlush) == []
    assert outcome.view[0].additional_kwargs["harness_memory"]["by_rules"] is True
    assert one.memory.paid_by_rules


def test_nothing_to_fold_is_no_failure(script, turn, chat):
    """Nobody is told, and the next check may come at once."""
    done = script()
    one = turn(chat(3), compaction=config())
    assert done.run(compact(one, list(one.messages), Tail(keep_messages=4), config=one.compaction)) == Kept(reason="")
    assert (done.steps, one.memory) == ([], CompactionMemory())


@pytest.mark.parametrize(("failures", "rest", "asks"), [(0, 0, 1), (1, 1, 0), (1, 0, 1), (3, 2, 0)])
def test_a_due_compaction_is_passed_over_while_it_rests(script, turn, chat, failures, rest, asks):
    """Each time once less."""
    memory = CompactionMemory(failures=failures, rest=rest)
    done = script(summary=GIST)
    done.run(prepare(turn(chat(12), memory=memory, compaction=config())))
    assert len(done.asked) == asks
    assert memory.rest == max(0, rest - 1)


def test_a_recovery_is_told_with_its_attempts(script, turn, chat):
    """Of whose conversation; the answer is the second request's."""
    messages = chat(30, words=60)
    done = script(summary=GIST, window=TokenCounter().messages(messages) - 1)
    sent = done.run(send(turn(messages, thread=ALICE, compaction=config(trigger_messages=0))))
    assert [e for e in done.events if isinstance(e, Recovered)] == [
        Recovered(thread_id="t1", tenant="alice", attempts=1)
    ]
    assert done.requests[-1] == sent.view
    assert whose(done)[0] == {ALICE}


def test_shortened_arguments_are_told(script, turn):
    """How many messages and characters; they are logged before."""
    call = {"name": "write", "args": {"text": "x" * 3_000}, "id": "c1"}
    messages = [
        HumanMessage("q", id="q"),
        AIMessage("", tool_calls=[call], id="a"),
        ToolMessage("ok", tool_call_id="c1", id="r"),
    ]
    settings = TruncateArgsConfig(trigger_messages=3, keep_messages=1, max_arg_length=1_000, truncation_text="…")
    done = script()
    prepared = done.run(prepare(turn(messages, thread=ALICE, compaction=config(truncate_args=settings))))
    assert done.events == [ArgumentsTruncated(thread_id="t1", tenant="alice", messages=1, characters_saved=2_000)]
    assert [m.id for m in done.logged] == ["q", "a"]
    assert prepared.update == [prepared.view[1]]
    assert prepared.view[1].tool_calls[0]["args"] == {"text": "x" * 999 + "…"}


def result(text, identifier="r", name="shell", **more):
    return ToolMessage(text, tool_call_id=f"c-{identifier}", id=identifier, name=name, **more)


LIMITS = ToolResultEvictionConfig(max_result_chars=1_000, max_total_chars=0, preview_chars=50)


def test_an_evicted_result_lies_in_a_file_and_is_told(script):
    """Logged first, with the history before it; its marker says where it lies."""
    history = [HumanMessage("q", id="q")]
    large, small = result("x" * 1_001), result("y" * 1_000, "s")
    done = script()
    found = done.run(evict([large, small], LIMITS, place=Place(thread=ALICE, reader="read_file"), history=history))
    assert [m.id for m in done.logged] == ["q", "r"]
    (written,) = done.of(WriteEvicted)
    assert written == WriteEvicted(thread=ALICE, name="shell", text="x" * 1_001)
    path = "large_tool_results/t/shell-0.txt"
    assert done.events == [Evicted(thread_id="t1", tenant="alice", tool="shell", characters=1_001, path=path)]
    assert found[1] is small
    assert found[0].additional_kwargs == marked("evicted", characters=1_001, path=path)
    assert f'read_file(path="{path}")' in found[0].content
    assert "First 50 and last 50 follow" in found[0].content


def test_a_result_that_cannot_be_written_is_clipped_where_the_log_has_it(script):
    """Else it stays; both are told."""
    large = result("x" * 1_001)
    for fails, form in (((WriteEvicted,), "clipped"), ((WriteEvicted, AppendSessionLog), None)):
        done = script(fails=fails)
        (found,) = done.run(evict([large], LIMITS, place=Place(thread=ALICE, reader=None)))
        assert form_of(found) == form
        reason = "OSError: no space left on device"
        assert done.events == [EvictionFailed(thread_id="t1", tenant="alice", tool="shell", reason=reason)]
    assert found is large


def test_a_result_without_an_id_gets_one_before_it_is_logged(script):
    """The log and the state call it the same; a nameless tool is called `tool`."""
    nameless = ToolMessage("x" * 1_001, tool_call_id="c")
    done = script()
    place = Place(thread=ALICE, reader=None, new_id=lambda: "new")
    (found,) = done.run(evict([nameless], LIMITS, place=place))
    assert ([m.id for m in done.logged], found.id) == (["new"], "new")
    assert done.of(WriteEvicted)[0].name == "tool"
    assert nameless.id is None


def test_a_clipped_message_of_a_user_is_no_evicted_result(script):
    """In place, it says so."""
    done = script()
    message = HumanMessage("x" * 1_001, id="h")
    found = done.run(move_out(message, Place(thread=ALICE, reader=None), side=50, is_logged=True, in_place=True))
    path = "large_tool_results/t/message-0.txt"
    assert found.additional_kwargs == marked("clipped", characters=1_001, path=path, in_place=True)
    short = HumanMessage("x" * 30, id="h")
    assert done.run(move_out(short, Place(thread=ALICE, reader=None), side=50, is_logged=True, in_place=True)) is short


@pytest.mark.parametrize(
    ("sizes", "settings", "chosen"),
    [
        ([1_001, 1_000], {}, {0: None}),
        ([1_001, 1_000], {"max_result_chars": 0}, {}),
        ([5_000, 5_000], {"max_result_chars": 0, "max_total_chars": 10_000}, {}),
        ([5_001, 5_000], {"max_result_chars": 0, "max_total_chars": 10_000}, {0: None}),
        ([5_000, 5_001, 100], {"max_result_chars": 0, "max_total_chars": 10_000}, {1: None}),
        ([900, 900, 900, 600], {"max_total_chars": 2_000}, {0: None, 1: None, 2: None}),
        ([600, 600, 600, 600], {"max_total_chars": 2_000}, {}),
        ([5_000] * 3, {"max_result_chars": 0, "max_total_chars": 3_960, "preview_chars": 500}, dict.fromkeys(range(3))),
        (
            [5_000] * 3,
            {"max_result_chars": 0, "max_total_chars": 3_959, "preview_chars": 500},
            dict.fromkeys(range(3), 1_319),
        ),
        (
            [5_000, 5_000, 1_320],
            {"max_result_chars": 0, "max_total_chars": 3_720, "preview_chars": 500},
            {0: 1_200, 1: 1_200},
        ),
        (
            [5_000, 5_000, 1_321],
            {"max_result_chars": 0, "max_total_chars": 3_720, "preview_chars": 500},
            dict.fromkeys(range(3), 1_240),
        ),
        ([640] * 5, {"max_total_chars": 2_000, "preview_chars": 500}, {}),
        ([641] * 5, {"max_total_chars": 2_000, "preview_chars": 500}, dict.fromkeys(range(4), 339)),
        ([3_000, 900, 900], {"max_total_chars": 2_000, "max_result_chars": 2_500}, {0: None, 1: None}),
        ([5_000] * 30, {"max_result_chars": 0, "max_total_chars": 2_000}, dict.fromkeys(range(30), 320)),
    ],
)
def test_the_largest_results_of_a_step_go_until_it_fits(sizes, settings, chosen):
    """Each over its own limit, then the largest ones; where many go, each placeholder has its share."""
    results = [result("x" * size, str(n)) for n, size in enumerate(sizes)]
    found = choose(results, replace(LIMITS, **settings))
    places = {id(message): n for n, message in enumerate(results)}
    assert {places[key]: most for key, most in found.items()} == chosen


def test_some_results_are_not_evicted_by_themselves():
    """Of tools that are excluded, and what is a form already."""
    settings = replace(LIMITS, excluded_tool_names=frozenset({"read_file"}))
    results = [
        result("x" * 2_000, name="read_file"),
        result("x" * 2_000, "f", additional_kwargs=marked("evicted", path="p")),
    ]
    assert choose(results, settings) == {}


def test_results_inside_commands_are_found_and_replaced():
    """In a dict of updates, in pairs, alone or in lists; another result stays the same object."""
    one, other, form = result("a"), result("b", "o"), result("short")
    forms = {id(one): form}
    for update, replaced in (
        ({"messages": [one, other], "n": 1}, {"messages": [form, other], "n": 1}),
        ({"messages": one}, {"messages": form}),
        ([("messages", [one]), ("n", 1)], [("messages", [form]), ("n", 1)]),
        ([one, other], [form, other]),
        ((one,), [form]),
        (one, form),
    ):
        command = Command(update=update, goto="next")
        assert one in messages_in(command)
        changed = with_messages(command, forms)
        assert (changed.update, changed.goto) == (replaced, command.goto)
        assert with_messages(command, {}) is command
    assert with_messages(one, forms) is form
    assert with_messages(other, forms) is other
    assert (messages_in("text"), with_messages("text", forms)) == ([], "text")


def settings(**changes):
    values = {
        "prompt": None,
        "most_tokens": 100,
        "timeout": timedelta(seconds=5),
        "window": None,
        "redact": lambda text: text.replace("hunter2", "***"),
    }
    return SummarySettings(**{**values, **changes})


@pytest.mark.parametrize(
    ("answer", "judged"),
    [
        (Answer(text="The gist hunter2."), Summary(text="The gist ***.", by_rules=False)),
        (Answer(text="The gist.", by_rules=True), Summary(text="The gist.", by_rules=True)),
        (Answer(text="x", truncated=True), NoSummary(reason="the summary was cut off at the model's length limit")),
        (Answer(text="", has_tool_calls=True), NoSummary(reason="the model called a tool")),
        (Answer(text=" — "), NoSummary(reason="the summary is blank")),
        (Answer(text="NO_REPLY"), NoSummary(reason="the summary is only 'NO_REPLY'")),
        (
            Answer(text="I'm sorry, " + "no " * 40),
            NoSummary(reason=f"the model refused: {('I' + chr(39) + 'm sorry, ' + 'no ' * 40)[:80]!r}"),
        ),
        (
            Answer(text="Internal server error"),
            NoSummary(reason="the summary is an error text: 'Internal server error'"),
        ),
        (
            Answer(text="x" * 500),
            NoSummary(reason="the summary is longer (500 tokens) than what it summarises (500 tokens)"[:-8] + ")"),
        ),
        (Answer(text="x" * 301), NoSummary(reason="the summary has 301 tokens and may have 100")),
        (Answer(text="x" * 300), Summary(text="x" * 300, by_rules=False)),
        (Answer(text="## SUMMARY\nI'm sorry to say"), Summary(text="## SUMMARY\nI'm sorry to say", by_rules=False)),
    ],
)
def test_an_answer_is_a_summary_or_a_reason(answer, judged):
    """Redacted; exact in what was wrong."""
    counter = TokenCounter(text=len)
    assert judge(answer, source_tokens=500, settings=settings(), counter=counter) == judged


def test_a_summary_model_is_shown_what_is_new_below_what_is_known(script):
    """The earlier summary in a block of its own, redacted as a whole."""
    earlier = HumanMessage(summary_text("old", log_path=None, reader=None), id="s", additional_kwargs=marked("summary"))
    said = [earlier, HumanMessage("my password is hunter2 and much more than that", id="a")]
    done = script(summary="The gist.")
    answer = done.run(summarise(said, settings(prompt="Do: {messages}"), counter=TokenCounter()))
    assert answer == Summary(text="The gist.", by_rules=False)
    assert [m.text for step in done.of(AskModel) for m in step.messages] == [
        "Do: <previous_summary>\nold\n</previous_summary>\n\n[user] my password is *** and much more than that"
    ]
    done = script(summary="The gist.")
    done.run(summarise(said[1:], settings(), counter=TokenCounter(), by_rules=True))
    (step,) = done.of(AskModel)
    assert step == AskModel(purpose="summary", messages=step.messages, timeout=timedelta(seconds=5), by_rules=True)
    assert step.messages[0].text == PROMPT.replace("{limit}", "100").replace(
        "{messages}", "[user] my password is *** and much more than that"
    )


def test_messages_are_packed_into_as_few_pieces_as_fit():
    """Whole, in order; the longest in less detail where there would be more than eight pieces."""
    counter = TokenCounter(text=len)
    said = [HumanMessage("x" * 93, id=str(n)) for n in range(6)]
    sizes = [97] * 6
    text = "[user] " + "x" * 93
    assert chunked(said, sizes, counter=counter, room=216) == ["\n\n".join([text, text])] * 3
    assert chunked(said, sizes, counter=counter, room=215) == [text] * 6
    assert chunked([], [], counter=counter, room=10) == []
    assert chunked([HumanMessage("")], [4], counter=counter, room=10) == []
    many = chunked([*said, HumanMessage("y" * 3_000)], [*sizes, 3_004], counter=counter, room=200)
    assert len(many) <= 8
    assert all(text in "".join(many) for text in ("x" * 93, "[…"))
    assert max(map(len, many)) <= 240


def test_a_fold_names_what_it_folded_and_was_made_from():
    """Keys and ids of earlier folds, the newest of many; removals name each other message."""
    messages = [HumanMessage(f"text {n}", id=f"m{n}") for n in range(4)]
    (first, removal) = fold_update(messages[:2], "one", tail="m3", by_rules=False, facts={"n": 1})
    assert (first.id, first.text, first.additional_kwargs["lc_source"]) == ("m0", "one", "summarization")
    assert isinstance(removal, RemoveMessage)
    assert (removal.id, removal.additional_kwargs) == (
        "m1",
        marked("summary", key=fold_key(messages[:2]), removed=True),
    )
    (second, *_) = fold_update([first, messages[2]], "two", tail=None, by_rules=True, facts={}, key="k2")
    assert second.additional_kwargs["harness_memory"] == {
        "form": "summary",
        "key": "k2",
        "folded": ["m0", "m2"],
        "earlier": ["m0", "m1"],
        "chain": [fold_key(messages[:2])],
        "tail": None,
        "by_rules": True,
    }
    (third, *_) = fold_update([second], "three", tail=None, by_rules=True, facts={}, key="k3")
    assert third.additional_kwargs["harness_memory"]["earlier"] == ["m0", "m1", "m0", "m2"]
    assert third.additional_kwargs["harness_memory"]["chain"] == [fold_key(messages[:2]), "k2"]


CALL = AIMessage("", id="a", tool_calls=[{"name": "shell", "args": {}, "id": "c-r"}])


def test_a_whole_call_names_its_conversation_everywhere(script, turn, chat):
    """Evicted, compacted and sent: each step and event is the thread's."""
    messages = [
        SystemMessage("s", id="s"),
        *chat(12),
        AIMessage("", id="a", tool_calls=[{"name": "ls", "args": {}, "id": "c-r"}]),
        result("x" * 2_000),
    ]
    done = script(summary=GIST)
    sent = done.run(call_with_memory(turn(messages, thread=ALICE, compaction=config(), eviction=LIMITS)))
    assert whose(done) == ({ALICE}, {"alice"}, {"t1"})
    assert [form_of(m) for m in sent.view] == [None, "summary", None, None, None, "evicted"]
    assert [type(e) for e in done.events] == [Evicted, Compacted]


def test_long_and_short_messages_share_the_pieces_there_may_be():
    """The short ones stay whole, the long ones have what is left, and eight pieces are enough."""
    counter = TokenCounter(text=len)
    said = [
        HumanMessage(letter * size, id=f"{letter}{n}") for n in range(20) for letter, size in (("s", 5), ("l", 150))
    ]
    pieces = chunked(said, [len(m.content) + 4 for m in said], counter=counter, room=200)
    assert len(pieces) <= 8
    texts = "\n\n".join(pieces).split("\n\n")
    assert texts[::2] == ["[user] sssss"] * 20
    assert all("characters…]" in text for text in texts[1::2])


@pytest.mark.parametrize("form", ["evicted", "clipped"])
def test_what_was_cut_before_is_cut_to_its_notice(script, turn, form):
    """It lies in a file already; the same for another form of ours would say nothing, so that it stays."""
    cut = result("notice\n" + "word " * 500, additional_kwargs=marked(form, path="p"))
    other = HumanMessage("memory\n" + "word " * 500, id="c", additional_kwargs=marked("summary", folded=["c"]))
    view = [
        HumanMessage("q", id="q"),
        AIMessage("", id="a", tool_calls=[{"name": "shell", "args": {}, "id": "c-r"}]),
        cut,
        other,
    ]
    done = script()
    clipped = done.run(clip(turn(view), view, side=10, most_tokens=0))
    assert [(m.id, m.text) for m in clipped.forms] == [("r", "notice")]
    assert done.of(WriteEvicted) == []


def test_no_file_is_written_for_a_text_that_stays(script):
    """Also where its placeholder would be too long for its share of a step."""
    done = script()
    large = result("x" * 1_001)
    place = Place(thread=ALICE, reader=None)
    assert done.run(move_out(large, place, side=50, most=20, is_logged=True, in_place=False)) is large
    assert done.steps == []


def test_what_the_state_does_not_know_cannot_be_folded(turn):
    """A message without an id, injected context, and what others put into the request."""
    unnamed = HumanMessage("a")
    context = HumanMessage("b", id="b", additional_kwargs=marked("context"))
    foreign, ours = HumanMessage("c", id="c"), HumanMessage("d", id="d")
    view = [unnamed, context, foreign, ours]
    assert turn(view).held(view) == {0, 1}
    assert turn(view, in_state=frozenset({"b", "d"})).held(view) == {0, 1, 2}
