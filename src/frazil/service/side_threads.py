"""Work aside of the loop, in threads that nobody else can fill.

asyncio has one pool of threads for everybody, and whoever fills it stops all others: sixty searches
of long texts, and the look at a registry that decides on ``/readyz`` waits behind them until it
counts as no answer. So each kind of work has threads of its own, and as many callers may wait for
them as it says; one more is told to ask later, since a queue without an end only makes all late.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import ParamSpec, TypeVar

__all__ = ["Aside", "BusyError"]

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


class BusyError(Exception):
    """As many callers wait as may."""


class Aside:
    """``threads`` of its own, and room for so many more calls that wait for one of them."""

    def __init__(self, name: str, threads: int = 1, waiting: int = 0) -> None:
        self._pool = ThreadPoolExecutor(threads, f"frazil-{name}")
        self._room: SimpleQueue[None] = SimpleQueue()
        for _ in range(threads + waiting):
            self._room.put(None)

    async def call(
        self, function: Callable[Asked, Answer], *args: Asked.args, **options: Asked.kwargs
    ) -> Answer:
        """What the function returns or raises; BusyError if there is no room.

        It goes on, and takes its room, if its caller is cancelled.
        """
        try:
            self._room.get_nowait()
        except Empty:
            raise BusyError from None
        future = self._pool.submit(function, *args, **options)
        future.add_done_callback(self._leave)
        return await asyncio.wrap_future(future)

    def _leave(self, _: "Future[Answer]") -> None:
        self._room.put(None)
