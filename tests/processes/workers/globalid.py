"""GlobalId's own test: a generator for each node number, asked at random, then for a lot."""

import random
import time

import work

import frazil

order = work.order()
generators = [work.opened(order) for _ in range(order.generators)]
for ids in generators:
    ids()
id_log = work.IdLog(order, "random")
id_log.put([random.choice(generators)() for _ in range(order.requests)])
id_log = work.IdLog(order, "each")
single = order.n // (2 if frazil.COMPILED else 20)
for ids in generators:
    id_log.put(ids.take(order.n - single) + [ids() for _ in range(single)])
since = time.perf_counter()
lone = [generators[0]() for _ in range(100_000)]
passed = time.perf_counter() - since
work.IdLog(order, "lone").put(lone)
work.tell(compiled=frazil.COMPILED, per_second=round(len(lone) / passed))
