"""The interpreted walk's guard: makes each step of ``walk`` atomic where the compiler does not.

Interpreted, another thread may run between any two lines of a step. A lock stops that, and costs
more than all the rest of an ID. It also cannot stop a signal handler (or a finalizer), which runs
in the thread that holds the lock: with a plain lock, a handler that asks for an ID waits for its
own thread for ever; with a reentrant one it enters a step half done, and repeats a cell.

So the cells of a tick (or of a stretch of it) are an *iterator*, a counter of the standard library
that hands out every number once, whoever calls: one C call with no line in between. All draws go
through it, and every cell is in one iterator in all, so what a late caller draws from an old one is
still nobody else's. The everyday call reads one tuple (when the tick ends, its cells, ...), draws,
and then asks whether this is still the same process; it needs no lock.

The rest (entering a tick, a new claim, leaving one) is done under a lock that knows its owner.
Whoever comes and finds that it is the owner *is* a handler that interrupted a step. It must not
wait for a claim either, since the keeper needs the same lock to bring one. So it takes its ID from
a generator of its own, the ``spare``, with a keeper and claims of its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import count, islice
from threading import RLock
from typing import Any, NoReturn, Protocol, TypeAlias, TypeVar

from frazil.errors import InternalError
from frazil.machine import PureSense
from frazil.walk import Pause, Walk

__all__ = ["GuardedWalk", "Spare"]

Answer = TypeVar("Answer")


# One tick's cells, as a bare tuple because unpacking that is fastest: the sense's clock, its word
# and the era that it shows as long as nobody forked; when the tick ends; the cells, and the first
# number that is none; the base (low, high). In a plain layout the cells are the IDs themselves.
Turn: TypeAlias = "tuple[Callable[[], int], memoryview, int, int, count[int], int, int, int]"


class Spare(Protocol):
    """Who issues in the place of a walk whose step is interrupted; it may wait."""

    def __call__(self) -> int:
        """An ID."""

    def take(self, n: int) -> list[int]:
        """So many IDs."""


class GuardedWalk(Walk, ABC):
    """A Walk whose steps are atomic for threads, signal handlers and finalizers."""

    def __init__(self, *arguments: Any) -> None:
        self.unlock()
        self._turn: Turn = _nothing(arguments[0])
        super().__init__(*arguments)

    def unlock(self) -> None:
        """Start with a fresh lock, whoever held the old one."""
        self._lock = RLock()

    @abstractmethod
    def spare(self) -> "Spare":
        """Another generator, with claims of its own, for whoever interrupts a step of this one."""

    @abstractmethod
    def reborn(self) -> None:
        """In a fork: hold nothing of the parent's, its locks least of all."""

    def __call__(self) -> int:
        """See Walk."""
        now_ns, word, era, ends_ns, cells, end, low, high = self._turn
        if now_ns() < ends_ns:
            cell = next(cells)
            if cell < end and word[0] == era:
                return cell if self.plain else self.scatter(low, high, cell)
        return self.stalled()

    __next__ = __call__

    def poll(self) -> int | Pause:
        """See Walk."""
        return self._whole(self._poll, self._spared)

    def pause_ns(self) -> int:
        """See Walk. May say that there is an ID when the tick's last one has just been drawn."""
        return self._whole(super().pause_ns, lambda: 0)

    def take_ready(self, count: int) -> list[int]:
        """See Walk."""
        return self._whole(lambda: self._take(count), lambda: self.spare().take(count))

    def fill(self, out: Any, at: int) -> int:
        """See Walk."""
        size = len(out) // 2 if self.wide else len(out)
        ids = self.take_ready(size - at)
        if self.wide:
            out[2 * at : 2 * (at + len(ids)) : 2] = [n >> 64 for n in ids]
            out[2 * at + 1 : 2 * (at + len(ids)) : 2] = [n & 0xFFFFFFFFFFFFFFFF for n in ids]
        else:
            out[at : at + len(ids)] = ids
        return at + len(ids)

    def adopt(self, *arguments: int) -> None:
        """See Walk."""
        self._whole(lambda: Walk.adopt(self, *arguments), self._never)

    def queue(self, *arguments: int) -> None:
        """See Walk."""
        self._whole(lambda: Walk.queue(self, *arguments), self._never)

    def prolong(self, *arguments: int) -> None:
        """See Walk."""
        self._whole(lambda: Walk.prolong(self, *arguments), self._never)

    def left(self) -> int:
        """See Walk."""
        return self._whole(super().left, self._never)

    def leave(self) -> int:
        """See Walk. From inside a step nothing is given back: the step may yet use what is left."""
        return self._whole(self._leave, self._abandon)

    def forget(self) -> None:
        """See Walk."""
        self._turn = _nothing(self.sense)
        super().forget()

    def stretch(self, first: int, end: int) -> None:
        """See Walk. The only place where there come to be cells to draw."""
        self.sequence = max(self.counted, self._drawn(1))  # how far the one before was used
        super().stretch(first, end)
        low = self.low
        if self.plain:
            cells = count(low + (first << self.shift), 1 << self.shift)
            end = low + (end << self.shift)
        else:
            cells = count(first)
        sense = self.sense
        now_ns, word, era = sense.now_ns, sense.word, sense.era
        self._turn = now_ns, word, era, self.turn_ns, cells, end, low, self.high

    def anchor(self, *arguments: int) -> None:
        """See Walk."""
        super().anchor(*arguments)
        self._turn = (*self._turn[:3], self.turn_ns, *self._turn[4:])

    def _whole(self, step: Callable[[], Answer], interrupting: Callable[[], Answer]) -> Answer:
        if not self.sense.intact():
            self.reborn()  # the lock may have been another thread's when the process forked
        if self._lock._is_owned():  # type: ignore[attr-defined] # noqa: SLF001 - as Condition does
            return interrupting()
        with self._lock:
            return step()

    def _poll(self) -> int | Pause:
        ids = self._take(1)
        return ids[0] if ids else Pause(self.turn())

    def _take(self, n: int) -> list[int]:
        ids: list[int] = []
        while len(ids) < n and self.turn() == 0:
            _, _, _, _, cells, end, low, high = self._turn
            drawn = list(islice(cells, min(n - len(ids), self.sequences)))
            own = drawn if drawn[-1] < end else [cell for cell in drawn if cell < end]
            if own is not drawn:
                self.sequence = self.sequences  # the tick is used up
            if not self.plain:
                own = [self.scatter(low, high, cell) for cell in own]
            ids += own
        return ids

    def _leave(self) -> int:
        if self.counting and not self.fresh:
            self.sequence = self._drawn(self.cells)
        return super().leave()

    def _drawn(self, many: int) -> int:
        """The first cell of the turn that was not drawn yet.

        It is known by drawing it; and so many more in the same call, that nobody else draws one.
        """
        _, _, _, _, cells, end, low, _ = self._turn
        rest = list(islice(cells, many))
        first = min(rest[0], end)
        return (first - low) >> self.shift if self.plain else first

    def _spared(self) -> int:
        return self.spare()()

    def _abandon(self) -> int:
        self.start = self.until
        self.forget()
        return self.start

    def _never(self) -> NoReturn:
        raise InternalError("the keeper interrupted a step of its own thread")


def _nothing(sense: PureSense) -> Turn:
    """The turn of a walk that holds no claim: it has ended long ago."""
    return sense.now_ns, sense.word, sense.era, 0, count(), 0, 0, 0
