"""Asyncio tasks that share one generator, beside a heart that must go on beating."""

import asyncio

import work

from frazil import aio

order = work.order()
id_log = work.IdLog(order, "tasks")
beats = 0


async def heart() -> None:
    global beats  # noqa: PLW0603
    while True:
        await asyncio.sleep(0.005)
        beats += 1


async def issue(ids: aio.AsyncGenerator) -> None:
    got = [await ids() for _ in range(order.n // 2)]
    got += await ids.take(order.n // 2)
    id_log.put(got)


async def main() -> None:
    beating = asyncio.create_task(heart())
    async with aio.open(order.url, order.scheme, lead=0, timeout="30s") as ids:
        waiting = [asyncio.create_task(issue(ids)) for _ in range(order.tasks)]
        hasty = [asyncio.create_task(ids.take(order.n)) for _ in range(20)]
        await asyncio.sleep(0.05)
        for task in hasty:
            task.cancel()
        ended = await asyncio.gather(*hasty, return_exceptions=True)
        await ids()
        first = beats
        await asyncio.gather(*waiting)
        work.tell(
            cancelled=sum(isinstance(e, asyncio.CancelledError) for e in ended),
            beats_before_the_first=first,
            beats=beats,
        )
    beating.cancel()


asyncio.run(main())
