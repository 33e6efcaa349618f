"""Threads for blocking work, apart from the thread pool of asyncio.

All callers share the default pool of asyncio. If sixty long searches fill it, the registry read for
``/readyz`` waits behind them until it times out. So each kind of work has threads of its own and a
bounded queue. A call that exceeds the queue fails at once: an unbounded queue would delay all.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import ParamSpec, TypeVar

__all__ = ["BusyError", "SideThreads"]

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


class BusyError(Exception):
    """The queue is full."""


class SideThreads:
    """A pool of ``threads`` threads with a queue of at most ``waiting`` calls."""

    def __init__(self, name: str, threads: int = 1, waiting: int = 0) -> None:
        self._pool = ThreadPoolExecutor(threads, f"frazil-{name}")
        self._room: SimpleQueue[None] = SimpleQueue()
        for _ in range(threads + waiting):
            self._room.put(None)

    async def call(
        self, function: Callable[Asked, Answer], *args: Asked.args, **options: Asked.kwargs
    ) -> Answer:
        """Return or raise what the function does. Raises BusyError if the queue is full.

        If the caller is cancelled, the function continues and keeps its place.
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
