"""How lines and queries are cut into terms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory.index.text import MAX_TERM_LENGTH, normalise, terms_of, words_of


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("POL-358", ["pol-358", "pol", "358"]),
        ("C++ C# F#", ["c++", "c#", "f#"]),
        (".NET", [".net", "net"]),
        ("node.js", ["node.js", "node", "js"]),
        ("src/main.py", ["src/main.py", "src", "main", "py"]),
        ("getUserById", ["getuserbyid", "get", "user", "by", "id"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("apply_secrets", ["apply_secrets", "appli", "secret"]),
        ("__init__", ["__init__", "init"]),
        ("2026.4.10", ["2026.4.10", "2026", "4", "10"]),
        ("don't Alice's it’s", ["dont", "alic", "it"]),
        ("Café ＡＢＣ１２３", ["cafe", "abc123", "abc", "123"]),
        ("読", ["読"]),
        ("阅读", ["阅", "阅读", "读"]),
        ("用SQL写", ["用", "sql", "写"]),
        ("ship 🚀 it", ["ship", "🚀", "it"]),
        ("हिन्दी привет", ["हिन्दी", "привет"]),
        ("", []),
        ("*** --- \0", []),
    ],
)
def test_terms(text: str, terms: list[str]) -> None:
    """Words become stems, identifiers the whole and their parts, runs without spaces their characters and pairs."""
    assert terms_of(text) == terms


def test_a_symbol_belongs_to_the_name() -> None:
    """`C++` and `C#` share no term."""
    assert not set(terms_of("C++")) & set(terms_of("C#"))


def test_normal_form_of_scripts() -> None:
    """Accents and vowel points go; kana voicing marks and Hangul stay whole."""
    assert normalise("Ünïcödé") == "Unicode"
    assert normalise("がぎ한글") == "がぎ한글"
    assert normalise("شَرِكَة") == "شركة"


@given(st.text())
def test_any_text_is_cut(text: str) -> None:
    """Every term is short, holds no white space, and both sides of the same text agree."""
    terms = terms_of(text)
    assert all(term and len(term) <= MAX_TERM_LENGTH and term.split() == [term] for term in terms)
    asked = {term for word in words_of(text) for term in (*((word.whole,) if word.whole else ()), *word.parts)}
    assert asked <= set(terms)


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_the_short_way_for_ascii_is_the_same(text: str) -> None:
    """A line of plain ASCII gives the same terms with a word of another script beside it."""
    assert terms_of(text + " 読") == [*terms_of(text + " "), "読"]
