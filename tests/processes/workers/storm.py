"""Threads on one generator or on several, while the process forks and a handler asks for IDs.

A signal handler of the main thread asks for an ID, and every tenth one forks in the middle of
whatever it interrupts. What that was returns in the child too, which then makes IDs of its own.
"""

import os
import signal
import sys
import threading
import time
import warnings

import work

import frazil

order = work.order()
warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
sys.setswitchinterval(1e-6)
ids = [work.opened(order) for _ in range(order.generators)]
for each in ids:
    each()
parent = os.getpid()
children: list[int] = []
handled: list[int] = []
stopped = threading.Event()
ready = threading.Barrier(order.threads + 1)


def issue(number: int) -> None:
    """A thread: single calls, lists and arrays."""
    id_log, mine = work.IdLog(order, f"thread-{number}"), ids[number % len(ids)]
    ready.wait()
    try:
        for batch in range(order.n // 1000):
            if batch % 4 == 3:
                id_log.put(mine.take(1000))
                id_log.put(mine.array(1000).tolist())
            else:
                id_log.put([mine() for _ in range(1000)])
    except Exception as error:  # noqa: BLE001 - a broken walk may end anyhow
        id_log.fail(error)


def be_child() -> None:
    """A child: some IDs of its own, then its end."""
    id_log = work.IdLog(order, f"child-{os.getpid()}")
    try:
        for mine in ids:
            id_log.put([*(mine() for _ in range(50)), *mine.take(50)])
    except frazil.FrazilError as error:
        id_log.fail(error)
    os._exit(0)


def fork() -> None:
    child = os.fork()
    if child:
        children.append(child)
    else:
        handled.clear()


inside: list[bool] = []  # the handlers that run


def handle(*_: object) -> None:
    """The signal handler: an ID, and sometimes a fork. It interrupts itself, but not for ever."""
    if len(inside) > 3:
        return
    inside.append(True)
    try:
        handled.append(ids[0]())
    finally:
        inside.pop()
    if len(handled) % 10 == 0 and len(children) < order.forks and os.getpid() == parent:
        fork()


threads = [threading.Thread(target=issue, args=[number]) for number in range(order.threads)]
for thread in threads:
    thread.start()
ready.wait()
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
own: list[int] = []
while any(thread.is_alive() for thread in threads):
    n = [ids[0](), *ids[-1].take(3)]
    if os.getpid() != parent:
        be_child()
    own += n
    if len(children) < order.forks and len(own) % 64 == 0:
        fork()
        if os.getpid() != parent:
            be_child()
signal.setitimer(signal.ITIMER_REAL, 0)
if os.getpid() != parent:  # the last handler forked
    be_child()
for thread in threads:
    thread.join()
work.IdLog(order, "main").put(own + handled)
hung = 0
deadline = time.monotonic() + order.patience_s
for child in children:
    while not os.waitpid(child, os.WNOHANG)[0]:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            hung += 1
            break
        time.sleep(0.001)
work.tell(
    compiled=frazil.COMPILED,
    children=len(children),
    hung=hung,
    handled=len(handled),
    locked=getattr(sys, "_is_gil_enabled", lambda: True)(),
)
