"""The model without a model, as a chat model."""

import json
import re
from datetime import UTC, date, datetime, timedelta

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from langgraph_harness_memory import ExtractiveChatModel
from langgraph_harness_memory.curation.answers import facts_in
from langgraph_harness_memory.curation.provenance import Said
from langgraph_harness_memory.curation.requests import NewLine, consolidation_request, flush_request


@tool
def memory_search(query: str, max_results: int = 10) -> str:
    """Search memory."""
    return query


@tool
def memory_save(text: str) -> str:
    """Save to memory."""
    return text


NOON = datetime(2026, 4, 12, 12, tzinfo=UTC)


def said(*texts: str, role: str = "user", tools: tuple[str, ...] = (), sent: datetime = NOON) -> list[Said]:
    return [Said(position=n, role=role, text=text, sent=sent, tools=tools) for n, text in enumerate(texts)]


def flushed(*texts: str, role: str = "user", memory: str = "", log=(), tools=(), sent: datetime = NOON) -> str:
    request = flush_request(said(*texts, role=role, tools=tools, sent=sent), at=NOON, memory=memory, log=list(log))
    return ExtractiveChatModel().invoke(request).text


def test_it_is_a_chat_model():
    """It goes wherever a chat model goes."""
    assert isinstance(ExtractiveChatModel(), BaseChatModel)


def test_a_flush_gives_bullets():
    """One per telling message, with its speaker and absolute dates, in a form that flush accepts whole."""
    answer = flushed("I prefer tabs.", "Thanks!", "We shipped version 2.1 yesterday.")
    assert answer == "- User: I prefer tabs.\n- User: We shipped version 2.1 yesterday (2026-04-11)."
    assert len(facts_in(answer)) == 2


def test_a_relative_date_is_counted_from_the_day_a_message_was_sent():
    """A flush that was recovered days later."""
    answer = flushed("We shipped version 2.1 yesterday.", sent=NOON - timedelta(days=10))
    assert "yesterday (2026-04-01)" in answer


def test_a_flush_without_facts_says_so():
    """The sentinel alone."""
    assert flushed("Hi!", "Thanks, bye!") == "NO_REPLY"


def test_a_flush_does_not_repeat_what_is_known():
    """Neither from the memory file nor from today's log."""
    assert flushed("I prefer tabs.", memory="## Preferences\n\n- User: I prefer tabs. (2026-04-01)\n") == "NO_REPLY"
    assert flushed("I prefer tabs.", log=["User: I prefer tabs."]) == "NO_REPLY"


def test_speakers_who_name_themselves_keep_their_names():
    """A chat of several people through one account."""
    answer = flushed("Ann: I moved to Oslo.", "Bob: I live in Bergen.", "Ann: I work at Acme.", "Bob: I like tea.")
    assert "- Ann: I moved to Oslo." in answer
    assert "- Bob: I live in Bergen." in answer


def test_a_word_with_a_colon_is_no_speaker():
    """Said once, it is the beginning of a sentence."""
    assert flushed("Note: I prefer tabs.") == "- User: Note: I prefer tabs."


def test_what_a_tool_said_is_told_as_the_tools():
    """So that its bullets do not read as the user's."""
    assert (
        flushed("The release is on May 3rd.", role="assistant", tools=("web",)) == "- web: The release is on May 3rd."
    )


def test_a_consolidation_gives_the_whole_file():
    """Within the budget of the request, the removed lines left out."""
    new = [
        NewLine(
            text="User: I prefer tabs.", day=date(2026, 4, 12), source="user", path="memory/2026-04-12.md", number=3
        ),
        NewLine(text="User: I like green tea.", day=None, source="user", path="memory/2026-04-12.md", number=4),
    ]
    request = consolidation_request(
        new,
        memory="## People\n\n- Dana is the user.\n",
        removed=["User: I like green tea."],
        budget=500,
        today=date(2026, 4, 13),
    )
    answer = ExtractiveChatModel().invoke(request).text
    assert answer.startswith("## People\n\n- Dana is the user.\n")
    assert "- User: I prefer tabs. (2026-04-12)" in answer
    assert "green tea" not in answer


