"""How much a sentence tells: names, numbers, dates, identifiers, quotes, what people say of themselves, decide and like.

Nothing here asks a model or knows a topic. A score is a sum of what stands in the sentence; 0 means that nothing would be
lost without it. The weights were set so that facts of real chats come before small talk; the ranking is what matters.
"""

import re
from dataclasses import dataclass

from langgraph_harness_memory.curation.rules import cues

QUESTION_WEIGHT = 0.35
"""What a question tells beside a statement with the same words: what somebody wonders about, at most."""

OWN_COMMITMENT = 0.8
"""What "I prefer tabs", "the deadline is May 10" or "it must be reversible" tells beyond its words: it is asked for later."""

ABOUT_LISTENER = 0.7
"""What a sentence about the listener tells less: praise and wishes, where it neither decides nor demands."""

_SENTENCE_END = re.compile(
    r"(?:(?<=[.!?…])|(?<=[.!?…][\"'”’)\]]))\s+|(?:(?<=[。！？｡؟।])(?![」』”’）])|(?<=[。！？｡][」』”’）]))\s*"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Za-z]|mr|mrs|ms|dr|st|vs|etc|e\.g|i\.e|approx|no|jr|sr|prof|inc|ltd|co|bzw|z\.b|ca|nr)\.)\Z",
    re.IGNORECASE,
)
_DENSE = re.compile("[\u0e00-\u0eff\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NUMBER = re.compile(r"\d")
_NAME = re.compile(r"(?<=[^\s.!?…:。！？\"“(])[\s(\"“'’]{1,3}([A-ZÀ-ÖØ-ÞĀ-ŽА-Я][^\W\d_]+|[A-Z]{2,})")
_IDENTIFIER = re.compile(
    r"`[^`]{1,200}`|https?://\S+|\b[\w.-]{1,64}@[\w-]{1,64}\.\w+|(?<![\w/.~-])(?:[\w.~-]{0,64}/)+[\w.-]+|\b[a-z]+_[a-z_]+\b|\b[a-z]+[A-Z]\w+|\b[A-Z]{2,10}-\d+|"
    r"\b[\w-]{1,80}\.(?:py|js|ts|md|json|ya?ml|toml|sql|csv|txt|pdf|com|org|io|ai)\b"
)
_QUOTE = re.compile(r"[\"“„«「『][^\"”«»」』]{2,80}[\"”»」』]")
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|since|weekend|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|"
    r"(?:last|next|this|past|every) (?:night|week|month|year|summer|spring|fall|winter|autumn|time|mon|tues|wednes|thurs|fri|satur|sun)\w*|"
    r"january|february|march|april|june|july|august|september|october|november|december|"
    r"gestern|heute|morgen|woche|monat|jahr|hier|demain|semaine|mois|ayer|mañana|semana|ontem|amanhã|ieri|domani|вчера|завтра|недел\w*)\b"
    r"|昨天|今天|明天|上周|下周|去年|明年|月|年|昨日|今日|明日|先週|来週|어제|오늘|내일|지난|다음",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """One sentence and how much it tells."""

    text: str
    """Without what can go at its start."""
    score: float
    """0 = small talk; a plain fact has 3 and more."""
    is_question: bool
    """It asks."""


def sentences_of(text: str) -> list[str]:
    """Cut a text into sentences, in any script; lines end sentences, abbreviations and numbers do not."""
    out: list[str] = []
    for line in text.splitlines():
        starts = len(out)
        for piece in filter(str.strip, _SENTENCE_END.split(line)):
            if len(out) > starts and _ABBREVIATION.search(out[-1][-12:]):
                out[-1] += " " + piece.strip()
            else:
                out.append(piece.strip())
    return out


def judge(sentence: str) -> Sentence:
    """Say how much a sentence tells."""
    opener = cues.OPENERS.match(sentence)
    text = sentence[opener.end() :].strip() if opener else sentence
    text = text or sentence
    is_question = text.rstrip("\"'”)*_ ").endswith(("?", "？", "؟"))
    score = _score(text) * (QUESTION_WEIGHT if is_question else 1.0)
    return Sentence(text=text, score=score, is_question=is_question)


def content_words(text: str) -> list[str]:
    """Return the words that carry a text, in lower case; runs of scripts without spaces as pairs of characters."""
    words: list[str] = []
    for word in _WORD.findall(text.lower().replace("’", "'")):
        if _DENSE.search(word):
            words += [word[i : i + 2] for i in range(max(1, len(word) - 1))]
        elif word not in cues.FILLER and word not in cues.FIRST_PERSON and len(word) > 2:
            words.append(word)
    return words


def _score(text: str) -> float:
    words = [word.lower().replace("’", "'") for word in _WORD.findall(text)]
    dense = len(_DENSE.findall(text))
    if dense > len(text) // 4:
        return _dense_score(text, dense)
    content = [word for word in words if word not in cues.FILLER and len(word) > 2]
    names = len(_NAME.findall(text))
    numbers = bool(_NUMBER.search(text))
    identifiers = len(_IDENTIFIER.findall(text))
    if not (content or names or numbers or identifiers):
        return 0.0
    score = min(len(content), 12) * 0.35 - min(len(text), 400) * 0.003
    score += min(names, 3) * 1.2 + numbers * 1.5 + min(identifiers, 3) * 1.2
    score += bool(_QUOTE.search(text)) * 1.0 + bool(_TIME.search(text)) * 1.5
    is_own = any(word in cues.FIRST_PERSON for word in words)
    commitments = sum(word in cues.COMMITMENT for word in words)
    has_trait = any(word in cues.TRAITS for word in words)
    score += is_own * 1.2 + min(2, commitments) * 0.6 + has_trait * 0.8
    if commitments and (is_own or numbers) and (has_trait or len(content) > commitments or numbers):
        score += OWN_COMMITMENT
    if len(content) > 2 and any(word in cues.RULES for word in words):
        score += OWN_COMMITMENT
    if not commitments and any(word in cues.SECOND_PERSON for word in words):
        score -= ABOUT_LISTENER
    return score


def _dense_score(text: str, dense: int) -> float:
    if cues.FILLER_DENSE.fullmatch(text.strip("。！!、,，. ～~")):
        return 0.0
    score = min(dense, 20) * 0.3
    score += bool(_NUMBER.search(text)) * 1.5 + min(2, len(re.findall(r"[A-Za-z]{2,}|[ァ-ヺー]{3,}", text))) * 1.2
    score += (
        min(3, len(_IDENTIFIER.findall(text))) * 1.2 + bool(_QUOTE.search(text)) * 1.0 + bool(_TIME.search(text)) * 1.5
    )
    score += any(word in text for word in cues.FIRST_PERSON_DENSE) * 1.2
    score += min(2, sum(word in text for word in cues.COMMITMENT_DENSE)) * 0.9
    return score
