"""A summary of a conversation by rules, in four sections, that the next summary can take over.

    ## SESSION INTENT   what the user asked for, first and last
    ## SUMMARY          what was said that tells something, oldest first; the earlier summary's lines stand before it
    ## ARTIFACTS        files, addresses and identifiers that were named
    ## NEXT STEPS       what is announced or still unanswered

Where there is no room for all, the least telling lines go, whichever summary they come from, so that a fact that mattered
once survives as many compactions as it goes on to matter more than others.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from langgraph_harness_memory.curation.rules.facts import Utterance, clip, facts_of, plain_sentences
from langgraph_harness_memory.curation.rules.repeats import Repeats
from langgraph_harness_memory.curation.rules.salience import judge

SECTIONS = ("SESSION INTENT", "SUMMARY", "ARTIFACTS", "NEXT STEPS")
NOTHING = "None noted."
"""Stands in a section that would be empty."""

INTENT_CHARS = 300
"""Characters of a request that say what it is about."""
MAX_ARTIFACTS = 40
"""Artifacts that are kept, the newest ones."""
LEAST_ASKED = 1.0
"""Score from which a sentence of the user's may be a request; small talk has less."""
LEAST_ROOM = 200
"""Characters a summary may have in any case: below, the headings alone would not fit."""

_HEADING = re.compile(r"#{1,6}\s*(?P<title>[^\n]*?)\s*:?\s*")
_ARTIFACT = re.compile(
    r"https?://[^\s<>\"'`)\]]+|(?<![\w/])(?:\.{0,2}/|~/)?(?:[\w.-]{1,64}/)+[\w.-]*\w|\b[\w-]{1,80}\.(?:py|js|tsx?|jsx|md|json|jsonl|ya?ml|toml|sql|csv|txt|pdf|"
    r"ipynb|html|css|sh|go|rs|java|c|cpp|h|rb|php|cfg|ini|lock|log|docx?|xlsx?|png|jpe?g|svg)\b|\b[A-Z]{2,8}-\d+\b|`[^`\n]{2,60}`"
)
_AHEAD = re.compile(
    r"\b(?:next|todo|to do|remaining|still (?:need|have)|will|going to|let me|i'll|we'll|plan to|should|then i|pending|follow up|"
    r"als nächstes|noch offen|werde|ensuite|je vais|luego|voy a|prossimo|далее)\b|下一步|接下来|待办|次に|これから|다음",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One message of the stretch that is summarised."""

    role: str
    """`user`, `assistant` or `tool`."""
    text: str
    name: str = ""
    """The speaker's name, or the tool's."""
    calls: tuple[str, ...] = ()
    """Tools that it calls, each with its arguments in one line."""
    failed: bool = False
    """A tool's result that is an error."""


@dataclass(slots=True)
class _Sections:
    """The lines of a summary by section, without bullets."""

    intent: list[str] = field(default_factory=list)
    summary: list[str] = field(default_factory=list)
    artifacts: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)


def summarise(turns: Sequence[Turn], *, earlier: str = "", limit: int) -> str:
    """Return the summary of a stretch of conversation.

    Args:
        turns: The stretch, oldest first.
        earlier: The summary of what came before it; it is taken over.
        limit: Characters the summary may have.
    """
    found = _read(earlier)
    intent = _intent(turns, found.intent)
    outdated = [f"User: {line}" for line in found.intent if line not in intent]
    found.intent = intent
    _extend(found.summary, [*outdated, *_said(turns, known=[*found.summary, *intent])])
    _extend(found.artifacts, _artifacts(turns))
    found.steps = _steps(turns) or ([] if turns else found.steps)
    return _fit(found, max(limit, LEAST_ROOM))


def _intent(turns: Sequence[Turn], earlier: list[str]) -> list[str]:
    """Keep the first request and the last one; what lies between stands in the summary."""
    asked = [clip(said, INTENT_CHARS) for turn in turns if turn.role == "user" and (said := _request(turn.text))]
    every = [*earlier[:1], *asked]
    return list(dict.fromkeys([every[0], every[-1]])) if every else earlier


def _request(text: str) -> str:
    """Return the first sentences of a message that tell or ask something; none of small talk."""
    judged = [judge(sentence) for sentence in plain_sentences(text)]
    return " ".join([s.text for s in judged if s.score >= LEAST_ASKED or s.is_question][:2])


