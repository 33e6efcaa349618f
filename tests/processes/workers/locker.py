"""A stranger who keeps a registry's file locked, for a while at a time."""

import sqlite3
import time

import work

order = work.order()
db = sqlite3.connect(order.path, timeout=20, isolation_level=None)
for _ in range(order.times):
    db.execute("BEGIN EXCLUSIVE")
    time.sleep(order.seconds)
    db.execute("COMMIT")
    work.tell(locked_s=order.seconds)
    time.sleep(0.3)
