"""What a sentence is worth, in any script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory.curation.rules.facts import LEAST_SCORE
from langgraph_harness_memory.curation.rules.salience import content_words, judge, sentences_of


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


WORTH = {
    "name": 1.2,
    "number": 1.5,
    "identifier": 1.2,
    "quote": 1.0,
    "time": 1.5,
    "own": 1.2,
    "commitment": 0.6,
    "trait": 0.8,
    "asked for later": 0.8,
    "listener": -0.7,
}
"""What each thing in a sentence tells, beside 0.35 for a word and a little less for its length."""


@pytest.mark.parametrize(
    ("sentence", "words", "told"),
    [
        ("the garden bench stands idle", 3 + 1, ["commitment"]),
        ("the garden bench rests idle", 4, []),
        ("the garden bench rests near Paris", 5, ["name"]),
        ("a bench rests near Paris and Rome and Oslo and Turin", 7, ["name"] * 3),
        ("the garden bench rests 7 meters away", 5, ["number"]),
        ("the garden bench rests 17 plus 18 meters away", 6, ["number"]),
        ("the bench rests in old_yard", 4, ["identifier"]),
        ("benches rest in a/b, c/d, e/f, g/h", 2, ["identifier"] * 3),
        ("the bench says “rest here”", 3, ["quote"]),
        ("the bench was painted yesterday", 3, ["time"]),
        ("my bench rests idle", 3, ["own"]),
        ("we paint", 1, ["own"]),
        ("I never sit", 2, ["own", "commitment", "asked for later"]),
        ("I don’t sit near benches", 4, ["own"]),
        ("I always prefer to sit", 2, ["own", "commitment", "commitment"]),
        ("I always prefer and love benches", 3, ["own", *["commitment"] * 2, "asked for later"]),
        ("I decided", 1, ["own", "commitment"]),
        ("I was married", 1, ["own", "commitment", "trait", "asked for later"]),
        ("Ada was diabetic", 2, ["trait"]),
        ("she was vegan", 2, ["commitment", "trait"]),
        ("benches prefer shade", 3, ["commitment"]),
        ("benches cost 40, decided", 3, ["commitment", "number", "asked for later"]),
        ("benches must rest idle", 4, ["commitment", "asked for later"]),
        ("must rest", 2, ["commitment"]),
        ("forbidden bench", 2, ["commitment"]),
        ("your bench rests idle", 3, ["listener"]),
        ("you prefer shade", 2, ["commitment"]),
        ("you prefer my shade", 2, ["own", "commitment", "asked for later"]),
        ("BENCHES REST IDLE", 3, ["name", "name"]),
        ("ab cd ef 7", 0, ["number"]),
        ("ab cd Ef", 0, ["name"]),
        ("ab a/b", 0, ["identifier"]),
        ("one two red blue green pink gold grey teal lime navy plum rust jade", 12, []),
    ],
)
def test_a_sentence_tells_the_sum_of_what_stands_in_it(sentence, words, told):
    """Names, identifiers and commitments count up to a number of times, everything else once."""
    worth = words * 0.35 - len(sentence) * 0.003 + sum(WORTH[each] for each in told)
    assert judge(sentence).score == pytest.approx(worth)


@pytest.mark.parametrize("sentence", ["", "…", "so well and but", "hi, how are you?", "ab cd ef"])
def test_a_sentence_of_small_words_alone_tells_nothing(sentence):
    """Nor do words of two letters."""
    assert judge(sentence).score == 0.0


def test_a_paste_is_not_counted_against_its_words_for_ever():
    """From 400 characters on, length takes nothing more away."""
    short, long = judge("bench " + "x" * 500).score, judge("bench " + "x" * 900).score
    assert short == long == pytest.approx(2 * 0.35 - 400 * 0.003)


@pytest.mark.parametrize(
    ("sentence", "worth"),
    [
        ("天气预报说有雨", 7 * 0.3),
        ("天" * 20, 6.0),
        ("天" * 30, 6.0),
        ("天气预报说有雨7", 7 * 0.3 + 1.5),
        ("天气预报说有雨ABC", 7 * 0.3 + 1.2),
        ("天气预报说有雨AB,CD,EF", 7 * 0.3 + 2.4),
        ("天气预报说有雨A", 7 * 0.3),
        ("テレビは面白", 6 * 0.3 + 1.2),
        ("天气“有雨”预报说", 7 * 0.3 + 1.0),
        ("明天气预报说有雨", 8 * 0.3 + 1.5),
        ("我说有雨", 4 * 0.3 + 1.2),
        ("必须说", 3 * 0.3 + 0.9),
        ("必须总是说从不", 7 * 0.3 + 1.8),
        ("天气预报说有雨`a`", 7 * 0.3 + 1.2),
        ("谢谢！", 0.0),
        ("，好的。", 0.0),
    ],
)
def test_a_sentence_of_another_script_tells_the_same_things(sentence, worth):
    """By its characters, up to twenty, and what stands among them; greetings tell nothing."""
    assert judge(sentence).score == pytest.approx(worth)


def test_a_quarter_of_dense_characters_is_not_yet_another_script():
    """A word of it in a sentence is a word."""
    assert judge("bench 天气 ab").score == pytest.approx(1 * 0.35 - 11 * 0.003)
    assert judge("bench 天气预").score == pytest.approx(3 * 0.3 + 1.2)


@pytest.mark.parametrize("end", ["?", '?"', "？", "؟", "?) ", "?**"])
def test_a_question_tells_a_third_of_it(end):
    """What somebody wonders about, in any dress."""
    told = judge(f"the garden bench rests near Paris{end}")
    assert told.is_question
    plain = 5 * 0.35 - len(told.text) * 0.003 + 1.2
    assert told.score == pytest.approx(plain * 0.35)
    assert not judge("the garden bench? It rests near Paris").is_question


@pytest.mark.parametrize(
    ("said", "kept"),
    [("Yeah, I moved", "I moved"), ("Well, ", "Well, "), ("Thanks! ", "Thanks! "), ("I moved, yeah", "I moved, yeah")],
)
def test_an_opener_goes_where_something_is_left(said, kept):
    """A sentence of nothing else keeps it."""
    assert judge(said).text == kept


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The bench, it’s near Oslo!", ["bench", "near", "oslo"]),
        ("I don’t sit", ["don't", "sit"]),
        ("ab abc", ["abc"]),
        ("天气预 a 雨", ["天气", "气预", "雨"]),
        ("", []),
    ],
)
def test_content_words_carry_a_text(text, words):
    """Lower case, without small words and the first person; pairs of characters of dense scripts."""
    assert content_words(text) == words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I met Mr. Ada. She left.", ["I met Mr. Ada.", "She left."]),
        ("The old company, Acme Ltd. sold it. Ok.", ["The old company, Acme Ltd. sold it.", "Ok."]),
        ("see etc.\nThen no.", ["see etc.", "Then no."]),
        ("  a one.   b two!  ", ["a one.", "b two!"]),
        ("…\n \n", ["…"]),
        ("“他走了。”我说", ["“他走了。”", "我说"]),
    ],
)
def test_an_abbreviation_ends_no_sentence_but_a_line_does(text, expected):
    """Blanks around a sentence are not part of it."""
    assert sentences_of(text) == expected
