"""Calls: callers who wait for their keeper, and how each of them is told.

A caller may stop waiting at any moment: its timeout passes, its task is cancelled, or a signal
handler raises an exception between any two of its instructions. A list from which callers had to
take themselves would keep those who did not come so far, and would grow for as long as the store
is away. So calls are held weakly here. A call belongs to its caller's frame, and ends with it.

Nothing here takes a lock. Callers add a call with one operation of a set, so a signal handler that
interrupts a caller anywhere can make a call of its own.
"""

from _thread import allocate_lock
from abc import ABC, abstractmethod
from weakref import ref

from frazil.errors import FrazilError

__all__ = ["Call", "Calls", "Gate"]


class Call(ABC):
    """A caller who waits. Its frame holds the call, and nothing else does."""

    __slots__ = ("__weakref__",)

    @abstractmethod
    def wake(self, error: FrazilError | None) -> None:
        """The wait is over: look again, or raise ``error``. Called once, mostly by the keeper."""


class Gate(Call):
    """The call of a thread, which sleeps until it is woken. ``error`` is what it is told then."""

    __slots__ = ("_lock", "error")

    def __init__(self) -> None:
        self.error: FrazilError | None = None
        self._lock = allocate_lock()
        self._lock.acquire()

    def wake(self, error: FrazilError | None) -> None:
        """See Call."""
        self.error = error
        self._lock.release()

    def wait(self, seconds: float) -> bool:
        """Sleep; answers whether it was woken in time."""
        return self._lock.acquire(timeout=seconds)


class Calls:
    """The calls that nobody has answered yet, as long as their callers wait."""

    def __init__(self) -> None:
        self._refs: set[ref[Call]] = set()

    def __len__(self) -> int:
        return len(self._refs)

    def add(self, call: Call) -> None:
        """Remember a call, for as long as its caller holds it."""
        self._refs.add(ref(call, self._refs.discard))

    def answer(self, error: FrazilError | None) -> None:
        """Wake every caller, each once, whoever else does the same at this moment."""
        for each in self._refs.copy():
            try:
                self._refs.remove(each)
            except KeyError:
                continue
            call = each()
            if call is not None:
                call.wake(error)
