"""``after``: an ID greater than those that were seen, and who waits for it."""

import asyncio
import threading
import time
from datetime import timedelta

import numpy as np
import pytest

import frazil
from frazil.claims.record import JUMP_US
from frazil.errors import CodecError, ConfigError, PoolExhausted
from frazil.generator.order import Order
from frazil.system import clock
from tests.servers.icicle import Caller
from tests.servers.redis import Server
from tests.tools.forks import found_in_child
from tests.tools.waiting import until

SEQUENCE_ABOVE = "sign:1=0 time:41 sequence:10 node:12 @1ms since 2025-01-01T00:00:00Z"
SLOW = "sign:1=0 time:32 node:11 sequence:20 @1s since 2025-01-01T00:00:00Z"


def ahead(ids, seconds, **values):
    """An ID of a host whose clock is that far ahead."""
    return ids.scheme.pack(moment=int((time.time() + seconds) * 1e6), **values)


def test_an_earlier_one_only_needs_a_comparison(url):
    with frazil.open(url) as ids:
        found = [ids()]
        found += [ids.after(found[0]), ids.after(), ids.after(0, str(found[0]))]
        assert found == sorted(set(found))


@pytest.mark.parametrize("spec", ["icicle", "tsid", "uuid7", SEQUENCE_ABOVE, SLOW])
def test_one_that_is_ahead(url, spec):
    with frazil.open(url, spec) as ids:
        ids()
        for node in (0, 1, ids.scheme.layout.nodes - 1):
            seen = ahead(ids, 0.2, node=node, sequence=5)
            assert ids.after(seen) > seen
            taken_before, seen = seen, ahead(ids, 0.05, node=node, sequence=7)
            taken = ids.take(3, after=[seen, taken_before])
            assert min(taken) > seen
            assert taken == sorted(set(taken))
            assert ids() > taken[-1]


def test_all_forms(url, monkeypatch):
    monkeypatch.setenv("ORDER_KEY", "00112233445566778899aabbccddeeff")
    with frazil.open(url, "uuid7") as ids:
        seen = ahead(ids, 0.05)
        assert ids.after(ids.scheme.uuid(seen)) > seen
        assert ids.scheme.parse(ids.text(after=ids.scheme.format(seen))) > seen
    scheme = frazil.scheme("icicle", key="env:ORDER_KEY")
    with frazil.open(url, scheme, namespace="keyed") as ids:
        seen = ahead(ids, 0.05)
        assert ids.after(scheme.format(seen)) > seen
        row = ids.array(3, after=ids.text())
        assert (row > seen).all()


@pytest.mark.parametrize("wrong", [1.5, b"7", object(), True, 1 << 64, -1, "", [None], {"": 1}])
def test_what_is_not_an_id(url, wrong):
    with frazil.open(url) as ids:
        for call in (lambda: ids.after(wrong), lambda: ids.take(1, after=wrong)):
            with pytest.raises(CodecError):
                call()
        assert ids.after(wrong, trusted=False)
        assert ids.take(1, after=np.int64(7)) > [7]


def test_only_its_caller_waits(url):
    """An ID at the bound would leave every other caller one tick's cells."""
    made = []
    with frazil.open(url, timeout="30s") as ids:
        ids()
        seen = ahead(ids, 1)
        waiting = threading.Thread(target=lambda: made.append(ids.after(seen)))
        waiting.start()
        others = []
        while waiting.is_alive():
            others.append(ids())
        assert made[0] > seen
        assert len(others) > 100  # else they had waited, too
        assert sum(n < seen for n in others) > 100
        assert len({*made, *others}) == len(others) + 1


@pytest.mark.parametrize("seconds", [8, 20])
@pytest.mark.parametrize("trusted", [True, False])
def test_a_member_that_has_not_heard_of_a_step(url, monkeypatch, seconds, trusted):
    """The other one has a claim of the stepped clock; this one asks the store first."""
    timeout = timedelta(seconds=seconds / 2)  # less than to wait for the step to pass
    with frazil.open(url, timeout=timeout) as ids, frazil.open(url) as newcomer:
        until(lambda: ids() and ids.status().seconds_left > 0.5, "a longer claim")
        right = clock.wall_us
        monkeypatch.setattr(clock, "wall_us", lambda: right() + int(seconds * 1e6))
        seen = newcomer()
        assert ids.scheme.unpack(seen).time > ids.scheme.unpack(ids()).time + 1000
        assert ids.after(seen, trusted=trusted) > seen
        assert ids.status().failures == 0


def test_ids_of_strangers_cause_one_request_a_second(url, monkeypatch):
    with frazil.open(url) as ids:
        ids()
        asked = []
        renew = type(ids._walk.registry).renew

        def counted(*arguments):
            asked.append(1)
            return renew(*arguments)

        monkeypatch.setattr(type(ids._walk.registry), "renew", counted)
        end_s = time.monotonic() + 1.5
        while time.monotonic() < end_s:
            assert ids.after(ahead(ids, 3000), trusted=False)
        assert len(asked) <= 8  # with those of a busy generator


