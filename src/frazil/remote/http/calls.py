"""A call on a service, without I/O: requests, retries, and the meaning of replies.

There is no claim to give back: a process that dies or forks loses only the IDs that it requested.

A reply may be lost, a service may restart, a balancer may use a dead one. A retry is safe, so a
temporary error is retried until the deadline. The pauses double, with jitter, so that callers do
not retry in step, and are at least as long as ``Retry-After``. A service that accepts a connection
and never replies would use up the whole deadline. So an attempt gets half of the time that is left,
and there is always a second one.

Packed IDs are big-endian, each in as many whole bytes as the scheme has bits. They need no parsing,
their length gives their number, and numpy reads them directly.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from sys import byteorder
from typing import TYPE_CHECKING, Any

from frazil.errors import FrazilError, PoolExhausted, RegistryUnavailable, TryLater
from frazil.generator.complaints import closed
from frazil.generator.pacing import Retries
from frazil.inputs.duration import duration_text
from frazil.remote.base import Life
from frazil.remote.http.config import NONCE, ServiceConfig
from frazil.remote.http.reply import Gathered
from frazil.system.chance import jitter
from frazil.system.clock import boot_s
from frazil.system.imports import load
from frazil.system.steps import Steps

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STEP = 100_000  # the most IDs in one request; they are skipped together if the reply is lost
_LEAST_PATIENCE_S = 0.25


class ServiceCalls(Life):
    """The life of a generator in one process."""

    attempt: Callable[[int, float], Any]
    """Request a number of IDs within a number of seconds; return them packed."""

    def __init__(self, config: ServiceConfig) -> None:
        super().__init__(config)
        self.config = config
        self.closed = False

    def check(self) -> None:
        super().check()
        if self.closed:
            raise closed()

    def ids(self, count: int, within_s: float = inf) -> Steps[list[int]]:
        bodies = yield from self.bodies(count, within_s)
        return [n for body in bodies for n in unpacked(body, self.config.width)]

    def array(self, count: int) -> "Steps[NDArray[Any]]":
        arrays = load("frazil.schemes.arrays")
        body = b"".join((yield from self.bodies(count)))
        words = unpacked_words(body, self.config.width)
        row: NDArray[Any] = words.view(arrays.WIDE) if self.config.width > 8 else words
        return row.reshape(-1)

    def bodies(self, count: int, within_s: float = inf) -> Steps[list[bytes]]:
        """Get ``count`` packed IDs, in steps."""
        bodies: list[bytes] = []
        for done in range(0, count, STEP):
            bodies += [(yield from self._asked(min(count - done, STEP), within_s))]
        return bodies

    def gathered(self, n: int, headers: Mapping[str, str], status: int, told: Any) -> Gathered:
        """Return the reader of the reply to a request with these headers."""
        return Gathered(self.config, n, headers[NONCE], status, told)

    def _asked(self, n: int, within_s: float) -> Steps[bytes]:
        """Get ``n`` packed IDs, with retries."""
        timeout_us = int(min(self.config.request.timeout_us, within_s * 1e6))
        attempts = AttemptLoop(self.config.name, timeout_us)
        while True:
            self.check()
            try:
                body: bytes = yield partial(self.attempt, n, attempts.patience_s())
            except FrazilError as error:
                pause_s = attempts.failed(error)
            else:
                self.issued += n
                return body
            yield pause_s


class AttemptLoop:
    """A call that begins now. name: the service in messages."""

    def __init__(self, name: str, timeout_us: int) -> None:
        self._name = name
        self._timeout_us = timeout_us
        self._deadline_s = boot_s() + timeout_us / 1e6
        self._retries = Retries()
        self._reasons: Counter[str] = Counter()
        self._only_full = True

    def patience_s(self) -> float:
        """Return how long the next attempt may take."""
        return max((self._deadline_s - boot_s()) / 2, _LEAST_PATIENCE_S)

    def failed(self, error: FrazilError) -> float:
        """Return the pause before the next attempt. Raises the error if there is none."""
        if not isinstance(error, TryLater):
            raise error
        self._reasons[str(error)] += 1
        self._only_full = self._only_full and isinstance(error, PoolExhausted)
        wanted_s = float(error.facts.get("retry_after_s", 0.0))
        pause_s = wanted_s + self._retries.pause_s(jitter())
        if boot_s() + pause_s >= self._deadline_s:
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


def unpacked(body: bytes, width: int) -> list[int]:
    """Return the IDs of a body, each of ``width`` bytes."""
    if width != 8:
        return [int.from_bytes(body[i : i + width], "big") for i in range(0, len(body), width)]
    found = array("Q", body)
    if byteorder == "little":
        found.byteswap()
    return found.tolist()


def unpacked_words(body: bytes, width: int) -> "NDArray[np.uint64]":
    """The IDs as rows of numpy words, (n, 1), or (n, 2) with the higher half first."""
    import numpy as np

    whole = 8 if width <= 8 else 16
    rows: Any = np.zeros((len(body) // width, whole), dtype=np.uint8)
    rows[:, whole - width :] = np.frombuffer(body, dtype=np.uint8).reshape(-1, width)
    found: NDArray[np.uint64] = rows.view(">u8").astype(np.uint64)
    return found
