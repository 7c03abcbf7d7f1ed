"""Bullets out of a conversation: whose they are, what is kept, what is left out."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory.curation.rules.facts import MAX_SENTENCE_CHARS, Utterance, facts_of


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
