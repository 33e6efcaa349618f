"""How many IDs a token may have: a bucket that fills evenly, one for all workers of a service.

A count that starts anew each minute lets a caller have two minutes' worth around the change. A
bucket holds a minute's worth at most, and as much time as has passed since the last look is put in
first; it needs two numbers and no timer.

Workers that each had a part of the quota would refuse a caller whose one connection is to one of
them, while the parts of the others stay full. So the two numbers of each bucket lie in memory that
is there before the workers are forked, and whoever changes them holds a lock on a file. The system
takes that lock from a worker that dies, which a lock in memory would survive; what such a worker
left half done is one of the two numbers, and worth at most a minute's IDs of one token.
"""

import mmap
import tempfile
from collections.abc import Sequence
from fcntl import LOCK_EX, LOCK_UN, lockf
from math import inf
from struct import Struct
from weakref import finalize

from frazil.system.clock import boot_ns

__all__ = ["Buckets"]

_MINUTE_NS = 60 * 10**9
_FORM = Struct("=dq")  # IDs that are in it, and when that was so, by boot_ns


class Buckets:
    """Buckets of so many IDs a minute, and at once; full. Processes forked later share them."""

    def __init__(self, mosts: Sequence[int]) -> None:
        self.mosts = tuple(mosts)
        self._memory = mmap.mmap(-1, max(len(self.mosts), 1) * _FORM.size)
        self._lock = tempfile.TemporaryFile()  # noqa: SIM115 - see the next line
        finalize(self, self._lock.close)
        for at, most in enumerate(self.mosts):
            _FORM.pack_into(self._memory, at * _FORM.size, most, boot_ns())

    def wait_s(self, at: int, n: int) -> float:
        """Take ``n`` out of the bucket at ``at``, 0.0; or how long until they are there.

        inf if there never are so many at once.
        """
        most = self.mosts[at]
        return inf if n > most else max(-self._pour(at, -n), 0.0) / most * 60

    def give_back(self, at: int, n: int) -> None:
        """Put ``n`` that were taken, and not used, into the bucket at ``at``."""
        self._pour(at, n)

    def _pour(self, at: int, n: int) -> float:
        """What is in a bucket with ``n`` more. Less than nothing cannot be, and changes nothing."""
        most, place = self.mosts[at], at * _FORM.size
        lockf(self._lock, LOCK_EX)
        try:
            level, looked_ns = _FORM.unpack_from(self._memory, place)
            now_ns = boot_ns()
            level = min(level + most * max(now_ns - looked_ns, 0) / _MINUTE_NS, most)
            after: float = level + n
            _FORM.pack_into(self._memory, place, level if after < 0 else min(after, most), now_ns)
        finally:
            lockf(self._lock, LOCK_UN)
        return after
