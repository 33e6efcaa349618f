"""What users of ``icicle://`` hold: each ID, or batch of IDs, is asked of a server of the pool.

There is no claim, so there is nothing to give back, and a process that dies or forks loses nothing.
What belongs to one process, connections and a buffer of prefetched IDs, is one ``_Life``; a child
finds its parent's unusable (see ``machine``) and begins its own.

With ``?prefetch=N`` single IDs come out of a buffer of up to N (see ``prefetch``).
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from frazil.clock import boot_s
from frazil.errors import Closed, ConfigError, FrazilError
from frazil.generator import check_count
from frazil.icicle.pool import Asking, Pool
from frazil.icicle.server import MOST_IDS, IcicleServer
from frazil.issuing import Issuing
from frazil.machine import Sense
from frazil.prefetch import Prefetch
from frazil.registries.redis.link import Access
from frazil.schemes import Scheme

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["IcicleConfig", "IcicleGenerator"]

Server = TypeVar("Server")


@dataclass(frozen=True, slots=True)
class IcicleConfig:
    """All that ``open`` was told. shards: of the servers, if declared. ``name`` has no password."""

    url: str = field(repr=False)
    name: str
    namespace: str
    scheme: Scheme
    accesses: tuple[Access, ...]
    shards: tuple[int, ...]
    lead_us: int
    timeout_us: int
    prefetch: int

    def servers(self, made: Callable[[Access, str, int | None], Server]) -> list[Server]:
        """Each server, made of its access, the namespace, and the shard that it must have."""
        shards = self.shards or (None,) * len(self.accesses)
        return [
            made(access, self.namespace, shard)
            for access, shard in zip(self.accesses, shards, strict=True)
        ]

    def pool(self, made: Callable[[Access, str, int | None], Server]) -> Pool[Server]:
        """A pool of these servers, of which none was asked yet."""
        names = [access.name for access in self.accesses]
        servers = list(zip(names, self.servers(made), strict=True))
        patience_s = self.accesses[0].timeout_s
        return Pool(servers, self.timeout_us / 1e6, patience_s, boot_s)


class _Life:
    """What one process has of a generator."""

    def __init__(self, config: IcicleConfig) -> None:
        self.sense = Sense()
        self.pool = config.pool(IcicleServer)
        self.prefetch = Prefetch(config.prefetch)


class IcicleGenerator(Issuing):
    """Unique IDs of a pool of servers: call it, iterate, or take many. Made by ``frazil.open``.

    Threads may share it. ``scheme`` reads and writes its IDs; ``config`` is what it was opened
    with. Every method that answers IDs raises RegistryUnavailable or PoolExhausted, with every
    server's reason, when nothing could be had in time, and ConfigError for what waiting does not
    change.
    """

    def __init__(self, config: IcicleConfig) -> None:
        self.config = config
        self.scheme = config.scheme
        self.closed = False
        self._life = _Life(config)
        self._prefetch = config.prefetch

    def __call__(self) -> int:
        """The next ID."""
        if not self._prefetch:
            return self._spans(1)[0][0]
        life = self._life
        try:
            n = life.prefetch.buffer.popleft()
        except IndexError:
            return self._first()
        if not life.sense.intact() or self.closed:
            return self._first()
        life.prefetch.top_up(self._ids)
        return n

    def take(self, n: int) -> list[int]:
        """The next ``n`` IDs. Of each server they are in order."""
        life = self._alive()
        ids: list[int] = []
        for first, number in self._spans(check_count(n)):
            ids += range(first, first + number)
        return ids if life.sense.intact() else self.take(n)

    def array(self, n: int) -> "NDArray[np.uint64]":
        """The next ``n`` IDs as a numpy array of uint64; ConfigError where numpy is missing."""
        try:
            import numpy as np
        except ImportError:
            raise ConfigError('arrays need numpy: pip install "frazil[numpy]"') from None
        life = self._alive()
        array = np.empty(check_count(n), dtype=np.uint64)
        at = 0
        for first, number in self._spans(n):
            array[at : at + number] = np.arange(first, first + number, dtype=np.uint64)
            at += number
        return array if life.sense.intact() else self.array(n)

    def close(self) -> None:
        """Ask for nothing more, and hang up. Twice is no error."""
        self.closed = True
        if self._life.sense.intact():
            self._life.prefetch.buffer.clear()
            for standing in self._life.pool.standings:
                standing.server.link.drop()

    def _spans(self, count: int) -> list[tuple[int, int]]:
        """``count`` IDs as spans: the first ID and how many."""
        life = self._alive()
        pool = life.pool
        if not pool.checked:
            _compare(pool)
        turn = pool.turn()
        spans: list[tuple[int, int]] = []
        left = count
        while left:
            step = turn.step()
            if not isinstance(step, Asking):
                time.sleep(step.seconds)
                continue
            wanted = min(left, MOST_IDS)
            server = step.standing.server
            try:
                given = server.issue(wanted, self.config.lead_us, step.within_s)
            except FrazilError as error:
                turn.failed(step.standing, error)
                continue
            turn.given(step.standing, given)
            spans += given.spans
            left -= sum(number for _, number in given.spans)
        if not life.sense.intact():  # a fork while it waited: these are the parent's
            return self._spans(count)
        return spans

    def _alive(self) -> _Life:
        """What this process has; raises Closed."""
        if self.closed:
            raise Closed("this generator was closed; open another")
        if not self._life.sense.intact():
            self._life = _Life(self.config)
        return self._life

    def _first(self) -> int:
        """An ID when the buffer is empty, or somebody else's."""
        life = self._alive()
        n = life.prefetch.first(self._ids)
        return n if n is not None and life.sense.intact() else self._spans(1)[0][0]

    def _ids(self, count: int) -> Iterator[int]:
        """``count`` IDs for the buffer."""
        return chain.from_iterable(range(first, first + n) for first, n in self._spans(count))

    def __reduce__(self) -> tuple[Any, ...]:
        return IcicleGenerator, (self.config,)

    def __repr__(self) -> str:
        config = self.config
        return (
            f"<frazil.Icicle {config.namespace!r} at {config.name}"
            f"{' closed' if self.closed else ''}>"
        )


def _compare(pool: Pool[IcicleServer]) -> None:
    """Look which shard each server has, before any is used; ConfigError for one given twice."""
    deadline_s = pool.clock() + pool.timeout_s
    for standing in pool.standings:
        try:
            shard = standing.server.look(deadline_s - pool.clock()).shard
        except FrazilError:
            pool.fail(standing)  # its shard is compared with the first answer that it gives
        else:
            pool.note(standing, shard)
    pool.checked = True
