"""One thread that asks as fast as it can, and how much of the processor that takes."""

import time

import work

import frazil

order = work.order()
ids = work.opened(order, lead=0)
ids.take(10)
per_tick = ids.scheme.layout.sequences
issued = 0
wall, used = time.monotonic(), time.thread_time()
while time.monotonic() - wall < order.seconds:
    if order.how == "take":
        ids.take(per_tick)
        issued += per_tick
    else:
        for _ in range(per_tick):
            ids()
        issued += per_tick
wall, used = time.monotonic() - wall, time.thread_time() - used
work.tell(
    compiled=frazil.COMPILED,
    of_the_processor=round(used / wall, 3),
    of_the_layout=round(issued / wall / (per_tick * 1000), 4),
)
