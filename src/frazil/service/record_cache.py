"""Reads the record of a namespace for ``/readyz`` and the claims table.

Each read of the registry answers all requests of half a second. Reads run one at a time, in a
thread and on a connection of their own, so no generator waits for them.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from frazil.claims.claim import Snapshot
from frazil.errors import FrazilError, RegistryUnavailable
from frazil.generator.local import registry_of
from frazil.generator.request import Request
from frazil.system.clock import boot_ns

__all__ = ["Known", "RecordCache"]

_FRESH_NS = 500_000_000
_TIMEOUT_S = 3.0


class Known(NamedTuple):
    """What was read, and when."""

    at_ns: int
    snapshot: Snapshot | None


class RecordCache:
    """The record of one namespace. Connects at the first read.

    last: the last read that was answered; None before.
    """

    def __init__(self, request: Request) -> None:
        self._registry = registry_of(request)
        self.terms = self._registry.terms
        self._thread = ThreadPoolExecutor(1, f"frazil-look-{request.namespace}")
        self._reading: asyncio.Task[Snapshot | FrazilError | None] | None = None
        self._began_ns = 0
        self.last: Known | None = None

    async def read(self) -> Snapshot | None:
        """Return the contents of the record, or None if there is none. Raises registry errors."""
        task = self._reading
        if task is None or (task.done() and boot_ns() - self._began_ns > _FRESH_NS):
            self._began_ns = boot_ns()
            task = self._reading = asyncio.create_task(self._look())
        # The read continues if the caller is cancelled: a registry serves one thread at a time.
        done, _ = await asyncio.wait([task], timeout=_TIMEOUT_S)
        if not done:
            raise RegistryUnavailable(f"the registry did not answer within {_TIMEOUT_S:g} s; retry")
        found = task.result()
        if isinstance(found, FrazilError):
            raise found.again()
        return found

    async def _look(self) -> Snapshot | FrazilError | None:
        """Return the error instead of raising it, since no caller may be waiting for it."""
        try:
            found = await asyncio.get_running_loop().run_in_executor(
                self._thread, self._registry.look
            )
        except FrazilError as error:
            return error
        self.last = Known(boot_ns(), found)
        return found
