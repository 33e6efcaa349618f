"""The generator of ``icicle://`` for threads: servers of a pool make each ID, or batch of IDs.

With ``?prefetch=N``, single IDs come from a buffer of up to N (see ``prefetch``).
"""

from frazil.remote.base import Served
from frazil.remote.icicle.calls import PoolCalls
from frazil.remote.icicle.server import IcicleServer


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
