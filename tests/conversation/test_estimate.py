"""What each kind of text costs, piece by piece."""

import pytest

from langgraph_harness_memory.conversation.estimate import SAMPLED_ABOVE, estimate_tokens


def costs(text, price):
    """Say whether a hundred of a text, on lines of their own, cost a hundred times its price; rounding hides a single one."""
    line_ends = 99 * 0.66
    return estimate_tokens("\n".join([text] * 100)) == round(100 * price + line_ends)


@pytest.mark.parametrize(
    ("text", "price"),
    [
        ("a", 1.18),
        ("A", 1.18),
        ("the", 0.93),
        ("Hello", 0.91),
        ("example", 1.01),
        ("different", 1.22),
        ("conversation", 1.76),
        ("responsibilities", 3.48),
        ("internationalisation", 3.48 + 4 * 0.30),
        ("hello big world", 0.91 + 0.93 + 0.91),
        ("HTTP", 1.93),
        ("UI", 0.80),
        ("SQL", 0.80),
        ("HTTPServer", 1.93 + 1.01),
        ("DATABASE", 2.4),
        ("DATABASES", 2.4 + 0.35),
        ("POSTGRESQLDB", 2.4 + 4 * 0.35),
        ("1", 1.6),
        ("123", 1.6),
        ("1234", 3.2),
        ("1234567", 4.8),
        ("a1b22", 1.18 + 1.6 + 1.18 + 1.6),
        (".", 0.70),
        ("::", 1.02),
        ("----", 0.91),
        ("========", 1.41),
        ("!!!!!!!!!!!!", 1.41 + 4 * 0.06),
        ("a  b", 1.18 + 1.18 + 0.82),
        ("a \t b    c", 3 * 1.18 + 2 * 0.82),
        ("a b", 1.18 + 1.18),
        ("é", 0.87),
        ("naïve", 2.05),
        ("Übergröße", 4.19),
        ("Beschäftigung", 4.19 + 2 * 0.35),
        ("à la carte", 0.87 + 0.93 + 0.91),
        ("мир", 0.92),
        ("Привет", 1.60),
        ("программа", 2.08),
        ("Приветствование", 2.78 + 2 * 0.22),
        ("日本語", 3 * 0.77),
        ("です。", 2 * 0.68 + 0.93),
        ("한국어", 3 * 0.75),
        ("ｆｕｌｌ", 4 * 0.93),
        ("αβγ", 3 * 0.43),
        ("שלום", 4 * 0.53),
        ("مرحبا", 5 * 0.40),
        ("नमस्ते", 6 * 0.41),
        ("বাংলা", 5 * 0.43),
        ("ไทย", 3 * 0.43),
        ("—→", 2 * 1.0),
        ("😀", 2.0),
        ("日本 test", 2 * 0.77 + 0.91),
    ],
)
def test_a_text_costs_the_sum_of_its_pieces(text, price):
    """Words by length and case, groups of three digits, runs of punctuation and blanks, characters by script."""
    assert costs(text, price)


@pytest.mark.parametrize(("text", "tokens"), [("", 0), (" ", 1), ("a", 1), ("I am", 2), ("a\n  b\n\nc", 6), ("a\n", 2)])
def test_a_short_text_is_rounded_and_never_nothing(text, tokens):
    """Only the empty one is."""
    assert estimate_tokens(text) == tokens


def test_a_long_text_is_measured_by_samples():
    """From its beginning to its end, evenly; just below the border every character counts."""
    half = SAMPLED_ABOVE // 2
    assert estimate_tokens("the " * (SAMPLED_ABOVE // 4)) == round(SAMPLED_ABOVE // 4 * 0.93)
    assert estimate_tokens("日" * SAMPLED_ABOVE) == round(SAMPLED_ABOVE * 0.77)
    assert estimate_tokens("日" * 100_000) == round(100_000 * 0.77)
    mixed = "日" * half + " " * half
    assert estimate_tokens(mixed + "日" * 2_000) == pytest.approx((half + 2_000) * 0.77, rel=0.07)
    assert estimate_tokens("日" * 2_000 + " " * 100_000) > 1_500
    assert estimate_tokens(" " * 100_000 + "日" * 2_000) > 1_500
    assert estimate_tokens(" " * 100_000) == 41
