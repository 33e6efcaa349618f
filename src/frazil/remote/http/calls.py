"""A call on a service, without I/O: requests, retries, and the meaning of replies.

There is no claim to give back: a process that dies or forks loses only the IDs that it requested.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

from frazil.errors import ConfigError, FrazilError
from frazil.remote.base import Life
from frazil.remote.http import wire_ids
from frazil.remote.http.attempts import AttemptLoop
from frazil.remote.http.config import NONCE, ServiceConfig
from frazil.remote.http.reply import Gathered, in_words
from frazil.system.clock import boot_s
from frazil.system.imports import load
from frazil.system.steps import Steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["STEP", "ServiceCalls", "the_driver"]

STEP = 100_000
"""The most IDs in one request. They are skipped together if the reply is lost."""


def the_driver() -> Any:
    """Return httpx. Raises ConfigError if it is not installed."""
    try:
        import httpx
    except ImportError:
        raise ConfigError('a service is asked with httpx: pip install "frazil[http]"') from None
    return httpx


class ServiceCalls(Life):
    """The life of a generator in one process."""

    attempt: Callable[[int, float], Any]
    """Request a number of IDs within a number of seconds; return them packed."""

    def __init__(self, config: ServiceConfig) -> None:
        super().__init__(config.prefetch)
        self.config = config
        self.closed = False

    def ids(self, count: int) -> Steps[list[int]]:
        """See Life."""
        bodies = yield from self.bodies(count)
        return [n for body in bodies for n in wire_ids.ints(body, self.config.width)]

    def array(self, count: int) -> "Steps[NDArray[Any]]":
        """See Life."""
        arrays = load("frazil.schemes.arrays")
        body = b"".join((yield from self.bodies(count)))
        words = wire_ids.words(body, self.config.width)
        row: NDArray[Any] = words.view(arrays.WIDE) if self.config.width > 8 else words
        return row.reshape(-1)

    def bodies(self, count: int) -> Steps[list[bytes]]:
        """Get ``count`` packed IDs, in steps."""
        bodies: list[bytes] = []
        for done in range(0, count, STEP):
            bodies += [(yield from self._asked(min(count - done, STEP)))]
        return bodies

    def in_words(self, patience_s: float) -> AbstractContextManager[None]:
        """Return the context of an attempt, which translates its errors."""
        return in_words(self.config, patience_s, lambda: self.closed)

    def gathered(self, n: int, headers: Mapping[str, str], reply: Any) -> Gathered:
        """Return the reader of the reply to a request with these headers."""
        return Gathered(self.config, n, headers[NONCE], reply.status_code, reply.headers)

    def _asked(self, n: int) -> Steps[bytes]:
        """Get ``n`` packed IDs, with retries."""
        attempts = AttemptLoop(self.config.name, self.config.request.timeout_us, boot_s)
        while True:
            self.check()
            try:
                body: bytes = yield partial(self.attempt, n, attempts.patience_s())
            except FrazilError as error:
                pause_s = attempts.failed(error)
            else:
                return body
            yield pause_s
