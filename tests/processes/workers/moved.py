"""A process that changes its folder after it has opened a relative path, and forks and pickles."""

import os
import pickle
from pathlib import Path

import work

import frazil

order = work.order()
os.chdir(order.out)
elsewhere = Path(order.out) / "elsewhere"
ids = frazil.open(order.url, order.scheme, lead="1s")
ids()
kept = pickle.dumps(ids)
child = os.fork()
if child == 0:
    elsewhere.mkdir()
    os.chdir(elsewhere)
    work.IdLog(order, "child").put(ids.take(order.n))
    with pickle.loads(kept) as copied:
        work.IdLog(order, "copy").put(copied.take(order.n))
    ids.close()
    os._exit(0)
work.IdLog(order, "parent").put(ids.take(order.n))
ids.close()
assert os.waitpid(child, 0)[1] == 0
assert list(elsewhere.iterdir()) == []
