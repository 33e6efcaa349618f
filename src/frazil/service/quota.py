"""Token quotas: token buckets that all workers of a service share.

A counter that restarts each minute would allow twice the quota around the restart. A bucket holds
at most one minute's quota and fills evenly. It stores two numbers and needs no timer.

If each worker had its share of a quota, a caller with one connection would use only that share. So
the buckets lie in shared memory that is created before the workers are forked, and a file lock
guards each change. The operating system releases the lock if a worker dies, which it would not do
for a lock in memory. A worker that dies in the middle of a change can leave one of the two numbers
wrong, which costs at most one minute's quota of one token.
"""

import mmap
import os
import tempfile
from collections.abc import Sequence
from fcntl import LOCK_EX, LOCK_UN, lockf
from math import inf
from struct import Struct
from typing import IO
from weakref import finalize

from frazil.system.clock import boot_ns

__all__ = ["Buckets"]

_MINUTE_NS = 60 * 10**9
_FORM = Struct("=dq")  # level in IDs, and when it was computed, by boot_ns


class Buckets:
    """Full buckets with these limits in IDs per minute. Forked processes share them."""

    def __init__(self, limits: Sequence[int]) -> None:
        self.limits = tuple(limits)
        self._memory = mmap.mmap(-1, max(len(self.limits), 1) * _FORM.size)
        self._lock = _file_in_memory()
        finalize(self, self._lock.close)
        for at, most in enumerate(self.limits):
            _FORM.pack_into(self._memory, at * _FORM.size, most, boot_ns())

    def wait_s(self, at: int, n: int) -> float:
        """Take ``n`` from bucket ``at`` and return 0.0, or return how long it takes to refill.

        Returns inf if the bucket never holds that many.
        """
        most = self.limits[at]
        return inf if n > most else max(-self._add(at, -n), 0.0) / most * 60

    def give_back(self, at: int, n: int) -> None:
        """Return ``n`` unused IDs to bucket ``at``."""
        self._add(at, n)

    def _add(self, at: int, n: int) -> float:
        """Add ``n`` and return the new level. A negative level is not stored."""
        most, place = self.limits[at], at * _FORM.size
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


def _file_in_memory() -> IO[bytes]:
    """Return a file that needs no directory, which a read-only container may not have."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("frazil-quotas"), "r+b")
    return tempfile.TemporaryFile()
