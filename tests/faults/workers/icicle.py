"""A process that requests IDs from a pool of servers, one or many at a time, until it is stopped.

It writes the duration of each call to ``<name>.latency``, in µs, and errors to ``<name>.errors``.
"""

import random
import signal
import sys
import time
from array import array
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "processes" / "workers"))

import work

import frazil


def stop(*_: object) -> None:
    raise SystemExit(0)


signal.signal(signal.SIGTERM, stop)
order = work.order()
id_log = work.IdLog(order, order.name)
ids = frazil.open(order.url, lead=order.lead, timeout=order.timeout)
with (
    Path(f"{id_log.path}.errors").open("a", buffering=1) as errors,
    Path(f"{id_log.path}.latency").open("ab", buffering=0) as latency,
):
    while True:
        begun = time.perf_counter()
        try:
            found = [ids()] if random.random() < 0.5 else ids.take(random.randrange(1, order.most))
        except frazil.FrazilError as error:
            errors.write(f"{time.time():.3f} {type(error).__name__}: {error}\n")
            found = []
        latency.write(array("d", [(time.perf_counter() - begun) * 1e6]).tobytes())
        id_log.put(found)
        time.sleep(0.005)
