"""What users of ``http://`` hold: each ID, or batch of IDs, is asked of a service.

There is no claim, so there is nothing to give back, and a process that dies or forks loses nothing
but what it had asked for. What belongs to one process, connections and a buffer of prefetched IDs
(``?prefetch=N``, see ``prefetch``), is one ``_Life``; a child finds its parent's unusable (see
``machine``) and begins its own. A reply that came to two processes, since a fork happened while it
was under way, is the parent's.
"""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from frazil.client import packed
from frazil.client.config import ServiceConfig
from frazil.client.reply import Gathered, explained
from frazil.client.turn import Turn
from frazil.clock import boot_s
from frazil.errors import Closed, ConfigError, FrazilError, RegistryUnavailable
from frazil.generator import check_count
from frazil.issuing import Issuing
from frazil.machine import Sense
from frazil.prefetch import Prefetch

if TYPE_CHECKING:
    import httpx
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["STEP", "ServiceGenerator", "the_driver"]

STEP = 100_000
"""IDs asked for at once: enough for speed, and lost together when their reply is."""


def the_driver() -> Any:
    """httpx; ConfigError where it is not installed."""
    try:
        import httpx
    except ImportError:
        raise ConfigError('a service is asked with httpx: pip install "frazil[http]"') from None
    return httpx


class _Life:
    """What one process has of a generator."""

    def __init__(self, config: ServiceConfig) -> None:
        self.sense = Sense()
        self.prefetch = Prefetch(config.prefetch)
        self.client: httpx.Client = the_driver().Client(timeout=None)


class ServiceGenerator(Issuing):
    """Unique IDs of a service: call it, iterate, or take many. Made by ``frazil.open``.

    Threads may share it. ``scheme`` reads and writes its IDs; ``config`` is what it was opened
    with. Every method that answers IDs raises RegistryUnavailable or PoolExhausted, with the
    reason of every attempt, when nothing could be had in time, and ConfigError for what waiting
    does not change.
    """

    def __init__(self, config: ServiceConfig) -> None:
        self.config = config
        self.scheme = config.scheme
        self.closed = False
        self._life: _Life | None = None
        self._lives: dict[int, _Life] = {}

    def __call__(self) -> int:
        """The next ID."""
        life = self._life
        if not self.config.prefetch or life is None:
            return self._one()
        try:
            n = life.prefetch.buffer.popleft()
        except IndexError:
            return self._one()
        if not life.sense.intact() or self.closed:
            return self._one()
        life.prefetch.top_up(self._ids)
        return n

    def take(self, n: int) -> list[int]:
        """The next ``n`` IDs, in order."""
        life = self._alive()
        ids = list(self._ids(check_count(n)))
        return ids if life.sense.intact() else self.take(n)

    def array(self, n: int) -> "NDArray[np.uint64]":
        """The next ``n`` IDs as a numpy array of uint64.

        IDs wider than 64 bits come as a structured array with the fields ``hi`` and ``lo``. Raises
        ConfigError where numpy is not installed.
        """
        try:
            import numpy as np
        except ImportError:
            raise ConfigError('arrays need numpy: pip install "frazil[numpy]"') from None
        life = self._alive()
        body = b"".join(self._bodies(check_count(n)))
        if not life.sense.intact():
            return self.array(n)
        rows = packed.words(body, self.config.width)
        if self.scheme.bits <= 64:
            return rows.reshape(-1)
        found: NDArray[Any] = rows.view(np.dtype([("hi", "<u8"), ("lo", "<u8")])).reshape(-1)
        return found

    def close(self) -> None:
        """Ask for nothing more, and hang up. Twice is no error."""
        self.closed = True
        life = self._life
        if life is not None and life.sense.intact():
            life.prefetch.buffer.clear()
            life.client.close()

    def _one(self) -> int:
        """An ID when the buffer is empty, or somebody else's, or not wanted."""
        if self.config.prefetch:
            life = self._alive()
            n = life.prefetch.first(self._ids)
            if n is not None and life.sense.intact():
                return n
        return packed.ints(self._asked(1), self.config.width)[0]

    def _ids(self, count: int) -> Iterator[int]:
        for body in self._bodies(count):
            yield from packed.ints(body, self.config.width)

    def _bodies(self, count: int) -> Iterator[bytes]:
        """``count`` IDs, packed, in steps."""
        for done in range(0, count, STEP):
            yield self._asked(min(count - done, STEP))

    def _asked(self, n: int) -> bytes:
        """``n`` IDs, packed: asks until it has them, or there is no use in it."""
        turn = Turn(self.config.name, self.config.timeout_us, boot_s)
        while True:
            life = self._alive()
            try:
                body = self._attempt(life.client, n, turn.patience_s())
            except FrazilError as error:
                time.sleep(turn.failed(error))
                continue
            if life.sense.intact():
                return body

    def _attempt(self, client: "httpx.Client", n: int, patience_s: float) -> bytes:
        httpx = the_driver()
        url, headers = self.config.asking(n)
        until_s = boot_s() + patience_s
        try:
            with client.stream("POST", url, headers=headers, timeout=patience_s) as reply:
                gathered = Gathered(self.config, n, reply.status_code, reply.headers)
                for part in reply.iter_raw():
                    gathered.feed(part)
                    if boot_s() > until_s:  # each part was in time, and all of them are not
                        raise RegistryUnavailable(
                            f"{self.config.name}: the reply comes too slowly", outcome_known=False
                        )
                return gathered.ids()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise explained(self.config, error) from None
        except RuntimeError:
            if self.closed:  # by another thread, while this one was asking
                raise Closed("this generator was closed; open another") from None
            raise

    def _alive(self) -> _Life:
        """What this process has; raises Closed."""
        if self.closed:
            raise Closed("this generator was closed; open another")
        life = self._life
        if life is None or not life.sense.intact():
            fresh = _Life(self.config)
            # Of several threads, one has made it. A parent's is kept: its connections stay open.
            life = self._life = self._lives.setdefault(fresh.sense.era, fresh)
        return life

    def __del__(self) -> None:
        if not self.__dict__.get("closed", True):
            self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return ServiceGenerator, (self.config,)

    def __repr__(self) -> str:
        config = self.config
        return f"<frazil.Service {config.namespace!r} at {config.base}{' closed' * self.closed}>"
