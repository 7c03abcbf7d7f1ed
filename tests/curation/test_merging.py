"""One batch of a consolidation: what is asked, how much of it, and what of the answer may stand."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from langgraph_harness_memory.config import ConsolidationConfig, Verdict
from langgraph_harness_memory.curation import requests
from langgraph_harness_memory.curation.merging import (
    LEAST_ROOM,
    LINE_OVERHEAD,
    Merged,
    Merger,
    Rejected,
    merge,
    next_batch,
    overflowing,
)
from langgraph_harness_memory.curation.requests import NewLine
from langgraph_harness_memory.curation.screening import Screening
from langgraph_harness_memory.curation.wording import words
from langgraph_harness_memory.formats.changes import Change
from langgraph_harness_memory.formats.consolidation_state import ConsolidationState, Written
from langgraph_harness_memory.formats.tombstones import Tombstones
from langgraph_harness_memory.steps import Answer, Failed, drive

AT = datetime(2026, 4, 12, 9, 30, tzinfo=UTC)
OLD = "- Lives in Oslo\n- Works at Acme\n"


def line(text, number=2):
    return NewLine(
        text=text, day=date(2026, 4, 12), source="user", path="memory/2026-04-12.md", number=number, key=text.encode()
    )


def tokens(count):
    """A text of so many estimated tokens."""
    return "word" * count


class Curator:
    """Answers each question with the next of its answers, and remembers what it was asked."""

    def __init__(self, *answers):
        self.answers = [Answer(text=answer) if isinstance(answer, str) else answer for answer in answers]
        self.asked = []

    def __call__(self, step):
        self.asked.append(step)
        return self.answers.pop(0)

    @property
    def questions(self):
        return [requests.material(step.messages) for step in self.asked]


def merged(curator, *facts, text=OLD, state=None, screening=None, tombstones=None, start=None, **settings):
    merger = Merger(
        settings=ConsolidationConfig(**settings),
        screening=screening or Screening(),
        at=AT,
        tombstones=tombstones or Tombstones(key="00"),
        start=text if start is None else start,
    )
    return drive(merge(merger, [line(fact) for fact in facts], text, state or ConsolidationState()), curator)


def test_a_batch_is_asked_for_and_its_answer_taken():
    """The question holds the memory, the lines, what was removed, the budget and the day, under the configured deadline."""
    curator = Curator("- Lives in Oslo\n- Works at Acme\n- Plays chess  \n\n")
    state = ConsolidationState(removed=("Likes tea",))
    settings = {"max_memory_tokens": 100, "timeout": timedelta(seconds=7)}
    assert merged(curator, "Plays chess", state=state, **settings) == Merged(
        text="- Lives in Oslo\n- Works at Acme\n- Plays chess\n", writer="model"
    )
    (step,) = curator.asked
    assert (step.purpose, step.timeout) == ("consolidation", timedelta(seconds=7))
    assert curator.questions == [
        {
            "task": "consolidation",
            "today": "2026-04-12",
            "budget_characters": 400,
            "removed": ["Likes tea"],
            "memory": OLD,
            "new": [{"date": "2026-04-12", "text": "Plays chess"}],
        }
    ]


def test_a_model_that_fails_fails_the_batch():
    """Its failure is handed on as it is."""
    failed = Failed(error=OSError("no route"))
    assert merged(Curator(failed), "Plays chess") is failed


def test_an_answer_by_rules_is_written_by_rules():
    """So that a model's memory is told from one that the rules may go on with."""
    result = merged(Curator(Answer(text=f"{OLD}- Plays chess", by_rules=True)), "Plays chess")
    assert result == Merged(text=f"{OLD}- Plays chess\n", writer="rules")


def test_rules_may_not_rewrite_what_a_model_wrote():
    """The state says who wrote the memory; the refused text is handed back."""
    state = ConsolidationState(memory=Written(text=OLD, writer="model"))
    answer = Answer(text=f"{OLD}- Plays chess", by_rules=True)
    assert merged(Curator(answer), "Plays chess", state=state) == Rejected(
        reason="rules may not rewrite a memory that a model wrote", text=answer.text
    )


def test_an_answer_that_can_be_mended_is_asked_for_again_with_the_reason():
    """Once; the question is the same but for the complaint."""
    curator = Curator("Sure!\n" + OLD, OLD + "- Plays chess")
    assert isinstance(merged(curator, "Plays chess", state=ConsolidationState(removed=("Likes tea",))), Merged)
    first, second = curator.questions
    assert second == {**first, "your_last_answer_was_refused": "it talks to whoever asked"}


