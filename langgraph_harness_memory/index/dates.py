"""Days that a text names: `2023-05-08`, `8 May 2023`, `in May`, `last week`, `3 days ago`, `昨天`, `letzte Woche`.

The clock comes in as a day, so that "yesterday" means the same in a test and in a run. Nothing here decides what a date
is good for: the query step turns it into a preference and the row step into the day of a heading.
"""

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta


@dataclass(frozen=True, kw_only=True, slots=True)
class Period:
    """A stretch of days that a text names."""

    first: date
    last: date
    """The last day, included."""
    text: str
    """The words that name it."""
    is_relative: bool
    """It depends on today ("last week"); such words stand for a time and are not looked for in lines."""

    def holds(self, day: date) -> bool:
        """Say whether a day lies in it."""
        return self.first <= day <= self.last


_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar jänner enero janvier janeiro gennaio января январь",
            "february feb februar febrero février fevrier fevereiro febbraio февраля февраль",
            "march mar märz maerz marzo mars março marco марта март",
            "april apr abril avril aprile апреля апрель",
            "may mai mayo maio maggio мая май",
            "june jun juni junio juin junho giugno июня июнь",
            "july jul juli julio juillet julho luglio июля июль",
            "august aug agosto août aout августа август",
            "september sept sep septiembre septembre setembro settembre сентября сентябрь",
            "october oct oktober okt octubre octobre outubro ottobre октября октябрь",
            "november nov noviembre novembre novembro ноября ноябрь",
            "december dec dezember dez diciembre décembre decembre dezembro dicembre декабря декабрь",
        ),
        1,
    )
    for name in names.split()
}
_ALONE = "|".join(sorted((m for m in _MONTHS if len(m) > 3 or m in {"may", "mai"}), key=len, reverse=True))
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday montag lunes lundi понедельник",
            "tuesday dienstag martes mardi вторник",
            "wednesday mittwoch miércoles miercoles mercredi среду",
            "thursday donnerstag jueves jeudi четверг",
            "friday freitag viernes vendredi пятницу",
            "saturday samstag sábado sabado samedi субботу",
            "sunday sonntag domingo dimanche воскресенье",
        )
    )
    for name in names.split()
}
_DAY = "|".join(_DAYS)
_IN = "in|im|en|em|au|during|since|of|für|в|durante|back in|early|late|mid"
_YEAR = r"(?:19|20)\d\d"
_UNITS = {
    unit: name
    for name, units in {
        "day": "day days tag tagen tage día días dia dias jour jours дня дней день 天 日",
        "week": "week weeks woche wochen semana semanas semaine semaines неделю недели недель 周 週間 주",
        "month": "month months monat monaten monate mes meses mois месяц месяца месяцев 个月 か月 ヶ月 개월",
        "year": "year years jahr jahren jahre año años ano anos an ans год года лет 年 년",
    }.items()
    for unit in units.split()
}
_NUMBERS = {
    word: n
    for n, words in enumerate(
        (
            "",
            "a an one einem einer un une uno una",
            "two zwei dos deux couple",
            "three drei tres trois",
            "four vier cuatro quatre",
        )
    )
    for word in words.split()
}
_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))

_RELATIVE: dict[str, tuple[str, int]] = {
    phrase: place
    for place, phrases in {
        ("day", 0): "today|tonight|this morning|this afternoon|heute|hoy|aujourd'hui|hoje|oggi|сегодня|今天|今日|오늘",
        ("day", -1): "yesterday|last night|gestern|ayer|hier|ontem|ieri|вчера|昨天|昨日|어제",
        ("day", -2): "day before yesterday|vorgestern|anteayer|avant-hier|позавчера|前天|一昨日|그저께",
        ("week", 0): "this week|diese woche|esta semana|cette semaine|на этой неделе|这周|本周|今週|이번 주",
        ("week", -1): "last week|past week|letzte woche|letzter woche|letzten woche|la semana pasada|semana passada"
        "|la semaine dernière|semaine dernière|на прошлой неделе|上周|上个星期|先週|지난주|지난 주",
        ("month", 0): "this month|diesen monat|este mes|ce mois-ci|в этом месяце|这个月|本月|今月|이번 달",
        (
            "month",
            -1,
        ): "last month|past month|letzten monat|letzter monat|el mes pasado|mês passado|le mois dernier|mois dernier"
        "|в прошлом месяце|上个月|先月|지난달",
        ("year", 0): "this year|dieses jahr|este año|este ano|cette année|в этом году|今年|올해",
        ("year", -1): "last year|letztes jahr|el año pasado|ano passado|l'année dernière|в прошлом году|去年|昨年|작년",
    }.items()
    for phrase in phrases.split("|")
}


