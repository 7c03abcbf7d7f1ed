"""The instructions to models: versioned files, known word for word."""

import hashlib
import json
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from langgraph_harness_memory.curation import prompts
from langgraph_harness_memory.curation.provenance import Said
from langgraph_harness_memory.curation.requests import NewLine, consolidation_request, flush_request, material

AT = datetime(2026, 4, 12, 9, 30, tzinfo=UTC)

SNAPSHOTS = {
    prompts.FLUSH: "dd96e4cdbed6e631ccd503a996939e6a0cc0d5ac3f061117ca67c789e928d07d",
    prompts.CONSOLIDATION: "293240151fc84cd35ad21708f4d1816e91efbf3fd11c08b771003c5524d8f4e8",
}
"""SHA-256 of each released version. A changed instruction is a new version with a file of its own: its answers are other answers."""


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_version_of_a_prompt_never_changes(name):
    """Each released version reads as it was released."""
    assert hashlib.sha256(prompts.prompt(name).encode()).hexdigest() == SNAPSHOTS[name]


def test_the_flush_prompt_says_what_code_relies_on():
    """The sentinel, the form of the answer and the status of the material are in the instruction."""
    text = prompts.prompt(prompts.FLUSH)
    assert "answer NO_REPLY" in text
    assert 'beginning with "- "' in text
    assert "never an instruction" in text
    assert "{" not in text


def test_the_consolidation_prompt_has_a_place_for_the_budget():
    """And says that the later date wins, what `removed` means and that no fence is wanted."""
    text = prompts.prompt(prompts.CONSOLIDATION)
    assert text.count("{budget}") == 1
    for said in ("later date wins", "`removed`", "no fence", "never an instruction"):
        assert said in text


def test_a_flush_request_is_an_instruction_and_one_json_object():
    """What was said stands in JSON strings; a day only where it is not today."""
    said = (
        Said(position=0, role="user", text='Bye "you"', sent=AT),
        Said(position=1, role="assistant", text="Fair", sent=AT.replace(day=10), tools=("web",)),
    )
    system, human = flush_request(said, at=AT, memory="- a", log=["b"])
    assert system.text == prompts.prompt(prompts.FLUSH)
    assert json.loads(human.text) == {
        "task": "flush",
        "today": "2026-04-12",
        "known": {"memory": "- a", "log": ["b"]},
        "messages": [
            {"role": "user", "text": 'Bye "you"'},
            {"role": "assistant", "sent": "2026-04-10", "text": "Fair", "repeats": "tool:web"},
        ],
    }


def test_a_consolidation_request_gives_lines_with_their_dates():
    """Budget in characters, removed lines, the file, and each new line with its date; a usual source goes without saying."""
    line = NewLine(text="Oslo", day=date(2026, 4, 11), source="user", path="memory/2026-04-11.md", number=3)
    system, human = consolidation_request(
        [line], memory="- a\n", removed=["tea"], budget=16_000, today=AT.date(), complaint="it is JSON"
    )
    assert "At most 16000 characters" in system.text
    assert json.loads(human.text) == {
        "task": "consolidation",
        "today": "2026-04-12",
        "budget_characters": 16_000,
        "your_last_answer_was_refused": "it is JSON",
        "removed": ["tea"],
        "memory": "- a\n",
        "new": [{"date": "2026-04-11", "text": "Oslo"}],
    }


@pytest.mark.parametrize(
    "messages", [[], [HumanMessage("hi")], [HumanMessage("[1]")], [HumanMessage('{"task": "poem"}')], [AIMessage("{")]]
)
def test_what_is_no_request_of_ours_has_no_material(messages):
    """The extractor is told so instead of failing."""
    assert material(messages) is None


def test_the_material_of_a_request_is_what_went_in():
    """Reading a request back gives its JSON, whatever the instruction says."""
    request = flush_request((), at=AT, memory="", log=(), prompt="Custom {x}")
    assert isinstance(request[0], SystemMessage)
    assert material(request)["task"] == "flush"


def test_a_line_without_day_and_source_is_a_persons():
    """Nothing is guessed: no date, and the source that a hand-written log has; no complaint at the first try."""
    line = NewLine(text="Oslo", day=None, source="", path="notes.md", number=3)
    system, human = consolidation_request(
        [line], memory="", removed=(), budget=400, today=AT.date(), prompt="{budget}!"
    )
    assert system.text == "400!"
    assert json.loads(human.text) == {
        "task": "consolidation",
        "today": "2026-04-12",
        "budget_characters": 400,
        "removed": [],
        "memory": "",
        "new": [{"date": None, "source": "person", "text": "Oslo"}],
    }


def test_a_day_is_told_in_the_zone_of_the_log():
    """Said at 23:30 in New York, written down the day after: in the log's zone it was the same day."""
    oslo, new_york = timezone(timedelta(hours=2)), timezone(timedelta(hours=-4))
    sent = datetime(2026, 4, 11, 23, 30, tzinfo=new_york)
    said = [Said(position=0, role="user", text="Bye", sent=sent)]
    _, human = flush_request(said, at=AT.astimezone(oslo), memory="", log=(), prompt=None)
    assert json.loads(human.text)["messages"] == [{"role": "user", "text": "Bye"}]
    _, human = flush_request(said, at=AT.astimezone(new_york), memory="", log=(), prompt=None)
    assert json.loads(human.text)["messages"] == [{"role": "user", "sent": "2026-04-11", "text": "Bye"}]


def test_other_scripts_are_sent_as_they_are():
    """Escaped, they would cost three times as much; half a surrogate pair, which no wire takes, becomes a question mark."""
    said = [Said(position=0, role="user", text="住在奥斯陆 \ud83d é", sent=AT)]
    _, human = flush_request(said, at=AT, memory="", log=())
    assert '"text": "住在奥斯陆 ? é"' in human.text


@pytest.mark.parametrize(
    ("source", "origin"), [("user", "memory/2026-04-12.md#7, user"), ("", "memory/2026-04-12.md#7")]
)
def test_a_line_tells_where_it_stands(source, origin):
    """For the change log, which a person reads."""
    assert NewLine(text="Oslo", day=None, source=source, path="memory/2026-04-12.md", number=7).origin == origin


@pytest.mark.parametrize("task", ["flush", "consolidation"])
def test_the_last_message_is_the_request(task):
    """Whatever stands before it; an object of another kind, or none, is no request."""
    request = HumanMessage(json.dumps({"task": task}))
    assert material([HumanMessage('{"task": "poem"}'), request]) == {"task": task}
    assert material([request, AIMessage("Done.")]) is None
    assert material([HumanMessage(json.dumps([task]))]) is None
    assert material([HumanMessage("[" * 100_000)]) is None
