"""What is awaited has every check that its twin has: of arguments, and of forks."""

import asyncio
import os
import pickle
import signal
import time

import pytest

import frazil
from frazil import aio
from frazil.errors import Closed, ConfigError, FrazilError, TryLater
from frazil.remote.http import calls
from frazil.remote.icicle import server
from tests.needs import needs
from tests.servers.icicle import Caller
from tests.servers.redis import Server
from tests.tools.strikes import Struck, every, raise_struck, strike
from tests.tools.verbs import begin
from tests.tools.waiting import until
from tests.unit.service.conftest import Service

needs("aiohttp", "the client of a service")

CONFIG = """
[namespaces.a]
registry = "memory:"
lead = "500ms"
"""


OPTIONS = {"pool": {"namespace": "test"}, "service": {}}


@pytest.fixture(scope="module")
def pool():
    with Server() as server:
        Caller(server).init()
        yield f"icicle://127.0.0.1:{server.port}"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with Service(tmp_path_factory.mktemp("service"), CONFIG) as service:
        yield f"{service.url}/a"


@pytest.fixture(params=["registry", "pool", "service"])
def kind(request, url):
    """A URL, and what else opens a generator at it."""
    if request.param == "registry":
        return url, {}
    return request.getfixturevalue(request.param), OPTIONS[request.param]


def test_a_number_of_ids_is_one(kind):
    url, options = kind

    async def awaited(n):
        async with aio.open(url, **options) as ids:
            return await ids.take(n)

    with frazil.open(url, **options) as ids:
        for n in (-1, True, 2.0, "3", None, 2**63, 10**30):
            for ask in (ids.take, ids.array, lambda n: asyncio.run(awaited(n))):
                with pytest.raises(ConfigError, match=r"the number of IDs must be|do not fit"):
                    ask(n)
    assert asyncio.run(awaited(0)) == []


@pytest.mark.parametrize("n", [0, 3])
def test_a_closed_one_gives_nothing(pool, service, n):
    async def awaited(url):
        ids = aio.open(url)
        await ids.aclose()
        await ids.aclose()
        await ids.take(n)

    for url in (pool, service):
        ids = frazil.open(url)
        ids.close()
        with pytest.raises(Closed):
            ids.take(n)
        with pytest.raises(Closed):
            asyncio.run(awaited(url))


def test_a_pickle_has_the_configuration_only(url):
    ids = pickle.loads(pickle.dumps(aio.open(url, namespace="pickled")))
    assert ids.config.namespace == "pickled"
    assert repr(ids).startswith("<frazil.AwaitedGenerator 'pickled' at memory:")

    async def closed():
        await ids.aclose()
        return repr(ids)

    assert asyncio.run(closed()).endswith(" closed>")


def stand_still(calls):
    """Hold the event loop until the keeper has answered all calls, and a moment longer."""
    until(lambda: not len(calls), "the answers")
    time.sleep(0.05)


@pytest.mark.parametrize("call", ["take", "aclose"])
def test_a_cancellation_that_comes_with_the_answer_is_not_lost(url, call):
    """Python 3.11's ``asyncio.wait_for`` loses it: the task would go on."""

    async def main():
        async with aio.open(url) as ids:
            if call == "aclose":
                await ids()
            policy = ids._walk.keeper.policy
            task = asyncio.create_task(ids.take(3) if call == "take" else ids.aclose())
            await asyncio.sleep(0)  # the task waits for the keeper
            stand_still(policy.calls if call == "take" else policy.closers)
            await asyncio.sleep(0)  # the loop settles what the task waits for
            assert task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())


def test_a_claim_that_comes_with_the_end_of_the_timeout_is_used(url):
    """A loop that stands still sees both at once."""

    async def main():
        async with aio.open(url, "tickets", timeout="50ms") as ids:
            begin(ids._walk.registry)
            task = asyncio.create_task(ids.take(3))
            await asyncio.sleep(0)
            stand_still(ids._walk.keeper.policy.calls)
            assert len(await task) == 3

    asyncio.run(main())


