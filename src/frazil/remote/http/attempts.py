"""The attempts of one call on a service: time limits, pauses, and the final error.

A reply may be lost, a service may restart, a balancer may use a dead one. A retry is safe, so a
temporary error is retried until the deadline. The pauses double, with jitter, so that callers do
not retry in step, and are at least as long as ``Retry-After``.

A service that accepts a connection and never replies would use up the whole deadline. So an attempt
gets half of the time that is left, and there is always a second one.

This module does no I/O and does not sleep; threads and asyncio share it.
"""

from collections import Counter
from collections.abc import Callable
from random import random

from frazil.errors import FrazilError, PoolExhausted, RegistryUnavailable, TryLater
from frazil.inputs.duration import duration_text

_LEAST_PATIENCE_S = 0.25
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 2.0


class AttemptLoop:
    """A call that begins now. name: the service in messages. clock: monotonic seconds."""

    def __init__(self, name: str, timeout_us: int, clock: Callable[[], float]) -> None:
        self._name = name
        self._timeout_us = timeout_us
        self._clock = clock
        self._deadline_s = clock() + timeout_us / 1e6
        self._pauses = 0
        self._reasons: Counter[str] = Counter()
        self._only_full = True

    def patience_s(self) -> float:
        """Return how long the next attempt may take."""
        left_s = self._deadline_s - self._clock()
        return max(left_s / 2, _LEAST_PATIENCE_S)

    def failed(self, error: FrazilError) -> float:
        """Return the pause before the next attempt. Raises the error if there is none."""
        if not isinstance(error, TryLater):
            raise error
        self._reasons[str(error)] += 1
        self._only_full = self._only_full and isinstance(error, PoolExhausted)
        longest_s = min(_FIRST_PAUSE_S * 2**self._pauses, _LONGEST_PAUSE_S)
        self._pauses += 1
        wanted_s = float(error.facts.get("retry_after_s", 0.0))
        pause_s: float = wanted_s + longest_s * (0.5 + random() / 2)  # noqa: S311 - not a secret
        if self._clock() + pause_s >= self._deadline_s:
            raise self._failure(max(wanted_s, 1.0)) from error
        return pause_s

    def _failure(self, retry_after_s: float) -> FrazilError:
        """Return the final error: each reason once, with its count."""
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
