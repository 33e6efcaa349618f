"""A member of ``evidence.benchmarks.ready``.

Command: ``python -m evidence.benchmarks.ready_member URL NAMESPACE REST ...``.

A process of its own, as members are: it takes a first ID, and one ID after each rest. A rest is
``SECONDSxTIMES``. On a machine with other work a thread also waits for a processor. Linux counts
that time for each thread (``evidence.benchmarks.stall``), and here it is subtracted. Prints JSON:
the times in seconds, how many calls found no claim, and the IDs. With the URL ``control`` it makes
no IDs, and calls ``itertools.count`` instead: its times are the machine's part of the others.
"""

import json
import sys
import time
from collections.abc import Sequence
from itertools import count
from typing import Any

import frazil
from evidence.benchmarks.stall import queued_s

__all__ = ["CONTROL", "after_rests", "asks"]

CONTROL = "control"


def asks(ids: Any) -> bool:
    """Whether the next ID needs a request, because there is no claim."""
    left: int = ids._walk.left()  # noqa: SLF001 - nothing else says it before the call
    return left == 0


def after_rests(ids: Any, rest_s: float, turns: int, *, own: bool) -> dict[str, Any]:
    """One ID after each of some rests. own: there is no claim, since a server makes the IDs."""
    times, issued, asked = [], [], 0
    for _ in range(turns):
        time.sleep(rest_s)
        asked += 0 if own else asks(ids)
        waited_s, began = queued_s(), time.perf_counter()
        issued.append(ids())
        taken_s = time.perf_counter() - began
        times.append(max(0.0, taken_s - (queued_s() - waited_s)))
    return {"times": times, "asked": asked, "ids": issued}


def main(url: str, namespace: str, rests: Sequence[str]) -> None:
    """Measure, and print the result."""
    if url == CONTROL:
        found = _found(count().__next__, rests, own=True)
    else:
        with frazil.open(url, namespace=namespace, timeout=30) as ids:
            found = _found(ids, rests, own=url.startswith(("icicle:", "http:")))
    json.dump(found, sys.stdout)


def _found(ids: Any, rests: Sequence[str], *, own: bool) -> list[dict[str, Any]]:
    """The result of each rest; that of the first has the first ID, too."""
    first, found = ids(), []
    for rest in rests:
        rest_s, _, turns = rest.partition("x")
        found.append(after_rests(ids, float(rest_s), int(turns), own=own))
    found[0]["ids"].append(first)
    return found


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
