"""A process that mints while a thread reads the registry's file, as a backup does."""

import threading
from pathlib import Path

import work

import frazil

order = work.order()
id_log = work.IdLog(order, order.name)
over = threading.Event()


def read():
    while not over.is_set():
        Path(order.path).read_bytes()


reader = threading.Thread(target=read)
reader.start()
try:
    for _ in range(order.n):
        id_log.put(frazil.mint(1, order.url, order.scheme))
finally:
    over.set()
    reader.join()
