"""What users hold: calls, batches, waiting, closing, copying."""

import asyncio
import copy
import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from importlib import import_module

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import frazil
from frazil import aio
from frazil.claims.claim import LastSeen, Wait
from frazil.errors import (
    Closed,
    ConfigError,
    LayoutError,
    LayoutExhausted,
    PoolExhausted,
    RegistryUnavailable,
)
from frazil.generator.local import LocalGenerator
from frazil.generator.mint import mint
from frazil.generator.request import make_request
from frazil.system.event_log import flush
from tests.tools.waiting import refusal, until
from tests.unit.walk.test_walk import LAYOUTS

TWO = "sign:1=0 time:41 node:1 sequence:2 @1s since 2025-01-01T00:00:00Z"
WIDE = "sign:1=0 time:39 node:4 sequence:20 @1ms since 2025-01-01T00:00:00Z"


def opened(url, scheme=WIDE, **options):
    return frazil.open(url, scheme, **{"lead": "1s"} | options)


def test_only_the_public_methods_are_visible(url):
    with opened(url) as ids:
        assert isinstance(ids, frazil.Generator)
        shown = {name for name in dir(ids) if not name.startswith("_")}
    assert shown == {
        "after",
        "array",
        "close",
        "config",
        "ready",
        "scheme",
        "status",
        "stream",
        "take",
        "text",
        "uuid",
    }


@pytest.mark.parametrize("scheme", ["icicle", "uniqueid-spread", "globalid", "chibrary-time"])
def test_take_and_array_cross_ticks(url, scheme):
    scheme = frazil.scheme(scheme, epoch="2020-01-01" if scheme == "chibrary-time" else None)
    with opened(url, scheme) as ids:
        numbers = ids.take(1000) + [int(n) for n in ids.array(1000)]
    cells = [ids.scheme.unpack(n) for n in numbers]
    order = [(c["time"], c["sequence"]) for c in cells]
    assert order == sorted(set(order))
    assert len({c["node"] for c in cells}) == 1


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=list(LAYOUTS))
def test_every_method_returns_whole_ids(url, layout):
    """Interpreted, a generator has another walk below it than test_walk drives."""
    with opened(url, layout) as ids:
        numbers = [ids() for _ in range(5)] + [next(ids) for _ in range(5)] + ids.take(300)
        cells = [ids.scheme.unpack(n) for n in numbers]
    assert len({cell["node"] for cell in cells}) == 1
    order = [(cell["time"], cell["sequence"]) for cell in cells]
    assert order == sorted(set(order))
    assert all(abs(cell.moment.timestamp() - time.time()) < 60 for cell in cells)


def test_wide_arrays_have_two_words(url):
    with opened(url, "globalid-128") as ids:
        array = ids.array(5)
        after = ids()
    whole = [int(hi) << 64 | int(lo) for hi, lo in zip(array["hi"], array["lo"], strict=True)]
    assert len({ids.scheme.unpack(number)["node"] for number in (*whole, after)}) == 1
    assert [*whole, after] == sorted({*whole, after})  # a tick may pass between two of them


def test_close_is_final_and_may_be_repeated(url):
    ids = opened(url)
    ids()
    ids.close()
    ids.close()
    for call in (ids, ids.text, lambda: ids.take(1), lambda: ids.array(1), lambda: next(ids)):
        with pytest.raises(Closed):
            call()


def test_close_gives_back_the_rest(url):
    ids = opened(url)
    ids.take(10)
    registry = ids._walk.registry
    assert [h.held for h in registry.holdings()] == [True]
    ids.close()
    (holding,) = registry.holdings()
    assert not holding.held
    assert holding.until == ids._walk.tick + 1


def test_a_dropped_generator_gives_its_claim_back(url):
    ids = opened(url)
    ids()
    registry = ids._walk.registry
    del ids
    until(lambda: not any(h.held for h in registry.holdings()), "the release")


def test_copies_and_pickles_carry_the_configuration_only(url):
    ids = opened(url, fields=None, namespace="copied")
    ids()
    for other in (copy.copy(ids), copy.deepcopy(ids), pickle.loads(pickle.dumps(ids))):
        assert other.config == ids.config
        assert other() != ids()
        slots = {other._walk.keeper.policy.claim.slot, ids._walk.keeper.policy.claim.slot}
        assert len(slots) == 2
        other.close()
    ids.close()


