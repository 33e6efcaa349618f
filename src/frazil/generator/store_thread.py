"""The thread of a store: it runs the rounds of all keepers of a process that use the store.

A thread for each generator would be simple, but a service with a thousand namespaces would have a
thousand threads. One thread for the whole process would wait for a store that does not answer,
while claims of another one end. So there is one thread for each store. A store that does not answer
delays only keepers that could not be served either.

A registry of several independent stores (``redis://a,b``) can be served while one of them does not
answer, if only after the time limit. A thousand keepers in one thread would wait for a thousand
time limits. So each keeper of such a registry has a thread of its own.

Callers take no lock, because a signal handler may interrupt them anywhere. A caller notes its
keeper, rings, and starts the thread if none runs; each is one operation that nothing interrupts.
Keepers that were called come in the order of the calls. Between two of them the thread runs one
round that is due by time, so neither kind waits for all of the other.

The thread starts at the first call, without ``threading``, which waits for locks of its own. It
ends when no keeper is left. A child of a fork has threads of its own: a keeper belongs to an era of
the process (see ``system.process``), and so does its thread.
"""

from _thread import allocate_lock, get_ident, start_new_thread
from collections.abc import Callable
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count
from queue import Empty, SimpleQueue
from typing import Protocol, TypeVar
from weakref import WeakValueDictionary, ref

from frazil.errors import TryLater
from frazil.registries.base import Registry
from frazil.system.clock import boot_ns
from frazil.walk.walk import Walk

Answer = TypeVar("Answer")

NEVER_S = float("inf")  # until the next round of a keeper for which none is due before it is called


class Served(Protocol):
    """A keeper, as its thread sees it."""

    def is_of(self, walk: ref[Walk]) -> bool:
        """Whether it keeps that walk."""

    def tend(self) -> float | None:
        """Run a round. Returns the seconds to the next one; None if there is none."""


class StoreThread:
    """Runs the rounds of the keepers of one store.

    ident: the thread's; 0 if none runs. asking: a request is under way. silent_since_ns: when the
    first request after the last answer was sent; 0 if there is none.
    """

    def __init__(self) -> None:
        self.ident = self.silent_since_ns = 0
        self.asking = False
        self.bell: SimpleQueue[ref[Walk] | None] = SimpleQueue()
        """An item wakes the thread: None, or a walk that was freed."""
        self._called: dict[Served, None] = {}
        self._due_ns: dict[Served, float] = {}
        self._timetable: list[tuple[float, int, Served]] = []  # some entries are out of date
        self._numbers = count()
        self._running = allocate_lock()

    def call(self, keeper: Served) -> None:
        """Run a round of it now. Raises RuntimeError if no thread can be started."""
        self._called[keeper] = None
        if self.bell.empty():
            self.bell.put(None)
        if not self._running.locked():  # a signal handler may start a second thread, which ends
            start_new_thread(self.run, ())

    def run(self) -> None:
        """The thread. It checks again after it declares its end: a caller may have come before."""
        while (self._called or self._due_ns) and self._running.acquire(blocking=False):
            self.ident = get_ident()
            served = False
            try:
                self._serve()
                served = True
            finally:
                self.ident = 0
                self._running.release()
                if not served:  # a round failed; the others need another thread
                    with suppress(RuntimeError):
                        start_new_thread(self.run, ())

    def ask(self, verb: Callable[[Registry], Answer], registry: Registry) -> Answer:
        """Run a verb. While it waits, keepers of this thread that are due wait too."""
        self.silent_since_ns = self.silent_since_ns or boot_ns()
        self.asking = True
        answered = True
        try:
            return verb(registry)
        except TryLater:
            answered = False
            raise
        finally:
            self.asking = False
            if answered:
                self.silent_since_ns = 0

    def _serve(self) -> None:
        """Until no keeper is left."""
        while self._called or self._due_ns:
            self._wait()
            called = self._first_called()
            if called is not None:
                self._tend(called)
            at_ns, keeper = self._next()
            if keeper is not None and at_ns <= boot_ns():
                self._tend(keeper)
        self._timetable.clear()  # entries that are out of date hold keepers

    def _first_called(self) -> Served | None:
        """Take the keeper that was called first. None if there is none, or one comes just now."""
        with suppress(StopIteration, RuntimeError, KeyError):
            keeper = next(iter(self._called))
            del self._called[keeper]
            return keeper
        return None

    def _wait(self) -> None:
        """Sleep until a keeper is called, or until a round is due."""
        if self._called and self.bell.empty():
            return
        at_ns, keeper = self._next()
        wait_s = None if keeper is None else max((at_ns - boot_ns()) / 1e9, 0.0)
        with suppress(Empty):
            rung = self.bell.get(timeout=0.0 if self._called else wait_s)
            if rung is not None:  # else its ``__del__`` has not called the keeper
                for left in [each for each in self._due_ns if each.is_of(rung)]:
                    self._called[left] = None

    def _next(self) -> tuple[float, Served | None]:
        """The keeper whose round is the next one due by time, and when."""
        timetable = self._timetable
        while timetable and self._due_ns.get(timetable[0][2]) != timetable[0][0]:
            heappop(timetable)
        return (timetable[0][0], timetable[0][2]) if timetable else (NEVER_S, None)

    def _tend(self, keeper: Served) -> None:
        self._due_ns.pop(keeper, None)
        wait_s = keeper.tend()
        if wait_s is None:
            return
        self._due_ns[keeper] = at_ns = boot_ns() + wait_s * 1e9
        if wait_s < NEVER_S:
            heappush(self._timetable, (at_ns, next(self._numbers), keeper))


_threads: WeakValueDictionary[tuple[int, str], StoreThread] = WeakValueDictionary()


def thread_of(url: str, era: int) -> StoreThread:
    """The thread of the store at a URL in an era of this process. It starts when it is called."""
    return _threads.setdefault((era, url), StoreThread())
