"""What a model wrote, freed from what it wrapped it in.

Models think aloud, fence their answer, introduce it, decorate a sentinel or refuse. None of that is memory. What is
left after the wrapping is removed is judged here and nowhere else.
"""

import json
import re
import unicodedata

SENTINEL = "NO_REPLY"
"""What a model is asked to say when there is nothing to write."""

MAX_FACTS = 200
"""Facts of one answer; more is garbage, and the first ones are kept."""
MAX_FACT_CHARS = 2_000
"""Characters of one fact; the rest of a longer one is cut off with a mark."""

_THOUGHT = re.compile(
    r"<(think|thinking|thought|reasoning|analysis)\b[^>]*>.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL
)
_LOOSE_THOUGHT = re.compile(r"\A.*?</(?:think|thinking|thought|reasoning|analysis)\s*>", re.IGNORECASE | re.DOTALL)
_FENCE = re.compile(r"\s*(?:```+|~~~+)\s*[\w+-]*\s*")
_TAG = re.compile(r"\s*</?[a-zA-Z_][\w-]*>\s*")
_BULLET = re.compile(r"\s*(?:[-*+•‣·]\s+|\d{1,3}[.)]\s+)")
_HEADING = re.compile(r"\s*#{1,6}(?:\s|$)")
_DRESS = " \t\"'`*_~.!:;,-–—•()[]{}<>«»“”‘’„"
_NOTHING = re.compile(
    r"(?:no[ _-]?reply|none|n/?a|nil|null|empty|unchanged|no change(?:s)?|nothing(?: new)?(?: to (?:report|add|save|remember|store|flush))?"
    r"|no new (?:facts?|memor(?:y|ies)|information|bullets?)(?: to (?:report|add|save|remember|store))?|无|没有|なし|없음)"
)
_LED_BY_SENTINEL = re.compile(r"no_reply\s*(?:$|[.:,;!(\[\"'*_`–—-])", re.IGNORECASE)
_REFUSAL = re.compile(
    r"(?:i(?:'|’)?m (?:very |so |really )?sorry|i am sorry|sorry[,. ]|my apologies|i apologi[sz]e"
    r"|i(?: can(?:not|(?:'|’)t)| am unable|(?:'|’)m unable"
    r"|(?:'|’)m not able| won(?:'|’)t| will not| must decline)\b|as an ai\b|as a (?:large )?language model|unfortunately,? i\b"
    r"|es tut mir leid|ich kann (?:leider )?nicht|je suis d[ée]sol|je ne peux pas|lo siento|no puedo|desculpe|mi dispiace"
    r"|抱歉|对不起|對不起|很抱歉|我无法|我不能|申し訳|すみません|죄송)",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"(?:here (?:is|are|it is|you go)|here(?:'|’)s|sure\b|certainly\b|of course\b|okay\b|ok[,!. ]"
    r"|i(?:'|’)ve (?:updated|merged|consolidated|extracted)|i have (?:updated|merged|consolidated|extracted)"
    r"|the (?:following|updated|new)\b.*:$|below (?:is|are)|based on\b.*:$"
    r"|let me know|hope this helps|feel free|would you like|hier (?:ist|sind)|voici|aquí (?:está|están)|以下是|以下は|好的)",
    re.IGNORECASE,
)


def without_thoughts(text: str) -> str:
    """Return an answer without what its model thought aloud; an unclosed thought runs to the end."""
    bare = _THOUGHT.sub("", text)
    return _LOOSE_THOUGHT.sub("", bare).strip()


def is_nothing(text: str) -> bool:
    """Say whether a text is blank or one of the words for "there is nothing", in any dress."""
    bare = unicodedata.normalize("NFKC", text).strip().strip(_DRESS).casefold()
    return not bare or bool(_NOTHING.fullmatch(bare)) or bool(_LED_BY_SENTINEL.match(bare))


def is_refusal(text: str) -> bool:
    """Say whether a text opens as a refusal does."""
    return bool(_REFUSAL.match(text.strip().strip(_DRESS)))


def is_talk(text: str) -> bool:
    """Say whether a line talks to whoever asked, rather than being asked-for content."""
    return bool(_TALK.match(text.strip().strip("*_ ")))


def is_fenced(text: str) -> bool:
    """Say whether an answer stands in a code fence, or holds one that is open."""
    fences = sum(1 for line in text.split("\n") if line.lstrip().startswith(("```", "~~~")))
    return fences % 2 == 1 or text.lstrip().startswith(("```", "~~~"))


def facts_in(text: str, *, truncated: bool = False) -> tuple[str, ...]:
    """Return the facts of a flush model's answer, in order, each on one line; none where it says that there are none.

    Bullets are facts. Where an answer has no bullets, each of its lines is one, unless it introduces, refuses or says
    that there is nothing: a sentinel is only a sentinel when it stands alone, so that a fact about one stays.

    Args:
        text: The answer.
        truncated: It stopped at its length limit, so that its last line is half a fact.
    """
    bare = without_thoughts(text)
    listed = _json_facts(bare)
    if listed is not None:
        return _kept(listed)
    lines = [line for line in bare.splitlines() if line.strip() and not _is_wrapping(line)]
    if truncated:
        lines = lines[:-1]
    bullets = _bulleted(lines)
    if bullets:
        return _kept(bullets)
    if not lines or is_refusal(lines[0]) or is_nothing(lines[0]):
        return ()
    return _kept([line.strip() for line in lines])


def _is_wrapping(line: str) -> bool:
    return bool(_FENCE.fullmatch(line) or _TAG.fullmatch(line) or _HEADING.match(line))


def _bulleted(lines: list[str]) -> list[str]:
    """Return the text of each bullet; an indented line below one belongs to it."""
    found: list[str] = []
    for line in lines:
        marker = _BULLET.match(line)
        if marker:
            found.append(line[marker.end() :].strip())
        elif found and line[:1] in " \t":
            found[-1] += " " + line.strip()
    return found


def _json_facts(text: str) -> list[str] | None:
    """Read an answer that is a JSON list of strings, fenced or not; `None` for any other."""
    body = "\n".join(line for line in text.split("\n") if not _FENCE.fullmatch(line)).strip()
    if not (body.startswith("[") and body.endswith("]")):
        return None
    try:
        listed = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return [entry for entry in listed if entry.strip()] if all(isinstance(entry, str) for entry in listed) else None


def _kept(facts: list[str]) -> tuple[str, ...]:
    seen: dict[str, str] = {}
    for fact in facts:
        flat = " ".join(fact.split())
        if is_nothing(flat) or is_refusal(flat) or _is_introduction(flat):
            continue
        short = flat if len(flat) <= MAX_FACT_CHARS else flat[: MAX_FACT_CHARS - 1] + "…"
        seen.setdefault(short.casefold(), short)
    return tuple(seen.values())[:MAX_FACTS]


def _is_introduction(line: str) -> bool:
    return is_talk(line) and line.rstrip("*_ ").endswith((":", "：", "!", "?"))
