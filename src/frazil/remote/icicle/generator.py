"""What users of ``icicle://`` hold: each ID, or batch of IDs, is asked of a server of the pool.

There is no claim, so there is nothing to give back, and a process that dies or forks loses nothing.
What belongs to one process, connections and a buffer of prefetched IDs, is one ``_Life``; a child
finds its parent's unusable (see ``machine``) and begins its own.

With ``?prefetch=N`` single IDs come out of a buffer of up to N (see ``prefetch``).
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from frazil.errors import ConfigError, FrazilError
from frazil.generator.request import Request
from frazil.inputs.arguments import check_count
from frazil.redis_link.link import Access
from frazil.remote.base import Life, Served
from frazil.remote.icicle.pool import Asking, Pool
from frazil.remote.icicle.server import MOST_IDS, IcicleServer
from frazil.remote.prefetch import Prefetch
from frazil.system.clock import boot_s

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["IcicleConfig", "IcicleGenerator"]

Server = TypeVar("Server")


@dataclass(frozen=True, slots=True)
class IcicleConfig:
    """A request to a pool. shards: of the servers, if declared."""

    request: Request
    accesses: tuple[Access, ...]
    shards: tuple[int, ...]
    prefetch: int

    @property
    def name(self) -> str:
        """The URL, for messages."""
        return str(self.request.url)

    def servers(self, made: Callable[[Access, str, int | None], Server]) -> list[Server]:
        """Each server, made of its access, the namespace, and the shard that it must have."""
        shards = self.shards or (None,) * len(self.accesses)
        return [
            made(access, self.request.namespace, shard)
            for access, shard in zip(self.accesses, shards, strict=True)
        ]

    def pool(self, made: Callable[[Access, str, int | None], Server]) -> Pool[Server]:
        """A pool of these servers, of which none was asked yet."""
        names = [access.name for access in self.accesses]
        servers = list(zip(names, self.servers(made), strict=True))
        patience_s = self.accesses[0].timeout_s
        return Pool(servers, self.request.timeout_us / 1e6, patience_s, boot_s)


class _Life(Life):
    """What one process has of a generator."""

    def __init__(self, config: IcicleConfig) -> None:
        super().__init__()
        self._lead_us = config.request.lead_us
        self.pool = config.pool(IcicleServer)
        self.prefetch = Prefetch(config.prefetch, self.ids)

    def ids(self, count: int) -> Iterator[int]:
        """``count`` IDs, one by one."""
        return chain.from_iterable(range(first, first + n) for first, n in self.spans(count))

    def spans(self, count: int) -> list[tuple[int, int]]:
        """``count`` IDs as spans: the first ID and how many."""
        turn = self.pool.turn()
        if not self.pool.checked:
            _compare(self.pool)
        spans: list[tuple[int, int]] = []
        left = count
        while left:
            self.check()
            step = turn.step()
            if not isinstance(step, Asking):
                time.sleep(step.seconds)
                continue
            wanted = min(left, MOST_IDS)
            server = step.standing.server
            try:
                given = server.issue(wanted, self._lead_us, step.within_s)
            except FrazilError as error:
                turn.failed(step.standing, error)
                continue
            turn.given(step.standing, given)
            spans += given.spans
            left -= sum(number for _, number in given.spans)
        return spans


def _next(life: _Life) -> int | None:
    return life.prefetch.next()


class IcicleGenerator(Served[_Life]):
    """Unique IDs of a pool of servers: call it, iterate, or take many. Made by ``frazil.open``.

    Threads may share it. ``scheme`` reads and writes its IDs; ``config`` is what it was opened
    with. Every method that answers IDs raises RegistryUnavailable or PoolExhausted, with every
    server's reason, when nothing could be had in time, and ConfigError for what waiting does not
    change.
    """

    def __init__(self, config: IcicleConfig) -> None:
        super().__init__()
        self.config = config
        self.scheme = config.request.scheme
        self._prefetch = config.prefetch
        self._alive()

    def __call__(self) -> int:
        """The next ID."""
        if self._prefetch:
            n = self._own(_next)
            if n is not None:
                return n
        return self._own(lambda life: life.spans(1))[0][0]

    def take(self, n: int) -> list[int]:
        """The next ``n`` IDs. Of each server they are in order."""
        count = check_count(n)
        return self._own(lambda life: list(life.ids(count)))

    def array(self, n: int) -> "NDArray[np.uint64]":
        """The next ``n`` IDs as a numpy array of uint64; ConfigError where numpy is missing."""
        try:
            import numpy as np
        except ImportError:
            raise ConfigError('arrays need numpy: pip install "frazil[numpy]"') from None
        count = check_count(n)

        def gather(life: _Life) -> "NDArray[np.uint64]":
            array = np.empty(count, dtype=np.uint64)
            at = 0
            for first, number in life.spans(count):
                array[at : at + number] = np.arange(first, first + number, dtype=np.uint64)
                at += number
            return array

        return self._own(gather)

    def close(self) -> None:
        """Ask for nothing more, and hang up. Twice is no error."""
        life = self._end()
        if life is not None:
            life.prefetch.buffer.clear()
            for standing in life.pool.standings:
                standing.server.link.drop()

    def _begin(self) -> _Life:
        return _Life(self.config)

    def __reduce__(self) -> tuple[Any, ...]:
        return IcicleGenerator, (self.config,)

    def __repr__(self) -> str:
        config = self.config
        return (
            f"<frazil.Icicle {config.request.namespace!r} at {config.name}"
            f"{' closed' if self.closed else ''}>"
        )


def _compare(pool: Pool[IcicleServer]) -> None:
    """Look which shard each server has, before any is used; ConfigError for one given twice.

    Each has its share of the call's time, and so has what the call is about.
    """
    share_s = pool.timeout_s / (len(pool.standings) + 1)
    for standing in pool.standings:
        try:
            shard = standing.server.look(share_s).shard
        except FrazilError:
            pool.fail(standing)  # its shard is compared with the first answer that it gives
        else:
            pool.note(standing, shard)
    pool.checked = True
