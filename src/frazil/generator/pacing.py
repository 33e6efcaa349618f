"""Pauses before the next request to a registry that failed or had nothing to grant.

The first pause after a failure is at most 50 ms. Each further one is twice as long, up to 2 s. A
random part of each pause keeps the members of a fleet apart.
"""

from frazil.claims.claim import Terms, Wait

_FIRST_S = 0.05
_LAST_S = 2.0


class Retries:
    """The pauses between consecutive failures."""

    def __init__(self) -> None:
        self._next_s = _FIRST_S

    def pause_s(self, part: float) -> float:
        """The pause before the next attempt. part: its fraction of the longest one."""
        longest_s = self._next_s
        self._next_s = min(2 * longest_s, _LAST_S)
        return longest_s * part


def pause_us(wait: Wait, terms: Terms, part: float) -> int:
    """The pause before the next request. part: a fraction of a tick; the rest of it is added.

    Without the addition, the member nearest to the registry would always be the first of all that
    wait for one tick.
    """
    return max(wait.wait_us, 1_000) + int(terms.tick_us * (1 - part))


def report_us(terms: Terms) -> int:
    """How long a member that lost its claim, or has to wait, is silent at most.

    A request of another member may end the wait after a loss before this one expects it.
    """
    return max(1000, terms.horizon_ticks * terms.tick_us // 2)
