"""``icicle://`` for asyncio: the same pool and the same script, awaited.

Here a call is a round trip, so it has to be awaited where a claim's generator only computes. What
to ask, of whom, and what it means is decided in ``pool`` and ``server``; this file only waits.
There is no prefetch: ``await ids.take(n)`` and hand them out.
"""

import asyncio
from contextlib import suppress
from typing import Any

from frazil.errors import ConfigError, FrazilError
from frazil.inputs.arguments import check_count
from frazil.redis_link.async_link import AsyncLink
from frazil.redis_link.link import Access
from frazil.remote.base import AsyncServed, Life
from frazil.remote.icicle.generator import IcicleConfig
from frazil.remote.icicle.pool import Asking, Pool
from frazil.remote.icicle.script import icicle_script
from frazil.remote.icicle.server import MOST_IDS, Issued, arguments, issued, key_of, refusal, state
from frazil.schemes.scheme import Scheme

__all__ = ["AsyncIcicle"]


class _AsyncIcicleLink(AsyncLink):
    """A link that knows the script's own refusals."""

    def _explained(self, error: Exception, *, sent: bool) -> FrazilError:
        told = refusal(error, self.access.name)
        return told or super()._explained(error, sent=sent)


class _AsyncServer:
    """A server that issues IDs of one namespace (see ``IcicleServer``)."""

    def __init__(self, access: Access, namespace: str, shard: int | None) -> None:
        self.shard = shard
        self.link = _AsyncIcicleLink(access, icicle_script())
        self._key = key_of(namespace)
        self._seen_us = 0

    async def issue(self, count: int, lead_us: int, within_s: float) -> Issued:
        answer = await self._call(
            "issue", within_s, count=count, lead_us=lead_us, shard=self.shard, seen_us=self._seen_us
        )
        given = issued(answer, count)
        if given is None:
            raise self.link.wrong_reply()
        self._seen_us = max(self._seen_us, given.top_us)
        return given

    async def look(self, within_s: float) -> int | None:
        """Its shard."""
        found = state(await self._call("look", within_s))
        if found is None:
            raise self.link.wrong_reply()
        return found.shard

    async def _call(self, verb: str, within_s: float, **about: Any) -> list[str]:
        asked = arguments(verb, replicas=self.link.access.replicas, **about)
        return await self.link.ask(self._key, asked, ["incarnation", *asked[1:]], within_s)


class _Life(Life):
    """What one process has of a generator."""

    def __init__(self, config: IcicleConfig) -> None:
        super().__init__()
        self.pool = config.pool(_AsyncServer)


class AsyncIcicle(AsyncServed[_Life]):
    """Unique IDs of a pool of servers, by ``await``. Made by ``frazil.aio.open``.

    Tasks may share it. The errors are those of ``IcicleGenerator``.
    """

    def __init__(self, config: IcicleConfig) -> None:
        super().__init__()
        if config.prefetch:
            raise ConfigError("?prefetch= is for threads; here, await ids.take(n)", url=config.name)
        self.config = config
        self.scheme: Scheme = config.request.scheme
        self._alive()

    async def __call__(self) -> int:
        """The next ID."""
        return (await self.take(1))[0]

    async def take(self, n: int) -> list[int]:
        """The next ``n`` IDs. Of each server they are in order."""
        count = check_count(n)

        async def gather(life: _Life) -> list[int]:
            spans = await self._spans(life, count)
            return [first + i for first, number in spans for i in range(number)]

        return await self._own(gather)

    async def aclose(self) -> None:
        """Ask for nothing more, and hang up."""
        life = self._end()
        if life is not None:
            for standing in life.pool.standings:
                await standing.server.link.hang_up(wait=True)

    def _begin(self) -> _Life:
        return _Life(self.config)

    async def _spans(self, life: _Life, count: int) -> list[tuple[int, int]]:
        """``count`` IDs as spans: the first ID and how many."""
        pool = life.pool
        turn = pool.turn()
        if not pool.checked:
            await _compare(pool)
        spans: list[tuple[int, int]] = []
        left = count
        while left:
            life.check()
            step = turn.step()
            if not isinstance(step, Asking):
                await asyncio.sleep(step.seconds)
                continue
            wanted = min(left, MOST_IDS)
            server = step.standing.server
            try:
                given = await server.issue(wanted, self.config.request.lead_us, step.within_s)
            except FrazilError as error:
                turn.failed(step.standing, error)
                continue
            turn.given(step.standing, given)
            spans += given.spans
            left -= sum(number for _, number in given.spans)
        return spans


async def _compare(pool: Pool[_AsyncServer]) -> None:
    """Look which shard each server has, all at once; ConfigError for one given twice.

    That may take half of the call's time.
    """

    async def look(server: _AsyncServer) -> int | None:
        with suppress(FrazilError):
            return await server.look(pool.timeout_s / 2)
        return None

    shards = await asyncio.gather(*(look(each.server) for each in pool.standings))
    for standing, shard in zip(pool.standings, shards, strict=True):
        pool.note(standing, shard)
    pool.checked = True
