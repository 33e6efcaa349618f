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
    id_log = work.IdLog(order, f"thread-{number}")
    ids = mine[number]
    start.wait()
    for batch in range(order.n // 1000):
        try:
            if batch % 4 == 3:
                id_log.put(ids.take(500))
                id_log.put(ids.array(500).tolist())
            else:
                id_log.put([ids() for _ in range(1000)])
        except Exception as error:  # noqa: BLE001 - a broken walk may end anyhow, and goes on
            id_log.fail(error)
            if not order.broken:
                return


threads = [threading.Thread(target=issue, args=[number]) for number in range(order.threads)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
work.tell(compiled=frazil.COMPILED)