@pytest.mark.parametrize("second", ["Sure!\n" + OLD, Failed(error=OSError("no route"))], ids=["as bad", "failed"])
def test_a_second_answer_that_is_no_better_leaves_the_first(second):
    """It is the first that is judged and kept aside, whose reason the model was told."""
    curator = Curator("Here it is:\n" + OLD, second)
    assert merged(curator, "Plays chess") == Rejected(reason="it talks to whoever asked", text="Here it is:\n" + OLD)


def test_an_answer_that_cannot_be_mended_is_not_asked_for_again():
    """A second question would cost as much and bring no more."""
    curator = Curator("NO_REPLY")
    assert isinstance(merged(curator, "Plays chess"), Rejected)
    assert len(curator.asked) == 1


def test_a_text_over_budget_is_asked_for_again_and_then_cut():
    """The complaint names both figures, and the change log that it was cut."""
    long = "".join(f"- Topic{n} owner{n} place{n} today\n" for n in range(7))
    curator = Curator(long, long)
    result = merged(curator, "Topic1 owner1", text="", max_memory_tokens=50)
    assert curator.questions[1]["your_last_answer_was_refused"] == "it has 203 characters and 200 are allowed"
    assert result == Merged(
        text="".join(f"- Topic{n} owner{n} place{n} today\n" for n in range(6)),
        writer="model",
        remarks=(Change(kind="note", text="cut at a line end to hold the budget"),),
    )


def test_a_contradiction_is_asked_about_and_then_remarked_on():
    """Where the model insists that the earlier line stands, its answer is taken and the change log says so."""
    old = "- Ada lives in Oslo\n- Works at Acme\n"
    curator = Curator(old, old)
    note = "the earlier “Ada lives in Oslo” stands although “Ada lives in Bergen” is later"
    assert merged(curator, "Ada lives in Bergen", text=old) == Merged(
        text=old, writer="model", remarks=(Change(kind="note", text=note),)
    )
    assert (
        curator.questions[1]["your_last_answer_was_refused"]
        == "it keeps “Ada lives in Oslo” although the later line says “Ada lives in Bergen”"
    )


def test_what_a_person_removed_is_taken_out_of_an_answer():
    """In much the same words too; the change log names it."""
    state = ConsolidationState(removed=("Has a cat called Ivy",))
    result = merged(Curator(OLD + "- Has a cat, called Ivy!\n- Plays chess"), "Plays chess", state=state)
    assert result == Merged(
        text=OLD + "- Plays chess\n",
        writer="model",
        remarks=(Change(kind="refused", text="Has a cat, called Ivy!"),),
    )


def test_what_was_forgotten_is_taken_out_and_not_named():
    """A record of its words would keep them."""
    stones = Tombstones(key="ab" * 8).with_stone(words("Has a cat called Ivy"), at=AT)
    result = merged(Curator(OLD + "- There is a cat called Ivy\n- Plays chess"), "Plays chess", tombstones=stones)
    assert result == Merged(
        text=OLD + "- Plays chess\n",
        writer="model",
        remarks=(Change(kind="refused", text="a line that was forgotten"),),
    )


def test_what_a_person_wrote_by_hand_stays():
    """Also where they had forgotten or removed the same before: it was their hand that brought it back."""
    stones = Tombstones(key="ab" * 8).with_stone(words("Works at Acme"), at=AT)
    state = ConsolidationState(removed=("Lives in Oslo",), by_hand=("Lives in Oslo.", "works at Acme"))
    result = merged(Curator(OLD + "- Plays chess"), "Plays chess", state=state, tombstones=stones)
    assert result == Merged(text=OLD + "- Plays chess\n", writer="model")


def test_an_answer_of_which_nothing_may_stand_replaces_nothing():
    """All of it was removed before: the memory is not left blank."""
    state = ConsolidationState(removed=("Plays chess",))
    assert merged(Curator("- Plays chess"), "Likes tea", text="", state=state) == Rejected(
        reason="nothing of it may stand in the memory", text="- Plays chess"
    )


def test_the_whole_text_is_screened_as_memory():
    """What is blocked is not kept aside either; what is redacted is what is written."""
    seen = []

    def blocks(text, destination):
        seen.append((text, destination))
        return Verdict(action="block", reason="no")

    assert merged(Curator(OLD), "Plays chess", screening=Screening(scanner=blocks)) == Rejected(reason="no", text="")
    assert seen == [(OLD, "memory")]
    redacting = Screening(redact=lambda text: text.replace("Acme", "[REDACTED] "))
    assert merged(Curator(OLD), "Plays chess", screening=redacting) == Merged(
        text="- Lives in Oslo\n- Works at [REDACTED]\n", writer="model"
    )


