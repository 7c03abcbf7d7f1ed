"""Facts of a conversation, by rules: which sentences to keep, whose they are, and when they were said.

    what was said ──► sentences ──► judged ──► the ones that tell something ──► one bullet per speaker's turn

The words are the speaker's own: nothing is rephrased, so that nothing is invented and any language works. What a bullet adds
is what it needs to stand alone: who said it, the date behind a relative one, and the question that a short answer answers.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from langgraph_harness_memory.curation.rules.moments import with_dates
from langgraph_harness_memory.curation.rules.repeats import Repeats
from langgraph_harness_memory.curation.rules.salience import Sentence, content_words, judge, sentences_of

LEAST_SCORE = 3.25
"""Score that the best sentence of a message needs for the message to be written down."""
LEAST_BESIDE = 2.2
"""Score that another sentence of such a message needs: what stands beside a fact often completes it.

Both were set by `python -m benchmarks retention`, so that the logs stay below 60 % of what was said."""
LEAST_PASSED_ON = 1.2
"""Score that a sentence needs which the assistant passed on from a tool: it was looked up for the user, so it matters."""
ASSISTANT_SENTENCES = 3
"""Sentences kept of one answer of an assistant without a name: most of it is general knowledge that can be had again."""
USER_SENTENCES = 12
"""Sentences kept of one message of a person; more is a paste."""
MAX_SENTENCE_CHARS = 500
"""Characters kept of one sentence; longer ones are pastes without punctuation."""

_FENCED = re.compile(r"(?ms)^[ \t]*(?:```|~~~)[^\n]*\n.*?(?:^[ \t]*(?:```|~~~)|\Z)")
_MARKUP = re.compile(
    r"(?m)^[ \t]*(?:#{1,6}\s+|>\s?|[-*+•]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+|\|)|\*\*|__(?=\S)|(?<=\S)__"
)
_TABLE_RULE = re.compile(r"[\s|:=_*~+-]*")
_SYMBOLS = re.compile(r"[{}<>()\[\];=|\\^$#@&%*+/~\"']")


@dataclass(frozen=True, kw_only=True, slots=True)
class Utterance:
    """What one speaker said at a time."""

    speaker: str
    """As the bullet names them: `User`, `Assistant`, or a name."""
    text: str
    is_person: bool = True
    """A person or somebody with a name; `False` for an assistant without one."""
    is_passed_on: bool = False
    """Words of a tool that an assistant passed on."""
    said_on: date | None = None
    """The day it was said, in the reader's zone; `None` = not known."""


def facts_of(utterances: Sequence[Utterance], *, known: Sequence[str] = ()) -> list[str]:
    """Return the facts of a stretch of conversation, oldest first, as the text of bullets.

    Args:
        utterances: What was said, oldest first.
        known: Lines that are written down already; what repeats them is left out.
    """
    seen = Repeats()
    for line in known:
        seen.add(line)
    facts: list[str] = []
    asked = ""
    for utterance in utterances:
        judged = [judge(sentence) for sentence in plain_sentences(utterance.text)]
        fact = _fact(utterance, judged, asked)
        asked = next((s.text for s in reversed(judged) if s.is_question), "")
        if fact and seen.find(fact) is None:
            seen.add(fact)
            facts.append(fact)
    return facts


def plain_sentences(text: str) -> list[str]:
    """Return the sentences of a text without code, tables' rules and markup."""
    plain = _MARKUP.sub("", _FENCED.sub("\n", text))
    return [s for s in sentences_of(plain) if not _TABLE_RULE.fullmatch(s) and not _is_code(s)]


def clip(text: str, limit: int = MAX_SENTENCE_CHARS) -> str:
    """Bring a text to one line and cut it at the last blank before a length."""
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    end = flat.rfind(" ", limit // 2, limit)
    return flat[: end if end > 0 else limit].rstrip(" ,;:") + "…"


def _fact(utterance: Utterance, judged: list[Sentence], asked: str) -> str:
    kept = _kept(utterance, judged)
    if not kept:
        return ""
    said = " ".join(with_dates(clip(sentence.text), utterance.said_on) for sentence in kept)
    context = f"(asked: {clip(asked, 160)}) " if asked and _needs_question(judged, kept) else ""
    return f"{utterance.speaker}: {context}{said}"


def _kept(utterance: Utterance, judged: list[Sentence]) -> list[Sentence]:
    """Keep the sentences that tell enough, the best ones where there are too many, in the order in which they were said."""
    least, beside = (LEAST_PASSED_ON,) * 2 if utterance.is_passed_on else (LEAST_SCORE, LEAST_BESIDE)
    if max((s.score for s in judged), default=0.0) < least:
        return []
    most = USER_SENTENCES if utterance.is_person else ASSISTANT_SENTENCES
    good = [s for s in judged if s.score >= beside]
    if len(good) > most:
        worst = sorted((s.score for s in good), reverse=True)[most - 1]
        good = [s for s in good if s.score >= worst][:most]
    return good


def _needs_question(judged: list[Sentence], kept: list[Sentence]) -> bool:
    """Tell whether an answer is too short to be understood without what was asked."""
    return kept[0] is judged[0] and len(content_words(kept[0].text)) <= 4


def _is_code(sentence: str) -> bool:
    """Tell code, logs and data from prose by their share of symbols."""
    return len(_SYMBOLS.findall(sentence)) > max(3, len(sentence) // 8)
