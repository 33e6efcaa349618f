"""The records of a claim's life, on a real server: each thing once, and never a password.

And of a file that a wrong clock moved years ahead: who says so, and when.
"""

import logging

import pytest

import frazil
from frazil.claims.claim import Claim
from frazil.errors import ClockError, ConfigError, PoolExhausted, RegistryUnavailable
from frazil.generator.journal import Journal
from frazil.registries.base import terms_of
from frazil.schemes.scheme import scheme
from frazil.system import clock
from frazil.system.clock import sortable_text
from frazil.system.event_log import flush
from tests.servers.redis import Server
from tests.tools.waiting import until

REGION = ["node", "start", "end", "first", "last"]
EACH = ["namespace", "store", "process"]


class Records(list):
    """The records of the logger, from DEBUG up."""

    def of(self, *events):
        flush(10)
        return [record for record in self if record.frazil_event in events]

    def events(self, least=logging.INFO):
        flush(10)
        return [record.frazil_event for record in self if record.levelno >= least]


@pytest.fixture
def records():
    kept, logger = Records(), logging.getLogger("frazil")
    handler = logging.Handler()
    handler.emit = kept.append
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield kept
    flush(10)
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


@pytest.fixture(scope="module")
def own():
    """A server of this module's own, with a password."""
    with Server(requirepass="hunter2") as server:
        yield server


def url_of(server):
    return f"redis://:hunter2@127.0.0.1:{server.port}"


def facts(record):
    return {name for name in vars(record) if name.startswith("frazil_")}


def test_a_claims_life(records, own):
    url = url_of(own)
    frazil.init(url, namespace="life", new=True)
    with frazil.open(url, namespace="life") as ids:
        n = ids()
        until(lambda: records.of("claim renewed"), "a renewal")
        ids()
    told = [event for event in records.events() if event != "claim renewed late"]  # a busy machine
    assert told == ["claim granted", "claim given back", "generator closed"]
    granted, back, closed = records.of(*set(told))
    assert facts(granted) == {f"frazil_{name}" for name in ["event", *REGION, *EACH]}
    node, tick = ids.scheme.unpack(n)["node"], ids.scheme.unpack(n)["time"]
    assert granted.frazil_node == node
    assert granted.frazil_start <= tick < granted.frazil_end
    moment = sortable_text(ids.scheme.unpack(n).moment_us)
    assert granted.frazil_first <= moment < granted.frazil_last
    assert granted.frazil_process == granted.getMessage().rpartition(" ")[2]
    assert int(granted.frazil_process.rpartition(":")[2]) == granted.process
    assert (back.frazil_start, back.frazil_node) == (granted.frazil_start, node)
    assert closed.frazil_issued == 2
    assert "hunter2" not in repr([vars(record) for record in records])


def test_mint_tells_its_claim(records, own):
    (n,) = frazil.mint(1, url_of(own), namespace="life")
    (granted,) = records.of("claim granted")
    assert granted.frazil_mint is True
    assert granted.frazil_start <= scheme().unpack(n)["time"] < granted.frazil_end


def test_node_numbers_run_out(records):
    tiny = "sign:1=0 time:39 node:1 sequence:23 @1ms since 2025-01-01T00:00:00Z"
    url = "memory:run out?horizon=2s"
    with frazil.open(url, tiny, lead="2s") as one, frazil.open(url, tiny, lead="2s") as two:
        one.take(1)
        two.take(1)
        until(lambda: len(records.of("claim renewed")) > 8, "long claims")
        with (
            frazil.open(url, tiny, timeout="10ms") as third,
            pytest.raises((PoolExhausted, RegistryUnavailable)),
        ):
            third()
        until(lambda: records.of("claim awaited", "claim lost"), "a record")


# --- each record


@pytest.fixture
def journal():
    return Journal("redis://h", terms_of(scheme(), 5_000_000))


CLAIM = Claim(5, 1000, 2000, "t", 1_600_000_000_000_000)


def test_a_renewal_is_late(records, journal):
    journal("renewed", claim=CLAIM, late_ticks=0)
    journal("renewed", claim=CLAIM, late_ticks=900)
    journal("renewed", claim=CLAIM, late_ticks=1100)
    flush(10)
    assert [(record.levelname, record.frazil_event) for record in records] == [
        ("DEBUG", "claim renewed"),
        ("INFO", "claim renewed late"),
        ("WARNING", "claim renewed late"),
    ]
    assert records[2].frazil_late_s == 1.1


def test_a_refusal_is_told_once_until_the_next_grant(records, journal):
    clock, other = ClockError("the registry's clock shows 1970"), ConfigError("other layout")
    for error in (clock, ClockError("the registry's clock shows 1971"), other, other):
        journal("refused", error=error)
    journal("granted", claim=CLAIM)
    journal("refused", error=other)
    assert records.events() == ["clock refused", "claim refused", "claim granted", "claim refused"]
    assert journal.last_error == "other layout"


def test_a_wait_is_told_once_until_the_next_grant(records, journal):
    journal("awaited", wait_us=2_000_000, why="is new", new=True)
    journal("awaited", wait_us=1_000_000, why="is new", new=True)
    journal("granted", claim=CLAIM)
    journal("awaited", wait_us=1_000_000, why="node numbers", new=False)
    flush(10)
    assert [record.levelname for record in records] == ["INFO", "INFO", "WARNING"]
    assert records[0].frazil_wait_s == 2.0
    assert "is new" in records[0].getMessage()
    assert "node numbers" in records[2].getMessage()


YEARS_US = 10 * 365 * 86_400_000_000


@pytest.fixture(params=["sqlite:{}/claims.db", "static:7?state={}/seven.db"])
def url(request, tmp_path):
    url = request.param.format(tmp_path)
    frazil.init(url, new=True)
    return url


@pytest.fixture
def shifted(monkeypatch):
    """Sets this process's wall clock ahead."""
    right = clock.wall_us

    def shift(us):
        monkeypatch.setattr(clock, "wall_us", lambda: right() + us)

    return shift


def test_a_process_whose_clock_is_years_ahead_says_so(records, url, shifted):
    frazil.mint(1, url)
    assert not records.of("clock ahead")
    shifted(YEARS_US)
    with frazil.open(url, keep=0) as ids:
        ids()
    # Generators that other tests left open see the same clock.
    (told,) = (record for record in records.of("clock ahead") if record.frazil_store == url)
    assert told.levelname == "WARNING"
    text = told.getMessage()
    assert "this host's clock stepped forward by 3,650.0 days, and so do timestamps" in text
    assert ClockError.page in text
    assert told.frazil_ahead_s == pytest.approx(YEARS_US / 1e6, abs=60)
