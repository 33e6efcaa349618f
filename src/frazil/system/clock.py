"""The wall clock and the boot clock.

A wall clock shows the moment and may be wrong, step or stop. A boot clock shows how much time has
passed and does not step, but does not show the moment. An ID library that uses the wall clock as
progress repeats IDs. frazil reads the wall clock only for a registry (which absorbs its steps, see
``record``). Between two readings it uses the boot clock, which includes a suspend if the system has
such a clock (Linux: ``CLOCK_BOOTTIME``) and is the monotonic clock elsewhere.

Units: wall time in microseconds since 1970-01-01T00:00:00Z (they fit a double exactly until the
year 2255, which Lua in Redis needs), boot time in nanoseconds since some fixed moment.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

__all__ = ["EPOCH", "boot_ns", "boot_s", "moment", "moment_text", "to_us", "wall_us"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BOOTTIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)


def wall_us() -> int:
    """The host's wall clock, in microseconds since 1970."""
    return time.time_ns() // 1000


boot_ns: Callable[[], int] = (
    time.monotonic_ns if _BOOTTIME is None else partial(time.clock_gettime_ns, _BOOTTIME)
)
"""Nanoseconds since boot, suspend included if the system has such a clock."""


def boot_s() -> float:
    """The same in seconds."""
    return boot_ns() / 1e9


def to_us(when: datetime) -> int:
    """Microseconds since 1970 of an aware datetime; a naive one is taken as UTC."""
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return (when - EPOCH) // timedelta(microseconds=1)


def moment(us: int) -> datetime | None:
    """The UTC datetime of ``us`` microseconds since 1970; None outside the years 1 to 9999."""
    try:
        return EPOCH + timedelta(microseconds=us)
    except OverflowError:
        return None


def moment_text(us: int) -> str:
    """The shortest exact ISO 8601 text of a moment; past the year 9999, ``year 12345``."""
    when = moment(us)
    if when is None:
        return f"year {1970 + round(us / 31_556_952_000_000)}"
    text = when.strftime("%Y-%m-%dT%H:%M:%S") if when.year >= 1000 else when.isoformat()[:19]
    fraction = us % 1_000_000
    if fraction:
        text += f".{fraction:06d}" if fraction % 1000 else f".{fraction // 1000:03d}"
    return text + "Z"
