"""A call on a pool of servers, without I/O.

There is no claim to give back: a process that dies or forks loses only the IDs that it requested.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

from frazil.errors import FrazilError
from frazil.generator.request import Request
from frazil.redis_link.access import Access
from frazil.remote.base import Life
from frazil.remote.icicle.pool import Asking, Pool, ServerHealth
from frazil.remote.icicle.server import MOST_IDS, ServerCalls
from frazil.system.clock import boot_ns, boot_s, wall_us
from frazil.system.imports import load
from frazil.system.steps import Steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

ServerT = TypeVar("ServerT")


@dataclass(frozen=True, slots=True)
class IcicleConfig:
    """How to call a pool. shards: those of the servers, if the URL declares them."""

    request: Request
    accesses: tuple[Access, ...]
    shards: tuple[int, ...]
    prefetch: int

    @property
    def name(self) -> str:
        """The URL, for messages."""
        return str(self.request.url)

    @property
    def namespace(self) -> str:
        """The namespace, in which no ID repeats."""
        return self.request.namespace

    def servers(self, made: Callable[[Access, str, int | None], ServerT]) -> list[ServerT]:
        """Return each server, made from its access, the namespace, and its declared shard."""
        shards = self.shards or (None,) * len(self.accesses)
        return [
            made(access, self.namespace, shard)
            for access, shard in zip(self.accesses, shards, strict=True)
        ]


class PoolCalls(Life):
    """The life of a generator in one process, with its servers."""

    server_of: type[ServerCalls]

    def __init__(self, config: IcicleConfig) -> None:
        super().__init__(config)
        self._lead_us = config.request.lead_us
        patience_s = config.accesses[0].timeout_s
        named = [(server.name, server) for server in config.servers(self.server_of)]
        self.pool = Pool(named, config.request.timeout_us / 1e6, patience_s, boot_s)

    def clock_offset_s(self) -> float | None:
        boot_us = wall_us() - boot_ns() // 1000
        known = [each.server.apart_us for each in self.pool.standings]
        apart_us = [boot_us - one for one in known if one is not None]
        return max(apart_us, key=abs) / 1e6 if apart_us else None

    def ids(self, count: int, within_s: float = inf) -> Steps[list[int]]:
        spans = yield from self.spans(count, within_s)
        return list(chain.from_iterable(range(first, first + n) for first, n in spans))

    def array(self, count: int) -> "Steps[NDArray[Any]]":
        arrays = load("frazil.schemes.arrays")
        row: NDArray[Any] = arrays.filled((yield from self.spans(count)), count)
        return row

    def spans(self, count: int, within_s: float = inf) -> Steps[list[tuple[int, int]]]:
        """Get ``count`` IDs as spans: the first ID and how many."""
        attempts = self.pool.attempts(within_s)
        if not self.pool.checked:
            yield from self._compare(min(self.pool.timeout_s, within_s))
        spans: list[tuple[int, int]] = []
        left = count
        while left:
            self.check()
            step = attempts.step()
            if not isinstance(step, Asking):
                yield step
                continue
            server, wanted = step.standing.server, min(left, MOST_IDS)
            try:
                given = yield from server.issuing(wanted, self._lead_us, step.within_s)
            except FrazilError as error:
                attempts.failed(step.standing, error)
                continue
            attempts.given(step.standing, given)
            spans += given.spans
            got = sum(number for _, number in given.spans)
            left -= got
            self.issued += got
        return spans

    def _compare(self, within_s: float) -> Steps[None]:
        """Read the shard of each server before any is used. Raises ConfigError for a duplicate.

        Each server has a share of the call's time, and one share remains for the call itself.
        """
        pool = self.pool
        shards = yield [self._shard(each, within_s) for each in pool.standings]
        for standing, shard in zip(pool.standings, shards, strict=True):
            standing.shard = shard
        pool.compare()

    def _shard(self, standing: ServerHealth[ServerCalls], within_s: float) -> Steps[int | None]:
        """Return the shard of a server. A server that fails is compared at its first answer."""
        try:
            share_s = within_s / (len(self.pool.standings) + 1)
            return (yield from standing.server.looking(share_s)).shard
        except FrazilError as error:
            self.pool.fail(standing, error)
            return standing.shard
