"""The wall clock and the boot clock.

A wall clock shows the moment and may be wrong, step or stop. A boot clock shows how much time has
passed and does not step, but does not show the moment. An ID library that uses the wall clock as
progress repeats IDs. frazil reads the wall clock only for a registry (which absorbs its steps, see
``record``). Between two readings it uses the boot clock, which includes a suspend if the system has
such a clock (Linux: ``CLOCK_BOOTTIME``) and is the monotonic clock elsewhere.

Libraries that freeze or move time for tests replace the functions of ``time`` in the process. A
store would keep their time after the test, and a wait for a frozen clock never ends. So both clocks
are read where such a library does not reach: in C, or through ``ctypes`` where nothing is compiled.

Units: wall time in microseconds since 1970-01-01T00:00:00Z (they fit a double exactly until the
year 2255, which Lua in Redis needs), boot time in nanoseconds since some fixed moment.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib import import_module

from frazil.errors import brief

TYPE_CHECKING = False  # as in typing, which is slow to load
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _compiled() -> Any:
    if os.environ.get("FRAZIL_PURE", "") not in ("", "0"):
        return None
    try:
        return import_module("frazil.system._process")
    except ImportError:
        return None


def _pure_wall_ns() -> Callable[[], int]:
    """Reads the clock by the C library's function; by Python's where there is none (Windows)."""
    try:
        import ctypes

        read = ctypes.CDLL(None).clock_gettime
        timespec = ctypes.c_long * 2
        real = time.CLOCK_REALTIME
    except (AttributeError, ImportError, OSError, TypeError):
        return time.time_ns

    def wall_ns() -> int:
        now = timespec()
        read(real, now)
        return now[0] * 1_000_000_000 + now[1]

    return wall_ns


in_c = _compiled()
"""The module ``_process``; None if it was not built, or the environment has ``FRAZIL_PURE=1``."""

_wall_ns: Callable[[], int] = _pure_wall_ns() if in_c is None else in_c.wall_ns


def wall_us() -> int:
    """The host's wall clock, in microseconds since 1970."""
    return _wall_ns() // 1000


boot_ns: Callable[[], int] = (
    partial(time.clock_gettime_ns, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
    if hasattr(time, "clock_gettime_ns")
    else time.monotonic_ns
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
        return f"year {brief(1970 + us // 31_556_952_000_000)}"
    text = when.strftime("%Y-%m-%dT%H:%M:%S") if when.year >= 1000 else when.isoformat()[:19]
    fraction = us % 1_000_000
    if fraction:
        text += f".{fraction:06d}" if fraction % 1000 else f".{fraction // 1000:03d}"
    return text + "Z"


def sortable_text(us: int) -> str:
    """The ISO 8601 text of a moment with microseconds, so that texts sort as moments do."""
    return f"{moment_text(us - us % 1_000_000)[:-1]}.{us % 1_000_000:06d}Z"