def test_several_batches_together_drop_no_more_than_one_may():
    """The memory at the start of the run counts, not only the one before this batch."""
    start = "".join(f"- Topic{n} owner{n} place{n}\n" for n in range(10))
    result = merged(Curator(OLD + "- Plays chess"), "Plays chess", text=OLD, start=start)
    assert isinstance(result, Rejected)
    assert result.reason == "it drops 100% of the memory"


def test_an_oversized_memory_is_shown_in_part():
    """Two budgets of it, or half of what a call may hold, cut at a line end; the answer is measured against that part."""
    text = "".join(f"- Topic{n:03} owner{n:03} place{n:03}\n" for n in range(100))
    for settings, lines in (({"max_memory_tokens": 50}, 13), ({"max_input_tokens": 500}, 34)):
        curator = Curator(text[: 29 * lines])
        assert isinstance(merged(curator, "Plays chess", text=text, start="", **settings), Merged | Rejected)
        assert curator.questions[0]["memory"] == text[: 29 * lines]


def test_the_rest_of_an_oversized_memory_is_merged_like_new_lines():
    """Each with its place in the file, without day, source or mark; nothing where the memory fits."""
    text = "# Memory\n\n" + "".join(f"- Topic{n:03} owner{n:03} place{n:03}\n" for n in range(15))
    settings = ConsolidationConfig(max_memory_tokens=50)
    rest = overflowing(text, settings)
    assert rest == (
        NewLine(text="Topic013 owner013 place013", day=None, source="", path="MEMORY.md", number=16),
        NewLine(text="Topic014 owner014 place014", day=None, source="", path="MEMORY.md", number=17),
    )
    assert overflowing(text[:400], settings) == ()
    assert overflowing("", settings) == ()


def batched(*texts, text="", removed=(), prompt="p", max_input_tokens=500):
    settings = ConsolidationConfig(prompt=prompt, max_input_tokens=max_input_tokens)
    batch, rest = next_batch([line(each) for each in texts], text, removed, settings)
    return [each.text for each in batch], [each.text for each in rest]


def test_a_batch_fills_what_the_call_has_left():
    """A line costs its own tokens and 24 more; the one that does not fit waits with all behind it."""
    full = [tokens(226), tokens(226)]
    assert batched(*full) == (full, [])
    over = [tokens(226), tokens(227), "short"]
    assert batched(*over) == ([tokens(226)], [tokens(227), "short"])
    assert batched() == ([], [])


@pytest.mark.parametrize(
    "fixed",
    [{"prompt": tokens(100)}, {"text": tokens(99) + "wor\n"}, {"removed": [tokens(48), tokens(48)]}],
    ids=["instruction", "memory", "removed"],
)
def test_everything_else_in_the_call_counts(fixed):
    """The instruction, the memory, and what a person removed (two tokens more for each)."""
    fits = [tokens(176), tokens(176)]
    over = [tokens(176), tokens(177)]
    assert batched(*fits, **fixed) == (fits, [])
    assert batched(*over, **fixed) == (over[:1], over[1:])


def test_a_batch_has_room_however_large_the_rest_is():
    """300 tokens, and one line at least, cut so that it fits; the whole stays in its log."""
    fits = [tokens(126), tokens(126)]
    assert batched(*fits, prompt=tokens(5_000)) == (fits, [])
    assert batched(*fits, "x", prompt=tokens(5_000)) == (fits, ["x"])
    (cut,), rest = batched(tokens(1_000), "x", prompt=tokens(5_000))
    assert rest == ["x"]
    assert cut.endswith("…")
    assert LEAST_ROOM - 2 * LINE_OVERHEAD <= len(cut) // 4 <= LEAST_ROOM - LINE_OVERHEAD
    assert tokens(1_000).startswith(cut[:-1])


def test_a_line_that_just_fits_is_not_cut():
    """What it takes beside its text is counted."""
    assert batched(tokens(276), prompt=tokens(5_000)) == ([tokens(276)], [])
    assert batched(tokens(277), prompt=tokens(5_000))[0] != [tokens(277)]
    assert batched(tokens(476)) == ([tokens(476)], [])


def test_the_rest_of_a_batch_is_not_cut():
    """Only what is sent is; the next batch has the whole line."""
    long = tokens(1_000)
    batch, rest = next_batch([line("short"), line(long, 3)], "", (), ConsolidationConfig(max_input_tokens=500))
    assert [each.text for each in batch] == ["short"]
    assert rest == (line(long, 3),)
    assert replace(rest[0], text="") == replace(line("", 3), key=rest[0].key)
