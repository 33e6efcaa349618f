"""A process that issues from three threads and forks in the midst of it, again and again."""

import os
import random
import sys
import threading

import work

import frazil

order = work.order()
ids = work.opened(order)
over = threading.Event()


def issue(id_log: work.IdLog, n: int) -> None:
    try:
        for _ in range(n // 500):
            id_log.put([ids() for _ in range(500)])
    except frazil.FrazilError as error:
        id_log.fail(error)


def go_on(number: int) -> None:
    id_log = work.IdLog(order, f"thread-{number}")
    while not over.is_set():
        id_log.put([ids() for _ in range(500)])
        over.wait(0.002)


ids()
threads = [threading.Thread(target=go_on, args=[number]) for number in range(2)]
for thread in threads:
    thread.start()
parents = work.IdLog(order, "parent")
children: list[int] = []
failed = 0
for number in range(order.forks):
    before = random.randrange(0, order.n, 500)
    issue(parents, before)
    child = os.fork()
    if child == 0:
        issue(work.IdLog(order, f"child-{number}"), order.n)
        sys.exit(0)
    issue(parents, order.n - before)
    children.append(child)
    while len(children) > (3 if number < order.forks - 1 else 0):
        failed += os.waitpid(children.pop(0), 0)[1] != 0
over.set()
for thread in threads:
    thread.join()
work.tell(failed=failed)