def test_a_time_field_that_becomes_full_under_a_generator(caplog):
    """The last ticks are used; then the error, the status and the log name the cause, once."""
    ends = datetime.now(UTC) + timedelta(seconds=3)
    epoch = f"{ends - timedelta(milliseconds=1 << 20):%Y-%m-%dT%H:%M:%S.%f}"[:-3]
    layout = f"sign:1=0 time:20 node:4 sequence:12 @1ms since {epoch}Z"
    caplog.set_level("INFO", "frazil")
    with frazil.open("memory:", layout, namespace="full") as ids:
        assert len(ids.take(10)) == 10
        time.sleep(2.5)
        with pytest.raises(LayoutExhausted, match="choose a wider layout"):
            all(iter(ids, None))
        with pytest.raises(LayoutExhausted):
            ids()
        assert "time field" in ids.status().why_unready()
    flush(10)
    ours = [record for record in caplog.records if record.frazil_namespace == "full"]
    events = [record.frazil_event for record in ours]
    assert events[0] == "claim granted"
    grants = {"claim granted", "claim renewed late"}  # each for what was left of the time field
    assert [e for e in events if e not in grants] == ["claim refused", "generator closed"]


def test_namespaces_and_constants_are_separate(url):
    spread = [
        opened(url, "uniqueid-spread", fields={"cluster": c}, namespace="one") for c in (0, 3)
    ]
    a, b = (ids() for ids in spread)
    assert [spread[0].scheme.unpack(n)["cluster"] for n in (a, b)] == [0, 3]
    assert len({ids._walk.keeper.policy.claim.slot for ids in spread}) == 2
    for ids in spread:
        ids.close()


def test_threads_share_one(url):
    with opened(url) as ids, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: [ids() for _ in range(2000)], range(8)))
    numbers = [n for part in found for n in part]
    assert len(set(numbers)) == 16_000
    assert all(part == sorted(part) for part in found)


def test_the_first_use_waits_one_horizon_once(url, lost):
    began = time.monotonic()
    with frazil.open(url + "?horizon=300ms", WIDE) as ids:
        ids()
        waited = time.monotonic() - began
        assert waited > 0.29
        assert ids.scheme.unpack(ids()).moment.timestamp() <= time.time() + 0.1


@pytest.mark.parametrize(
    "options",
    [
        {"url": "redis"},
        {"lead": "2s"},
        {"url": "static:1024"},
    ],
)
def test_open_refuses(options):
    with pytest.raises((ConfigError, LayoutError)):
        frazil.open(**{"url": "memory:"} | options)


class TestMint:
    def test_some(self, url):
        ids = frazil.mint(10_000, url, WIDE, lead="1s")
        assert ids == sorted(set(ids))
        assert len(ids) == 10_000
        assert not set(ids) & set(frazil.mint(10_000, url, WIDE, lead="1s"))

    def test_minting_leaves_no_claim_held(self, url):
        frazil.mint(1, url, WIDE, lead="1s")
        with opened(url) as ids:
            assert not any(h.held for h in ids._walk.registry.holdings())

    def test_says_why_it_gives_up(self, tmp_path):
        """A new namespace, a store that lost its claims, and node numbers in use."""

        def why(n=1, timeout="50ms", **options):
            error = refusal(lambda: frazil.mint(n, url, TWO, timeout=timeout, **options))
            assert str(error).startswith(f"no ID from {url} in time: ")
            return error

        url = f"sqlite:{tmp_path}/claims.db?horizon=60s"
        new = why()
        assert "nothing was ever granted in this namespace" in str(new)
        assert new.retry_after_s > 60  # a horizon and the wait before it; under load more
        assert f"IDs continue in {new.retry_after_s:.1f} s" in str(new)
        url = url.replace("claims", "other")
        frazil.init(url, TWO, new=True)
        assert "so many IDs fill ticks that are still ahead of the clock" in str(why(20, "0s"))
        with frazil.open(url, TWO) as one, frazil.open(url, TWO) as two:
            one(), two()
            assert "all 2 node numbers are in use" in str(why(timeout="0s"))
        (tmp_path / "other.db-revision").unlink()
        lost = why()
        assert "the store lost its claims; IDs continue in" in str(lost)
        assert lost.page.endswith("store-lost.md")

    @pytest.mark.parametrize(("part", "wait_us"), [(1.0, 700_000), (0.5, 1_200_000)])
    def test_waits_some_of_a_tick_longer(self, url, monkeypatch, part, wait_us):
        """As a keeper does: of many that mint, the nearest would else always be the first."""
        slow = "time:40 sequence:4 @1s since 2025-01-01T00:00:00Z"
        request = make_request(url, slow, timeout="100ms")
        registry = request.connect()
        monkeypatch.setattr(registry, "mint", lambda *_: Wait(700_000, LastSeen()))
        monkeypatch.setattr("frazil.generator.mint.jitter", lambda: part)
        assert refusal(lambda: mint(1, request, registry)).retry_after_s == wait_us / 1e6

    def test_asks_again_in_the_wait_after_a_loss(self, tmp_path, monkeypatch):
        """Another member may end it before this one expects it."""
        request = make_request(f"sqlite://{tmp_path}/claims.db?horizon=2s", WIDE)
        registry = request.connect()
        asked, ask_it = [], registry.mint
        monkeypatch.setattr(registry, "mint", lambda *told: asked.append(told) or ask_it(*told))
        mint(1, request, registry)
        assert len(asked) >= 3  # on a busy machine one within the horizon, and one at its end

    @pytest.mark.parametrize("n", [-1, 2.0, "x", 10**30])
    def test_counts_are_checked(self, url, n):
        with pytest.raises(ConfigError):
            frazil.mint(n, url)