def test_damaged_requests_are_answered():
    """Fields of the wrong type do not raise."""
    for fields in (
        {"task": "flush", "messages": "x", "known": None, "today": 5},
        {"task": "flush", "messages": [1, {"role": None, "text": None}], "known": {"memory": None, "log": None}},
        {"task": "consolidation", "new": [None, {}], "memory": None, "removed": None, "budget_characters": "many"},
    ):
        assert ExtractiveChatModel().invoke([HumanMessage(json.dumps(fields))]).text == "NO_REPLY"


def test_a_stream_says_what_a_call_says():
    """Piece by piece, and its last piece ends it."""
    model = ExtractiveChatModel()
    pieces = list(model.stream("My favourite editor is Helix."))
    assert "".join(piece.text for piece in pieces) == model.invoke("My favourite editor is Helix.").text
    assert len(pieces) > 2


@pytest.mark.asyncio
async def test_its_async_twins_say_the_same():
    """Call and stream."""
    model = ExtractiveChatModel()
    answer = (await model.ainvoke("My favourite editor is Helix.")).text
    streamed = "".join([piece.text async for piece in model.astream("My favourite editor is Helix.")])
    assert answer == streamed == model.invoke("My favourite editor is Helix.").text


def test_a_question_is_looked_up_with_the_tool():
    """The call carries the question; the streamed call is the same."""
    model = ExtractiveChatModel().bind_tools([memory_search])
    answer = model.invoke("When is the deadline?")
    (call,) = answer.tool_calls
    assert (call["name"], call["args"]) == ("memory_search", {"query": "When is the deadline?"})
    streamed = None
    for piece in model.stream("When is the deadline?"):
        streamed = piece if streamed is None else streamed + piece
    assert isinstance(streamed, AIMessageChunk)
    assert streamed.tool_calls == answer.tool_calls


def test_the_answer_quotes_what_was_found():
    """The lines that share the question's words, without the tool's decoration."""
    call = ExtractiveChatModel().bind_tools([memory_search]).invoke("When is the deadline?")
    result = ToolMessage(
        "- User: The deadline is May 3rd.\n- User: I like tea.",
        tool_call_id=call.tool_calls[0]["id"],
        name="memory_search",
    )
    answer = (
        ExtractiveChatModel().bind_tools([memory_search]).invoke([HumanMessage("When is the deadline?"), call, result])
    )
    assert answer.text == "From memory: User: The deadline is May 3rd."
    assert not answer.tool_calls


def test_nothing_found_is_said():
    """Instead of an invention."""
    call = AIMessage("", tool_calls=[{"name": "memory_search", "args": {"query": "x"}, "id": "1"}])
    result = ToolMessage("No matches.", tool_call_id="1", name="memory_search")
    assert (
        ExtractiveChatModel().invoke([HumanMessage("Where is Ada?"), call, result]).text == "I have no note about that."
    )


def test_what_shall_be_remembered_is_saved_with_the_tool():
    """In the user's words."""
    (call,) = (
        ExtractiveChatModel()
        .bind_tools([memory_search, memory_save])
        .invoke("Please remember that I like tea")
        .tool_calls
    )
    assert (call["name"], call["args"]) == ("memory_save", {"text": "I like tea"})


def test_without_tools_it_answers_from_the_notes_in_view():
    """The system prompt's memory and what was said before."""
    model = ExtractiveChatModel()
    assert (
        "Helix"
        in model.invoke([SystemMessage("- The user's editor is Helix."), HumanMessage("Which editor do I use?")]).text
    )
    talk = [
        HumanMessage("My favourite editor is Helix."),
        AIMessage("ok"),
        HumanMessage("What is my favourite editor?"),
    ]
    assert model.invoke(talk).text == "As noted: My favourite editor is Helix."


def test_a_stop_word_ends_the_answer():
    """As with any chat model."""
    assert ExtractiveChatModel().invoke("My favourite editor is Helix.", stop=["editor"]).text == "Noted: My favourite "


