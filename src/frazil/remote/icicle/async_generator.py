"""``icicle://`` for asyncio: the same calls, awaited.

Here a call is a round trip, so it has to be awaited where a claim's generator only computes. There
is no prefetch: ``await ids.take(n)`` and hand them out.
"""

from frazil.redis_link.access import Access
from frazil.redis_link.async_link import AsyncLink
from frazil.remote.base import AsyncServed
from frazil.remote.icicle.calls import IcicleConfig, PoolCalls
from frazil.remote.icicle.script import icicle_script
from frazil.remote.icicle.server import ServerCalls, refusal

__all__ = ["AsyncIcicle"]


class _Life(PoolCalls):
    """What one process has of a generator for tasks."""

    async def hang_up(self) -> None:
        """See Life."""
        for standing in self.pool.standings:
            await standing.server.link.drop(wait=True)


class AsyncIcicle(AsyncServed[_Life]):
    """Unique IDs of a pool of servers, by ``await``. Made by ``frazil.aio.open``.

    Tasks may share it. The errors are those of ``IcicleGenerator``.
    """

    _config: IcicleConfig

    def __init__(self, config: IcicleConfig) -> None:
        super().__init__(config)
        self._alive()

    def _begin(self) -> _Life:
        return _Life(self._config, self._config.servers(_server))


def _server(access: Access, namespace: str, shard: int | None) -> ServerCalls:
    return ServerCalls(AsyncLink(access, icicle_script(), refusal), namespace, shard)