def _edge(pattern: str) -> str:
    """Ask for word borders around scripts that have them."""
    return rf"(?<![^\W\u3040-\uffff])(?:{pattern})(?![^\W\u3040-\uffff])"


_Reader = Callable[["re.Match[str]", date], "tuple[date, date] | None"]


def _day(year: int, month: int, day: int) -> tuple[date, date] | None:
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    return found, found


def _month_of(year: int, month: int) -> tuple[date, date] | None:
    if not (1 <= month <= 12 and date.min.year <= year < date.max.year):
        return None
    after = date(year + month // 12, month % 12 + 1, 1)
    return date(year, month, 1), after - timedelta(days=1)


def _most_recent(month: int, today: date) -> int:
    """Return the year of a month without one: the last time it began."""
    return today.year if month <= today.month else today.year - 1


def _numbers(match: "re.Match[str]", today: date) -> tuple[date, date] | None:  # noqa: ARG001  readers share a shape
    return _day(int(match["y"]), int(match["m"]), int(match["d"]))


def _named_day(match: "re.Match[str]", today: date) -> tuple[date, date] | None:
    month = _MONTHS[match["mon"]]
    year = int(match["y"]) if match["y"] else _most_recent(month, today)
    return _day(year, month, int(match["d"]))


def _named_month(match: "re.Match[str]", today: date) -> tuple[date, date] | None:
    month = _MONTHS[match["mon"]]
    year = match.groupdict().get("y")
    return _month_of(int(year) if year else _most_recent(month, today), month)


def _numbered_month(match: "re.Match[str]", today: date) -> tuple[date, date] | None:
    month = int(match["m"])
    return _month_of(int(match["y"]) if match["y"] else _most_recent(month, today), month)


def _year(match: "re.Match[str]", today: date) -> tuple[date, date] | None:  # noqa: ARG001  readers share a shape
    return date(int(match["y"]), 1, 1), date(int(match["y"]), 12, 31)


def _spoken(match: "re.Match[str]", today: date) -> tuple[date, date] | None:
    return _around(*_RELATIVE[match[0]], today)


def _around(unit: str, offset: int, today: date) -> tuple[date, date] | None:
    """Return the day, calendar week, month or year that lies `offset` from today's; weeks reach back to the same weekday."""
    try:
        if unit == "day":
            return (today + timedelta(days=offset),) * 2
        if unit == "week":
            monday = today - timedelta(days=today.weekday()) + timedelta(weeks=offset)
            return monday, monday + timedelta(days=6)
        if unit == "month":
            months = today.year * 12 + today.month - 1 + offset
            return _month_of(months // 12, months % 12 + 1)
        return date(today.year + offset, 1, 1), date(today.year + offset, 12, 31)
    except (OverflowError, ValueError):
        return None


def _ago(match: "re.Match[str]", today: date) -> tuple[date, date] | None:
    count = match["n"]
    number = int(count) if count.isdecimal() else _NUMBERS[count]
    return _around(_UNITS[match["unit"]], -number, today)


def _within(match: "re.Match[str]", today: date) -> tuple[date, date] | None:
    count = match["n"]
    number = int(count) if count.isdecimal() else _NUMBERS[count]
    start = _around(_UNITS[match["unit"]], -number, today)
    return None if start is None else (start[0], today)


def _weekday(match: "re.Match[str]", today: date) -> tuple[date, date] | None:
    back = (today.weekday() - _DAYS[match["day"]]) % 7 or 7
    return _around("day", -back, today)


_COUNT = rf"(?P<n>\d{{1,4}}|{'|'.join(_NUMBERS)})"
_DAY_OF = r"(?P<d>\d{1,2})(?:st|nd|rd|th|\.)?"
_READINGS: tuple[tuple[str, bool, _Reader], ...] = (
    (r"(?<!\d)(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?!\d)", False, _numbers),
    (r"(?P<y>\d{4})\s*[年년]\s*(?P<m>\d{1,2})\s*[月월]\s*(?P<d>\d{1,2})\s*[日号일]", False, _numbers),
    (r"(?:(?P<y>\d{4})\s*[年년]\s*)?(?<!\d)(?P<m>\d{1,2})\s*[月월](?!\s*\d)", False, _numbered_month),
    (_edge(rf"{_DAY_OF}\s+(?:of\s+|de\s+)?(?P<mon>{_MONTH})\.?(?:,?\s+(?:de\s+)?(?P<y>{_YEAR}))?"), False, _named_day),
    (_edge(rf"(?P<mon>{_MONTH})\.?\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<y>{_YEAR}))?"), False, _named_day),
    (_edge(rf"(?P<mon>{_MONTH})\.?,?\s+(?:de\s+)?(?P<y>{_YEAR})"), False, _named_month),
    (_edge(rf"(?:{_IN})\s+(?P<mon>{_ALONE})"), False, _named_month),
    (_edge(rf"(?:{_IN})\s+(?P<y>{_YEAR})"), False, _year),
    (_edge(rf"(?:last|past|letzten|últimos|últimas|derniers|dernières)\s+{_COUNT}\s+(?P<unit>{_UNIT})"), True, _within),
    (_edge(rf"{_COUNT}\s+(?:of\s+)?(?P<unit>{_UNIT})\s+(?:ago|earlier|назад)"), True, _ago),
    (_edge(rf"(?:vor|hace|il y a|há)\s+{_COUNT}\s+(?P<unit>{_UNIT})"), True, _ago),
    (rf"(?P<n>\d{{1,4}})\s*(?P<unit>{_UNIT})\s*(?:前|之前|전)", True, _ago),
    (_edge("|".join(sorted(map(re.escape, _RELATIVE), key=len, reverse=True))), True, _spoken),
    (_edge(rf"(?:last|on|this past|letzten|am|el|le|в)\s+(?P<day>{_DAY})"), True, _weekday),
)  # fmt: skip
_MAYBE = rf"\d|{'|'.join([*_RELATIVE, *_ALONE.split('|'), _MONTH, _DAY, *(n + ' ' for n in _NUMBERS)])}"


@functools.cache
def _readers() -> tuple[tuple["re.Pattern[str]", bool, _Reader], ...]:
    """Compile the readings at their first use: 25 ms, which an import would pay for every program."""
    return tuple((re.compile(pattern), is_relative, reader) for pattern, is_relative, reader in _READINGS)


@functools.cache
def _maybe() -> "re.Pattern[str]":
    return re.compile(_MAYBE)


def periods_in(text: str, today: date) -> list[Period]:
    """Find the days that a text names.

    Args:
        text: A query or a heading.
        today: What "yesterday" is counted from, and what a month without a year lies before.

    Returns:
        Periods in the order of the text; where two readings overlap, the more exact one.
    """
    lowered = text.lower()
    if len(lowered) > 2_000 or not _maybe().search(lowered):
        return []
    taken: list[tuple[int, int]] = []
    found: list[tuple[int, Period]] = []
    for start, end, period in _read(lowered, today):
        if all(end <= a or start >= b for a, b in taken):
            taken.append((start, end))
            found.append((start, period))
    return [period for _, period in sorted(found, key=lambda pair: pair[0])]


def day_in(text: str) -> date | None:
    """Return the first full day that a heading or path names, such as `2023-05-08` or `8 May 2023`; `None` without one."""
    days = (p for p in periods_in(text, date.min) if p.first == p.last and not p.is_relative)
    return next((p.first for p in days if p.first.year > 1), None)


def _read(lowered: str, today: date) -> Iterator[tuple[int, int, Period]]:
    for pattern, is_relative, reader in _readers():
        for match in pattern.finditer(lowered):
            days = reader(match, today)
            if days is not None:
                period = Period(first=days[0], last=days[1], text=match[0], is_relative=is_relative)
                yield match.start(), match.end(), period
