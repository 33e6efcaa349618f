"""Threads that share one generator, switched as often as the interpreter can."""

import sys
import threading

import work

import frazil

order = work.order()
sys.setswitchinterval(1e-6)
ids = work.opened(order)
mine = [ids] * order.threads
if order.broken == "shared":
    mine = [work.opened(order) for _ in mine]
start = threading.Barrier(order.threads)


def issue(number: int) -> None:
    outlet = work.Outlet(order, f"thread-{number}")
    ids = mine[number]
    start.wait()
    for batch in range(order.n // 10_000):
        try:
            if batch % 4 == 3:
                outlet.put(ids.take(5_000))
                outlet.put(ids.array(5_000).tolist())
            else:
                outlet.put([ids() for _ in range(10_000)])
        except frazil.FrazilError as error:
            outlet.fail(error)
            return


threads = [threading.Thread(target=issue, args=[number]) for number in range(order.threads)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
work.tell(compiled=frazil.COMPILED)
