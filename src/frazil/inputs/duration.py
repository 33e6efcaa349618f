"""Durations as arguments: ``"200ms"``, ``1.5`` (seconds) or a ``timedelta``.

A number without a unit is easily wrong by a factor of a thousand. So a string must have a unit, and
so must every name of a duration in frazil's code. Only ``"0"`` needs none.
"""

import math
import re
from datetime import timedelta

from frazil.errors import ConfigError, brief

UNITS_US = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
_DURATION_MAX_US = 36_525 * UNITS_US["d"]  # sockets, locks and sleeps overflow at 292 years
YEAR_S = 31_556_952  # the average year of the Gregorian calendar
SPANS_S = (
    (YEAR_S, "year"),
    (YEAR_S / 12, "month"),
    (86_400, "day"),
    (3_600, "hour"),
    (60, "minute"),
    (1, "second"),
)
"""The units of texts for people, the longest first."""
_TEXT = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)\s*(us|ms|s|min|h|d)")


def duration_us(value: str | float | timedelta, *, name: str = "duration") -> int:
    """A duration of at most 100 years in whole microseconds; ConfigError if it is invalid."""
    if isinstance(value, timedelta):
        us = value // timedelta(microseconds=1)
    elif isinstance(value, str) and value.strip() == "0":
        us = 0
    elif isinstance(value, str):
        match = _TEXT.fullmatch(value.strip())
        if match is None:
            raise ConfigError(
                f"{name} {brief(value)} is not a duration; write a number and a unit "
                f"({', '.join(UNITS_US)}), like '200ms'",
                value=value,
            )
        us, rest, scale = exact_us(match[1], match[2])
        us += 2 * rest >= scale
    elif isinstance(value, bool) or not _is_finite(value):
        raise ConfigError(
            f"{name} {brief(value)} is not a duration; use '200ms', seconds or a timedelta",
            value=value,
        )
    else:
        # An integer of numpy has no ratio.
        exact = value if hasattr(value, "as_integer_ratio") else float(value)
        numerator, denominator = exact.as_integer_ratio()
        us = (2_000_000 * numerator + denominator) // (2 * denominator)
    if us > _DURATION_MAX_US:
        raise ConfigError(f"{name} {brief(value)} exceeds the maximum of 100 years", value=value)
    if us < 0:
        raise ConfigError(f"{name} {brief(value)} is negative; use 0 or more", value=value)
    return us


def _is_finite(value: float) -> bool:
    """Whether a value of any type is a finite number."""
    try:
        return math.isfinite(value)
    except (OverflowError, TypeError):
        return False


def exact_us(number: str, unit: str) -> tuple[int, int, int]:
    """``1.5``, ``ms`` as whole microseconds, and the rest as numerator and denominator."""
    whole, _, part = number.partition(".")
    scale = 10 ** len(part)
    return *divmod(int(whole + part) * UNITS_US[unit], scale), scale


def duration_text(us: int) -> str:
    """The shortest exact text of a duration: 1500000 is ``1500ms``, 1000000 is ``1s``."""
    for unit in ("d", "h", "min", "s", "ms"):
        if us and us % UNITS_US[unit] == 0:
            return f"{us // UNITS_US[unit]}{unit}"
    return f"{us}us"


def offset_text(us: int) -> str:
    """A time between two clocks, rounded: ``314.8 ms``, ``75.0 s``, ``3,652.5 days``."""
    if us < 1_000_000:
        return f"{us / 1e3:.1f} ms"
    return f"{us / 1e6:.1f} s" if us < UNITS_US["d"] else f"{us / UNITS_US['d']:,.1f} days"


def wait_text(us: int) -> str:
    """A time to wait in seconds, rounded up to tenths: 5625000 is ``5.7s``."""
    return f"{-(-us // 100_000) / 10:g}s"


def ago(us: int, now_us: int) -> str:
    """A moment relative to now: ``3 minutes ago``, ``in 2 hours``, ``just now``."""
    distance_s = abs(now_us - us) / 1e6
    if distance_s < 1:
        return "just now"
    unit_s, unit = next(pair for pair in SPANS_S if distance_s >= pair[0])
    count = int(distance_s / unit_s)
    text = f"{count:,} {unit}{'s' * (count != 1)}"
    return f"{text} ago" if us < now_us else f"in {text}"
