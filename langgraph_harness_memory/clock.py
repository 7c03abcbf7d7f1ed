"""Time comes in through here, so that tests decide what it is."""

import time
from datetime import UTC, datetime, tzinfo
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from langgraph_harness_memory.errors import SettingError


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """Return the current moment, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go back, from an arbitrary start."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """Return the current moment, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that never go back, from an arbitrary start."""
        return time.monotonic()


def zone(name: str | None) -> tzinfo | None:
    """Find the time zone whose calendar names daily logs.

    Args:
        name: An IANA name such as `Asia/Shanghai`; `None` for the zone of this machine.

    Returns:
        The zone; `None` stands for the machine's own, as `datetime.astimezone` takes it.

    Raises:
        SettingError: There is no such zone here.
    """
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise SettingError.refused(
            "storage.timezone", name, "give an IANA zone name such as 'Europe/Berlin', or None for the local zone"
        ) from error
