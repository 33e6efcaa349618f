"""How many IDs a token may have: a bucket that fills evenly.

A count that starts anew each minute lets a caller have two minutes' worth around the change. A
bucket holds a minute's worth at most, and as much time as has passed since the last look is put in
first; it needs two numbers and no timer.
"""

from math import inf

from frazil.clock import boot_ns

__all__ = ["Bucket"]

_MINUTE_NS = 60 * 10**9


class Bucket:
    """``most`` IDs a minute, and at once."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._level = float(most)
        self._looked_ns = boot_ns()

    def wait_s(self, n: int) -> float:
        """Take ``n`` out, 0.0; or how long until they are there; inf if they never are at once."""
        now_ns = boot_ns()
        passed_ns, self._looked_ns = now_ns - self._looked_ns, now_ns
        self._level = min(self._level + self.most * passed_ns / _MINUTE_NS, self.most)
        if n > self.most:
            return inf
        if n > self._level:
            return (n - self._level) / self.most * 60
        self._level -= n
        return 0.0
