"""A process that is stopped in the middle of a step, and ends it when it goes on."""

import time

import work

import frazil
from frazil.registries import connect

order = work.order()
registry = connect(order.url, "default", frazil.scheme(order.scheme))
with registry.step():
    work.tell(inside=True)
    time.sleep(0.5)  # to be stopped in
