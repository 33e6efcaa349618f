"""The choice of the next server, the pauses, and the final error: the pool without I/O.

A dead server must not cost each call a timeout, a server without IDs must not be asked before it
has some, and callers must not retry in step. So the pool knows the health of each server:

- It *fails*: it is left out for a time that doubles, with jitter. Then one caller alone tries it. A
  call continues with the next server at once, and waits only if all have failed. After five
  attempts, or one per server if there are more, the call fails.
- It *has no IDs yet*, and said for how long: it is skipped until then. That is not a failure.
- It *refuses* (no shard, no right, a wrong clock): the same call does not ask it again.

A ``PoolCall`` is one call on the pool. It returns the next step, ``Asking`` a server or seconds
to sleep, and gets the result. It does neither itself, so threads and asyncio share it. Its final
error has the reason of each server.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, count
from math import inf
from typing import Generic, NamedTuple, TypeVar

from frazil.errors import ConfigError, FrazilError, PoolExhausted, RegistryUnavailable, TryLater
from frazil.remote.icicle.server import Issued
from frazil.system.chance import jitter

ATTEMPTS = 5
_FIRST_PAUSE_S = 0.05
_LONGEST_OUT_S = 5.0

Server = TypeVar("Server")


@dataclass(eq=False)
class ServerHealth(Generic[Server]):
    """A server and its health. Times are seconds of the caller's clock.

    out_until_s: the server failed, and is left out until then. failed: its last error, until it
    answers again. ready_s: it has no IDs before then.
    """

    server: Server
    name: str
    failures: int = 0
    out_until_s: float = 0.0
    failed: str = ""
    ready_s: float = 0.0
    shard: int | None = None

    def why_not_asked(self) -> str:
        """Why a call that got no ID did not ask this server."""
        if self.failed:
            return f"{self.failed} (not asked again, because it failed a moment ago)"
        return f"{self.name}: not asked before the end of the call; wait longer (timeout=)"


class Asking(NamedTuple, Generic[Server]):
    """Ask this server for IDs, and report the result."""

    standing: ServerHealth[Server]
    within_s: float


class Pool(Generic[Server]):
    """Servers in turn. clock: monotonic seconds.

    timeout_s: how long a call may be without an ID. patience_s: how long one server may take.
    Threads may share it: a race only changes which server is asked first.
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
        self._compared: list[int | None] = []  # the shards that were found to differ
        self._turns = count(int(jitter(0.0, len(servers))))

    def attempts(self, within_s: float = inf) -> "PoolCall[Server]":
        """Return a call that begins now, and ends within the timeout or ``within_s``."""
        return PoolCall(self, self.clock() + min(self.timeout_s, within_s))

    def order(self) -> list[ServerHealth[Server]]:
        """Return all servers, each time with another one first."""
        at = next(self._turns) % len(self.standings)
        return self.standings[at:] + self.standings[:at]

    def fail(self, standing: ServerHealth[Server], error: FrazilError) -> None:
        """Leave a server out for a while, because of an error."""
        standing.failures, standing.failed = standing.failures + 1, str(error)
        longest_s = min(0.1 * 2 ** min(standing.failures, 10), _LONGEST_OUT_S)
        standing.out_until_s = self.clock() + jitter(longest_s / 2, longest_s)

    def note(self, standing: ServerHealth[Server], shard: int | None) -> None:
        """Store the shard of a server. Raises ConfigError if another server has it too."""
        standing.shard = shard
        if not self.checked:
            self.compare()

    @property
    def checked(self) -> bool:
        """Whether the shards were compared, as they are now."""
        return self._compared == [each.shard for each in self.standings]

    def compare(self) -> None:
        """Raise ConfigError if two servers have one shard, and at each call until they differ.

        One refusal is not enough: another process may use the other server of the two.
        """
        shards = [each.shard for each in self.standings]  # another thread may note one meanwhile
        found = zip(self.standings, shards, strict=True)
        for (one, shard), (other, second) in combinations(found, 2):
            if shard is not None and shard == second:
                raise ConfigError(
                    f"{one.name} and {other.name} both have shard {shard}, or are one server, "
                    "so their IDs would repeat; name each server once, and give one of the two "
                    "another shard: DEL its key frazil:icicle:{namespace}, then frazil init "
                    "icicle://THAT-SERVER --shard N",
                    shard=shard,
                )
        self._compared = shards


@dataclass(eq=False)
class PoolCall(Generic[Server]):
    """One call on a pool, until ``deadline_s``."""

    pool: Pool[Server]
    deadline_s: float
    attempts: int = 0
    rounds: int = 0
    reasons: dict[str, FrazilError] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    tried: set[str] = field(default_factory=set)

    def step(self) -> Asking[Server] | float:
        """Return a server to ask, or seconds to sleep. Raises the final error instead."""
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
            return self._sleeping(jitter(longest_s / 2, longest_s), now_s)
        moment_s = min(max(each.out_until_s, each.ready_s) for each in left)
        return self._sleeping(moment_s - now_s, now_s)

    def given(self, standing: ServerHealth[Server], given: Issued) -> None:
        """Store the answer of a server."""
        pool = self.pool
        pool.note(standing, given.shard)
        standing.failures, standing.out_until_s, standing.failed = 0, 0.0, ""
        got = sum(number for _, number in given.spans)
        if given.wait_us:
            standing.ready_s = pool.clock() + given.wait_us / 1e6
        if got:
            self.attempts = self.rounds = 0
            self.tried.clear()
            self.deadline_s = pool.clock() + pool.timeout_s

    def failed(self, standing: ServerHealth[Server], error: FrazilError) -> None:
        """Store the error of a server."""
        self.pool.fail(standing, error)
        self.reasons[standing.name] = error
        self.tried.add(standing.name)
        self.attempts += 1
        if not isinstance(error, TryLater):
            self.refused.add(standing.name)

    def failure(self) -> FrazilError:
        """Return the final error, with the reason of each server and the most specific class."""
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
                lines.append(each.why_not_asked())
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
            # It was left out: only this caller tries it again.
            standing.out_until_s = now_s + self.pool.patience_s
        return Asking(standing, self.deadline_s - now_s)

    def _sleeping(self, seconds: float, now_s: float) -> float:
        if now_s + seconds > self.deadline_s:
            raise self.failure()
        return seconds
