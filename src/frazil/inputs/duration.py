"""Durations as people write them: ``"200ms"``, ``1.5`` (seconds) or a ``timedelta``.

A bare number that means milliseconds here and seconds there is a classic way to be wrong by a
factor of a thousand, so a text must carry its unit, and every name inside frazil does.
"""

import math
import re
from datetime import timedelta

from frazil.errors import ConfigError

__all__ = ["SPANS_S", "UNITS_US", "YEAR_S", "ago", "duration_text", "duration_us", "exact_us"]

UNITS_US = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
_LONGEST_US = 36_525 * UNITS_US["d"]  # a socket, a lock and a sleep hold less than 292 years
YEAR_S = 31_556_952
"""Of the Gregorian calendar, on average."""
SPANS_S = (
    (YEAR_S, "year"),
    (YEAR_S / 12, "month"),
    (86_400, "day"),
    (3_600, "hour"),
    (60, "minute"),
    (1, "second"),
)
"""How long times are told, the longest first."""
_TEXT = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)\s*(us|ms|s|min|h|d)")


def duration_us(value: str | float | timedelta, *, name: str = "duration") -> int:
    """Whole microseconds of a duration, at most 100 years; ConfigError for what is not one."""
    if isinstance(value, timedelta):
        us = value // timedelta(microseconds=1)
    elif isinstance(value, str):
        match = _TEXT.fullmatch(value.strip())
        if match is None:
            raise ConfigError(
                f"{name} {value!r} is not a duration; write a number and a unit "
                f"({', '.join(UNITS_US)}), like '200ms'",
                value=value,
            )
        us, rest, whole = exact_us(match[1], match[2])
        us += 2 * rest >= whole
    elif isinstance(value, bool) or not _is_finite(value):
        raise ConfigError(
            f"{name} is a duration ('200ms', seconds or a timedelta), and {str(value)[:40]} is not",
            value=value,
        )
    else:
        over, under = value.as_integer_ratio()
        us = (2_000_000 * over + under) // (2 * under)
    if us > _LONGEST_US:
        raise ConfigError(f"{name} {value!r} is longer than 100 years", value=value)
    if us < 0:
        raise ConfigError(f"{name} {value!r} is negative; a duration is not", value=value)
    return us


def _is_finite(value: float) -> bool:
    """Whether it is a number, whatever its type says, and no infinite one."""
    try:
        return math.isfinite(value)
    except (OverflowError, TypeError):
        return False


def exact_us(number: str, unit: str) -> tuple[int, int, int]:
    """``1.5``, ``ms`` as whole microseconds, what is left over, and of how much that is a part."""
    whole, _, part = number.partition(".")
    scale = 10 ** len(part)
    return *divmod(int(whole + part) * UNITS_US[unit], scale), scale


def duration_text(us: int) -> str:
    """The shortest exact text of a duration: 1500000 is ``1500ms``, 1000000 is ``1s``."""
    for unit in ("d", "h", "min", "s", "ms"):
        if us and us % UNITS_US[unit] == 0:
            return f"{us // UNITS_US[unit]}{unit}"
    return f"{us}us"


def ago(us: int, now_us: int) -> str:
    """A moment beside now, as people say it: ``3 minutes ago``, ``in 2 hours``, ``just now``."""
    apart_s = abs(now_us - us) / 1e6
    if apart_s < 1:
        return "just now"
    size, unit = next(pair for pair in SPANS_S if apart_s >= pair[0])
    count = int(apart_s / size)
    text = f"{count:,} {unit}{'s' * (count != 1)}"
    return f"{text} ago" if us < now_us else f"in {text}"