def _said(turns: Sequence[Turn], known: Sequence[str]) -> list[str]:
    utterances = [_utterance(turn) for turn in turns if turn.role in ("user", "assistant") and turn.text.strip()]
    facts = facts_of(utterances, known=known)
    calls = [f"Called {call}" for turn in turns for call in turn.calls]
    failed = [f"{turn.name or 'A tool'} failed: {clip(turn.text, 160)}" for turn in turns if turn.failed]
    return [*facts, *_most_called(calls), *failed[-3:]]


def _utterance(turn: Turn) -> Utterance:
    return Utterance(
        speaker=turn.name or turn.role.capitalize(), text=turn.text, is_person=turn.role == "user" or bool(turn.name)
    )


def _most_called(calls: Sequence[str]) -> list[str]:
    """Tell repeated calls once, with their number; of many different ones the last ones."""
    counts: dict[str, int] = {}
    for call in calls:
        counts[call] = counts.get(call, 0) + 1
    return [clip(call if n == 1 else f"{call} ({n} times)", 200) for call, n in list(counts.items())[-10:]]


def _artifacts(turns: Sequence[Turn]) -> list[str]:
    found: dict[str, None] = {}
    for turn in turns:
        for text in (turn.text[:20_000], *turn.calls):
            found |= dict.fromkeys(a.strip("`").rstrip(".,;:") for a in _ARTIFACT.findall(text))
    return [artifact for artifact in found if len(artifact) > 3][-MAX_ARTIFACTS:]


def _steps(turns: Sequence[Turn]) -> list[str]:
    """Say what the assistant announced last, or what the user asked and nobody answered."""
    last_user = max((i for i, turn in enumerate(turns) if turn.role == "user"), default=-1)
    answers = [turn for turn in turns[last_user + 1 :] if turn.role == "assistant" and turn.text.strip()]
    if last_user >= 0 and not answers:
        return [f"Answer the user: {clip(_request(turns[last_user].text) or turns[last_user].text, INTENT_CHARS)}"]
    said = [turn.text for turn in turns if turn.role == "assistant" and turn.text.strip()][-1:]
    return [clip(s, 200) for text in said for s in plain_sentences(text) if _AHEAD.search(s)][-4:]


def _read(summary: str) -> _Sections:
    """Read a summary of ours, or anybody's: what stands under no known heading is part of the summary."""
    found = _Sections()
    lists = dict(zip(SECTIONS, (found.intent, found.summary, found.artifacts, found.steps), strict=True))
    current = found.summary
    for line in summary.splitlines():
        heading = _HEADING.fullmatch(line.strip().strip("*"))
        bare = line.strip().strip("*#: ").upper()
        if heading or bare in lists:
            current = lists.get((heading["title"] if heading else bare).strip("*: ").upper(), found.summary)
        elif (said := line.strip().removeprefix("- ").strip()) and said != NOTHING:
            current.append(said)
    return found


def _extend(lines: list[str], more: Iterable[str]) -> None:
    seen = Repeats()
    for line in lines:
        seen.add(line)
    for line in more:
        if seen.find(line) is None:
            seen.add(line)
            lines.append(line)


def _fit(found: _Sections, limit: int) -> str:
    """Leave out artifacts, then the least telling lines, until the summary fits."""
    while len(found.artifacts) > 5 and len(_render(found)) > limit:
        del found.artifacts[0]
    over = len(_render(found)) - limit
    if over > 0:
        worth = sorted(range(len(found.summary)), key=lambda i: _worth(found.summary[i]))
        gone: set[int] = set()
        for i in worth:
            if over <= 0:
                break
            gone.add(i)
            over -= len(found.summary[i]) + 3
        found.summary = [line for i, line in enumerate(found.summary) if i not in gone]
    while over > 0 and (found.artifacts or found.steps or len(found.intent) > 1):
        shortest = found.artifacts or found.steps or found.intent
        over -= len(shortest.pop()) + 3
    if over > 0 and found.intent:
        found.intent = [clip(found.intent[0], max(40, limit - 120))]
    return _render(found)


def _worth(line: str) -> float:
    _, _, said = line.partition(": ")
    return sum(judge(sentence).score for sentence in plain_sentences(said or line)) / (len(line) + 40)


def _render(found: _Sections) -> str:
    bodies = (found.intent, found.summary, found.artifacts, found.steps)
    return "\n\n".join(
        f"## {title}\n" + ("\n".join(f"- {line}" for line in lines) if lines else NOTHING)
        for title, lines in zip(SECTIONS, bodies, strict=True)
    )
