"""The generator of ``icicle://`` for asyncio: the same calls, awaited.

A call is a round trip, so even a single ID is awaited. There is no prefetch; use
``await ids.take(n)``.
"""

from frazil.redis_link.async_link import AsyncLink
from frazil.remote.base import AsyncServed
from frazil.remote.icicle.calls import PoolCalls
from frazil.remote.icicle.server import ServerCalls


class _Server(ServerCalls):
    link_of = AsyncLink


class _Life(PoolCalls):
    server_of = _Server

    async def hang_up(self) -> None:
        for standing in self.pool.standings:
            await standing.server.link.drop(wait=True)


class AsyncIcicle(AsyncServed[_Life]):
    """Unique IDs of a pool of servers, by ``await``. Made by ``frazil.aio.open``.

    Tasks may share it. The errors are those of ``IcicleGenerator``.
    """

    _life_of = _Life