def both(module, name, monkeypatch, ids_of, n):
    """What parent and child have, of a call in which a handler forks when IDs have come."""
    real, forked = getattr(module, name), []

    def fork(*_):
        forked.append(os.fork())

    def struck(*arguments):
        if not forked:
            signal.raise_signal(signal.SIGUSR1)
        return real(*arguments)

    monkeypatch.setattr(module, name, struck)
    before = signal.signal(signal.SIGUSR1, fork)
    here, there = os.pipe()

    async def main():
        ids = ids_of()
        try:
            answer = await ids.take(n)
        except (FrazilError, RuntimeError) as error:
            answer = error
        if forked[0] == 0:
            os.write(there, repr(answer).encode())
            os._exit(0)
        await ids.aclose()
        return answer

    try:
        ours = asyncio.run(main())
    finally:
        signal.signal(signal.SIGUSR1, before)
        os.close(there)
    theirs = os.read(here, 1 << 16).decode()
    os.close(here)
    os.wait()
    return ours, theirs


@pytest.mark.parametrize("n", [1, 5])
def test_a_fork_in_a_call(pool, service, monkeypatch, n):
    """What the child has found is its parent's. The loop is, too, and it is told so."""
    for module, name, ids_of in (
        (server, "issued", lambda: aio.open(pool, namespace="test")),
        (calls, "unpacked", lambda: aio.open(service)),
    ):
        ours, theirs = both(module, name, monkeypatch, ids_of, n)
        assert len(ours) == n
        assert not any(str(each) in theirs for each in ours)
        assert "asyncio.run" in theirs


def test_a_fork_while_a_claim_is_waited_for(tmp_path):
    """With a registry: the child's walk finds that it is a child, and its loop is none."""
    url = f"sqlite:{tmp_path}/claims.db"

    async def main():
        ids = aio.open(url)
        begin(ids._walk.registry)
        await ids()
        child = os.fork()
        if child == 0:
            try:
                while True:
                    await ids()
            except ConfigError as error:
                os._exit(7 if "asyncio.run" in str(error) else 1)
            os._exit(2)
        _, status = await asyncio.to_thread(os.waitpid, child, 0)
        await ids.aclose()
        return os.waitstatus_to_exitcode(status)

    assert asyncio.run(main()) == 7


# A connection that was just made when the handler raised is closed by the collector, which warns.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("where", ["pool", "service"])
def test_a_buffer_is_filled_again_after_a_handler_has_raised(request, where):
    url = f"{request.getfixturevalue(where)}?prefetch=64"
    files = ("prefetch", "icicle/calls", "http/calls", "http/generator", "base")
    files = (*(f"remote/{file}" for file in files), "system/steps")
    struck = 0
    for number in every(5):
        with frazil.open(url, **OPTIONS[where]) as ids:
            try:
                came = strike(number, files, raise_struck, ids)
            except Struck:
                came, struck = True, struck + 1
            found = [ids()]
            while not ids._life.prefetch.buffer and len(found) < 1000:
                found.append(ids())
            assert len(set(found)) == len(found) < 1000
        if not came:
            break
    assert struck > 10


def test_ready_brings_the_first_claim_and_a_call_then_waits_for_nothing(kind):
    url, options = kind
    with frazil.open(url, **options) as ids:
        assert ids.ready() is None
        assert isinstance(ids(), int)

    async def body():
        async with aio.open(url, **options) as ids:
            await ids.ready(timeout="20s")
            return await ids()

    assert isinstance(asyncio.run(body()), int)


@pytest.mark.parametrize("url", ["icicle://127.0.0.1:1", "http://127.0.0.1:1/a"])
def test_ready_tries_again_until_its_timeout(url):
    with frazil.open(url, timeout="100ms") as ids, pytest.raises(TryLater):
        ids.ready(timeout="300ms")
