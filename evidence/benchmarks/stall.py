"""How long an event loop is blocked.

Command: ``python -m evidence.benchmarks.stall URL NAMESPACE [MODULE]``.

A task sleeps for a millisecond repeatedly, and measures how late it wakes: first while the loop has
nothing else to do, then while a first ID is awaited. Both are of the same length. On a machine with
other work the loop also wakes late because its thread waits for a processor. Linux counts that time
for each thread (``/proc/thread-self/schedstat``), and here it is subtracted; on other systems it is
not. The process is new, so what only its first call imports or reads is in the second figure.
Prints both, in seconds, and the ID.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

import frazil

__all__ = ["measure", "queued_s"]

_TICK_S = 0.001
_WINDOW_S = 0.3
_SCHEDULER = Path("/proc/thread-self/schedstat")  # ns on a processor, ns of waiting for one, turns


def queued_s() -> float:
    """How long this thread has waited for a processor; 0 where the system does not say."""
    return int(_SCHEDULER.read_text().split()[1]) / 1e9 if _SCHEDULER.exists() else 0.0


def _elapsed_s() -> float:
    """A clock that does not count the time in which this thread waited for a processor."""
    return time.perf_counter() - queued_s()


async def _lateness(doing: "asyncio.Future[None] | None" = None) -> float:
    """The longest delay of a sleep within the window, or longer until something is done."""
    worst, until_s = 0.0, time.perf_counter() + _WINDOW_S
    while time.perf_counter() < until_s or (doing is not None and not doing.done()):
        before_s = _elapsed_s()
        await asyncio.sleep(_TICK_S)
        worst = max(worst, _elapsed_s() - before_s - _TICK_S)
    return worst


async def measure(url: str, namespace: str) -> tuple[float, float, int]:
    """The longest delay without work, the one while a first ID is awaited, and that ID."""
    ids = frazil.aio.open(url, namespace=namespace, timeout=30)
    await _lateness()  # the loop itself has first times
    idle_s = await _lateness()
    first = asyncio.ensure_future(ids())
    stall_s = await _lateness(first)  # type: ignore[arg-type] # only asked whether it is done
    await ids.aclose()
    return idle_s, stall_s, first.result()


if __name__ == "__main__":
    json.dump(asyncio.run(measure(*sys.argv[1:])), sys.stdout)
