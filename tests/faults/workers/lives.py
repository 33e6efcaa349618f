"""One short life after another, some as processes of their own, and several at a time."""

import os
import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "processes" / "workers"))

import redis  # noqa: F401 - before the forks, so that none has to load it for itself
import work

import frazil

order = work.order()
open_ones: deque[frazil.Generator] = deque()


def live(number: int) -> None:
    """Issue a few IDs, and end in one of four ways."""
    if number % 4 == 0:
        outlet.put(frazil.mint(order.n, order.url, order.scheme, lead="1s", timeout="60s"))
        return
    if number % 25 == 1:
        child = os.fork()
        if child == 0:
            outlet.put(work.opened(order).take(order.n))
            os._exit(0)  # and gives nothing back
        assert os.waitpid(child, 0)[1] == 0
        return
    ids = work.opened(order)
    outlet.put(ids.take(order.n))
    open_ones.append(ids)
    if len(open_ones) > order.at_once:
        open_ones.popleft().close()


outlet = work.Outlet(order, order.name)
try:
    for number in range(order.lives):
        live(number)
except frazil.FrazilError as error:
    outlet.fail(error)