def test_the_same_request_has_the_same_answer():
    """In every process and at any time."""
    texts = [f"I moved to City{n} on 2026-01-{n % 28 + 1:02}." for n in range(50)]
    assert flushed(*texts) == flushed(*texts)


def answered(**fields) -> str:
    return ExtractiveChatModel().invoke([HumanMessage(json.dumps(fields))]).text


def test_each_message_of_a_flush_is_told_under_its_speaker():
    """By role, by name, by the tool it repeats, or by the name that stands before it more than once; each on its own day."""
    messages = [
        {"role": "user", "text": "I moved to Oslo yesterday."},
        {"role": "assistant", "text": "The fair in Lisbon starts on May 3.", "repeats": "tool:web"},
        {"role": "tool", "text": "Port 8080 is open in Graz since 2019."},
        {"text": "I like jam.", "sent": "2026-04-01T09:00"},
        {"role": "user", "name": "Dana", "text": "I like tea since yesterday.", "sent": "2026-04-02"},
        {"role": "user", "text": "Ann: I like rum."},
        {"role": "assistant", "text": "Ann: I like gin."},
        {"role": "user", "text": "Bob: I like ale."},
    ]
    assert answered(task="flush", today="2026-04-12", messages=messages).split("\n") == [
        "- User: I moved to Oslo yesterday (2026-04-11).",
        "- web: The fair in Lisbon starts on May 3.",
        "- Tool: Port 8080 is open in Graz since 2019.",
        "- User: I like jam.",
        "- Dana: I like tea since yesterday (2026-04-01).",
        "- Ann: I like rum.",
        "- Ann: I like gin.",
        "- User: Bob: I like ale.",
    ]


@pytest.mark.parametrize("today", ["someday", "", None, 5])
def test_a_day_that_is_none_dates_nothing(today):
    """The words stay alone."""
    said = [{"role": "user", "text": "I moved to Oslo yesterday."}]
    assert answered(task="flush", today=today, messages=said) == "- User: I moved to Oslo yesterday."


def test_what_memory_and_log_hold_is_known():
    """Headings are not; lines of the log may have their bullets."""
    known = {"memory": "# I like tea\n- User: I moved to Oslo", "log": ["- User: I like jam"]}
    said = [{"role": "user", "text": text} for text in ("I moved to Oslo.", "I like jam.", "I like tea.")]
    assert answered(task="flush", known=known, messages=said) == "- User: I like tea."


def test_a_few_sentences_of_an_unnamed_assistant_and_many_of_a_persons():
    """A message that is passed on from a tool is nobody's own: it needs to tell less."""
    text = " ".join(f"I moved {n} boats to Port{n} on 2026-04-1{n}." for n in range(5))
    counts = {
        role: answered(task="flush", messages=[{"role": role, "text": text}]).count("boats")
        for role in ("user", "assistant")
    }
    assert counts == {"user": 5, "assistant": 3}
    told = {"role": "assistant", "text": "The red bench rests near Oslo."}
    assert answered(task="flush", messages=[told]) == "NO_REPLY"
    assert answered(task="flush", messages=[told | {"repeats": "tool:web"}]) == "- web: The red bench rests near Oslo."
    own = {"role": "user", "text": text, "repeats": "tool:web"}
    assert answered(task="flush", messages=[own]).count("boats") == 3


def test_a_merge_takes_every_field_of_its_request():
    """Lines with their days, the memory, what was removed; without a budget there is one of 16,000 characters."""
    new = [{"text": "User: I like tea.", "date": "2026-04-01"}, {"text": "User: I like jam."}, 7]
    answer = answered(task="consolidation", new=new, memory="- a b\n", removed=["User: I like jam", 3])
    assert answer == "- a b\n\n## Preferences and rules\n\n- User: I like tea. (2026-04-01)\n"
    many = [{"text": f"User: I moved {n} boats to Port{n} on 2026-04-11."} for n in range(500)]
    assert 15_900 < len(answered(task="consolidation", new=many)) <= 16_000
    assert 900 < len(answered(task="consolidation", new=many, budget_characters=1_000)) <= 1_000


