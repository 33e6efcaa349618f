"""close() while other threads issue, and another generator that takes over at once."""

import threading
import time

import work

from frazil.errors import Closed

order = work.order()
ids = work.opened(order, lead=0)  # so that much of the claim is still ahead
closed: list[str] = []


def issue(number: int) -> None:
    id_log = work.IdLog(order, f"thread-{number}")
    end = time.monotonic() + (1.5 if order.broken else 20)
    try:
        while time.monotonic() < end:
            id_log.put([ids() for _ in range(50)] + ids.take(50))
    except Closed as error:
        closed.append(str(error))


threads = [threading.Thread(target=issue, args=[number]) for number in range(4)]
for thread in threads:
    thread.start()
time.sleep(0.4)
ids.close()
rival = work.opened(order, lead=0)
id_log = work.IdLog(order, "rival")
for _ in range(200):
    id_log.put(rival.take(200))
    time.sleep(0.001)
for thread in threads:
    thread.join()
work.tell(closed=len(closed))
