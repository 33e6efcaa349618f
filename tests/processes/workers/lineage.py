"""A process, its children and its children's children, made in one of the ways there are."""

import atexit
import ctypes
import multiprocessing
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


def by_python(ids: frazil.Generator, depth: int) -> None:
    _by(os.fork, ids, depth)


def by_c(ids: frazil.Generator, depth: int) -> None:
    _by(_libc.fork, ids, depth)


def _by(fork, ids: frazil.Generator, depth: int) -> None:
    child = fork()
    if child == 0:
        if depth > 1:
            _by(fork, ids, depth - 1)
        issue(work.IdLog(order, f"child-{os.getpid()}"), ids, order.n)
        sys.exit(0)
    issue(work.IdLog(order, f"parent-{os.getpid()}"), ids, order.n)
    assert os.waitpid(child, 0)[1] == 0


def by_multiprocessing(ids: frazil.Generator, depth: int) -> None:
    context = multiprocessing.get_context(order.method)
    children = [context.Process(target=live, args=(ids, depth)) for _ in range(3)]
    for child in children:
        child.start()
    issue(work.IdLog(order, f"parent-{os.getpid()}"), ids, order.n)
    for child in children:
        child.join()
        assert child.exitcode == 0


def live(ids: frazil.Generator, depth: int) -> None:
    if depth > 1:
        by_multiprocessing(ids, depth - 1)
    issue(work.IdLog(order, f"child-{os.getpid()}"), ids, order.n)


def by_exits(ids: frazil.Generator, depth: int) -> None:
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
if __name__ == "__main__":
    ids = work.opened(order)
    work.IdLog(order, "first").put(ids.take(order.first))  # a claim that outlasts the test
    globals()[order.how](ids, order.depth)
