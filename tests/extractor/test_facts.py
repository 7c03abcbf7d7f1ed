"""Bullets out of a conversation: whose they are, what is kept, what is left out."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory.curation.rules.cues import word_set
from langgraph_harness_memory.curation.rules.facts import MAX_SENTENCE_CHARS, Utterance, clip, facts_of, plain_sentences


def user(text: str, **fields) -> Utterance:
    return Utterance(speaker="User", text=text, **fields)


def assistant(text: str) -> Utterance:
    return Utterance(speaker="Assistant", text=text, is_person=False)


def test_a_bullet_says_who_said_it():
    """So that it can be read on its own."""
    assert facts_of([user("I prefer tabs over spaces.")]) == ["User: I prefer tabs over spaces."]


def test_small_talk_gives_no_bullet():
    """A chat without a fact gives none."""
    assert facts_of([user("Hi!"), assistant("Hello! How can I help you today?"), user("Thanks, bye!")]) == []


def test_a_short_answer_keeps_the_question_it_answers():
    """Without it "In March 2024." says nothing."""
    facts = facts_of([assistant("When did you move to Oslo?"), user("In March 2024.")])
    assert facts == ["User: (asked: When did you move to Oslo?) In March 2024."]


def test_a_relative_date_is_made_absolute():
    """The bullet is read on another day."""
    (fact,) = facts_of([user("I ran a marathon yesterday.", said_on=date(2026, 4, 12))])
    assert "yesterday (2026-04-11)" in fact


def test_what_is_known_is_not_written_again():
    """Neither what stands in memory nor what was said twice."""
    said = user("I prefer tabs over spaces.")
    assert facts_of([said, said], known=["The user prefers tabs over spaces, I prefer tabs over spaces."]) == []
    assert len(facts_of([said, user("I prefer tabs over spaces!")])) == 1


def test_a_known_fact_with_another_value_is_new():
    """The deadline that moved is not taken for the deadline that stood."""
    facts = facts_of([user("The release deadline is 2026-05-10.")], known=["User: The release deadline is 2026-05-03."])
    assert facts == ["User: The release deadline is 2026-05-10."]


def test_code_and_tables_are_left_out():
    """A paste is not what somebody said about it."""
    text = "I keep the config in conf/app.toml.\n```python\nAPI_URL = 'https://x.example/9'\n```\n| a | b |\n|---|---|"
    assert facts_of([user(text)]) == ["User: I keep the config in conf/app.toml."]


def test_an_assistants_long_answer_gives_its_best_sentences_alone():
    """General knowledge is to be had again; what it did and named is not."""
    lecture = " ".join(f"The planet number {n} in Kepler's list takes {n} years." for n in range(40))
    (fact,) = facts_of([assistant(lecture)])
    assert fact.count("Kepler") <= 3


def test_a_paste_of_a_user_is_bounded():
    """Twelve sentences, each of a few hundred characters, whatever was pasted."""
    (fact,) = facts_of([user("\n".join(f"I moved to City{n} in {1900 + n} " + "and on " * 300 for n in range(80)))])
    assert fact.count("I moved to City") == 12
    assert len(fact) < 13 * MAX_SENTENCE_CHARS


def test_any_language_is_kept_in_its_own_words():
    """Nothing is translated."""
    assert facts_of([user("我对花生过敏，住在上海。")]) == ["User: 我对花生过敏，住在上海。"]


@given(st.lists(st.tuples(st.sampled_from(["User", "Assistant"]), st.text(max_size=120)), max_size=8))
def test_nothing_is_invented(said):
    """Every letter of a bullet beyond its speaker was said; the same input gives the same bullets."""
    utterances = [Utterance(speaker=speaker, text=text) for speaker, text in said]
    facts = facts_of(utterances)
    assert facts == facts_of(utterances)
    heard = {c for _, text in said for c in text} | set("(asked: ) …")
    assert all(set(fact.split(": ", 1)[1]) <= heard for fact in facts)


def boats(count: int) -> list[str]:
    return [f"I moved {n} boats to Port{n} on 2026-04-1{n % 10}." for n in range(count)]


def test_the_sentences_of_a_message_become_one_bullet():
    """In the order in which they were said, one blank between them; small talk between them goes."""
    said = "I moved to Oslo on 2026-04-11.\nOk!\nI work at Acme since 2019."
    assert facts_of([user(said)]) == ["User: I moved to Oslo on 2026-04-11. I work at Acme since 2019."]


def test_a_sentence_beside_a_fact_needs_to_tell_less():
    """Alone it is not written down; what was passed on from a tool needs to tell even less."""
    fact, beside = "I moved to Oslo on 2026-04-11.", "The garden bench rests near Paris."
    assert facts_of([user(beside)]) == []
    assert facts_of([user(f"{beside} {fact}")]) == [f"User: {beside} {fact}"]
    assert facts_of([user("The red bench rests near the garden gate.")]) == []
    passed_on = Utterance(speaker="web", text="The red bench rests near the garden gate.", is_passed_on=True)
    assert facts_of([passed_on]) == ["web: The red bench rests near the garden gate."]


def test_of_too_many_sentences_the_most_telling_ones_stay_in_their_order():
    """Of an assistant three, of a person twelve."""
    dull = [f"I like port{word}." for word in ("abc", "def", "ghi")]
    telling = boats(3)
    mixed = [dull[0], telling[0], dull[1], telling[1], telling[2], dull[2]]
    assert facts_of([assistant(" ".join(mixed))]) == ["Assistant: " + " ".join(telling)]
    many = [*boats(6), "I like jam.", *boats(12)[6:]]
    assert facts_of([user(" ".join(many))]) == ["User: " + " ".join(boats(12))]


def test_a_question_stands_before_a_short_answer_alone():
    """The last one that was asked, cut to 160 characters; an answer that tells by itself needs none."""
    asked = [assistant("How are you? Where did you go in 2024?"), user("In March 2024 to Oslo.")]
    assert facts_of(asked) == ["User: (asked: Where did you go in 2024?) In March 2024 to Oslo."]
    told = "I moved with both kids to Oslo in March 2024."
    assert facts_of([assistant("Where did you go?"), user(told)]) == [f"User: {told}"]
    assert facts_of([assistant("Where did you go?"), assistant("Ok."), user("In March 2024 to Oslo.")]) == [
        "User: In March 2024 to Oslo."
    ]
    long = "Where did you " + "really " * 40 + "go?"
    (fact,) = facts_of([assistant(long), user("In March 2024 to Oslo.")])
    assert 150 < len(fact.removeprefix("User: (asked: ").removesuffix(") In March 2024 to Oslo.")) <= 161


def test_a_text_is_cut_at_its_last_blank():
    """In the second half of what it may have; without punctuation before the mark."""
    assert clip(" a \n b ") == "a b"
    assert clip("x" * 500) == "x" * 500
    assert clip("x" * 501) == "x" * 500 + "…"
    assert clip("one two, three", 10) == "one two…"
    assert clip("one twothreefour", 10) == "one twothr…"
    assert clip("abcde fghijklm", 10) == "abcde…"


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            "# Title\n> quoted\n- [x] done\n2) **bold** and __under__\n| cell |",
            ["Title", "quoted", "done", "bold and under", "cell |"],
        ),
        ("before\n```py\ncode = 1\n```\nafter\n~~~\nopen", ["before", "after"]),
        ("|---|:--|\n***\n- - -", []),
        ("x = {a[1]; b(2)}", []),
        ("call f(x) now", ["call f(x) now"]),
    ],
)
def test_markup_and_code_are_no_sentences(text, sentences):
    """Tables' rules and lines of symbols neither."""
    assert plain_sentences(text) == sentences


def test_word_lists_are_written_as_texts():
    """One word each, whatever blanks are between them."""
    assert word_set(" a b\n  c a ") == {"a", "b", "c"}
