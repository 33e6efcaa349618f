"""A process that makes IDs for some seconds, in lives of a moment, a second and one call.

It prints how far their times were ahead of this host's clock when they had been made, and how far
behind it when they were requested, at most, in µs.
"""

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "processes" / "workers"))

import work

import frazil

order = work.order()
epoch_us = frazil.scheme("icicle").layout.epoch_us
end_s = time.monotonic() + order.seconds
aheads_us, lates_us = [], []


def measure(make):
    """Measure a call that makes one ID."""
    asked_us = time.time_ns() // 1000
    one = make()
    made_us = time.time_ns() // 1000
    began_us = epoch_us + (one >> 22) * 1000
    aheads_us.append(began_us - made_us)
    lates_us.append(asked_us - began_us - 1000)


while time.monotonic() < end_s:
    with frazil.open(order.url, timeout="60s") as ids:
        life_s = min(end_s, time.monotonic() + random.choice([0.02, 0.2, 2.0]))
        while time.monotonic() < life_s:
            measure(ids)
            time.sleep(random.choice([0.0, 0.0005, 0.01]))
    measure(lambda: frazil.mint(1, order.url, timeout="60s")[0])
work.tell(ahead_us=max(aheads_us), late_us=max(lates_us), made=len(aheads_us))
