"""Callers who stop waiting, at any moment and in any way, leave nothing behind."""

import asyncio
import gc
import os
import signal
import sys
import threading
import tracemalloc
from contextlib import contextmanager, suppress

import pytest

import frazil
from frazil import aio
from frazil.errors import RegistryUnavailable, TryLater
from tests.servers.redis import free_port
from tests.tools.forks import child
from tests.tools.strikes import Struck, every, raise_struck, strike
from tests.tools.verbs import begin

NAMES = ("awaiting", "calls", "complaints", "keeper", "keeper_policy", "kept_walk", "local")
CALLERS = ("aio", *(f"generator/{name}" for name in NAMES), "system/steps")
WALKS = ("walk/walk", "walk/atomic", "system/process")  # compiled, without instructions of Python


@pytest.fixture(autouse=True)
def _alarm():
    """Ends a test that hangs."""
    signal.alarm(600)
    yield
    signal.alarm(0)


@pytest.fixture(scope="module")
def away():
    """A registry that is not there, asked once so that its driver is loaded."""
    url = f"redis://127.0.0.1:{free_port()}"
    with frazil.open(url, timeout="200ms") as ids:
        while ids._walk.keeper.policy.trouble is None:
            with suppress(RegistryUnavailable):
                ids()
    return url


@pytest.fixture
def traced():
    """Memory is traced through all rounds of a test: what a round replaces was traced too."""
    tracemalloc.start()
    yield
    tracemalloc.stop()


@contextmanager
def growth(many):
    """Bytes that each of many callers leaves behind; they come and go inside."""
    left = []
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    yield left
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    left.append((after - before) / many)


def least_kept(give_up):
    """The bytes that each of many callers leaves behind, in the best of some rounds.

    A thread that connects takes memory too, but not each time.
    """
    least = []
    while len(least) < 50 and not (least and least[-1] < 50):
        with growth(2000) as left:
            for _ in range(2000):
                with suppress(RegistryUnavailable):
                    give_up()
        least += left
    return min(least)


class TestCallersWhoGiveUp:
    def test_threads(self, away, traced):
        with frazil.open(away, timeout="1us") as ids:
            assert least_kept(ids) < 50
            assert len(ids._walk.keeper.policy.calls) == 0

    def test_tasks(self, away, traced):
        with asyncio.Runner() as runner:
            ids = aio.open(away, timeout="1us")
            assert least_kept(lambda: runner.run(ids())) < 50
            assert len(ids._walk.keeper.policy.calls) == 0
            runner.run(ids.aclose())


def test_tasks_that_share_one(url):
    """Some are cancelled while they wait; test_aio_loop sees that none holds up the loop."""

    async def main():
        async with aio.open(url, lead=0, timeout=60) as ids:
            tasks = [asyncio.create_task(ids.take(500)) for _ in range(70)]
            await asyncio.sleep(0)
            for task in tasks[::3]:
                task.cancel()
            return await asyncio.gather(*tasks, return_exceptions=True)

    ended = asyncio.run(main())
    lists = [each for each in ended if isinstance(each, list)]
    assert len(lists) >= 46  # on a busy machine an ID may come before the cancellation
    assert len({n for each in lists for n in each}) == 500 * len(lists)


def opened(url, number, **options):
    """A generator of a new namespace of its own."""
    ids = frazil.open(f"{url}{number}", **{"timeout": 20} | options)
    begin(ids._walk.registry)
    return ids


def works(scheme):
    """What callers do, by name."""
    return {
        "call": lambda ids: ids(),
        "take": lambda ids: ids.take(3000 if scheme == "tickets" else 3),
        "close": lambda ids: (ids(), ids.close()),
    }


WIDE = "sequence[2..1] zero:20=5 node:20 time:60 sequence[0..0] @1ms since 2025-01-01T00:00:00Z"


def whole(found):
    """The numbers of an array; those of more than 64 bits have two words."""
    return [n if isinstance(n, int) else n[0] << 64 | n[1] for n in found]


