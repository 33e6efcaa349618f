"""``http://`` for asyncio: the same requests, awaited.

Here a call is a round trip, so it has to be awaited where a claim's generator only computes. What
to ask, what a reply means and when to ask again is decided in ``config``, ``reply`` and ``turn``;
this file only waits. There is no prefetch: ``await ids.take(n)`` and hand them out.

Connections belong to a process and to a loop, so a new one of either begins with none.
"""

import asyncio
from typing import TYPE_CHECKING

from frazil.client import packed
from frazil.client.config import ServiceConfig
from frazil.client.generator import STEP, the_driver
from frazil.client.reply import Gathered, explained
from frazil.client.turn import Turn
from frazil.clock import boot_s
from frazil.errors import Closed, ConfigError, FrazilError, RegistryUnavailable
from frazil.generator import check_count
from frazil.issuing import AsyncIssuing
from frazil.machine import Sense
from frazil.schemes import Scheme

if TYPE_CHECKING:
    import httpx

__all__ = ["AsyncService"]


class _Life:
    """What one process has, in one loop."""

    def __init__(self) -> None:
        self.sense = Sense()
        self.loop = asyncio.get_running_loop()
        self.client: httpx.AsyncClient = the_driver().AsyncClient(timeout=None)

    def goes_on(self) -> bool:
        """Whether this is still that process, and that loop."""
        return self.sense.intact() and self.loop is asyncio.get_running_loop()


class AsyncService(AsyncIssuing):
    """Unique IDs of a service, by ``await``. Made by ``frazil.aio.open``.

    Tasks may share it. The errors are those of ``ServiceGenerator``.
    """

    def __init__(self, config: ServiceConfig) -> None:
        if config.prefetch:
            raise ConfigError("?prefetch= is for threads; here, await ids.take(n)", url=config.name)
        self.config = config
        self.scheme: Scheme = config.scheme
        self.closed = False
        self._life: _Life | None = None

    async def __call__(self) -> int:
        """The next ID."""
        return (await self.take(1))[0]

    async def take(self, n: int) -> list[int]:
        """The next ``n`` IDs, in order."""
        ids: list[int] = []
        for done in range(0, check_count(n), STEP):
            ids += packed.ints(await self._asked(min(n - done, STEP)), self.config.width)
        return ids

    async def aclose(self) -> None:
        """Ask for nothing more, and hang up."""
        self.closed = True
        if self._life is not None and self._life.goes_on():
            await self._life.client.aclose()

    async def _asked(self, n: int) -> bytes:
        """``n`` IDs, packed: asks until it has them, or there is no use in it."""
        turn = Turn(self.config.name, self.config.timeout_us, boot_s)
        while True:
            life = self._alive()
            try:
                body = await self._attempt(life.client, n, turn.patience_s())
            except FrazilError as error:
                await asyncio.sleep(turn.failed(error))
                continue
            if life.goes_on():
                return body

    async def _attempt(self, client: "httpx.AsyncClient", n: int, patience_s: float) -> bytes:
        httpx = the_driver()
        url, headers = self.config.asking(n)
        try:
            async with (
                asyncio.timeout(patience_s),
                client.stream("POST", url, headers=headers) as reply,
            ):
                gathered = Gathered(self.config, n, reply.status_code, reply.headers)
                async for part in reply.aiter_raw():
                    gathered.feed(part)
                return gathered.ids()
        except TimeoutError:
            raise RegistryUnavailable(
                f"{self.config.name}: no whole reply within {patience_s:.1f} s",
                outcome_known=False,
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise explained(self.config, error) from None
        except RuntimeError:
            if self.closed:  # by another task, while this one was asking
                raise Closed("this generator was closed; open another") from None
            raise

    def _alive(self) -> _Life:
        """What this process has in this loop; raises Closed."""
        if self.closed:
            raise Closed("this generator was closed; open another")
        if self._life is None or not self._life.goes_on():
            self._life = _Life()
        return self._life
