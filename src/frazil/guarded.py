"""The interpreted walk's guard: makes each step of ``walk`` atomic where the compiler does not.

Interpreted, another thread may run between any two lines of a step. A lock stops that. It cannot
stop a signal handler (or a finalizer): that runs in the thread that holds the lock. With a plain
lock a handler that asks for an ID would wait for its own thread for ever; with a reentrant one it
would enter the step half done, and repeat a cell (measured: 222 repeats in 6.9 million).

So the lock is reentrant, and a flag tells a step that is under way. Whoever finds the flag set *is*
that handler, and takes its ID from a generator of its own, the ``spare``, with a claim of its own.
The flag is set after the lock is had and cleared before it is given up; a handler that runs in one
of the two gaps finds a whole step before or after its own.
"""

from collections.abc import Callable
from threading import RLock
from typing import Any, NoReturn, TypeVar

from frazil.errors import InternalError
from frazil.walk import Pause, Walk

__all__ = ["GuardedWalk"]

Answer = TypeVar("Answer")


class GuardedWalk(Walk):
    """A Walk whose steps are atomic for threads, signal handlers and finalizers."""

    def __init__(self, *arguments: Any) -> None:
        self.unlock()
        super().__init__(*arguments)

    def unlock(self) -> None:
        """Start with a fresh lock, whoever held the old one."""
        self._lock = RLock()
        self._busy = False

    def spare(self) -> "GuardedWalk":
        """Another generator, with claims of its own, for whoever interrupts a step of this one."""
        raise NotImplementedError

    def _whole(self, step: Callable[[], Answer], interrupting: Callable[[], Answer]) -> Answer:
        if not self.sense.intact():
            self.reborn()  # the lock may have been another thread's when the process forked
        with self._lock:
            if self._busy:
                return interrupting()
            self._busy = True
            try:
                return step()
            finally:
                self._busy = False

    def reborn(self) -> None:
        """In a fork: hold nothing of the parent's, its locks least of all."""
        raise NotImplementedError

    def __call__(self) -> int:
        """See Walk. The steps of ``turn`` and ``draw`` for the usual case are written out here."""
        if not self.sense.intact():
            return self.stalled()
        with self._lock:
            if self._busy:
                return int(self.spare()())
            self._busy = True
            try:
                cell = self.sequence
                ready = cell < self.sequences and self.sense.now_ns() < self.turn_ns
                if ready and self.plain and self.sense.intact():
                    self.sequence = cell + 1
                    self.drawn += 1
                    return self.low + (cell << self.shift)
            finally:
                self._busy = False
        return self.stalled()

    __next__ = __call__

    def poll(self) -> int | Pause:
        """See Walk."""
        return self._whole(super().poll, lambda: self.spare().poll())

    def take_ready(self, count: int) -> list[int]:
        """See Walk."""
        return self._whole(
            lambda: Walk.take_ready(self, count), lambda: self.spare().take_ready(count)
        )

    def fill(self, out: Any, at: int) -> int:
        """See Walk."""
        return self._whole(lambda: Walk.fill(self, out, at), lambda: self.spare().fill(out, at))

    def paint(self, out: Any, at: int, first: int, stop: int) -> None:
        """See Walk. Where the words are numpy's, numpy writes them."""
        if not self.plain:
            super().paint(out, at, first, stop)
            return
        import numpy as np

        cells = np.arange(first, stop, dtype=np.uint64) << np.uint64(self.shift)
        out[at : at + stop - first] = cells + np.uint64(self.low)

    def adopt(self, *arguments: int) -> None:
        """See Walk."""
        self._whole(lambda: Walk.adopt(self, *arguments), self._never)

    def prolong(self, *arguments: int) -> None:
        """See Walk."""
        self._whole(lambda: Walk.prolong(self, *arguments), self._never)

    def left(self) -> int:
        """See Walk."""
        return self._whole(super().left, self._never)

    def pause_ns(self) -> int:
        """See Walk."""
        return self._whole(super().pause_ns, lambda: self.spare().pause_ns())

    def leave(self) -> int:
        """See Walk. From inside a step nothing is given back: the step may yet use what is left."""
        return self._whole(super().leave, self._abandon)

    def _abandon(self) -> int:
        until = self.until
        self.forget()
        return until

    def _never(self) -> NoReturn:
        raise InternalError("the keeper interrupted a step of its own thread")
