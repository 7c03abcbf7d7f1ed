"""What a sentence is worth, in any script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory.curation.rules.facts import LEAST_SCORE
from langgraph_harness_memory.curation.rules.salience import judge, sentences_of


@pytest.mark.parametrize(
    "sentence",
    [
        "I prefer tabs.",
        "I like tea",
        "I'm vegetarian.",
        "I'm allergic to peanuts.",
        "My name is Dana.",
        "I live in Oslo.",
        "The deadline is May 10.",
        "We never deploy on Fridays.",
        "We decided to use Alembic for the database migration.",
        "The service runs at src/billing/server.py on port 8080.",
        "Please call me at 17:00 tomorrow.",
        "Ich bevorzuge kurze Antworten.",
        "J'habite à Lyon depuis 2019.",
        "Prefiero el café sin azúcar.",
        "Я живу в Казани и работаю врачом.",
        "我喜欢喝茶。",
        "我对花生过敏",
        "用PostgreSQL作为主数据库",
        "今日は成語しりとりをした",
        "저는 서울에 살고 있어요",
    ],
)
def test_a_fact_is_worth_keeping(sentence):
    """Short statements about oneself, decisions, names, dates and identifiers, in the languages people write."""
    assert judge(sentence).score >= LEAST_SCORE


@pytest.mark.parametrize(
    "sentence",
    [
        "Hi!",
        "Thanks, that's great!",
        "Wow, that sounds amazing!",
        "You're welcome.",
        "Okay.",
        "It was so fun!",
        "What do you think?",
        "Take care!",
        "Guten Morgen!",
        "Merci, c'est super.",
        "你好！",
        "谢谢，好的。",
        "ありがとうございます。",
        "감사합니다",
        "",
        "🎉🎉",
        "---",
    ],
)
def test_small_talk_is_not(sentence):
    """Greetings, thanks, praise and questions back say nothing that will be asked for."""
    assert judge(sentence).score < LEAST_SCORE


def test_what_leads_into_a_sentence_goes():
    """Only at its start: the same words inside it stay."""
    assert judge("Hey Mel! Yeah, I moved to Oslo, and, well, I like it.").text.startswith("I moved to Oslo, and, well")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I met Dr. Smith at 3.5 km. He left.", ["I met Dr. Smith at 3.5 km.", "He left."]),
        ("See src/a.py. Then run it.", ["See src/a.py.", "Then run it."]),
        ("我住在北京。我喜欢茶！你呢？", ["我住在北京。", "我喜欢茶！", "你呢？"]),
        ("one\n\ntwo", ["one", "two"]),
        ('He said "go." Then he left.', ['He said "go."', "Then he left."]),
    ],
)
def test_sentences_end_where_readers_end_them(text, expected):
    """Abbreviations, decimals and paths do not; full stops of other scripts and lines do."""
    assert [s.strip() for s in sentences_of(text)] == expected


@given(st.text(max_size=300))
def test_any_text_can_be_judged(text):
    """No text raises, and nothing of it but blanks and leads is lost by cutting it into sentences."""
    sentences = sentences_of(text)
    assert all(judge(sentence).score >= -1 for sentence in sentences)
    letters = [c for c in text if c.isalnum()]
    assert [c for s in sentences for c in s if c.isalnum()] == letters
