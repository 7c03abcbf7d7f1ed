"""May an answer replace `MEMORY.md`? One table of reasons to say no, and its near misses."""

import pytest

from langgraph_harness_memory.curation.validation import Bounds, Refused, fit, judge, over_budget
from langgraph_harness_memory.steps import Answer

OLD = "# Memory\n\n- Lives in Oslo\n- Works at Acme\n"


def bounds(old=OLD, *, start=None, budget=1_000, max_shrink=0.5, writer="model"):
    return Bounds(old=old, start=old if start is None else start, budget=budget, max_shrink=max_shrink, writer=writer)


def numbered(first, last):
    return "".join(f"- Topic{n} owner{n} place{n}\n" for n in range(first, last))


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("- Lives in Oslo\n- Works at Acme", "- Lives in Oslo\n- Works at Acme\n"),
        ("\n\n# Memory  \n- Lives in Oslo\t\n- Works at Acme\n\n\n", "# Memory\n- Lives in Oslo\n- Works at Acme\n"),
        ("<think>two lines</think>\n- Lives in Oslo\n- Works at Acme", "- Lives in Oslo\n- Works at Acme\n"),
        ("| who | where |\n| Ada | Oslo, at Acme |", "| who | where |\n| Ada | Oslo, at Acme |\n"),
    ],
)
def test_a_sane_answer_is_returned_tidied(answer, text):
    """Without thoughts, blanks at line ends and blank lines around it."""
    assert judge(Answer(text=answer), bounds()) == text


MENDED = [
    ("```\n- Lives in Oslo\n- Works at Acme\n```", "it stands in a code fence"),
    ("- Lives in Oslo\n- Works at Acme\n~~~", "it stands in a code fence"),
    ('{"memory": "- Lives in Oslo"}', "it is JSON"),
    ('  [{"fact": "Lives in Oslo"}]', "it is JSON"),
    ('["Lives in Oslo", "Works at Acme"]', "it is JSON"),
    ("Here is the memory:\n- Lives in Oslo\n- Works at Acme", "it talks to whoever asked"),
    ("Here it is:\n- Lives in Oslo\n- Works at Acme", "it talks to whoever asked"),
    ("Here you go:\n- Lives in Oslo\n- Works at Acme", "it talks to whoever asked"),
    ("- Lives in Oslo\n- Works at Acme\n\nLet me know!", "it talks to whoever asked"),
    ("- Lives in Oslo\n...", "it stands for lines that it leaves out"),
    ("- Lives in Oslo\n  - (the rest unchanged)  ", "it stands for lines that it leaves out"),
    ("- Lives in Oslo\n- [other lines as before]", "it stands for lines that it leaves out"),
    ("They live in Oslo.\nThey work at Acme.\n- Both are sure", "it is prose"),
]


@pytest.mark.parametrize(("answer", "reason"), MENDED)
def test_the_wrong_form_is_worth_asking_again(answer, reason):
    """The reason is what a model is told."""
    assert judge(Answer(text=answer), bounds()) == Refused(reason=reason, may_be_mended=True)


REFUSED = [
    ("NO_REPLY", "it says that there is nothing, where a whole file was asked for"),
    ("unchanged", "it says that there is nothing, where a whole file was asked for"),
    ("No changes.\n\n(The memory is fine)", "it says that there is nothing, where a whole file was asked for"),
    ("I'm sorry, I cannot do that.", "it is a refusal"),
    ("I'm sorry, I cannot do that.\n- Lives in Oslo\n- Works at Acme", "it is a refusal"),
    ("# Memory", "it holds no facts"),
    ("- Lives in", "it drops 76% of the memory"),
]


@pytest.mark.parametrize(("answer", "reason"), REFUSED)
def test_other_answers_are_refused_at_once(answer, reason):
    """Nothing is asked again: a second answer would be no better."""
    assert judge(Answer(text=answer), bounds()) == Refused(reason=reason)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(text="", has_tool_calls=True), "it calls a tool"),
        (Answer(text="<think>hm</think>", has_tool_calls=True), "it calls a tool"),
        (Answer(text=" \n"), "it is blank"),
        (Answer(text=OLD, truncated=True), "it stopped at its length limit"),
        (Answer(text=OLD, by_rules=True), "rules may not rewrite a memory that a model wrote"),
    ],
)
def test_how_an_answer_came_counts_too(answer, reason):
    """Cut off, with calls of tools in the place of text, or by rules where a model wrote."""
    assert judge(answer, bounds()) == Refused(reason=reason)


@pytest.mark.parametrize("writer", ["rules", "person", None])
def test_rules_may_rewrite_what_no_model_wrote(writer):
    """Also a model's memory that is blank by now."""
    assert judge(Answer(text=OLD, by_rules=True), bounds(writer=writer)) == OLD
    assert judge(Answer(text=OLD, by_rules=True), bounds(old=" \n", writer="model")) == OLD


@pytest.mark.parametrize(
    "line",
    [
        "- Sure, the ring is at home",
        "- Here is where the keys are: under the mat",
        "- The rest of the day is free",
        "- Ada said the other rooms stay as before, except the hall and all of the seven rooms below it on that floor",
        "- The code starts with ``` and ends there",
        "- No reply came from Ada",
    ],
)
def test_facts_that_resemble_a_wrong_form_stay_facts(line):
    """A bullet is content whatever its first words are."""
    text = f"- Lives in Oslo\n{line}\n- Works at Acme\n{line}\n"
    assert judge(Answer(text=text), bounds()) == text


