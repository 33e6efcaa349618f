"""Keeps forks and SQLite apart.

SQLite counts, for each file, the locks that its process holds, in memory. A child that is forked in
the middle of another thread's transaction has a copy of that count and of no transaction: in it the
file looks locked for ever. Nothing that the child can do undoes this, so a fork waits, for the few
milliseconds that a step takes, until no other thread is in one, and no step begins meanwhile.

A fork made inside C asks nobody. If it falls into a step, its child is told by SQLite's busy error
that it cannot have a claim; it does not get a wrong one.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, get_ident

__all__ = ["step"]

_PATIENCE_S = 5.0

_door = Lock()
_inside: set[int] = set()
_shut = False


@contextmanager
def step() -> Iterator[None]:
    """Around each step: no thread of this process forks in its middle, except this one."""
    me = get_ident()
    nested = me in _inside
    if not nested:
        with _door:
            _inside.add(me)
    try:
        yield
    finally:
        if not nested:
            _inside.discard(me)


def _before() -> None:
    global _shut  # noqa: PLW0603 - the same
    _shut = _door.acquire(timeout=_PATIENCE_S)
    deadline = time.monotonic() + _PATIENCE_S
    while _inside - {get_ident()} and time.monotonic() < deadline:
        time.sleep(0.0005)


def _in_parent() -> None:
    if _shut:
        _door.release()


def _in_child() -> None:
    global _door  # noqa: PLW0603 - one for the process
    _inside.clear()
    _door = Lock()


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
