"""Many short lives that begin at one moment, in one round after another."""

import os
import sys

import work

import frazil


def live(id_log: work.IdLog, number: int) -> None:
    try:
        if number % 4 == 3:
            id_log.put(frazil.mint(order.n, order.url, order.scheme, lead="1s", timeout="60s"))
            return
        ids = work.opened(order)
        id_log.put(ids.take(order.n // 2) + [ids() for _ in range(order.n // 2)])
        if number % 4 == 2:
            os._exit(0)  # and gives nothing back
    except frazil.FrazilError as error:
        id_log.fail(error)


def round_of(number: int) -> int:
    """Start everybody, open the gate, wait for all; answers how many ended badly."""
    closed, gate = os.pipe()
    crowd = []
    for child in range(order.crowd):
        crowd.append(os.fork())
        if crowd[-1] == 0:
            os.close(gate)
            os.read(closed, 1)  # ends when the gate's last copy is closed
            live(work.IdLog(order, f"{number}-{child}"), child)
            sys.exit(0)
    os.close(closed)
    os.close(gate)
    return sum(os.waitpid(child, 0)[1] != 0 for child in crowd)


order = work.order()
work.opened(order)  # contacts nothing, and loads once what each child would have to load
work.tell(failed=sum(round_of(number) for number in range(order.rounds)))
