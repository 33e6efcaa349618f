"""Looking at a registry for those who watch it, so that many who watch cost what one costs.

A page that shows claims live asks every second, and there may be a dozen such pages. A look is one
read of the store; it happens in a thread, on a connection of its own that no generator waits for,
one at a time, and its answer serves everybody who asks within half a second.
"""

import asyncio

from frazil.claims.claim import Snapshot
from frazil.errors import RegistryUnavailable
from frazil.generator.local import registry_of
from frazil.service.settings import Namespace
from frazil.service.side_threads import Aside
from frazil.system.clock import boot_ns

__all__ = ["Lookout"]

_FRESH_NS = 500_000_000
_PATIENCE_S = 3.0


class Lookout:
    """Sees the record of one namespace. Nothing is contacted before it is asked."""

    def __init__(self, namespace: Namespace) -> None:
        self._registry = registry_of(namespace.request())
        self._aside = Aside(f"claims-{namespace.name}")
        self._looking: asyncio.Task[Snapshot | None] | None = None
        self._began_ns = 0

    async def look(self) -> Snapshot | None:
        """What the record holds; None if there is none yet. Raises what the registry raises."""
        task = self._looking
        if task is None or (task.done() and boot_ns() - self._began_ns > _FRESH_NS):
            self._began_ns = boot_ns()
            task = self._looking = asyncio.create_task(self._aside.call(self._registry.look))
        # Who asks may go away meanwhile. The look goes on: a registry serves one thread at a time.
        done, _ = await asyncio.wait([task], timeout=_PATIENCE_S)
        if not done:
            raise RegistryUnavailable(
                f"the registry did not answer within {_PATIENCE_S:g} s; it is asked again"
            )
        return task.result()
