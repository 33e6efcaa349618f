"""A busy process that is forked again and again, by Python or in C as uWSGI does.

Each child needs an ID.
"""

import ctypes
import os
import signal
import sys
import threading
import time

import work

import frazil

order = work.order()
# Nobody asks for the interpreter's lock between the fork and what Python does after it. A program
# that forks in C has no bytecode in between; here a child would wait for a thread that is gone.
sys.setswitchinterval(100)
_libc = ctypes.PyDLL(None)  # keeps the interpreter's lock, without which no child can go on
generators = [
    frazil.open(order.url, order.scheme, namespace=f"n{n}", timeout=10, lead=0.2) for n in range(4)
]
over = threading.Event()


def issue(n):
    kept = work.IdLog(order, f"parent-n{n}")
    while not over.is_set():
        kept.put(generators[n].take(100))
        time.sleep(0.0005)


def churn():
    """Steps without end, so that nearly every fork falls into one."""
    while not over.is_set():
        frazil.mint(1, order.url, order.scheme, namespace="churn")


threads = [threading.Thread(target=issue, args=[n]) for n in range(len(generators))]
threads.append(threading.Thread(target=churn))
for thread in threads:
    thread.start()
hung = failed = 0
for number in range(order.forks):
    time.sleep(0.002 * (number % 7))
    child = _libc.fork() if order.how == "in C" else os.fork()
    if child == 0:
        if order.how == "in C":
            ctypes.pythonapi.PyOS_AfterFork_Child()
        try:
            n = number % 4
            work.IdLog(order, f"child-{number}-n{n}").put(generators[n].take(10))
            os._exit(0)
        except frazil.FrazilError as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(1)
    deadline = time.monotonic() + 25
    while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < deadline:
        time.sleep(0.001)
    if not ended[0]:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    hung += not ended[0]
    failed += bool(ended[0] and ended[1])
over.set()
for thread in threads:
    thread.join()
work.tell(hung=hung, failed=failed)
