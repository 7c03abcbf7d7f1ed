"""Times as people type them: `90s`, `30m`, `6h`, `7d`."""

import re
from datetime import timedelta

from langgraph_harness_memory.errors import SettingError

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def duration(text: str, name: str) -> timedelta:
    """Read a time.

    Args:
        text: A whole number and its unit.
        name: The option, for the message.

    Raises:
        SettingError: It is no time longer than zero.
    """
    found = re.fullmatch(r"(\d{1,6})\s*([smhd])", text.strip().lower())
    if found is None or int(found[1]) == 0:
        raise SettingError.refused(name, text, "give a time such as 90s, 30m, 6h or 7d")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})
