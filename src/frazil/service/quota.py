"""Token quotas: token buckets that all workers of a service share.

A bucket holds at most one minute's quota and fills evenly. So a token gets at most its quota at
once and on average, and after a pause at most twice its quota in one minute: a full bucket, and
what flows in. A counter that restarts each minute would allow the same twice at once. A bucket
stores two numbers and needs no timer.

If each worker had its share of a quota, a caller with one connection would use only that share. So
the buckets lie in shared memory that is created before the workers are forked, and a file lock
guards each change. The operating system releases the lock if a worker dies, which it would not do
for a lock in memory. A worker that dies in the middle of a change can leave one of the two numbers
wrong, which costs at most one minute's quota of one token.

A lock for each ID would cost as much as the ID. So a process takes a thousandth of a quota, uses it
for a tenth of a second, and returns the rest. Meanwhile a token can get so many IDs more, once for
each worker. A quota below a thousand is exact.

The place of a bucket follows from the hash of its token, so the settings may change while the
service runs.
"""

import mmap
import os
import tempfile
from fcntl import LOCK_EX, LOCK_UN, lockf
from math import inf
from struct import Struct
from typing import IO
from weakref import finalize

from frazil.system.clock import boot_ns

_MINUTE_NS = 60 * 10**9
_FORM = Struct("=16sdq")  # the token, its level in IDs, and when that was computed, by boot_ns
_PLACES = 4_096
_TRIED_MOST = 256
_NOBODY = bytes(16)
_SLICES = 1_000  # of a quota
_SLICE_NS = 100_000_000


class Buckets:
    """The buckets of all tokens, by digest; a new one is full. Forked processes share them."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _PLACES * _FORM.size)
        self._lock = _file_in_memory()
        finalize(self, self._lock.close)
        self._slices: dict[bytes, tuple[int, int]] = {}  # what is left of it, and until when

    def wait_s(self, digest: bytes, most: int, n: int) -> float:
        """Take ``n`` from a bucket of ``most`` and return 0.0, or how long it takes to refill.

        A negative ``n`` is given back. Returns inf if the bucket never holds that many.
        """
        if n > most:
            return inf
        held, until_ns = self._slices.get(digest, (0, 0))
        if 0 < n <= held and boot_ns() < until_ns:
            self._slices[digest] = held - n, until_ns
            return 0.0
        return max(-self._add(digest, most, -n, most // _SLICES), 0.0) / most * 60

    def left(self, digest: bytes, most: int) -> int:
        """How many IDs a bucket of ``most`` holds now."""
        return int(self._add(digest, most, 0, 0))

    def _add(self, digest: bytes, most: int, n: int, ahead: int) -> float:
        """Return the slice, add ``n``, and take the next slice, of up to ``ahead``, if that works.

        Returns the level after the first two. A negative one is not stored.
        """
        back, _ = self._slices.pop(digest, (0, 0))
        lockf(self._lock, LOCK_EX)
        try:
            now_ns = boot_ns()
            place = self._place(digest)
            owner, level, looked_ns = _FORM.unpack_from(self._memory, place)
            if owner != digest[:16]:
                level, looked_ns = most, now_ns
            level = min(level + back + most * max(now_ns - looked_ns, 0) / _MINUTE_NS, most)
            after: float = level + n
            kept = level if after < 0 else min(after, most)
            taken = 0 if after < 0 else min(ahead, int(kept))
            _FORM.pack_into(self._memory, place, digest[:16], kept - taken, now_ns)
        finally:
            lockf(self._lock, LOCK_UN)
        if taken:
            self._slices[digest] = taken, now_ns + _SLICE_NS
        return after

    def _place(self, digest: bytes) -> int:
        """Return where the bucket of a token is, or will be; of too many, one loses its own."""
        first = int.from_bytes(digest[16:24], "big")
        for at in range(first, first + _TRIED_MOST):
            place = at % _PLACES * _FORM.size
            if self._memory[place : place + 16] in {digest[:16], _NOBODY}:
                return place
        return first % _PLACES * _FORM.size


def _file_in_memory() -> IO[bytes]:
    """Return a file that needs no directory, which a read-only container may not have."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("frazil-quotas"), "r+b")
    return tempfile.TemporaryFile()
