"""One short-lived process after another, several at a time."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "processes" / "workers"))

import redis  # noqa: F401 - before the forks, so that none has to load it for itself
import work

import frazil

order = work.order()
frazil.open(order.url, order.scheme).close()  # so that no child has to import frazil's modules


def live(number: int) -> None:
    """Issue a few IDs, and end in one of three ways."""
    id_log = work.IdLog(order, order.name)
    try:
        if number % 4 == 0:
            id_log.put(frazil.mint(order.n, order.url, order.scheme, lead="1s", timeout="60s"))
            return
        ids = work.opened(order)
        id_log.put(ids.take(order.n))
        if number % 25 != 1:  # the others release nothing
            ids.close()
    except frazil.FrazilError as error:
        id_log.fail(error)
        raise


running: set[int] = set()
for number in range(order.lives):
    child = os.fork()
    if not child:
        code = 1
        try:
            live(number)
            code = 0
        finally:
            os._exit(code)
    running.add(child)
    while len(running) >= order.at_once or (running and number == order.lives - 1):
        ended, status = os.wait()
        running.remove(ended)
        if status:
            raise SystemExit(f"life {ended} failed")
