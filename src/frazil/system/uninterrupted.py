"""Work that no signal handler can interrupt, in a thread of its own.

Python runs signal handlers in the main thread, between any two bytecodes. A handler may raise
(Ctrl-C, an alarm), call the interrupted code again, or fork. In the middle of a step of a registry
each of these does harm: half of the step is done, a second step waits for a lock that its own
thread holds, or a child and its parent both commit one transaction.

To mask signals does not help, because Python only notes a signal when it arrives and runs the
handler later. Handlers never run in another thread. The main thread only waits, and a handler may
interrupt the wait. If the handler raises, the work still completes and its result is dropped. If it
calls the same function, another thread does that work. If it forks, the child notices that it has
no such thread, and does the work again.
"""

import threading
from _thread import get_ident, start_new_thread
from collections.abc import Callable
from math import inf
from threading import Lock
from typing import TypeVar

from frazil.system.clock import boot_s
from frazil.system.fork_gate import waiting
from frazil.system.process import ProcessIdentity

Answer = TypeVar("Answer")

_CHECK_S = 0.05  # how often a waiting caller checks for a fork


def apart(work: Callable[[], Answer], patience_s: float | None = None) -> Answer:
    """Return or raise what ``work()`` does, without interruption by signal handlers.

    Raises TimeoutError if the work takes longer than ``patience_s``; it still completes, and its
    result is dropped. Without ``patience_s`` in a thread other than the main one, or if no thread
    can be started (at the interpreter's exit), the work is called directly.
    """
    if patience_s is None and get_ident() != threading.main_thread().ident:
        return work()
    done = Lock()
    done.acquire()
    outcome: list[Answer | BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001 - the caller raises it
            outcome.append(error)
        finally:
            done.release()

    identity = ProcessIdentity()
    most_s = inf if patience_s is None else patience_s
    deadline = boot_s() + most_s
    try:
        start_new_thread(run, ())
    except RuntimeError:
        return work()
    with waiting():
        while not done.acquire(timeout=min(_CHECK_S, most_s)) and identity.intact():
            if boot_s() > deadline:
                raise TimeoutError
    if not identity.intact():
        return apart(work, patience_s)
    (answer,) = outcome
    if isinstance(answer, BaseException):
        raise answer
    return answer
