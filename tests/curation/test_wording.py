"""The words by which two facts are compared."""

import pytest

from langgraph_harness_memory.curation.wording import (
    estimate_tokens,
    likeness,
    line_form,
    normal,
    runs,
    same_line,
    share,
    tokens,
    words,
)

STEMS = {
    "cities": "citi",
    "city": "city",
    "flies": "fli",
    "pies": "pies",
    "ties": "ties",
    "series": "seri",
    "running": "runn",
    "walking": "walk",
    "moving": "moving",
    "sing": "sing",
    "created": "creat",
    "creates": "creat",
    "create": "creat",
    "added": "added",
    "boxes": "box",
    "glasses": "glass",
    "glass": "glass",
    "address": "address",
    "tests": "test",
    "likes": "lik",
    "cats": "cats",
    "state": "stat",
    "café": "cafe",
    "straße": "strass",
    "v2tests": "v2tests",
    "пишущие": "пишущие",
    "ada's": "ada",
    "ada’s": "ada",
}


@pytest.mark.parametrize(("word", "stem"), STEMS.items())
def test_simple_endings_go_where_enough_of_the_word_stays(word, stem):
    """English endings of words of five letters and more; words with digits and of other scripts stay whole."""
    assert tokens(word) == [stem]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("— ?! —", []),
        ("foo_bar", ["foo", "bar"]),
        ("a.b- c:d x--y 1/2 don't a@b.c", ["a.b", "c:d", "x--y", "1/2", "don't", "a@b.c"]),
        ("数", ["数"]),
        ("数据 a 库", ["数据", "a", "库"]),
        ("カタカナ", ["カタ", "タカ", "カナ"]),
    ],
)
def test_words_are_runs_of_letters_and_digits(text, found):
    """Marks inside a word belong to it, those around it do not; a run of CJK characters is read in pairs."""
    assert tokens(text) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The cat of my sister", {"cat", "sister"}),
        ("what the users and their assistants use", {"use"}),
        ("der Hund und die Katze", {"hund", "katz"}),
        ("to be or not to be", {"not"}),
        ("it is", {"it", "is"}),
        ("", set()),
    ],
)
def test_words_that_say_nothing_are_left_out(text, said):
    """A text of nothing else keeps them: it has no other words to be compared by."""
    assert words(text) == said


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("A\tB\n  c ", "a b c"),
        ("Straße  ÀÉ", "strasse ae"),
        ("in\u200bvo\u00adice\ufeff", "invoice"),
        ("ＡＢＣ １２", "abc 12"),
        ("e\u0301a", "ea"),
        ("가", "가"),
        ("数据", "数据"),
    ],
)
def test_a_text_has_one_form(text, form):
    """Case, accents, width, invisible characters and blanks make no difference."""
    assert normal(text) == form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("- Lives in: Oslo!", "lives in oslo"),
        ("LIVES  in Oslo", "lives in oslo"),
        ("!!!", "!!!"),
        (" ?? ", "??"),
        ("", ""),
    ],
)
def test_lines_that_say_the_same_have_one_form(text, form):
    """Punctuation goes, order and endings stay; a line of punctuation alone is its own form."""
    assert line_form(text) == form
    assert same_line(text, form)
    assert not same_line(text, f"{form} too")


def test_share_is_the_part_of_the_first():
    """Of the first set alone; nothing has no part in anything."""
    one, two = frozenset({"a", "b", "c", "d"}), frozenset({"a", "x"})
    assert share(one, two) == 0.25
    assert share(two, one) == 0.5
    assert share(frozenset(), one) == 0.0
    assert share(one, frozenset()) == 0.0


def test_likeness_is_what_is_common_of_all_there_is():
    """The Jaccard index; two empty sets are alike, one is like nothing."""
    one, two = frozenset({"a", "b", "c"}), frozenset({"a", "b", "x"})
    assert likeness(one, two) == likeness(two, one) == 0.5
    assert likeness(one, one) == 1.0
    assert likeness(frozenset(), frozenset()) == 1.0
    assert likeness(one, frozenset()) == likeness(frozenset(), one) == 0.0


def test_runs_are_all_neighbours_of_a_length():
    """A sequence shorter than the run has none, one as long has one."""
    assert runs(["a", "b", "c", "d"], 3) == {("a", "b", "c"), ("b", "c", "d")}
    assert runs(["a", "b", "c"], 3) == {("a", "b", "c")}
    assert runs(["a", "b"], 3) == frozenset()


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("", 0),
        ("abc", 0),
        ("abcd", 1),
        ("abcdefgh", 2),
        ("пятьдесять", 2),
        ("数", 1),
        ("数据", 2),
        ("数据库", 3),
        ("数据库迁", 3),
        ("数据库迁数据库迁", 6),
        ("word数据", 3),
        ("“word”s—", 2),
    ],
)
def test_tokens_by_script(text, size):
    """Four characters make one in Latin and Cyrillic text and its punctuation, three quarters of one each elsewhere, rounded up."""
    assert estimate_tokens(text) == size
