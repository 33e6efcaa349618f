"""The logger ``frazil``: its records are written by a thread of their own.

A record is made where no one may wait: in the thread that renews claims, in a signal handler, in an
event loop. Writing one may wait: for a full pipe, for a lock of the program's handler, or for an ID
that this handler wants. So ``tell`` only queues the record, and a thread writes it. The thread is
started for a record and ends when no record is left, so a program without logs has no such thread.

``logging`` takes longer to load than frazil. A program that has not loaded it has no handler, so
no record is made, and frazil never loads it.

The facts of a record are attributes that begin with ``frazil_``, because a program may have given
each record attributes of its own, like ``namespace``.
"""

import sys
from _thread import LockType, allocate_lock, start_new_thread
from collections import deque
from contextlib import suppress
from typing import Any, NamedTuple

from frazil.system.clock import boot_s, wall_us
from frazil.system.process import at_fork

DEBUG, INFO, WARNING = 10, 20, 30  # those of ``logging``

_NAME = "frazil"


class _Told(NamedTuple):
    level: int
    text: str
    facts: dict[str, Any]
    at_us: int


class _Queue:
    """The records that are not written yet. ``writing`` is locked while a thread writes."""

    def __init__(self) -> None:
        self.told: deque[_Told] = deque()
        self.writing: LockType = allocate_lock()


_queue = _Queue()


def tell(level: int, event: str, text: str, **facts: Any) -> None:
    """Queue a record, if the logger is to have it. Waits for nothing."""
    if not _is_heard(level):
        return
    named = {f"frazil_{name}": fact for name, fact in facts.items()}
    _queue.told.append(_Told(level, text, {"frazil_event": event, **named}, wall_us()))
    if not _queue.writing.locked():  # else that thread looks again before it ends
        try:
            start_new_thread(_start, (_queue,))
        except RuntimeError:  # no thread: the interpreter is exiting
            _write(_queue)


def flush(seconds: float) -> None:
    """Wait until all records are written, but not longer than ``seconds``."""
    queue, until_s = _queue, boot_s() + seconds
    while queue.writing.acquire(timeout=max(until_s - boot_s(), 0.0)):
        queue.writing.release()
        if not queue.told:
            break
        _write(queue)  # or the thread does, if it has begun meanwhile


def _is_heard(level: int) -> bool:
    """Whether a handler may want a record of this level. Takes no lock, unlike ``isEnabledFor``."""
    logging = sys.modules.get("logging")
    try:
        root, manager = logging.root, logging.root.manager  # type: ignore[union-attr]
        logger = manager.loggerDict.get(_NAME)
    except AttributeError:
        return False  # not loaded, or only in part
    least: int = getattr(logger, "getEffectiveLevel", root.getEffectiveLevel)()
    return level >= least and level > manager.disable


def _start(queue: _Queue) -> None:
    """Start the thread that writes.

    It is one of ``threading``, because ``logging`` asks ``threading`` for the thread of a record,
    and that would remember any other thread forever. Its start waits for a lock, so no caller
    starts it.
    """
    from threading import Thread

    try:
        Thread(target=_write, args=(queue,), name="frazil-log", daemon=True).start()
    except RuntimeError:
        _write(queue)


def _write(queue: _Queue) -> None:
    """Write all records. Looks again after its end is declared: one may have come before."""
    import logging

    logger = logging.getLogger(_NAME)
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())  # else Python prints warnings to standard error
    while queue.told and queue.writing.acquire(blocking=False):
        try:
            while queue.told:
                level, text, facts, at_us = queue.told.popleft()
                # A handler, a filter or what replaces the clock may fail; the next one may not.
                with suppress(Exception):
                    record = logger.makeRecord(
                        _NAME, level, "frazil", 0, text, (), None, extra=facts, func=None
                    )
                    record.created, record.msecs = at_us / 1e6, at_us // 1000 % 1000 + 0.0
                    logger.handle(record)
        finally:
            queue.writing.release()


def _in_child() -> None:
    """The records are the parent's, and so is the thread that writes them."""
    global _queue  # noqa: PLW0603 - one for the process
    _queue = _Queue()


at_fork(after_in_child=_in_child)
