"""What a sentence gives a value to, so that a later value can take the place of an earlier one.

    Alice: My favourite editor is Vim         ──►  (alice, favourite editor)
    Alice: My favourite editor is Helix now   ──►  the same frame: the later one holds

Rules cannot tell most contradictions. These frames are the ones that hold one value at a time: where somebody lives and works,
what their name, birthday or favourite is, and what has a date, a number or a version.
"""

import re
from collections.abc import Callable

Frame = tuple[str, ...]
"""Who or what is meant, in lower case."""

_SINGLE = (
    r"name|nickname|birthday|age|address|e-?mail(?: address)?|phone(?: number)?|number|deadline|due date|budget|job|job title|"
    r"title|role|employer|boss|manager|team lead|time ?zone|native language|home ?town|port|version|salary|rent|weight|height|"
    r"shoe size|diet|pronouns|(?:favou?rite|preferred|default|main|primary|current) [\w -]{2,30}"
)
_VALUE = re.compile(
    r"\d|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tues|wednes|thurs|fri|satur|sun)[a-z]*\b",
    re.IGNORECASE,
)
_MODIFIER = re.compile(r"^(?:(?:new|current|old|updated|actual|final|latest|now|main)\s+)+", re.IGNORECASE)
_IS = (
    r"(?:is|are|was|will be|became|has been|has (?:moved|changed)|moved|changed|"
    r"(?:is|was|has been|got) (?:now|moved|changed|set|postponed|pushed)(?: back| forward)?(?: to| at)?)"
)
_I = r"\b(?:i|we)(?:'ve| have|'m| am|'re| are)?\s+(?:now\s+|just\s+|recently\s+)?"
_SAID_NAME = r"(?-i:[A-Z\u00c0-\u00de\u0400-\u042f])"
"""The capital of a name: "I moved to Oslo" tells a home, "I moved to the next task" does not."""

_Reader = Callable[["re.Match[str]"], "Frame | None"]


def _thing(match: "re.Match[str]") -> Frame | None:
    """Only what holds one value at a time: a date, a number, or one of the single-valued things."""
    holds_one = _VALUE.search(match["value"]) or re.fullmatch(_SINGLE, match["what"], re.IGNORECASE)
    return ("thing", _bare(match["what"])) if holds_one else None


_PATTERNS: tuple[tuple["re.Pattern[str]", _Reader], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), reader)
    for pattern, reader in (
        (
            rf"\b(?:my|our|mein|meine|unser|mon|ma|mi|il mio|meu|minha)\s+(?P<what>{_SINGLE})\s+(?:{_IS}|ist|est|es|è|é)\s+",
            lambda m: ("own", _bare(m["what"])),
        ),
        (
            rf"\b(?:the|our|my)\s+(?P<what>(?:[\w'-]+\s+){{0,3}}?[\w'-]+)\s+{_IS}\s+(?P<value>[^.!?;]{{1,80}})",
            _thing,
        ),
        (
            (
                rf"{_I}(?:live|living|lived|move|moved|relocated)\s+(?:in|to|over to)\s+{_SAID_NAME}"
                rf"|\b(?:ich (?:wohne|lebe)(?: jetzt)? in|j'habite|vivo en|moro em|abito a|я живу в)\s+{_SAID_NAME}"
                r"|我(?:现在)?(?:住在|搬到|搬去)"
            ),
            lambda _: ("home",),
        ),
        (
            rf"{_I}(?:work|working)\s+(?:at|for)\s+{_SAID_NAME}|{_I}(?:joined|started at)\s+{_SAID_NAME}",
            lambda _: ("employer",),
        ),
        (r"我的(?P<what>[\u4e00-\u9fff]{1,8}?)(?:现在)?是", lambda m: ("own", m["what"])),
        (rf"\bi(?:'m| am)\s+(?:called|named)\s|\bcall me\s+{_SAID_NAME}", lambda _: ("own", "name")),
        (
            rf"{_I}(?:prefer|favou?r)\s+(?P<one>[\w#+' -]{{2,40}}?)\s+(?:over|to|instead of|rather than)\s+(?P<two>[\w#+' -]{{2,40}})",
            lambda m: ("prefer", *sorted((_bare(m["one"]), _bare(m["two"])))),
        ),
        (
            (
                rf"{_I}(?:use|prefer|switched to|chose|picked|went with)\s+[\w#+.' -]{{2,40}}?\s+(?:for|as)\s+"
                r"(?:the |our |my |all )?(?P<what>[\w -]{3,40})"
            ),
            lambda m: ("for", _bare(m["what"])),
        ),
    )
)


def frame_of(speaker: str, sentence: str) -> Frame | None:
    """Return what a sentence gives a value to; `None` where rules cannot tell, or more values than one may hold.

    Args:
        speaker: Who said it; two people's favourites are two frames, but a deadline is everybody's.
        sentence: What was said.
    """
    if len(sentence) > 300:
        return None
    for pattern, read in _PATTERNS:
        match = pattern.search(sentence)
        frame = read(match) if match else None
        if frame is not None:
            return frame if frame[0] == "thing" else (speaker.casefold(), *frame)
    return None


def _bare(words: str) -> str:
    return " ".join(_MODIFIER.sub("", words.strip()).casefold().split())