def test_a_sentinel_counts_only_where_there_is_next_to_nothing_else():
    """Three lines under a `none` are a file of three facts."""
    text = "- None\n- Lives in Oslo\n- Works at Acme\n"
    assert judge(Answer(text=text), bounds()) == text
    assert isinstance(judge(Answer(text="- None\n- Lives in Oslo and works at Acme"), bounds()), Refused)


@pytest.mark.parametrize("old", ["", "They live in Oslo.\nThey work at Acme.\n- Sure\n"])
def test_prose_may_replace_prose(old):
    """Bullets are asked for only where the old memory was mostly bullets; a blank one was."""
    prose = "They live in Bergen.\nThey work at Acme.\n"
    judged = judge(Answer(text=prose), bounds(old=old))
    assert judged == (prose if old else Refused(reason="it is prose", may_be_mended=True))


def test_half_of_the_lines_may_be_prose():
    """From half on it is a list."""
    half = "They live in Oslo.\n- They work at Acme.\n"
    assert judge(Answer(text=half), bounds()) == half
    assert judge(Answer(text="They live in Bergen.\n"), bounds(old=half, max_shrink=1)) == Refused(
        reason="it is prose", may_be_mended=True
    )


def test_one_and_a_half_budgets_are_too_many():
    """Up to there the caller cuts; above it the answer is no memory."""
    text = "- " + "x" * 148
    assert judge(Answer(text=text), bounds(old="", budget=100)) == f"{text}\n"
    assert judge(Answer(text=f"{text}x"), bounds(old="", budget=100)) == Refused(
        reason="it has 151 characters, far more than the 100 allowed"
    )


def test_a_memory_over_its_budget_keeps_a_quarter_of_it():
    """It has to shrink, and not to nothing."""
    old = numbered(0, 10)
    assert len(old) == 230
    kept = "- " + "x" * 23
    assert judge(Answer(text=kept), bounds(old=old, budget=100)) == f"{kept}\n"
    assert judge(Answer(text=kept[:-1]), bounds(old=old, budget=100)) == Refused(
        reason="it leaves 24 characters of a memory of 230"
    )


def test_a_memory_of_just_its_budget_is_not_over_it():
    """The guard against dropping holds up to the budget."""
    old = numbered(0, 10)
    assert judge(Answer(text=numbered(0, 4)), bounds(old=old, budget=230)) == Refused(
        reason="it drops 60% of the memory"
    )
    assert judge(Answer(text=numbered(0, 4)), bounds(old=old, budget=229)) == numbered(0, 4)


def test_what_a_run_drops_is_counted_from_its_start():
    """Several batches may not drop together what one may not."""
    start, middle, last = numbered(0, 10), numbered(0, 6), numbered(0, 4)
    assert judge(Answer(text=last), bounds(old=middle)) == last
    assert judge(Answer(text=last), bounds(old=middle, start=start)) == Refused(reason="it drops 60% of the memory")


@pytest.mark.parametrize("max_shrink", [0.5, 0.4])
def test_as_much_as_allowed_may_go(max_shrink):
    """The limit itself is allowed."""
    new = numbered(0, 5) + "- Something else\n"
    judged = judge(Answer(text=new), bounds(old=numbered(0, 10), max_shrink=max_shrink))
    assert judged == (new if max_shrink == 0.5 else Refused(reason="it drops 50% of the memory"))


def test_facts_that_go_count_also_where_the_length_stays():
    """Four facts replaced by four others are all dropped; half of a fact's words in one line keep it."""
    old, other = numbered(0, 4), numbered(5, 9)
    assert judge(Answer(text=other), bounds(old=old)) == Refused(reason="it drops 100% of the memory")
    halves = "".join(f"- Topic{n} owner{n} elsewhere{n} today{n}\n" for n in range(4))
    assert judge(Answer(text=halves), bounds(old=old)) == halves
    quarters = "".join(f"- Topic{n} somebody{n} elsewhere{n}\n" for n in range(4))
    assert judge(Answer(text=quarters), bounds(old=old)) == Refused(reason="it drops 100% of the memory")


def test_a_memory_of_three_facts_may_be_replaced():
    """Two lines can both have been superseded: only its length is guarded."""
    old, other = numbered(0, 3), numbered(5, 8)
    assert judge(Answer(text=other), bounds(old=old)) == other


def test_a_text_over_budget_is_cut_at_a_line_end():
    """Whole facts stay, the last ones go; one that fits is left alone."""
    assert fit("- one\n- two\n- three\n", 15) == "- one\n- two\n"
    assert fit("- one\n- two  \n", 15) == "- one\n- two  \n"
    assert fit("- one\n- two\n", 11) == "- one\n"


def test_over_budget_says_by_how_much():
    """The budget itself fits."""
    assert over_budget("12345", 5) is None
    assert over_budget("123456", 5) == Refused(reason="it has 6 characters and 5 are allowed", may_be_mended=True)
