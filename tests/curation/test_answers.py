"""What is left of a model's answer once its wrapping is gone."""

import pytest

from langgraph_harness_memory.curation.answers import facts_in, is_nothing, is_refusal

NOTHING = [
    "NO_REPLY",
    "NO_REPLY.",
    '"NO_REPLY"',
    "- NO_REPLY",
    "**NO_REPLY**",
    "no_reply",
    "`NO_REPLY`",
    "* **NO_REPLY**.",
    "NO_REPLY\n(nothing new)",
    "NO_REPLY: small talk only",
    "- NO_REPLY (nothing new)",
    "NO_REPLY — the user only said hello",
    "ＮＯ_ＲＥＰＬＹ",
    "```\nNO_REPLY\n```",
    "<think>They said hello.</think>\nNO_REPLY",
    "<think>They said hello and then I ran out of",
    "",
    " \n\t\n",
    "- None",
    "N/A",
    "- Nothing new to report.",
    "无",
    "I'm sorry, but I can't help with that.",
    "I’m sorry, I cannot extract memories from this conversation.",
    "As an AI language model, I cannot store personal data.",
    "Es tut mir leid, dabei kann ich nicht helfen.",
    "抱歉，我无法处理这个请求。",
    "[]",
    "## Facts",
    "<memories>\n</memories>",
]

FACTS = [
    ("<think>hm - maybe\n- not this</think>\n- fact A", ("fact A",)),
    ("reasoning that was never opened</think>\n- fact A", ("fact A",)),
    ("```markdown\n- fact A\n- fact B\n```", ("fact A", "fact B")),
    ("Here are the memories:\n- fact A", ("fact A",)),
    ("Sure! Here are the new facts:\n\n1. fact A\n2) fact B\n\nLet me know if you need more!", ("fact A", "fact B")),
    ("Here are the memories:\nfact A", ("fact A",)),
    ("fact A\nfact B", ("fact A", "fact B")),
    ("- The bot uses NO_REPLY as its sentinel", ("The bot uses NO_REPLY as its sentinel",)),
    (
        "NO_REPLY is what the bot says when it has nothing to add",
        ("NO_REPLY is what the bot says when it has nothing to add",),
    ),
    ("- fact A\n- NO_REPLY", ("fact A",)),
    ("- fact A\n  that goes on\n- fact B", ("fact A that goes on", "fact B")),
    ("* fact A\r\n* fact B\r\n", ("fact A", "fact B")),
    ("• fact A\n• fact A", ("fact A",)),
    ('["fact A", "fact B"]', ("fact A", "fact B")),
    ('```json\n["fact A"]\n```', ("fact A",)),
    ("<memories>\n- fact A\n</memories>", ("fact A",)),
    ("## Preferences\n- fact A", ("fact A",)),
    ("- 喜欢喝茶\n- 用PostgreSQL作为主数据库", ("喜欢喝茶", "用PostgreSQL作为主数据库")),
]


@pytest.mark.parametrize("answer", NOTHING)
def test_no_reply_in_any_dress_is_nothing(answer):
    """Sentinels, blanks, refusals and pure wrapping leave no fact."""
    assert facts_in(answer) == ()


@pytest.mark.parametrize(("answer", "facts"), FACTS)
def test_facts_are_freed_from_their_wrapping(answer, facts):
    """Thoughts, fences, introductions and bullets go; what was said stays, in order and once."""
    assert facts_in(answer) == facts


def test_half_a_line_is_no_fact():
    """The last line of an answer that stopped at its limit is left out."""
    assert facts_in("- fact A\n- fact B is cut o", truncated=True) == ("fact A",)


def test_garbage_is_bounded():
    """A 300 kB answer gives facts of bounded length, and a bounded number of them."""
    assert all(len(fact) <= 2_000 for fact in facts_in("x" * 300_000))
    assert len(facts_in("\n".join(f"- fact {n}" for n in range(10_000)))) == 200


@pytest.mark.parametrize("text", ["unchanged", "Unchanged.", "(no changes)", "n/a", "nothing new"])
def test_words_for_nothing_are_known(text):
    """A whole file is never one of these."""
    assert is_nothing(text)


@pytest.mark.parametrize(
    "text", ["Nothing beats tea", "None of the tests failed", "No new servers until May", "unchanged since May"]
)
def test_a_sentence_is_not_nothing(text):
    """Only the bare words count, never a sentence that begins with them."""
    assert not is_nothing(text)


@pytest.mark.parametrize(
    "text", ["I am the owner of the repo", "Sorrento is the venue", "Unfortunate naming is tracked in POL-358"]
)
def test_what_only_resembles_a_refusal_is_none(text):
    """A fact that shares a first word with a refusal stays a fact."""
    assert not is_refusal(text)
