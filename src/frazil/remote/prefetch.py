"""A buffer of IDs that are fetched from a server before they are needed.

A round trip takes a thousand times as long as making an ID. So a thread refills the buffer when
less than half of a batch is left. The batch doubles if the buffer runs low soon after a refill and
halves if it lasts, so it covers about a tenth of a second.

These IDs carry the time at which they were fetched, and those left in the buffer at the end are
skipped. So prefetching is off by default.

A buffer belongs to one process. Its owner checks, after taking an ID out, that this is still the
process.

A signal handler may raise an exception anywhere, and a lock would then stay locked. So the right to
fill the buffer is a ``_Turn``, which ends at the latest with the frame that holds it.
"""

from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeAlias
from weakref import ref

from frazil.errors import FrazilError
from frazil.system.clock import boot_ns

Fetch: TypeAlias = Callable[[int], Iterable[int]]

_LEAST_BATCH = 16
_SOON_NS, _LATE_NS = 50_000_000, 500_000_000


class _Turn:
    """The right to fill a buffer, while it is referenced."""

    __slots__ = ("__weakref__",)


class Prefetch:
    """buffer: IDs in order. batch: how many were fetched last. most: the limit of a batch."""

    def __init__(self, most: int, fetch: Fetch) -> None:
        self.buffer: deque[int] = deque()
        self.batch = _LEAST_BATCH
        self.most = most
        self._fetch = fetch
        self._refilled_ns = 0
        self._turns: set[ref[_Turn]] = set()

    def ready(self) -> int | None:
        """Return an ID from the buffer, or None if it is empty."""
        try:
            n = self.buffer.popleft()
        except IndexError:
            return None
        if len(self.buffer) * 2 < self.batch:
            self._top_up()
        return n

    def next(self) -> int | None:
        """Return an ID, after filling an empty buffer.

        Return None if another thread is filling the buffer, or took the ID.
        """
        n = self.ready()
        if n is None and (turn := self._take_turn()) is not None:
            try:
                self._fill()
            finally:
                del turn  # also where a traceback keeps this frame
            n = self.ready()
        return n

    def _take_turn(self) -> _Turn | None:
        """Return the right to fill the buffer, or None if another thread has it."""
        turn = _Turn()
        self._turns.add(ref(turn, self._turns.discard))
        return turn if len(self._turns) == 1 else None  # of two at once, neither

    def _top_up(self) -> None:
        """Start a thread that fills the buffer, unless one does."""
        turn = self._take_turn()
        if turn is None:
            return
        with suppress(RuntimeError):  # no thread is available: a caller will fill it
            start_new_thread(self._fill_aside, (turn,))

    def _fill_aside(self, turn: _Turn) -> None:
        """Fill the buffer. An error is dropped: a caller with an empty buffer gets its own."""
        with suppress(FrazilError):
            self._fill()
        del turn

    def _fill(self) -> None:
        """Fetch a batch; its size depends on how long the last one lasted."""
        lasted_ns = boot_ns() - self._refilled_ns
        if lasted_ns < _SOON_NS:
            self.batch *= 2
        elif lasted_ns > _LATE_NS:
            self.batch //= 2
        self.batch = max(min(self.batch, self.most), min(_LEAST_BATCH, self.most))
        self._refilled_ns = boot_ns()
        self.buffer.extend(self._fetch(self.batch))