READY = {
    "call": lambda ids: [ids()],
    "next": lambda ids: [next(ids)],
    "take": lambda ids: ids.take(9),
    "array": lambda ids: whole(ids.array(9).tolist()),
}


# Python may collect another test's generator meanwhile, whose finalizer is struck.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("handle", ["raises", "asks"])
@pytest.mark.parametrize(
    "scheme",
    ["icicle", "tickets", "node:8 run:40 sequence:3", WIDE],
    ids=["time", "counter", "run", "wide"],
)
@pytest.mark.parametrize("what", READY)
def test_handlers_where_ids_are_ready(url, scheme, what, handle):
    """No ID comes twice, before, inside and after an interrupted call."""
    with opened(url, 0, scheme=scheme) as ids:
        found = []

        def take(work=READY[what]):
            found.extend(work(ids))

        do = take if handle == "asks" else raise_struck
        for number in every(3):
            take(READY["take"])
            try:
                came = strike(number, CALLERS + WALKS, do, take)
            except Struck:
                came = True
            if not came:
                break
        take()
        assert len(set(found)) == len(found) > 9


def test_a_child_whose_first_steps_are_interrupted(tmp_path):
    """It forgets what its parent holds, or does so at its next call."""
    with opened(f"sqlite:{tmp_path}/claims", 0) as ids:
        seen = set(ids.take(9))

        def works():
            gc.disable()  # or another test's generator is collected meanwhile, and struck
            for number in every(3):
                ids._walk.identity.word[0], found = 0, []  # as in a child of this child
                with suppress(Struck):
                    if not strike(number, CALLERS + WALKS, raise_struck, ids):
                        return number > 50
                with suppress(TryLater):  # on a busy machine
                    found = ids.take(9)
                if not seen.isdisjoint(found):
                    return False
                seen.update(found)

        assert child(works) == 0


class TestHandlersThatRaise:
    @pytest.mark.parametrize("scheme", ["icicle", "tickets"])
    @pytest.mark.parametrize("what", ["call", "take"])
    def test_the_next_call_is_served(self, url, scheme, what):
        work = works(scheme)[what]
        struck = 0
        for number in every():
            with opened(url, number, scheme=scheme) as ids:
                try:
                    came = strike(number, CALLERS, raise_struck, lambda: work(ids))
                except Struck:
                    came, struck = True, struck + 1
                found = ids.take(10)
                assert len(set(found)) == 10
                assert len(ids._walk.keeper.policy.calls) == 0
            assert ids._walk.closed
            assert not any(holding.held for holding in ids._walk.keeper.registry.holdings())
            if not came:
                break
        assert struck > 50

    def test_a_close_can_be_closed_again(self, url):
        struck = 0
        for number in every():
            ids = opened(url, number)
            ids()
            try:
                came = strike(number, CALLERS, raise_struck, ids.close)
            except Struck:
                came, struck = True, struck + 1
            ids.close()
            assert not any(holding.held for holding in ids._walk.keeper.registry.holdings())
            if not came:
                break
        assert struck > 20

    def test_the_keeper_notices_an_interrupted_close(self, url):
        """The walk has closed, and the exception kept its closer from telling the keeper."""
        ids = opened(url, 0)
        ids()
        ids._walk.finish()
        released = threading.Event()
        release = ids._walk.keeper.registry.release

        def telling(*asked):
            released.set()
            return release(*asked)

        ids._walk.keeper.registry.release = telling
        assert released.wait(30)

    @pytest.mark.filterwarnings("ignore:coroutine:RuntimeWarning")  # struck before it is awaited
    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    def test_in_a_loop(self, url):
        struck = 0

        async def two(ids, number):
            nonlocal struck
            try:
                came = await traced(ids, number)
            except Struck:
                came, struck = True, struck + 1
            assert isinstance(await ids(), int)
            return came

        async def traced(ids, number):
            work = ids()
            answer = []

            def go():
                with suppress(StopIteration):
                    answer.append(work.send(None))

            came = strike(number, CALLERS, raise_struck, go)
            work.close()
            return came

        async def main():
            for number in every():
                async with aio.AwaitedGenerator(opened(url, number)._walk) as ids:
                    if not await two(ids, number):
                        return

        asyncio.run(main())
        assert struck > 30


