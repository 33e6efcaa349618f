"""A process that forks while its threads work out layouts, and children that do the same."""

import os
import sys
import threading
import time

import work

import frazil

order = work.order()
sys.setswitchinterval(1e-5)  # so that a fork meets the threads at every step of theirs


def work_out() -> None:
    frazil.Layout.parse(order.scheme)
    frazil.open(order.url, order.scheme)  # which contacts nothing


def go_on() -> None:
    while True:
        work_out()


def ends(child: int) -> bool:
    """Whether a child comes to its end in time; one that does not is killed."""
    deadline = time.monotonic() + order.patience_s
    while time.monotonic() < deadline:
        if os.waitpid(child, os.WNOHANG)[0]:
            return True
        time.sleep(0.001)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False


work_out()
for _ in range(2):
    threading.Thread(target=go_on, daemon=True).start()
hung = 0
for _ in range(order.forks):
    child = os.fork()
    if child == 0:
        work_out()
        os._exit(0)
    if not ends(child):
        hung = 1
        break
work.tell(hung=hung)
sys.stdout.flush()
os._exit(0)  # the threads never end
