"""What users of ``icicle://`` hold: each ID, or batch of IDs, is asked of a server of the pool.

With ``?prefetch=N`` single IDs come out of a buffer of up to N (see ``prefetch``).
"""

from typing import TYPE_CHECKING

from frazil.inputs.arguments import check_count
from frazil.remote.base import Served
from frazil.remote.icicle.calls import IcicleConfig, PoolCalls
from frazil.remote.icicle.server import IcicleServer
from frazil.system.steps import run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["IcicleConfig", "IcicleGenerator"]


class _Life(PoolCalls):
    """What one process has of a generator for threads."""

    def hang_up(self) -> None:
        """See Life."""
        for standing in self.pool.standings:
            standing.server.link.drop()


class IcicleGenerator(Served[_Life]):
    """Unique IDs of a pool of servers: call it, or take many. Made by ``frazil.open``.

    Threads may share it. ``scheme`` reads and writes its IDs; ``config`` is what it was opened
    with. Every method that answers IDs raises RegistryUnavailable or PoolExhausted, with every
    server's reason, when nothing could be had in time, and ConfigError for what waiting does not
    change.
    """

    _config: IcicleConfig

    def __init__(self, config: IcicleConfig) -> None:
        super().__init__(config)
        self._alive()

    def array(self, n: int) -> "NDArray[np.uint64]":
        """The next ``n`` IDs as a numpy array of uint64; ConfigError where numpy is missing."""
        from frazil.schemes.arrays import filled

        count = check_count(n)
        return self._own(lambda life: filled(run(life.spans(count)), count))

    def _begin(self) -> _Life:
        return _Life(self._config, [*self._config.servers(IcicleServer)])