def test_a_store_that_hangs_holds_up_nobody_for_long():
    with Server("valkey") as server:
        url = f"{server.url}?horizon=10min"
        frazil.init(url, new=True)
        with frazil.open(url, timeout="5min") as ids:
            ids()
            until(lambda: ids.status().seconds_left > 200, "a claim that lasts")
            server.freeze()
            began_s = time.monotonic()
            for _ in range(3):
                assert ids.after(ahead(ids, 3000), trusted=False)
            assert time.monotonic() - began_s < 60  # its timeout is five minutes
            server.thaw()
            seen = ahead(ids, 0.3)
            assert ids.after(seen) > seen


def test_one_that_cannot_be(url):
    with frazil.open(url) as ids:
        before = ids()
        horizon_us = 60_000_000
        seen = ahead(ids, (horizon_us + JUMP_US) / 1e6 + 10)
        with pytest.raises(CodecError, match="no process of this namespace") as caught:
            ids.after(seen)
        assert caught.value.value == seen
        assert before < ids.after(seen, trusted=False) < seen
        assert before < ids.after(seen, "!", trusted=False) < seen
        with pytest.raises(CodecError, match="not a character"):
            ids.after("!")
        with pytest.raises(PoolExhausted, match="ahead of the store's clock") as early:
            ids.after(ahead(ids, 50))
        assert 40 < early.value.retry_after_s < 51
        assert ids.status().failures == 0


@pytest.mark.parametrize(
    "spec",
    [
        *("chibrary", "tickets"),
        "sign:1=0 node:10 time:41 sequence:12 @1ms since 2025-01-01T00:00:00Z",
        "sign:1=0 time:41~ node:10 sequence:12 @1ms since 2025-01-01T00:00:00Z",
    ],
)
def test_numbers_that_do_not_sort_by_time(spec):
    with frazil.open("memory:", spec) as ids:
        for call in (lambda: ids.after(1), lambda: ids.take(1, after=1), lambda: ids.text(after=1)):
            with pytest.raises(ConfigError, match="do not sort by time"):
                call()


def test_the_first_cell_that_is_greater():
    """Compared with all cells of a tick, for each number of it and of its neighbours."""
    for text in (
        "time:4 node:3 sequence:3",
        "time:4 sequence:3 node:3",
        "time:4 const:1=1 node[1..1] sequence[2..1] pad:2=1 node[0..0] sequence[0..0]",
    ):
        scheme = frazil.scheme(f"{text} @1s since 2025-01-01T00:00:00Z")
        order = Order(scheme, 10**9)
        layout = scheme.layout
        cells = range(layout.sequences)
        for tick in (0, 3):
            for other in range(layout.nodes):
                for cell in cells:
                    n = scheme.pack(time=tick, node=other, sequence=cell)
                    assert order.tick(n) == tick
                    for node in range(layout.nodes):
                        greater = [
                            each
                            for each in cells
                            if scheme.pack(time=tick, node=node, sequence=each) > n
                        ]
                        assert order.cell_after(n, node) == min(greater, default=len(cells))


def test_a_child_of_a_fork(tmp_path):
    with frazil.open(f"sqlite:{tmp_path}/claims.db") as ids:
        ids()
        seen = ahead(ids, 0.3)
        others = found_in_child(lambda: ids.after(seen))
        found = [ids.after(seen), int(others)]
        assert min(found) > seen
        assert found[0] != found[1]


@pytest.fixture(scope="module")
def pool():
    with Server() as server:
        url = f"icicle://127.0.0.1:{server.port}"
        Caller(server, namespace="default").init()
        yield url


@pytest.mark.parametrize("query", ["", "?prefetch=50"])
def test_servers_that_make_the_ids(pool, query):
    with frazil.open(pool + query) as ids, frazil.open(pool) as other:
        first = ids()
        assert ids.after(first) > first
        seen = other()
        assert ids.after(seen) > seen
        seen = ahead(ids, 0.2)
        assert ids.after(seen, str(first)) > seen
        seen = ahead(ids, 0.1)
        assert min(ids.take(3, after=seen)) > seen
        assert (ids.array(2, after=seen) > seen).all()
        assert int(ids.text(after=seen)) > seen
        with pytest.raises(CodecError, match="no process of this namespace"):
            ids.after(ahead(ids, 3000))
        assert ids.after(ahead(ids, 3000), "!", trusted=False)
        with pytest.raises(PoolExhausted, match="ahead of the store's clock"):
            ids.after(ahead(ids, 50))


@pytest.mark.parametrize("kind", ["url", "pool"])
def test_tasks(request, kind):
    url = request.getfixturevalue(kind)

    async def work():
        async with frazil.aio.open(url) as ids:
            first = await ids()
            seen = ahead(ids, 0.2)
            assert await ids.after(first, seen) > seen
            seen = ahead(ids, 0.1)
            assert min(await ids.take(3, after=seen)) > seen
            seen = ahead(ids, 0.1)
            assert int(await ids.text(after=seen)) > seen
            with pytest.raises(CodecError):
                await ids.after("!")

    asyncio.run(work())


def test_two_that_answer_each_other(url):
    """Each ID is greater than the one that it answers, whatever node made it."""
    with frazil.open(url) as one, frazil.open(url) as two:
        seen, found = 0, []
        for _ in range(200):
            for ids in (one, two):
                n = ids.after(seen)
                assert n > seen
                found.append(seen := n)
        assert len({one.scheme.unpack(n).node for n in found}) == 2
