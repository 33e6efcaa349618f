"""An interpreter that ends while a daemon thread still issues."""

import os
import sys
import threading
import time

import work

order = work.order()
ids = work.opened(order)
id_log = work.IdLog(order, "daemon")


def issue() -> None:
    while True:
        id_log.put([ids() for _ in range(50)] + ids.take(50))


threading.Thread(target=issue, daemon=True).start()
time.sleep(0.4)
if order.how == "killed":
    os._exit(0)
sys.exit(0)
