"""A pool of servers: its URL and the options that it allows, and a call on it, without I/O.

There is no claim to give back: a process that dies or forks loses only the IDs that it requested.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

from frazil.errors import ConfigError, FrazilError
from frazil.generator.request import KEEP_US, OpenRequest
from frazil.inputs.duration import duration_text
from frazil.inputs.url import Options, Url, whole
from frazil.redis_link.access import Access, access_of, shown
from frazil.remote.base import Life
from frazil.remote.icicle.pool import Asking, Pool, ServerHealth
from frazil.remote.icicle.server import LAST_SHARD, MOST_IDS, MOST_LEAD_US, ServerCalls
from frazil.schemes.presets import PRESETS
from frazil.system.clock import boot_ns, boot_s, wall_us
from frazil.system.imports import load
from frazil.system.steps import Steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

ServerT = TypeVar("ServerT")

TIMEOUT_US = 1_000_000


@dataclass(frozen=True, slots=True)
class IcicleConfig:
    """How to call a pool. shards: those of the servers, if the URL declares them."""

    request: OpenRequest
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


def configure_icicle(request: OpenRequest) -> IcicleConfig:
    """Return the configuration for a request. Contacts nothing. Raises ConfigError."""
    url, scheme, namespace = request.url, request.scheme, request.namespace
    request.refuse(
        "icicle: takes no {}=; leave it out, because the servers choose these values",
        sequence_start=request.scattered,
        block=request.block is not None,
        keep=request.keep_us != KEEP_US,
    )
    if str(scheme.layout) != PRESETS["icicle"].layout or scheme.shuffle is not None:
        raise ConfigError(
            f"icicle: issues the scheme 'icicle', {PRESETS['icicle'].layout!r}, and not "
            f"{str(scheme.layout)!r}; use that scheme, or a registry like redis: for this one",
            url=str(url),
        )
    if not namespace or len(namespace) > 200 or not namespace.isprintable() or "}" in namespace:
        raise ConfigError(
            f"namespace {namespace!r} is invalid; use 1 to 200 printable characters without }}"
        )
    if request.lead_us > MOST_LEAD_US:
        raise ConfigError(
            f"lead={duration_text(request.lead_us)} is more than the servers allow, "
            f"{duration_text(MOST_LEAD_US)}",
            value=request.lead_us,
            limit=MOST_LEAD_US,
        )
    options = url.options()
    accesses = _accesses(url, options)
    shards = _shards(options, len(accesses))
    prefetch = options.number("prefetch", MOST_IDS)  # the most of one call
    options.finish()
    return IcicleConfig(request, accesses, shards, prefetch)


def _accesses(url: Url, options: Options) -> tuple[Access, ...]:
    """Return the access to each server; with ?cluster=1 all hosts are one."""
    every = access_of(url, options, TIMEOUT_US)
    if every.cluster:
        return (every,)
    return tuple(replace(every, name=shown(url, host), places=(host,)) for host in every.places)


def _shards(options: Options, servers: int) -> tuple[int, ...]:
    text = options.text("shards")
    if text is None:
        return ()
    words = text.split(",")
    shards = tuple(shard for word in words if (shard := whole(word, LAST_SHARD)) is not None)
    if len(shards) < len(words):
        raise ConfigError(f"?shards={text}: write numbers from 0 to {LAST_SHARD}, like 0,1,2")
    if len(shards) != servers or len(set(shards)) < servers:
        raise ConfigError(f"?shards={text}: {servers} servers need {servers} different shards")
    return shards


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
