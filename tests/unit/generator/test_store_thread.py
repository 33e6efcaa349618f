"""One thread for each store, which starts, serves every keeper, and ends."""

import gc
import os
import threading
import time
from pathlib import Path

import pytest

import frazil
from frazil.errors import RegistryUnavailable
from frazil.generator.store_thread import NEVER_S, StoreThread, thread_of
from frazil.registries.memory import MemoryRegistry
from frazil.system.process import ProcessIdentity
from tests.servers.redis import Server
from tests.tools.waiting import until


class Kept:
    """A keeper with a list of what its rounds answer."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.threads = []
        self.times = []

    def is_of(self, walk):
        return False

    def tend(self):
        self.threads.append(threading.get_ident())
        self.times.append(time.monotonic())
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


def ended(thread):
    until(lambda: not (thread._called or thread._running.locked()), "the end of the thread")


def test_a_round_is_repeated_when_it_is_due_and_the_thread_ends():
    thread, keeper = StoreThread(), Kept(0.0, 0.01, None)
    thread.call(keeper)
    ended(thread)
    assert keeper.answers == []
    assert keeper.times[2] - keeper.times[1] >= 0.01
    assert len(set(keeper.threads)) == 1 != threading.get_ident()
    assert (thread.ident, thread._timetable, thread._due_ns) == (0, [], {})


def test_a_keeper_that_waits_to_be_called_is_called():
    thread, keeper = StoreThread(), Kept(NEVER_S, 100.0, None)
    thread.call(keeper)
    until(lambda: len(keeper.threads) == 1, "the first round")
    thread.call(keeper)
    until(lambda: len(keeper.threads) == 2, "the second round")
    thread.call(keeper)
    ended(thread)
    assert keeper.answers == []


def test_a_round_that_is_due_comes_between_two_calls():
    thread, due = StoreThread(), Kept(0.0, None)
    crowd = [Kept(None) for _ in range(50)]
    thread._running.acquire()
    for each in (due, *crowd):
        thread.call(each)
    thread._running.release()
    thread.run()
    assert due.times[1] < crowd[2].times[0]
    order = [each.times[0] for each in crowd]
    assert order == sorted(order)


def test_a_round_that_fails_ends_no_other():
    thread, bad, good = StoreThread(), Kept(SystemExit()), Kept(0.01, None)
    thread._running.acquire()
    for each in (good, bad):
        thread.call(each)
    thread._running.release()
    with pytest.raises(SystemExit):
        thread.run()
    until(lambda: good.answers == [], "the other keeper's round in another thread")
    assert good.threads[0] != good.threads[1]


def test_a_second_thread_leaves_the_keepers_to_the_first():
    thread, keeper = StoreThread(), Kept(None)
    thread._running.acquire()
    thread.call(keeper)
    thread.run()
    assert keeper.threads == []


def test_a_walk_whose_finalizer_was_interrupted_has_a_last_round(url, monkeypatch):
    ids = frazil.open(url)
    ids()
    keeper = ids._walk.keeper
    keeper.thread.call(keeper)
    monkeypatch.setattr(type(ids._walk), "__del__", lambda _: None)
    policy = keeper.policy
    del ids, keeper
    gc.collect()
    until(lambda: policy.ended, "the last round")


def test_a_freed_walk_wakes_its_keeper():
    thread, keeper = StoreThread(), Kept(NEVER_S, None)
    keeper.is_of = lambda _: True
    thread.call(keeper)
    until(lambda: len(keeper.threads) == 1, "the first round")
    thread.bell.put(object())
    ended(thread)
    assert keeper.answers == []


def test_generators_of_a_store_share_a_thread(url):
    with frazil.open(url) as one, frazil.open(url, namespace="other") as other:
        assert isinstance(one() + other(), int)
        assert one._walk.keeper.thread is other._walk.keeper.thread
        assert one._walk.keeper.thread is thread_of(url, ProcessIdentity().era)


def test_threading_does_not_know_the_thread(tmp_path):
    """It would keep an entry, and on Python 3.13 one that can stop the process at its exit."""
    with (
        Server() as server,
        frazil.open(f"sqlite:{tmp_path}/claims.db") as ids,
        frazil.open(f"redis://127.0.0.1:{server.port}") as others,
    ):
        assert ids() != others()
        stores = {each._walk.keeper.thread.ident for each in (ids, others)}
        assert not stores & {each.ident for each in threading.enumerate()}


def test_a_partitioned_store_has_a_thread_for_each_generator():
    parts = "redis://127.0.0.1:1,127.0.0.1:2"
    one, other = frazil.open(parts), frazil.open(parts)
    assert one._walk.keeper.thread is not other._walk.keeper.thread


def test_a_close_in_the_thread_itself_waits_for_nothing(url):
    ids = frazil.open(url)
    ids()
    keeper = ids._walk.keeper
    took_s = []

    class Closing(Kept):
        def tend(self):
            began = time.monotonic()
            keeper.close(ids._walk.finish())
            took_s.append(time.monotonic() - began)

    keeper.thread.call(Closing())
    until(lambda: keeper.policy.ended, "the release")
    assert took_s[0] < 2


def test_at_exit_a_silent_store_is_waited_for_once(url, monkeypatch):
    from frazil.generator import keeper

    opened = [frazil.open(url, namespace=str(n)) for n in range(5)]
    for each in opened:
        each()
    free = threading.Event()
    step = MemoryRegistry.step
    monkeypatch.setattr(MemoryRegistry, "step", lambda self: free.wait(60) and step(self))
    monkeypatch.setattr(keeper, "CLOSE_WAIT_S", 0.5)
    monkeypatch.setattr(keeper, "_live", {each._walk.keeper for each in opened})
    waited = []
    wait = keeper.Gate.wait
    monkeypatch.setattr(keeper.Gate, "wait", lambda self, s: waited.append(s) or wait(self, s))
    keeper._finish()
    assert waited == [0.5]
    free.set()
    until(lambda: all(each._walk.keeper.policy.ended for each in opened), "the releases")


@pytest.mark.long
def test_a_frozen_store_does_not_delay_another():
    with Server() as frozen, Server() as well:
        for server in (frozen, well):
            for n in range(20):
                frazil.init(server.url, namespace=str(n), new=True)
        # Longer than the other generators wait: in one thread they would get an error.
        slow = f"{frozen.url}?timeout=30s"
        stuck = [frazil.open(slow, namespace=str(n), timeout=1) for n in range(20)]
        ids = [frazil.open(well.url, namespace=str(n), keep=0) for n in range(20)]
        for each in stuck:
            each()
        frozen.freeze()
        try:
            issued = [[] for _ in ids]
            until(lambda: "not answered" in silence(stuck), "a store that does not answer")
            for _ in range(5):
                for own, each in zip(issued, ids, strict=True):
                    own.extend(each.take(5000))
            assert all(len(set(own)) == 25_000 for own in issued)
            assert "not answered" in silence(stuck)
        finally:
            frozen.thaw()
        until(lambda: isinstance(stuck[0](), int), "the store that was frozen")
        for each in (*stuck, *ids):
            each.close()


def running():
    """How many threads this process has."""
    return len(list(Path("/proc/self/task").iterdir()))


def silence(stuck):
    """What a generator of the frozen store raises, once its claim has ended."""
    try:
        stuck[0]()
    except RegistryUnavailable as error:
        return str(error)
    return ""


@pytest.mark.long
def test_hundreds_of_namespaces_use_one_thread_and_one_connection():
    with Server() as server:
        for n in range(200):
            frazil.init(server.url, namespace=str(n), new=True)
        before = running()
        opened = [frazil.open(server.url, namespace=str(n)) for n in range(200)]
        for each in opened:
            assert isinstance(each(), int)
        most = before + 3  # the store's, and those that watch over its answers
        until(lambda: running() <= most, "the end of the one that logs, if a renewal was late")
        assert server.client().info("clients")["connected_clients"] <= 3
        child = os.fork()
        if child == 0:
            mine = [each() for each in opened[:50]]
            os._exit(0 if len(mine) == 50 and running() <= 4 else 1)
        for each in opened[:50]:
            each.take(100)
        assert os.waitpid(child, 0)[1] == 0
        for each in opened:
            each.close()
        until(lambda: running() <= before, "the end of the thread")
