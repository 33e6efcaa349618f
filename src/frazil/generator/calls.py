"""Calls of callers that wait for their keeper.

A caller may stop waiting at any moment: its timeout passes, its task is cancelled, or a signal
handler raises an exception between any two of its instructions. If callers had to remove themselves
from a list, the list would keep the interrupted ones and grow while the store is away. So a call
is held weakly here. It belongs to its caller's frame, and ends with it.

Nothing here takes a lock. A caller adds a call with one operation of a set, so a signal handler may
interrupt it anywhere and make a call of its own.
"""

from _thread import allocate_lock
from abc import ABC, abstractmethod
from weakref import ref

from frazil.errors import FrazilError
from frazil.system.fork_gate import waiting


class Call(ABC):
    """A caller that waits. Only its frame holds the call."""

    __slots__ = ("__weakref__",)

    @abstractmethod
    def wake(self, error: FrazilError | None) -> None:
        """End the wait: the caller tries again, or raises ``error``. Runs once per call."""


class Gate(Call):
    """The call of a thread, which sleeps until ``wake`` sets ``error``."""

    __slots__ = ("_lock", "error")

    def __init__(self) -> None:
        self.error: FrazilError | None = None
        self._lock = allocate_lock()
        self._lock.acquire()

    def wake(self, error: FrazilError | None) -> None:
        self.error = error
        self._lock.release()

    def wait(self, seconds: float) -> bool:
        """Sleep. Returns whether it was woken in time."""
        with waiting():
            return self._lock.acquire(timeout=seconds)


class Calls:
    """The calls without an answer yet, while their callers wait."""

    def __init__(self) -> None:
        self._refs: set[ref[Call]] = set()

    def __len__(self) -> int:
        return len(self._refs)

    def add(self, call: Call) -> None:
        """Remember a call while its caller holds it."""
        self._refs.add(ref(call, self._refs.discard))

    def answer(self, error: FrazilError | None) -> None:
        """Wake each caller once, even if another thread does the same at this moment."""
        for each in self._refs.copy():
            try:
                self._refs.remove(each)
            except KeyError:
                continue
            call = each()
            if call is not None:
                call.wake(error)