class TestAsyncio:
    def test_calls_batches_and_iteration(self, url):
        async def body():
            async with aio.open(url, WIDE, lead="1s") as ids:
                first = await ids()
                taken = await ids.take(100)
                text = await ids.text()
                async for n in ids.stream():
                    return first, taken, text, n

        first, taken, text, n = asyncio.run(body())
        found = [first, *taken, int(text), n]  # a tick may end between two of the calls
        assert found == sorted(set(found))
        assert len(found) == 103
        assert taken == list(range(taken[0], taken[0] + 100))

    def test_timeout(self, url, lost):
        async def body():
            ids = aio.open(url + "?horizon=10min", WIDE, timeout="50ms")
            with pytest.raises((PoolExhausted, RegistryUnavailable)):
                await ids()
            await ids.aclose()

        asyncio.run(body())


@pytest.mark.parametrize("use", ["__call__", "__next__", "take", "array", "text", "close"])
def test_a_generator_that_was_not_opened_raises(use):
    class Unopened(LocalGenerator):
        def __init__(self) -> None:
            """What it inherits is not called."""

    for made in (Unopened(), LocalGenerator.__new__(LocalGenerator)):
        with pytest.raises((TypeError, AttributeError)):
            getattr(made, use)(*[1] if use in ("take", "array") else [])
    assert not hasattr(LocalGenerator, "__setstate_cython__")


@pytest.mark.skipif(not frazil.COMPILED, reason="the interpreted walk is Python code")
def test_the_first_id_of_a_later_tick_runs_no_python_code(url):
    """Such code leaves the processor's cache in a rest, and would be most of the call's time."""
    ran: list[list[str]] = []
    with frazil.open(url) as ids:
        ids.ready()
        for _ in range(5):  # on a slow machine a claim may be spent after a rest
            ran.append([])
            time.sleep(0.005)  # ticks of 1 ms
            sys.setprofile(lambda frame, event, _: event == "call" and ran[-1].append(frame.f_code))
            try:
                ids()
            finally:
                sys.setprofile(None)
    assert [] in ran


def polars():
    """Polars, of which some Pythons have no wheel."""
    return import_module("polars")


def new_column(ids):
    """With a name for the table, since pandas counts who refers to it."""
    table = pd.DataFrame({"a": [1, 2]})
    table["id"] = ids


TRAPS = {
    "set": set,
    "list": list,
    "for": lambda ids: [n for n in ids],  # noqa: C416
    "pandas.Series": pd.Series,
    "pandas.Series of a length": lambda ids: pd.Series(ids, index=range(3)),
    "pandas.DataFrame": lambda ids: pd.DataFrame({"a": [1, 2], "id": ids}),
    "pandas column": new_column,
    "polars.Series": lambda ids: polars().Series(ids),
    "polars.DataFrame": lambda ids: polars().DataFrame({"id": ids}),
    "polars.lit": lambda ids: polars().lit(ids),
    "pyarrow.array": pa.array,
    "pyarrow.table": lambda ids: pa.table({"id": ids}),
    "numpy.array": np.array,
    "numpy.asarray": lambda ids: np.asarray(ids, np.uint64),
    "numpy.fromiter": lambda ids: np.fromiter(ids, np.uint64, count=3),
}


@pytest.mark.parametrize("trap", TRAPS.values(), ids=list(TRAPS))
def test_a_generator_is_not_a_column(trap):
    with frazil.open("memory:endless") as ids, pytest.raises(TypeError):
        trap(ids)


def test_signed_arrays():
    with frazil.open("memory:endless") as ids:
        first, array = ids(), ids.array(10_000, dtype="int64")
        assert array.dtype == np.int64
        assert first < array[0]
        assert (np.diff(array) > 0).all()
        assert ids.array(3, np.dtype("uint64")).dtype == np.uint64
        with pytest.raises(ConfigError, match="does not hold IDs"):
            ids.array(3, "float64")
