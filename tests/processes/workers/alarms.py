"""A signal handler that raises while the program it interrupts is making an ID."""

import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import work

import frazil

FRAZIL = str(Path(frazil.__file__).parent)
EPOCH_MS = 1_735_689_600_000  # of the layout

order = work.order()
ids = work.opened(order)
raised = 0


class Alarm(Exception):
    """It is too late."""


def handle(_number: int, frame: Any) -> None:
    """Raise, if it is a call of frazil that is interrupted, and not this script."""
    global raised  # noqa: PLW0603
    while frame is not None and not frame.f_code.co_filename.startswith(FRAZIL):
        frame = frame.f_back
    if frame is not None:
        raised += 1
        raise Alarm


def asked() -> list[int]:
    """Some IDs, asked for in each of three ways; those before the alarm."""
    found: list[int] = []
    with suppress(Alarm):
        found.extend(ids() for _ in range(300))
        found += ids.take(30)
        found += ids.array(30).tolist()
    return found


id_log = work.IdLog(order, "main")
began_ms = time.time_ns() // 10**6 - EPOCH_MS
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
end = time.monotonic() + order.seconds
while time.monotonic() < end:
    id_log.put(asked())
signal.setitimer(signal.ITIMER_REAL, 0)
id_log.put(ids.take(1000))
ended_ms = time.time_ns() // 10**6 - EPOCH_MS
work.tell(compiled=frazil.COMPILED, raised=raised, began_ms=began_ms, ended_ms=ended_ms)
