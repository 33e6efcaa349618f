"""One call on a service: how long to wait for a reply, when to ask again, and when to give up.

A reply may be lost, a service may restart, a balancer may hold a dead one. Asking again is safe, so
what waiting may change is asked again until the deadline: after pauses that double, with jitter, so
that callers do not come back in step; not before the service itself wants it (``Retry-After``); and
never for what waiting does not change.

A service that takes a connection and then says nothing would use up the whole deadline, so one
attempt gets half of the time that is left. Then there always is a second.

The turn neither asks nor sleeps; threads and asyncio share it.
"""

from collections import Counter
from collections.abc import Callable
from random import random

from frazil.errors import FrazilError, PoolExhausted, RegistryUnavailable, TryLater
from frazil.inputs.duration import duration_text

__all__ = ["AttemptLoop"]

_LEAST_PATIENCE_S = 0.25
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 2.0


class AttemptLoop:
    """A call that begins now. name: of the service. clock: seconds that only go forward."""

    def __init__(self, name: str, timeout_us: int, clock: Callable[[], float]) -> None:
        self._name = name
        self._timeout_us = timeout_us
        self._clock = clock
        self._deadline_s = clock() + timeout_us / 1e6
        self._pauses = 0
        self._reasons: Counter[str] = Counter()
        self._only_full = True

    def patience_s(self) -> float:
        """How long the attempt that begins now may take."""
        left_s = self._deadline_s - self._clock()
        return max(left_s / 2, _LEAST_PATIENCE_S)

    def failed(self, error: FrazilError) -> float:
        """Seconds to sleep before asking again. Raises when there is no use in it, or no time."""
        if not isinstance(error, TryLater):
            raise error
        self._reasons[str(error)] += 1
        self._only_full = self._only_full and isinstance(error, PoolExhausted)
        longest_s = min(_FIRST_PAUSE_S * 2**self._pauses, _LONGEST_PAUSE_S)
        self._pauses += 1
        wanted_s = float(error.facts.get("retry_after_s", 0.0))
        pause_s: float = wanted_s + longest_s * (0.5 + random() / 2)  # noqa: S311 - hides nothing
        if self._clock() + pause_s >= self._deadline_s:
            raise self._failure(max(wanted_s, 1.0)) from error
        return pause_s

    def _failure(self, retry_after_s: float) -> FrazilError:
        """Why there is no ID: every reason, each once, with how many times."""
        kind = PoolExhausted if self._only_full else RegistryUnavailable
        lines = [f"{n} times: {why}" if n > 1 else why for why, n in self._reasons.items()]
        return kind(
            f"{self._name} gave no ID within {duration_text(self._timeout_us)}, try again later:"
            + "".join(f"\n  {line}" for line in lines),
            url=self._name,
            reasons=tuple(self._reasons),
            attempts=self._reasons.total(),
            outcome_known=self._only_full,
            retry_after_s=retry_after_s,
        )
