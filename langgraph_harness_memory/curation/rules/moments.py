"""Relative dates made absolute: `yesterday` said on 2023-05-08 becomes `yesterday (2023-05-07)`.

A line of a daily log is read on other days than the one it was said on, and in `MEMORY.md` there is no heading that tells the
day. The words stay as they were said; the date stands behind them.
"""

import re
from datetime import date, timedelta

from langgraph_harness_memory.index.dates import Period, periods_in

_AHEAD = re.compile(
    r"\b(?:(?P<day>the day after tomorrow|tomorrow|übermorgen|après-demain|demain|pasado mañana|domani|послезавтра|завтра)"
    r"|next (?P<unit>week|month|year)|in (?P<count>\d{1,3}|a|two|three|four|five|six) (?P<span>day|week|month)s?)\b"
    r"|(?P<dense>明天|明日|后天|後天|明後日|내일|모레)|(?P<denseunit>下周|下週|来週|下个月|来月|明年|来年|다음 주|다음 달|내년)",
    re.IGNORECASE,
)
_EITHER_WAY = re.compile(r"(?:on|am|el|le|в)\s", re.IGNORECASE)
"""How a weekday is named that may be the last one or the next: "on Thursday" gains no date."""
_TWO_DAYS = (
    "the day after tomorrow",
    "übermorgen",
    "après-demain",
    "pasado mañana",
    "послезавтра",
    "后天",
    "後天",
    "明後日",
    "모레",
)
_UNITS = {
    "week": ("下周", "下週", "来週", "다음 주"),
    "month": ("下个月", "来月", "다음 달"),
    "year": ("明年", "来年", "내년"),
}
_COUNTS = {"a": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}


def with_dates(text: str, said_on: date | None) -> str:
    """Put the date behind each relative one that a text names.

    Args:
        text: A sentence.
        said_on: The day it was said; `None` = not known, and nothing is changed.
    """
    if said_on is None:
        return text
    moments = {p.text: _shown(p) for p in periods_in(text, said_on) if p.is_relative and not _EITHER_WAY.match(p.text)}
    for words, shown in moments.items():
        at = text.lower().find(words)
        if at >= 0:
            end = at + len(words)
            text = f"{text[:end]} ({shown}){text[end:]}"
    return _AHEAD.sub(lambda match: f"{match[0]} ({_ahead(match, said_on)})", text, count=3)


def _shown(period: Period) -> str:
    """Write a period as short as it is exact: a day, a month, a year, or a first and a last day."""
    first, last = period.first, period.last
    if first == last:
        return first.isoformat()
    if (first.month, first.day) == (1, 1) and (last.month, last.day) == (12, 31) and first.year == last.year:
        return str(first.year)
    if first.day == 1 and (last + timedelta(days=1)).day == 1 and (first.year, first.month) == (last.year, last.month):
        return first.isoformat()[:7]
    return f"{first.isoformat()} – {last.isoformat()}"


def _ahead(match: "re.Match[str]", said_on: date) -> str:
    word = (match["day"] or match["dense"] or "").lower()
    if word:
        return (said_on + timedelta(days=2 if word in _TWO_DAYS else 1)).isoformat()
    unit = match["unit"] or next((u for u, words in _UNITS.items() if match["denseunit"] in words), "")
    if unit:
        return _next(unit.lower(), said_on)
    count = _COUNTS.get(match["count"].lower(), 0) or int(match["count"])
    span = match["span"].lower()
    if span == "month":
        return _month(said_on, count)
    return (said_on + timedelta(days=count * (7 if span == "week" else 1))).isoformat()


def _next(unit: str, said_on: date) -> str:
    if unit == "week":
        monday = said_on - timedelta(days=said_on.weekday()) + timedelta(weeks=1)
        return f"{monday.isoformat()} – {(monday + timedelta(days=6)).isoformat()}"
    return _month(said_on, 1) if unit == "month" else str(said_on.year + 1)


def _month(said_on: date, ahead: int) -> str:
    months = said_on.year * 12 + said_on.month - 1 + ahead
    return f"{months // 12:04d}-{months % 12 + 1:02d}"
