"""IDs of the past: a word first, then a region of a process, by moment, in any order."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta, timezone
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import frazil
from frazil.errors import (
    Closed,
    ConfigError,
    LayoutError,
    LayoutExhausted,
    Misuse,
    RegistryUnavailable,
    TryLater,
)
from frazil.registries.base import connect, with_past
from frazil.registries.partitioned import PartitionedRegistry, share_terms
from tests.tools.forks import found_in_child

ICICLE = frazil.scheme("icicle")
WHEN = datetime(2020, 5, 1, 12, tzinfo=UTC)
OTHER = datetime.fromisoformat("2019-01-01")  # without a zone
FAR = np.datetime64(1_577_836_800 + 2**58, "s")  # in µs of 64 bits it would be 2020
EAST = timezone(timedelta(hours=5))


@pytest.fixture
def url(tmp_path):
    url = f"sqlite://{tmp_path}/claims.db"
    frazil.init(url, new=True)
    return url


@pytest.fixture
def declared(url):
    frazil.declare_past(url, start="2017-01-01")
    return url


def moments(ids):
    return ICICLE.unpack_many(ids)["time"]


def test_the_past_is_unknown_until_it_is_declared(url):
    with pytest.raises(ConfigError, match="--declare-past-from 2015-01-01"):
        frazil.history(url)
    frazil.declare_past(url, start="2017-01-01")
    with frazil.history(url, start=datetime.fromisoformat("2017-01-01"), stop=WHEN) as past:
        values = ICICLE.unpack(past.at(WHEN - timedelta(microseconds=1)))
    assert values.moment == WHEN - timedelta(milliseconds=1)


def test_it_has_other_ids_than_anything_else(declared):
    with (
        frazil.open(declared) as live,
        frazil.history(declared) as a,
        frazil.history(declared) as b,
    ):
        made = [live(), frazil.mint(1, declared)[0], *(p.at(WHEN) for p in (a, b, a, b))]
    assert len(set(made)) == 6


def test_one_moment_after_the_other(declared):
    with frazil.history(declared) as past:
        made = [past.at(WHEN) for _ in range(5000)]
    assert made == sorted(set(made))
    assert ICICLE.unpack(made[4096]).moment == WHEN + timedelta(milliseconds=1)


@pytest.mark.parametrize(
    "column",
    [
        np.array(["2020-05-01T12:00", "2019-01-01"], "datetime64[s]"),
        np.array([1588334400_000_000, 1546300800_000_000]),
        [WHEN, OTHER],
        [WHEN.astimezone(EAST), np.datetime64("2019-01-01")],
        pd.Series([WHEN, datetime(2019, 1, 1, tzinfo=UTC)]).dt.tz_convert("Asia/Tokyo"),
        pd.Series([WHEN, datetime(2019, 1, 1, 5, tzinfo=EAST)], dtype=object),
        pd.Series([WHEN, OTHER], dtype=pd.ArrowDtype(pa.timestamp("ms", "UTC"))),
        pd.DatetimeIndex(["2020-05-01T12:00", "2019-01-01"]),
        pl.Series([WHEN, datetime(2019, 1, 1, tzinfo=UTC)]).dt.convert_time_zone("Asia/Tokyo"),
        pa.array([WHEN, datetime(2019, 1, 1, tzinfo=UTC)], pa.timestamp("ns", "Asia/Tokyo")),
        pa.chunked_array([pa.array([WHEN.replace(tzinfo=None), OTHER])]),
    ],
    ids=lambda column: type(column).__module__ + "." + type(column).__name__,
)
def test_columns(declared, column):
    with frazil.history(declared) as past:
        ids = past.at_many(column, "int64")
    assert ids.dtype == np.int64
    assert moments(ids).tolist() == [WHEN.replace(tzinfo=None), OTHER]


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        (np.array(["2020-05-01", "NaT"], "datetime64[us]"), "element 1 has no moment"),
        (pl.Series([WHEN, None]), "element 1 has no moment"),
        ([WHEN, None], "element 1 is not a moment, but None"),
        ([WHEN, pd.NaT], "element 1 is not a moment"),
        ([WHEN, date(2020, 1, 1)], "element 1 is not a moment"),
        ([1 << 70], "of 64 bits"),
        (np.array([1.5]), "a column of timestamps, not of float64"),
        (np.array(["300000000-01-01"], "datetime64[D]"), "fit 64 bits of µs"),
        ([FAR], "fit 64 bits of µs"),
        (pd.Series([FAR]), "fit 64 bits of µs"),
        (pd.Series([FAR.astype(np.int64)], dtype="datetime64[s, UTC]"), "fit 64 bits of µs"),
        (np.ma.array([1, 2], mask=[False, True]), "element 1 has no moment"),
        (pd.Series([1, None], dtype="Int64"), "element 1 "),
        (pl.Series([1, None]), "element 1 has no moment"),
        (None, "expected a column of moments, not None"),
        (WHEN, "expected a column of moments, not datetime"),
        ("2020-01-01", "expected a column of moments, not '2020"),
        (pd.DataFrame({"a": [WHEN]}), "expected a column of moments"),
    ],
)
def test_what_is_no_moment(declared, column, problem):
    with frazil.history(declared) as past, pytest.raises(Misuse, match=problem):
        past.at_many(column)


def test_a_single_one_that_is_no_moment(declared):
    with frazil.history(declared) as past:
        assert moments([past.at(np.datetime64("2020-05-01"))]).tolist() == [
            datetime.fromisoformat("2020-05-01")
        ]
        for wrong in (pd.NaT, None, "2020-05-01", True):
            with pytest.raises(Misuse, match="element 0 is not a moment"):
                past.at(wrong)


@pytest.mark.parametrize("make", [np.array, pd.Series, pa.array, pl.Series, list])
def test_parts_of_a_microsecond(declared, make):
    nanoseconds = np.array(["2020-05-01T12:00:00.123456789"], "datetime64[ns]")
    with frazil.history(declared) as past:
        found = past.at_many(make(nanoseconds))
    assert moments(found).tolist() == [WHEN.replace(tzinfo=None, microsecond=123_000)]


@pytest.mark.parametrize("empty", [[], pd.Series([], dtype=float), pl.Series([]), pa.nulls(0)])
def test_no_moments(declared, empty):
    with frazil.history(declared) as past:
        assert past.at_many(empty).size == 0


def test_rows_keep_their_order(declared):
    dice = np.random.default_rng(1)
    us = dice.integers(1588334400_000_000, 1588334401_000_000, 200_000)
    us[:50_000] = 1588334400_500_000
    with frazil.history(declared) as past:
        ids = past.at_many(us.view("datetime64[us]"))
        again = past.at_many(us.view("datetime64[us]"))
    assert (np.argsort(ids) == np.argsort(us, kind="stable")).all()
    assert len(np.union1d(ids, again)) == 400_000


def test_moments_outside(declared):
    with frazil.history(declared, start="2019-01-01", stop="2020-01-01") as past:
        for call in (past.at, lambda when: past.at_many([when])):
            with pytest.raises(LayoutError, match="begins at 2019-01-01T00:00:00Z and ends before"):
                call(WHEN)
    with pytest.raises(LayoutError, match="is outside the time field"):
        frazil.history(declared, start="2015-01-01")
    with pytest.raises(ConfigError, match="is not in the past of namespace 'default'"):
        frazil.history(declared, stop=datetime.now(UTC) + timedelta(hours=1))
    with pytest.raises(ConfigError, match="unused before 2017-01-01T00:00:00Z"):
        frazil.history(declared, start=date(2016, 12, 31))


@pytest.mark.parametrize("verb", [frazil.history, frazil.declare_past])
def test_arguments(verb, tmp_path):
    start = {"start": "2020-01-01"}
    for url in ("static:7", "icicle://host", "http://host/orders"):
        with pytest.raises(ConfigError, match="has no claims of the past"):
            verb(url, **start)
    with pytest.raises(ConfigError, match="has no time"):
        verb("memory:", "tickets", **start)
    with pytest.raises(ConfigError, match=r"^start= '2020' is not a moment"):
        verb("memory:", start="2020")
    with pytest.raises(ConfigError, match="has no argument stopp="):
        verb("memory:", stopp=1, **start)


def test_a_full_past(tmp_path):
    scheme = "time:41 node:1 sequence:2 @1ms since 2020-01-01T00:00:00Z"
    url = f"sqlite://{tmp_path}/claims.db"
    frazil.init(url, scheme, new=True)
    frazil.declare_past(url, scheme, start="2015-01-01")
    spans = [("2020-01-01", "2021-01-01"), ("2020-06-01", "2022-01-01"), ("2021-01-01", None)]
    for start, stop in spans:
        frazil.history(url, scheme, start=start, stop=stop).close()
    with pytest.raises(LayoutExhausted, match=r"each of the 2 node numbers .* later start="):
        frazil.history(url, scheme, start="2021-06-01", stop="2022-06-01")


@pytest.mark.parametrize(
    "spec", ["uuid7", "globalid-128", "uniqueid-spread", "discord", "tsid", "shuffled"]
)
def test_schemes(spec):
    shuffled = {"spec": "icicle", "shuffle": "seed:v1:past"}
    scheme = frazil.scheme(**shuffled) if spec == "shuffled" else frazil.scheme(spec)
    frazil.declare_past("memory:", scheme, namespace=spec, start="2020-02-01")
    with frazil.history("memory:", scheme, namespace=spec) as past:
        ids = past.at_many([WHEN] * 130)
        texts = scheme.format_many(ids).tolist()
        texts += [scheme.format(past.at(WHEN + timedelta(hours=1)))]
    found = [scheme.unpack(scheme.parse(text)) for text in texts]
    assert len(set(texts)) == 131
    assert {values.moment for values in found[:64]} == {WHEN}
    assert found[-1].moment == WHEN + timedelta(hours=1)
    assert {values.node for values in found} == {0}
    assert not any(values.foreign for values in found)


def test_threads_share_it(declared):
    found = []
    with frazil.history(declared) as past:

        def work():
            for _ in range(20):
                found.extend([past.at(WHEN), *past.at_many([WHEN] * 50).tolist()])

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: work(), range(4)))
    assert len(set(found)) == 4 * 20 * 51


def test_a_child_has_a_region_of_its_own(declared):
    with frazil.history(declared) as past:
        mine = past.at(WHEN)
        theirs = int(found_in_child(lambda: past.at(WHEN)))
        assert theirs != mine
        assert ICICLE.unpack(theirs).moment == WHEN
        assert ICICLE.unpack(past.at(WHEN)).node == ICICLE.unpack(mine).node


def test_a_copy_has_a_region_of_its_own(declared):
    with frazil.history(declared) as past:
        other = pickle.loads(pickle.dumps(past))
        assert other.at(WHEN) != past.at(WHEN)
    assert repr(past).startswith("<frazil.History icicle 'default' at sqlite:")


def test_after_close(declared):
    past = frazil.history(declared)
    past.close()
    past.close()
    for call in (past.at, lambda when: past.at_many([when])):
        with pytest.raises(Closed):
            call(WHEN)


def test_a_handler_that_interrupts_it(declared, monkeypatch):
    past = frazil.history(declared)
    region = past.claim()
    inside = []

    def one(us):
        with pytest.raises(TryLater, match="this signal handler interrupted"):
            past.at(WHEN)
        inside.append(us)
        return 7, 7

    monkeypatch.setattr(region.cells, "one", one)
    past.at(WHEN)
    assert len(inside) == 1


def test_a_first_use_waits_once(tmp_path):
    url = f"sqlite://{tmp_path}/claims.db?horizon=300ms"
    frazil.declare_past(url, start="2015-01-01")
    with frazil.history(url) as past:
        assert past.at(WHEN)


def test_a_registry_of_ones_own():
    registry = connect("memory:", "own", ICICLE)
    frazil.declare_past(registry=registry, start="2020-01-01")
    assert frazil.history(registry=registry).at(WHEN)
    with pytest.raises(ConfigError, match="derive it from"):
        with_past(SimpleNamespace(url="old:"))


def test_independent_stores(tmp_path):
    whole = connect("memory:", "parts", ICICLE)
    parts = [connect(f"memory:{n}", "parts", ICICLE) for n in range(2)]
    for n, part in enumerate(parts):
        part.terms = share_terms(whole.terms, n, 2)._replace(namespace="parts")
    registry = PartitionedRegistry("memory:0,1", whole.terms, parts)
    frazil.declare_past(registry=registry, start="2020-01-01")
    assert registry.look().past_from == whole.terms.tick_at(1577836800_000_000)
    assert ICICLE.unpack(frazil.history(registry=registry).at(WHEN)).node == 0

    def away(*_):
        raise RegistryUnavailable("away", url="", outcome_known=True)

    parts[0].claim_past = away
    assert ICICLE.unpack(frazil.history(registry=registry).at(WHEN)).node == 512
    parts[1].claim_past = away
    with pytest.raises(RegistryUnavailable):
        frazil.history(registry=registry, timeout=0)


def test_a_file_keeps_it_through_a_power_cut(declared, monkeypatch):
    registry = connect(declared, "default", ICICLE)
    step, synced = registry._file.step, []

    def recorded(**options):
        synced.append(options["synced"])
        return step(**options)

    monkeypatch.setattr(registry._file, "step", recorded)
    frazil.history(registry=registry)
    frazil.mint(1, registry=registry)
    assert synced == [True, False]
