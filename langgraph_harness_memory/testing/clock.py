"""A clock that stands still until a test moves it."""

from datetime import UTC, datetime, timedelta

_START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class FrozenClock:
    """Time that moves when a test says so; a `Clock`.

    Example:
        clock = FrozenClock("2026-03-29T00:30:00+00:00")
        clock.advance(hours=6)
    """

    def __init__(self, at: datetime | str = _START) -> None:
        """Stop the clock at a moment.

        Args:
            at: An aware moment, or its ISO form with an offset.
        """
        self._now = _aware(at)
        self._monotonic = 1_000.0

    def now(self) -> datetime:
        """Return the moment at which the clock stands, in UTC."""
        return self._now

    def monotonic(self) -> float:
        """Return seconds that only `advance` moves, and never back."""
        return self._monotonic

    def advance(self, by: timedelta | None = None, **units: float) -> None:
        """Let time pass.

        Args:
            by: How long; `None` = what the units say.
            **units: The same as for `timedelta`, for example `hours=6`.
        """
        step = (by or timedelta(0)) + timedelta(**units)
        if step < timedelta(0):
            raise ValueError(f"time does not go back by itself ({step}); use set()")
        self._now += step
        self._monotonic += step.total_seconds()

    def set(self, at: datetime | str) -> None:
        """Move the wall clock to a moment, back as well, as a user or NTP would; monotonic time stays.

        Args:
            at: An aware moment, or its ISO form with an offset.
        """
        self._now = _aware(at)


def _aware(at: datetime | str) -> datetime:
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    if moment.tzinfo is None:
        raise ValueError(f"{at!r} has no time zone; give an aware moment")
    return moment.astimezone(UTC)
