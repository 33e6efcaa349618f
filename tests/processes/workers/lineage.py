"""A process and its children: forked in C, with children of their own, or ended in each way."""

import atexit
import ctypes
import os
import sys

import work

import frazil

_libc = ctypes.PyDLL(None)  # keeps the interpreter's lock, without which no child can go on


def issue(id_log: work.IdLog, ids: frazil.Generator, n: int) -> None:
    try:
        for _ in range(n // 100):
            id_log.put([ids() for _ in range(100)])
    except frazil.FrazilError as error:
        id_log.fail(error)


def by_c(ids: frazil.Generator, depth: int = 2) -> None:
    """Each but the last has a child."""
    child = _libc.fork()
    if child == 0:
        if depth > 1:
            by_c(ids, depth - 1)
        else:
            issue(work.IdLog(order, "last"), ids, order.n)
        sys.exit(0)
    issue(work.IdLog(order, f"parent-{depth}"), ids, order.n)
    assert os.waitpid(child, 0)[1] == 0


def by_exits(ids: frazil.Generator) -> None:
    """Each child ends in another way, all of which run code of its parent's."""

    def deleted() -> None:
        nonlocal ids
        del ids

    def with_block() -> None:
        with ids:
            pass

    for way in (sys.exit, deleted, with_block, ids.close, atexit._run_exitfuncs):
        child = os.fork()
        if child == 0:
            way()
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
    held = [h.slot for h in ids._walk.registry.holdings() if h.held]
    rival = work.opened(order)
    issue(work.IdLog(order, "rival"), rival, order.n)
    issue(work.IdLog(order, "parent"), ids, order.n)
    work.tell(held=held)


order = work.order()
ids = work.opened(order)
work.IdLog(order, "first").put(ids.take(order.first))  # a claim that outlasts the test
globals()[order.how](ids)
