"""Which server to ask next, when to wait, and when to give up: the pool without its wires.

A dead server must not cost every call a timeout, a full one must not be asked before it has
something, and callers must not come back all at the same moment. So each server has a standing:

- It *fails*: it is left out for a while, twice as long each time, with jitter, and then tried again
  by one caller alone. A call goes on to the next server at once; only when all have failed does it
  wait, and after five attempts, or one for each server if these are more, it gives up.
- It *has nothing yet*, and said for how long: it is passed over until then. That is no failure.
- It *refuses* (no shard, no right, a wrong clock): within one call it is not asked again.

An ``AttemptLoop`` is one call on the pool. It says what to do, ``Asking`` a server or ``Sleeping``,
is told what came of it, and does neither itself; so threads and asyncio share it. What it raises in
the end holds every server's reason.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import random
from typing import Generic, NamedTuple, TypeVar

from frazil.errors import (
    ConfigError,
    FrazilError,
    PoolExhausted,
    RegistryUnavailable,
    TryLater,
)
from frazil.remote.icicle.server import Issued

__all__ = ["ATTEMPTS", "Asking", "AttemptLoop", "Pool", "ServerHealth", "Sleeping"]

ATTEMPTS = 5
_FIRST_PAUSE_S = 0.05
_LONGEST_OUT_S = 5.0

Server = TypeVar("Server")


@dataclass(eq=False)
class ServerHealth(Generic[Server]):
    """A server and what is thought of it. Moments are seconds of the caller's clock.

    out_until_s: not asked before then, because it failed. ready_s: it has nothing before then.
    """

    server: Server
    name: str
    failures: int = 0
    out_until_s: float = 0.0
    ready_s: float = 0.0
    shard: int | None = None


class Asking(NamedTuple, Generic[Server]):
    """Ask this server for IDs, and tell the turn what came of it."""

    standing: ServerHealth[Server]
    within_s: float


class Sleeping(NamedTuple):
    """Sleep, then ask the turn again."""

    seconds: float


class Pool(Generic[Server]):
    """Servers in turn. clock: seconds that only go forward. checked: whether shards were compared.

    timeout_s: how long a call may be without an ID. patience_s: how long one server may take.
    Threads may share it: what they can spoil for each other is only whom to ask first.
    """

    def __init__(
        self,
        servers: Sequence[tuple[str, Server]],
        timeout_s: float,
        patience_s: float,
        clock: Callable[[], float],
    ) -> None:
        self.standings = [ServerHealth(server, name) for name, server in servers]
        self.timeout_s = timeout_s
        self.patience_s = patience_s
        self.clock = clock
        self.checked = False
        self._turns = count(int(_jitter(0.0, len(servers))))

    def turn(self) -> "AttemptLoop[Server]":
        """A call that begins now."""
        return AttemptLoop(self, self.clock() + self.timeout_s)

    def order(self) -> list[ServerHealth[Server]]:
        """All servers, each time with another one first."""
        at = next(self._turns) % len(self.standings)
        return self.standings[at:] + self.standings[:at]

    def fail(self, standing: ServerHealth[Server]) -> None:
        """Leave a server out for a while."""
        standing.failures += 1
        longest_s = min(0.1 * 2 ** min(standing.failures, 10), _LONGEST_OUT_S)
        standing.out_until_s = self.clock() + _jitter(longest_s / 2, longest_s)

    def note(self, standing: ServerHealth[Server], shard: int | None) -> None:
        """Take in which shard a server has; ConfigError if another has it too."""
        if standing.shard == shard:
            return
        standing.shard = shard
        for other in self.standings:
            if other is not standing and shard is not None and other.shard == shard:
                self.checked = False
                raise ConfigError(
                    f"{standing.name} and {other.name} both have shard {shard}, or are one server, "
                    "and would repeat each other's IDs; name each once, and give one of two "
                    "another shard: DEL its key frazil:icicle:{namespace}, then frazil init "
                    "icicle://THAT-SERVER --shard N",
                    shard=shard,
                )


@dataclass(eq=False)
class AttemptLoop(Generic[Server]):
    """One call on a pool, until ``deadline_s``."""

    pool: Pool[Server]
    deadline_s: float
    attempts: int = 0
    rounds: int = 0
    reasons: dict[str, FrazilError] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    tried: set[str] = field(default_factory=set)

    def step(self) -> Asking[Server] | Sleeping:
        """What to do next. Raises why nothing can be had, when that is so."""
        pool, now_s = self.pool, self.pool.clock()
        left = [each for each in pool.order() if each.name not in self.refused]
        if self.attempts >= max(ATTEMPTS, len(pool.standings)):
            left = [each for each in left if each.name not in self.reasons]
        if not left or now_s >= self.deadline_s:
            raise self.failure()
        for each in left:
            if each.out_until_s <= now_s and each.ready_s <= now_s:
                return self._asking(each, now_s)
        if all(each.out_until_s > now_s for each in left):
            for each in left:
                if each.name not in self.tried:
                    return self._asking(each, now_s)
            self.tried.clear()
            self.rounds += 1
            longest_s = _FIRST_PAUSE_S * 2**self.rounds
            return self._sleeping(_jitter(longest_s / 2, longest_s), now_s)
        moment_s = min(max(each.out_until_s, each.ready_s) for each in left)
        return self._sleeping(moment_s - now_s, now_s)

    def given(self, standing: ServerHealth[Server], given: Issued) -> None:
        """A server answered."""
        pool = self.pool
        pool.note(standing, given.shard)
        standing.failures, standing.out_until_s = 0, 0.0
        got = sum(number for _, number in given.spans)
        if given.wait_us:
            standing.ready_s = pool.clock() + given.wait_us / 1e6
        if got:
            self.attempts = self.rounds = 0
            self.tried.clear()
            self.deadline_s = pool.clock() + pool.timeout_s

    def failed(self, standing: ServerHealth[Server], error: FrazilError) -> None:
        """A server did not answer, or refused."""
        self.pool.fail(standing)
        self.reasons[standing.name] = error
        self.tried.add(standing.name)
        self.attempts += 1
        if not isinstance(error, TryLater):
            self.refused.add(standing.name)

    def failure(self) -> FrazilError:
        """Why this call ends without IDs: every server's reason, in the most telling class."""
        now_s = self.pool.clock()
        lines, kinds = [], set()
        for each in self.pool.standings:
            error = self.reasons.get(each.name)
            if error is not None:
                lines.append(str(error))
                kinds.add(type(error))
            elif each.ready_s > now_s:
                lines.append(f"{each.name}: nothing for the next {each.ready_s - now_s:.1f} s")
                kinds.add(PoolExhausted)
            else:
                lines.append(f"{each.name}: not asked again, it failed a moment ago")
                kinds.add(RegistryUnavailable)
        if len(lines) == 1 and self.reasons:
            return next(iter(self.reasons.values()))
        waits = [each.ready_s - now_s for each in self.pool.standings if each.ready_s > now_s]
        later = any(issubclass(kind, TryLater) for kind in kinds)
        kind = kinds.pop() if len(kinds) == 1 else RegistryUnavailable if later else ConfigError
        return kind(
            "no server of the pool gave an ID:\n  " + "\n  ".join(lines),
            reasons=dict(self.reasons),
            outcome_known=False,
            retry_after_s=min(waits, default=1.0),
        )

    def _asking(self, standing: ServerHealth[Server], now_s: float) -> Asking[Server]:
        if standing.failures:
            # Back from being left out: this caller alone finds out whether it is well again.
            standing.out_until_s = now_s + self.pool.patience_s
        return Asking(standing, self.deadline_s - now_s)

    def _sleeping(self, seconds: float, now_s: float) -> Sleeping:
        if now_s + seconds > self.deadline_s:
            raise self.failure()
        return Sleeping(seconds)


def _jitter(least: float, most: float) -> float:
    """Something in between, so that callers do not come in step."""
    return least + random() * (most - least)  # noqa: S311 - hides nothing
