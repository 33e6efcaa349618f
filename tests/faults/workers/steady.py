"""A process that issues IDs, one and many at a time, whatever happens to its store.

It writes each error with its time, and continues until it is stopped. ``order.broken`` names a way
to break frazil (see tests/processes/workers/broken.py).
"""

import random
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "processes" / "workers"))

import work

import frazil


def stop(*_: object) -> None:
    raise SystemExit(0)


signal.signal(signal.SIGTERM, stop)
order = work.order()
passing = (frazil.errors.TryLater, frazil.errors.ConfigError, frazil.errors.ClockError)
id_log = work.IdLog(order, order.name)
ids = work.opened(order)
with Path(f"{id_log.path}.errors").open("a", buffering=1) as errors:
    while True:
        try:
            id_log.put([ids(), *ids.take(random.randrange(order.most))])
        except passing as error:
            errors.write(f"{time.time():.3f} {type(error).__name__}: {error}\n")
            time.sleep(0.02)
        time.sleep(0.002)
