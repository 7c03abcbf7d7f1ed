"""What redaction and the user's scanner make of a text."""

import pytest

from langgraph_harness_memory.config import Verdict
from langgraph_harness_memory.curation.screening import Blocked, Screening


def test_a_text_is_redacted_before_and_after_the_scanner():
    """The scanner sees no secret, and what it writes instead is redacted too; it learns where the text goes."""
    seen = []

    def rewrites(text, destination):
        seen.append((text, destination))
        return Verdict(action="redact", text="again hunter2")

    screening = Screening(redact=lambda text: text.replace("hunter2", "***"), scanner=rewrites)
    assert screening.screen("it is hunter2", "daily_log") == "again ***"
    assert seen == [("it is ***", "daily_log")]
    assert Screening(scanner=rewrites).screen("x", "memory") == "again hunter2"


@pytest.mark.parametrize(
    ("verdict", "answer"),
    [
        (Verdict(action="allow"), "a fact"),
        (Verdict(action="block", reason="no"), Blocked(reason="no")),
        (Verdict(action="block"), Blocked(reason="the scanner blocked it")),
    ],
)
def test_a_scanner_has_the_last_word(verdict, answer):
    """Without a reason of its own it blocked."""
    assert Screening(scanner=lambda text, to: verdict).screen("a fact", "memory") == answer
    assert Screening().screen("a fact", "memory") == "a fact"


def test_a_scanner_that_raises_blocks_and_says_so_in_short():
    """What it could not judge is not remembered."""

    def fails(text, destination):
        raise ValueError("x" * 400)

    blocked = Screening(scanner=fails).screen("a fact", "memory")
    assert blocked == Blocked(reason=f"the scanner failed: ValueError: {'x' * 400}"[:300])