@pytest.mark.parametrize("turns", [1, 8, 60, 400])
def test_a_summary_is_half_as_long_as_what_it_stands_for(turns):
    """Nearly as long where that is little, 8,000 characters at most; an earlier summary has its own length."""
    said = [f"I moved {n} boats to Port{n} and {n} cars to Town{n} on 2026-04-11." for n in range(turns)]
    length = sum(len(text) for text in said)
    most = min(8_000, max(length // 2, min(int(length * 0.85), 1_500)))
    body = "\n\n".join(f"[user] {text}" for text in said)
    earlier = "- I sold the old lighthouse in Bergen in 2019."
    for before in ("", earlier):
        block = f"<previous_summary>\n{before}\n</previous_summary>\n\n" if before else ""
        text = ExtractiveChatModel().invoke([HumanMessage(f"{block}{body}\n\n[user] ok\n\n[user] ok")]).text
        limit = max(200, min(8_000, most + len(before) + 4))
        assert 0.6 * min(limit, length) - 120 < len(text) <= limit


def test_the_first_of_several_stop_words_ends_the_answer():
    """Empty ones and those that do not come are none."""
    model = ExtractiveChatModel()
    assert model.invoke("I like tea since 2019.", stop=["since", "tea"]).text == "Noted: I like "
    assert model.invoke("I like tea since 2019.", stop=["Noted"]).text == ""
    assert model.invoke("I like tea since 2019.", stop=["", "jam"]).text == "Noted: I like tea since 2019."


def test_an_answer_says_how_it_ended_and_who_gave_it():
    """As models do: with text, or with calls; the last streamed piece says it too."""
    model = ExtractiveChatModel()
    assert model.invoke("I like tea.").response_metadata == {"model_name": "extractive", "finish_reason": "stop"}
    called = {"model_name": "extractive", "finish_reason": "tool_calls"}
    bound = model.bind_tools([memory_search])
    assert bound.invoke("Where is Ada?").response_metadata == called
    *_, last = bound.stream("Where is Ada?")
    assert last.response_metadata == called
    assert last.chunk_position == "last"
    assert last.tool_call_chunks[0]["index"] == 0
    assert last.tool_call_chunks[0]["args"] == '{"query": "Where is Ada?"}'
    assert [piece.text for piece in model.stream("I like  tea.")] == ["Noted: ", "I ", "like ", "tea.", ""]


def test_a_call_has_an_id_of_its_own_and_always_the_same():
    """Sixteen digits, other ones for another question or at another place in a conversation."""
    model = ExtractiveChatModel().bind_tools([memory_search])

    def call_id(*messages):
        return model.invoke(list(messages)).tool_calls[0]["id"]

    ids = [
        call_id(HumanMessage("Where is Ada?")),
        call_id(SystemMessage("x"), HumanMessage("Where is Ada?")),
        call_id(HumanMessage("Where is Bob?")),
    ]
    assert len(set(ids)) == 3
    assert ids[0] == call_id(HumanMessage("Where is Ada?"))
    assert all(re.fullmatch(r"call_[0-9a-f]{16}", each) for each in ids)


def test_every_streamed_piece_is_told_to_the_callbacks():
    """So that a user sees it come."""
    told = []

    class Listener(BaseCallbackHandler):
        def on_llm_new_token(self, token, *, chunk=None, **kwargs):
            told.append((token, chunk.text))

    list(ExtractiveChatModel().stream("I like tea.", config={"callbacks": [Listener()]}))
    assert told[:3] == [("Noted: ", "Noted: "), ("I ", "I "), ("like ", "like ")]


def test_it_says_what_it_is():
    """For traces and caches."""
    model = ExtractiveChatModel()
    assert (model._llm_type, model._identifying_params) == ("extractive", {"model_name": "extractive"})


def test_tools_are_bound_with_what_else_is_asked_for():
    """A choice of tool is not: rules decide what is called."""
    bound = ExtractiveChatModel().bind_tools([memory_search], tool_choice="any", stop=["tea"])
    assert bound.kwargs["stop"] == ["tea"]
    assert [each["function"]["name"] for each in bound.kwargs["tools"]] == ["memory_search"]
    assert "tool_choice" not in bound.kwargs
