"""Calls that end in the middle: cancelled, interrupted by a signal handler, or closed."""

import asyncio
import http.client
import random
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import frazil
from frazil import aio
from frazil.errors import Closed
from tests.needs import needs
from tests.tools.proxy import Proxy
from tests.tools.strikes import Struck, raise_struck, strike

needs("aiohttp", "the client of a service")

CONFIG = '[namespaces.a]\nregistry = "memory:"\n'
FDS = Path("/proc/self/fd")
LITTLE = 12  # connections that are kept: fewer than are lost by old drivers
PATIENCE_S = 300.0

counts_fds = pytest.mark.skipif(not FDS.exists(), reason="it counts file descriptors")

FIRST_CALL = """
import asyncio, sys
import frazil, frazil.aio

async def awaited():
    ids = frazil.aio.open(sys.argv[1])
    before = set(sys.modules)
    await ids()
    print(*set(sys.modules) - before)
    await ids.aclose()

def called():
    with frazil.open(sys.argv[1]) as ids:
        before = set(sys.modules)
        ids()
        print(*set(sys.modules) - before)

asyncio.run(awaited()) if sys.argv[2] == "awaited" else called()
"""


@pytest.fixture
def url(service):
    return f"{service.url}/a"


@pytest.fixture
def silent(service):
    with Proxy(int(service.url.rpartition(":")[2])) as wire, wire.losing_replies(silently=True):
        yield f"http://127.0.0.1:{wire.port}/a"


def fds():
    return len(list(FDS.iterdir()))


def completes(work):
    """Return what ``work`` returns in a thread. Fails if it does not end."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive(), "it waits for ever"
    return found[0]


def struck_at(number, do, work):
    """Do ``work``, and ``do`` before an instruction of the driver; whether it got there."""
    try:
        return strike(number, (http.client.__file__,), do, work)
    except Struck:
        return True


def strikes(do, ids):
    """Interrupt calls at each instruction of the driver; return how many there are."""
    number = 1
    while struck_at(number, do, ids):
        ids()
        number += 1
    return number


class TestHandlers:
    # A connection that was just made when the handler raised is closed by the collector.
    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    def test_one_that_raises(self, url):
        ids = frazil.open(url, timeout=60)
        assert completes(lambda: strikes(raise_struck, ids)) > 20
        assert isinstance(completes(ids), int)
        ids.close()


async def settled(before, most):
    """How many descriptors there are more than before, after those that the loop still closes."""
    for _ in range(1000):
        if fds() - before <= most:
            break
        await asyncio.sleep(0.01)
    return fds() - before


@counts_fds
class TestCancelled:
    def test_calls(self, url):
        async def cancelled(ids):
            try:
                await asyncio.wait_for(ids(), random.random() * 0.01)
            except TimeoutError:
                return 1
            return 0

        async def some():
            async with aio.open(url, timeout=60) as ids:
                await ids()
                before, count = fds(), 0
                while count < 300:
                    count += sum(await asyncio.gather(*(cancelled(ids) for _ in range(8))))
                grown = fds() - before
                return grown, await ids()

        grown, n = asyncio.run(some())
        assert grown <= LITTLE
        assert isinstance(n, int)

    def test_tls_handshakes(self):
        async def some():
            async with aio.open(f"https://127.0.0.1:{port}/a", timeout=30) as ids:
                before = fds()
                for _ in range(20):
                    with pytest.raises(TimeoutError):
                        await asyncio.wait_for(ids(), 0.02)
                return await settled(before, LITTLE)

        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            assert asyncio.run(some()) <= LITTLE


class TestClosed:
    def test_during_calls(self, url):
        def called():
            try:
                while True:
                    ids.take(3)
            except Closed:
                return True

        ids = frazil.open(url)
        ended = []
        threads = [
            threading.Thread(target=lambda: ended.append(called()), daemon=True) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        ids.close()
        for thread in threads:
            thread.join(PATIENCE_S)
        assert ended == [True] * 4
        assert not ids._life.idle

    def test_while_tasks_wait(self, silent):
        async def some():
            ids = aio.open(silent, timeout=300)
            tasks = [asyncio.ensure_future(ids()) for _ in range(150)]  # more than go at once
            await asyncio.sleep(0.5)
            began_s = time.monotonic()
            await ids.aclose()
            found = await asyncio.gather(*tasks, return_exceptions=True)
            return found, time.monotonic() - began_s

        found, lasted_s = asyncio.run(some())
        assert {type(each) for each in found} == {Closed}
        assert lasted_s < 100


@pytest.mark.parametrize("how", ["called", "awaited"])
def test_the_first_call_imports_nothing(url, how):
    """A fork during an import in another thread leaves the child with one that never ends."""
    asked = [sys.executable, "-c", FIRST_CALL, url.replace("127.0.0.1", "localhost"), how]
    told = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True)
    assert told.stdout.split() == []
