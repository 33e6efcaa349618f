"""``http://`` for asyncio: the same requests, awaited.

Here a call is a round trip, so it has to be awaited where a claim's generator only computes. What
to ask, what a reply means and when to ask again is decided in ``config``, ``reply`` and ``turn``;
this file only waits. There is no prefetch: ``await ids.take(n)`` and hand them out.

Connections belong to a process and to a loop, so a new one of either begins with none.
"""

import asyncio
from typing import TYPE_CHECKING

from frazil.errors import ConfigError, FrazilError
from frazil.inputs.arguments import check_count
from frazil.remote.base import AsyncServed, Life
from frazil.remote.http import wire_ids
from frazil.remote.http.attempts import AttemptLoop
from frazil.remote.http.config import NONCE, ServiceConfig
from frazil.remote.http.generator import STEP, the_driver
from frazil.remote.http.reply import Gathered, in_words
from frazil.schemes.scheme import Scheme
from frazil.system.clock import boot_s
from frazil.system.event_loop import the_loop

if TYPE_CHECKING:
    import httpx

__all__ = ["AsyncService"]


class _Life(Life):
    """What one process has, in one loop."""

    def __init__(self, config: ServiceConfig) -> None:
        super().__init__()
        self.loop = the_loop()
        self.closed = False
        self._client: httpx.AsyncClient = the_driver().AsyncClient(timeout=None)
        self._config = config

    def goes_on(self) -> bool:
        """Whether this is still that process, and that loop."""
        return super().goes_on() and self.loop is the_loop()

    async def hang_up(self) -> None:
        """Ask for nothing more."""
        self.closed = True
        await self._client.aclose()

    async def ids(self, count: int) -> list[int]:
        """``count`` IDs."""
        ids: list[int] = []
        for done in range(0, count, STEP):
            ids += wire_ids.ints(await self._asked(min(count - done, STEP)), self._config.width)
        return ids

    async def _asked(self, n: int) -> bytes:
        """``n`` IDs, packed: asks until it has them, or there is no use in it."""
        turn = AttemptLoop(self._config.name, self._config.request.timeout_us, boot_s)
        while True:
            self.check()
            try:
                return await self._attempt(n, turn.patience_s())
            except FrazilError as error:
                await asyncio.sleep(turn.failed(error))

    async def _attempt(self, n: int, patience_s: float) -> bytes:
        url, headers = self._config.asking(n)
        with in_words(self._config, patience_s, lambda: self.closed):
            async with (
                asyncio.timeout(patience_s),
                self._client.stream("POST", url, headers=headers) as reply,
            ):
                gathered = Gathered(
                    self._config, n, headers[NONCE], reply.status_code, reply.headers
                )
                async for part in reply.aiter_raw():
                    gathered.feed(part)
                return gathered.ids()


class AsyncService(AsyncServed[_Life]):
    """Unique IDs of a service, by ``await``. Made by ``frazil.aio.open``.

    Tasks may share it. The errors are those of ``ServiceGenerator``.
    """

    def __init__(self, config: ServiceConfig) -> None:
        super().__init__()
        if config.prefetch:
            raise ConfigError("?prefetch= is for threads; here, await ids.take(n)", url=config.name)
        self.config = config
        self.scheme: Scheme = config.scheme

    async def __call__(self) -> int:
        """The next ID."""
        return (await self.take(1))[0]

    async def take(self, n: int) -> list[int]:
        """The next ``n`` IDs, in order."""
        count = check_count(n)
        return await self._own(lambda life: life.ids(count))

    async def aclose(self) -> None:
        """Ask for nothing more, and hang up. Twice is no error."""
        life = self._end()
        if life is not None:
            await life.hang_up()

    def _begin(self) -> _Life:
        return _Life(self.config)
