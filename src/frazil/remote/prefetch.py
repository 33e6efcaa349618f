"""IDs fetched before they are asked for, for generators that ask a server for every ID.

A round trip for each ID is a thousand times the time of an ID. So a buffer of up to ``most`` is
kept, which a thread refills when less than half of a batch is left. How much it fetches doubles
while the buffer runs low soon after a refill and halves when it lasts, so it holds what about a
tenth of a second needs.

These IDs carry the time at which they were fetched, not the one at which they are used, and what is
left in the buffer at the end is lost: skipped, never repeated. So it is off unless asked for.

A buffer belongs to one process. Its owner looks, after taking an ID out and before giving it to
anybody, whether this is still that process.

A signal handler may raise an exception anywhere, so the right to fill the buffer is no lock, which
would stay locked: it is a ``_Turn``, and ends at the latest with the frame that holds it.
"""

from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeAlias
from weakref import ref

from frazil.errors import FrazilError
from frazil.system.clock import boot_ns

__all__ = ["Fetch", "Prefetch"]

Fetch: TypeAlias = Callable[[int], Iterable[int]]

_LEAST_BATCH = 16
_SOON_NS, _LATE_NS = 50_000_000, 500_000_000


class _Turn:
    """The right to fill a buffer, for as long as this is held."""

    __slots__ = ("__weakref__",)


class Prefetch:
    """``buffer``: take from its left. ``batch``: how many were fetched last."""

    def __init__(self, most: int, fetch: Fetch) -> None:
        self.buffer: deque[int] = deque()
        self.batch = _LEAST_BATCH
        self._most = most
        self._fetch = fetch
        self._refilled_ns = 0
        self._turns: set[ref[_Turn]] = set()

    def next(self) -> int | None:
        """An ID. None if the buffer is empty, and another thread is filling it, or was quicker."""
        try:
            n = self.buffer.popleft()
        except IndexError:
            return self._first()
        if len(self.buffer) * 2 < self.batch:
            self._top_up()
        return n

    def _take_turn(self) -> _Turn | None:
        """The right to fill the buffer; None while somebody else has it."""
        turn = _Turn()
        self._turns.add(ref(turn, self._turns.discard))
        return turn if len(self._turns) == 1 else None  # of two at once, neither: they come again

    def _top_up(self) -> None:
        """Have a thread fill the buffer, if none does yet."""
        turn = self._take_turn()
        if turn is None:
            return
        with suppress(RuntimeError):  # no thread to be had: those who need IDs will fetch them
            start_new_thread(self._fill_aside, (turn,))

    def _fill_aside(self, turn: _Turn) -> None:
        """The thread that has this turn: whoever finds the buffer empty is told what fails here."""
        with suppress(FrazilError):
            self._fill()
        del turn

    def _first(self) -> int | None:
        """Fill the empty buffer and take one out."""
        turn = self._take_turn()
        if turn is None:
            return None
        try:
            self._fill()
        finally:
            del turn  # also where a traceback keeps this frame
        try:
            return self.buffer.popleft()
        except IndexError:
            return None

    def _fill(self) -> None:
        """Fetch a batch, larger or smaller than the last one by how long that lasted."""
        lasted_ns = boot_ns() - self._refilled_ns
        if lasted_ns < _SOON_NS:
            self.batch *= 2
        elif lasted_ns > _LATE_NS:
            self.batch //= 2
        self.batch = max(min(self.batch, self._most), min(_LEAST_BATCH, self._most))
        self._refilled_ns = boot_ns()
        self.buffer.extend(self._fetch(self.batch))
