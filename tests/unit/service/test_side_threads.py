"""Side threads: a call that exceeds the queue fails at once."""

import asyncio
from threading import Event

import pytest

from frazil.service.side_threads import BusyError, SideThreads


def test_one_more_than_the_queue_holds_fails():
    gate = Event()

    async def crowd():
        aside = SideThreads("test", threads=1, waiting=2)
        calls = [asyncio.ensure_future(aside.call(gate.wait, 30)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(BusyError):
            await aside.call(gate.wait, 30)
        calls[0].cancel()  # its thread goes on, and keeps its room
        await asyncio.sleep(0)
        with pytest.raises(BusyError):
            await aside.call(gate.wait, 30)
        gate.set()
        assert await asyncio.gather(*calls[1:]) == [True, True]
        assert await aside.call(gate.wait, 30)

    asyncio.run(crowd())
