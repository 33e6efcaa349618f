"""Pacing: when a registry is asked again, after it failed or had nothing to give.

A registry that does not answer is asked again after 50 ms, then after twice as long each time, up
to 2 s. Each pause has a random part, so that a fleet does not return as one.
"""

import os

from frazil.claims.claim import Terms, Wait

__all__ = ["Retries", "jitter", "pause_us"]

_FIRST_S = 0.05
_LAST_S = 2.0


class Retries:
    """The pauses between attempts that fail one after the other."""

    def __init__(self) -> None:
        self._next_s = _FIRST_S

    def pause_s(self, part: float) -> float:
        """How long to pause before the next attempt. part: of the longest that this may be."""
        longest_s = self._next_s
        self._next_s = min(2 * longest_s, _LAST_S)
        return longest_s * part


def jitter() -> float:
    """Between a half and one."""
    return 1 - os.urandom(1)[0] / 512


def pause_us(wait: Wait, terms: Terms, part: float) -> int:
    """How long to leave the registry in peace. part: of a tick; what is left of one is added.

    Of those who wait for one tick the nearest to the registry would else come first each time.
    """
    return max(wait.wait_us, 1_000) + int(terms.tick_us * (1 - part))