class TestHandlersThatAsk:
    @pytest.mark.parametrize("what", ["call", "close"])
    def test_an_id(self, url, what):
        for number in every(3):
            with opened(url, number) as ids:
                found = []

                def ask(ids=ids, found=found):
                    with suppress(frazil.errors.Closed):
                        found.append(ids())

                def work(ids=ids, found=found):
                    found.append(ids())
                    if what == "close":
                        ids.close()

                came = strike(number, CALLERS, ask, work)
                assert len(set(found)) == len(found)
            if not came:
                break
        assert number > 100


def test_handlers_that_fork(tmp_path):
    """The child goes on in the call that was interrupted, and has an ID of its own.

    Not after the call's last look at itself, of which no more is left than the return.
    """
    parent, url, returning = os.getpid(), f"sqlite:{tmp_path}/claims", 0
    for number in every(7):
        here, there = os.pipe()
        with opened(url, number) as ids:
            answer = []

            def work(ids=ids, answer=answer):
                answer.append(ids())

            try:
                came = strike(number, CALLERS, os.fork, work)
            except BaseException as error:
                if os.getpid() == parent:
                    raise
                answer.append(error)
            if os.getpid() != parent:
                os.write(there, repr(answer[0]).encode())
                os._exit(0)
            os.close(there)
            theirs = os.read(here, 1000).decode()
            os.close(here)
            if came:
                os.wait()
                assert theirs.isdigit(), (number, theirs)  # an ID, and no error
                returning += int(theirs) == answer[0]
                assert returning <= (int(theirs) == answer[0]) <= 1
            assert isinstance(ids(), int)
        if not came:
            break
    assert number > 100


def test_a_call_in_the_keepers_own_thread_does_not_wait_for_itself(url, monkeypatch):
    """Python may run a finalizer there, in the middle of a grant."""
    with frazil.open(url, timeout=60) as ids:
        registry, told = ids._walk.registry, []
        grant = registry.grant

        def granted(*asked):
            try:
                ids()
            except RegistryUnavailable as error:
                told.append(str(error))
            return grant(*asked)

        monkeypatch.setattr(registry, "grant", granted)
        assert len(ids.take(3)) == 3
        assert "finalizer" in told[0]


@contextmanager
def no_thread():
    """No thread can be started: what each would need is more than there is."""
    before = threading.stack_size(1 << 46)
    try:
        yield
    finally:
        threading.stack_size(before)


@pytest.mark.skipif(sys.platform != "linux", reason="another system may grant it")
class TestNoThread:
    def test_a_caller_gets_an_error_and_the_next_one_an_id(self, url):
        with frazil.open(url, timeout=60) as ids:
            told = r"no thread could be started.*ulimit"
            with no_thread(), pytest.raises(TryLater, match=told) as caught:
                ids()
            assert isinstance(caught.value, RegistryUnavailable)
            assert caught.value.outcome_known
            assert isinstance(ids(), int)

    def test_closing_needs_none(self, url):
        ids = frazil.open(url, timeout=5)
        with no_thread():
            with pytest.raises(TryLater):
                ids()
            ids.close()

    def test_closing_needs_none_in_a_loop(self, url):
        async def main():
            ids = aio.open(url, timeout=60)
            n = await ids()
            with no_thread():
                await ids.aclose()
            return n

        assert isinstance(asyncio.run(main()), int)


def test_a_thread_that_died_is_followed_by_another(url):
    with frazil.open(url, timeout=60) as ids:
        keeper = ids._walk.keeper
        once, died = keeper.policy.round, threading.Event()

        def dies():
            keeper.policy.round = once
            died.set()
            raise SystemExit

        keeper.policy.round = dies
        with suppress(TryLater):
            ids._walk.wait(-1, frazil.system.clock.boot_ns() - 59_900_000_000)
        assert died.wait(60)
        assert isinstance(ids(), int)
