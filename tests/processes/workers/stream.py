"""A process that issues, and writes each batch at once, until it is told to stop (or killed)."""

import os
import signal
import sys
import tempfile
import time

import work

import frazil

order = work.order()


def drop_to(uid: int, groups: list[int]) -> None:
    """Be another user from now on; what is imported later would need files that it may read."""
    with tempfile.TemporaryDirectory() as place:
        frazil.mint(1, f"sqlite:{place}/claims.db", lead="1s")
    frazil.open("memory:").close()
    os.setgroups(groups)
    os.setgid(uid)
    os.setuid(uid)
    os.umask(0o007)


def stop(*_: object) -> None:
    raise SystemExit(0)


signal.signal(signal.SIGTERM, stop)
id_log = work.IdLog(order, order.name)
if hasattr(order, "uid"):
    drop_to(order.uid, order.groups)
try:
    ids = work.opened(order)
    left = getattr(order, "n", sys.maxsize)
    while left > 0:
        id_log.put(ids.take(100) + [ids() for _ in range(100)])
        left -= 200
        time.sleep(order.nap_s)
except frazil.FrazilError as error:
    work.tell(error=type(error).__name__, message=str(error))
    id_log.fail(error)
