"""IDs fetched before they are asked for, for generators that ask a server for every ID.

A round trip for each ID is a thousand times the time of an ID. So a buffer of up to ``most`` is
kept, which a thread refills when less than half of a batch is left. How much it fetches doubles
while the buffer runs low soon after a refill and halves when it lasts, so it holds what about a
tenth of a second needs.

These IDs carry the time at which they were fetched, not the one at which they are used, and what is
left in the buffer at the end is lost: skipped, never repeated. So it is off unless asked for.

A buffer belongs to one process. Who holds it looks, after taking an ID out and before giving it to
anybody, whether this is still that process.
"""

from _thread import allocate_lock, start_new_thread
from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeAlias

from frazil.clock import boot_ns
from frazil.errors import FrazilError

__all__ = ["Fetch", "Prefetch"]

Fetch: TypeAlias = Callable[[int], Iterable[int]]

_LEAST_BATCH = 16
_SOON_NS, _LATE_NS = 50_000_000, 500_000_000


class Prefetch:
    """``buffer``: take from its left. ``batch``: how many were fetched last."""

    def __init__(self, most: int) -> None:
        self.buffer: deque[int] = deque()
        self.batch = _LEAST_BATCH
        self._most = most
        self._refilled_ns = 0
        self._refilling = allocate_lock()

    def top_up(self, fetch: Fetch) -> None:
        """Have a thread fill the buffer if it is low and none does yet."""
        if len(self.buffer) * 2 >= self.batch or not self._refilling.acquire(blocking=False):
            return

        def fill() -> None:
            try:
                self._fill(fetch)
            except FrazilError:
                pass  # whoever finds the buffer empty asks for himself, and is told why
            finally:
                self._refilling.release()

        try:
            start_new_thread(fill, ())
        except RuntimeError:  # no thread to be had: those who need IDs will fetch them
            self._refilling.release()

    def first(self, fetch: Fetch) -> int | None:
        """Fill the empty buffer and take one; None if another thread is at it, or was quicker."""
        if not self._refilling.acquire(blocking=False):
            return None
        try:
            self._fill(fetch)
        finally:
            self._refilling.release()
        try:
            return self.buffer.popleft()
        except IndexError:
            return None

    def _fill(self, fetch: Fetch) -> None:
        """Fetch a batch, larger or smaller than the last one by how long that lasted."""
        lasted_ns = boot_ns() - self._refilled_ns
        if lasted_ns < _SOON_NS:
            self.batch *= 2
        elif lasted_ns > _LATE_NS:
            self.batch //= 2
        self.batch = max(min(self.batch, self._most), min(_LEAST_BATCH, self._most))
        self._refilled_ns = boot_ns()
        self.buffer.extend(fetch(self.batch))
