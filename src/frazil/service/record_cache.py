"""A cached view of a namespace's record, for the console and for monitoring.

Every console page that shows claims requests them each second. One read of the registry answers all
requests of half a second. Reads run one at a time, in a thread and on a connection of their own, so
no generator waits for them.
"""

import asyncio

from frazil.claims.claim import Snapshot
from frazil.errors import RegistryUnavailable
from frazil.generator.local import registry_of
from frazil.service.settings import Namespace
from frazil.service.side_threads import SideThreads
from frazil.system.clock import boot_ns

__all__ = ["RecordCache"]

_FRESH_NS = 500_000_000
_TIMEOUT_S = 3.0


class RecordCache:
    """The record of one namespace. Connects at the first read."""

    def __init__(self, namespace: Namespace) -> None:
        self._registry = registry_of(namespace.request())
        self._threads = SideThreads(f"claims-{namespace.name}")
        self._reading: asyncio.Task[Snapshot | None] | None = None
        self._began_ns = 0

    async def read(self) -> Snapshot | None:
        """Return the contents of the record, or None if there is none. Raises registry errors."""
        task = self._reading
        if task is None or (task.done() and boot_ns() - self._began_ns > _FRESH_NS):
            self._began_ns = boot_ns()
            task = self._reading = asyncio.create_task(self._threads.call(self._registry.look))
        # The read continues if the caller is cancelled: a registry serves one thread at a time.
        done, _ = await asyncio.wait([task], timeout=_TIMEOUT_S)
        if not done:
            raise RegistryUnavailable(f"the registry did not answer within {_TIMEOUT_S:g} s; retry")
        return task.result()
