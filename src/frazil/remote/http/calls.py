"""A call on a service, whichever way it waits: what it asks, how often, and what a reply means.

There is no claim, so there is nothing to give back, and a process that dies or forks loses nothing
but what it had asked for. What belongs to one process, connections and a buffer of prefetched IDs,
is one ``ServiceCalls``; a child finds its parent's unusable (see ``process``) and begins its own. A
reply that came to two processes, since a fork happened while it was under way, is the parent's.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from frazil.errors import ConfigError, FrazilError
from frazil.remote.base import Life
from frazil.remote.http import wire_ids
from frazil.remote.http.attempts import AttemptLoop
from frazil.remote.http.config import NONCE, ServiceConfig
from frazil.remote.http.reply import Gathered, in_words
from frazil.system.clock import boot_s
from frazil.system.steps import Steps

__all__ = ["STEP", "ServiceCalls", "the_driver"]

STEP = 100_000
"""IDs asked for at once: enough for speed, and lost together when their reply is."""


def the_driver() -> Any:
    """httpx; ConfigError where it is not installed."""
    try:
        import httpx
    except ImportError:
        raise ConfigError('a service is asked with httpx: pip install "frazil[http]"') from None
    return httpx


class ServiceCalls(Life):
    """What one process has of a generator."""

    attempt: Callable[[int, float], Any]
    """So many IDs, packed, of one request that may take so long."""

    def __init__(self, config: ServiceConfig) -> None:
        super().__init__(config.prefetch)
        self.config = config
        self.closed = False

    def ids(self, count: int) -> Steps[list[int]]:
        """See Life."""
        bodies = yield from self.bodies(count)
        return [n for body in bodies for n in wire_ids.ints(body, self.config.width)]

    def bodies(self, count: int) -> Steps[list[bytes]]:
        """``count`` IDs, packed, in steps."""
        bodies: list[bytes] = []
        for done in range(0, count, STEP):
            bodies += [(yield from self._asked(min(count - done, STEP)))]
        return bodies

    def in_words(self, patience_s: float) -> AbstractContextManager[None]:
        """Around an attempt."""
        return in_words(self.config, patience_s, lambda: self.closed)

    def gathered(self, n: int, headers: Mapping[str, str], reply: Any) -> Gathered:
        """The reply to a request with these headers, as it comes in."""
        return Gathered(self.config, n, headers[NONCE], reply.status_code, reply.headers)

    def _asked(self, n: int) -> Steps[bytes]:
        """``n`` IDs, packed: asks until it has them, or there is no use in it."""
        turn = AttemptLoop(self.config.name, self.config.request.timeout_us, boot_s)
        while True:
            self.check()
            try:
                body: bytes = yield partial(self.attempt, n, turn.patience_s())
            except FrazilError as error:
                pause_s = turn.failed(error)
            else:
                return body
            yield pause_s
