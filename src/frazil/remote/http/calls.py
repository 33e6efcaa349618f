"""A call on a service, without I/O: requests, retries, and the meaning of replies.

There is no claim to give back: a process that dies or forks loses only the IDs that it requested.

A cancelled task or a signal handler that raises an exception leaves a connection in use. So a
connection serves one call at a time, and is closed if the call does not read a whole reply. Those
that no call uses are ``idle``; taking one from a deque and putting one back are atomic.
"""

from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from frazil.errors import FrazilError
from frazil.generator.complaints import closed
from frazil.remote.base import Life
from frazil.remote.http import wire_ids
from frazil.remote.http.attempts import AttemptLoop
from frazil.remote.http.config import NONCE, ServiceConfig
from frazil.remote.http.reply import Gathered
from frazil.system.clock import boot_s
from frazil.system.imports import load
from frazil.system.steps import Steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEP = 100_000
"""The most IDs in one request. They are skipped together if the reply is lost."""

_MOST_IDLE = 20

LineT = TypeVar("LineT")


class ServiceCalls(Life, Generic[LineT]):
    """The life of a generator in one process. idle: the connections that no call uses."""

    attempt: Callable[[int, float], Any]
    """Request a number of IDs within a number of seconds; return them packed."""

    def __init__(self, config: ServiceConfig) -> None:
        super().__init__(config.prefetch, config.name, config.namespace)
        self.config = config
        self.closed = False
        self.idle: deque[LineT] = deque()

    def check(self) -> None:
        super().check()
        if self.closed:
            raise closed()

    def surplus(self) -> LineT | None:
        """Take an idle connection that has to be closed, or None if there is none."""
        with suppress(IndexError):
            if self.closed or len(self.idle) > _MOST_IDLE:
                return self.idle.popleft()
        return None

    def ids(self, count: int) -> Steps[list[int]]:
        bodies = yield from self.bodies(count)
        return [n for body in bodies for n in wire_ids.ints(body, self.config.width)]

    def array(self, count: int) -> "Steps[NDArray[Any]]":
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

    def gathered(self, n: int, headers: Mapping[str, str], status: int, told: Any) -> Gathered:
        """Return the reader of the reply to a request with these headers."""
        return Gathered(self.config, n, headers[NONCE], status, told)

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
                self.issued += n
                return body
            yield pause_s
