"""The generators of ``icicle://``: servers of a pool make each ID, or batch of IDs.

With ``?prefetch=N``, single IDs for threads come from a buffer of up to N (see ``prefetch``).
"""

from frazil.generator.generator import AsyncGenerator, Generator
from frazil.generator.request import OpenRequest
from frazil.redis_link.access import driver
from frazil.redis_link.async_link import AsyncLink
from frazil.remote.base import AsyncServed, Served
from frazil.remote.icicle.calls import PoolCalls, configure_icicle
from frazil.remote.icicle.server import IcicleServer, ServerCalls, icicle_script


class _Life(PoolCalls):
    server_of = IcicleServer

    def hang_up(self) -> None:
        for standing in self.pool.standings:
            standing.server.link.drop()


class IcicleGenerator(Served[_Life]):
    """Unique IDs of a pool of servers: call it, or take many. Made by ``frazil.open``.

    Threads may share it. ``scheme`` reads and writes its IDs; ``config`` holds its settings. A call
    that gets no ID in time raises RegistryUnavailable or PoolExhausted, with the reason of each
    server. An error that a retry does not change is a ConfigError.
    """

    _life_of = _Life


def open_generator(request: OpenRequest) -> Generator:
    """Open a generator. Raises ConfigError; contacts nothing."""
    driver()  # if it is missing, this fails here and not at the first ID
    return IcicleGenerator(configure_icicle(request))


def open_async_generator(request: OpenRequest) -> AsyncGenerator:
    """Open a generator for asyncio."""
    driver()
    icicle_script()  # read here, and not in the event loop
    return AsyncIcicle(configure_icicle(request))


class _AsyncServer(ServerCalls):
    link_of = AsyncLink


class _AsyncLife(PoolCalls):
    server_of = _AsyncServer

    async def hang_up(self) -> None:
        for standing in self.pool.standings:
            await standing.server.link.drop(wait=True)


class AsyncIcicle(AsyncServed[_AsyncLife]):
    """Unique IDs of a pool of servers, by ``await``. Made by ``frazil.aio.open``.

    Tasks may share it. The errors are those of ``IcicleGenerator``.
    """

    _life_of = _AsyncLife
