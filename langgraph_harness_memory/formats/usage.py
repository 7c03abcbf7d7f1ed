"""`memory/.usage.json`: what memory itself asked of models, by day.

    {"v": 1, "days": {"2026-01-05": {"summary": {"calls": 2, "failures": 0, "tokens": 5120}, …}}, "succeeded_at": "…"}

It is for people who look after a memory; nothing depends on it, and a damaged file counts as empty.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any

PATH = "memory/.usage.json"
VERSION = 1
DAYS_KEPT = 90
"""Days of which sums are kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """What one purpose cost on one day."""

    calls: int = 0
    failures: int = 0
    tokens: int = 0

    def plus(self, other: "Spent") -> "Spent":
        """Return both together."""
        return Spent(
            calls=self.calls + other.calls, failures=self.failures + other.failures, tokens=self.tokens + other.tokens
        )


Days = Mapping[str, Mapping[str, Spent]]
"""Sums by day `YYYY-MM-DD` and purpose."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Sums by day, and when a model last answered."""

    days: Days = field(default_factory=dict)
    succeeded_at: datetime | None = None
    """When a curating or summarising model last answered; aware, UTC."""

    def plus(self, other: "Usage") -> "Usage":
        """Return both together."""
        days = {day: dict(purposes) for day, purposes in self.days.items()}
        for day, purposes in other.days.items():
            for purpose, spent in purposes.items():
                known = days.setdefault(day, {}).get(purpose, Spent())
                days[day][purpose] = known.plus(spent)
        moments = [m for m in (self.succeeded_at, other.succeeded_at) if m is not None]
        return Usage(days=days, succeeded_at=max(moments, default=None))

    def since(self, day: date) -> "Usage":
        """Return the sums from a day on."""
        return replace(self, days={d: p for d, p in self.days.items() if d >= day.isoformat()})

    def recent(self, today: date) -> "Usage":
        """Return the sums that are kept."""
        return self.since(today - timedelta(days=DAYS_KEPT))


def render(usage: Usage) -> str:
    """Write usage as one JSON object."""
    days = {
        day: {
            purpose: {"calls": s.calls, "failures": s.failures, "tokens": s.tokens}
            for purpose, s in sorted(purposes.items())
        }
        for day, purposes in sorted(usage.days.items())
    }
    at = usage.succeeded_at.isoformat() if usage.succeeded_at else None
    return json.dumps({"v": VERSION, "days": days, "succeeded_at": at}) + "\n"


def parse(text: str) -> Usage:
    """Read usage; what is damaged in it is left out."""
    try:
        record = json.loads(text)
        days = record["days"].items()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Usage()
    return Usage(
        days={day: found for day, purposes in days if _is_day(day) and (found := _purposes(purposes))},
        succeeded_at=_moment(record.get("succeeded_at")),
    )


def _purposes(found: Any) -> dict[str, Spent]:
    if not isinstance(found, dict):
        return {}
    return {purpose: _spent(sums) for purpose, sums in found.items() if isinstance(sums, dict)}


def _spent(sums: dict[str, Any]) -> Spent:
    calls, failures, tokens = (
        value if isinstance(value := sums.get(key), int) else 0 for key in ("calls", "failures", "tokens")
    )
    return Spent(calls=calls, failures=failures, tokens=tokens)


def _is_day(day: str) -> bool:
    try:
        date.fromisoformat(day)
    except ValueError:
        return False
    return True


def _moment(text: Any) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except (ValueError, TypeError):
        return None
    return at if at.tzinfo else None
