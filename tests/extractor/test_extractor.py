"""The model without a model, as a chat model."""

import json
from datetime import UTC, date, datetime, timedelta

import pytest
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
