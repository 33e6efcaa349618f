"""The client of a service: a real one behind a proxy that fails, and fake ones.

And URLs and options that ``open`` refuses without a connection.
"""

import asyncio
import gc
import logging
import pickle
import threading
import time

import pytest

import frazil
from frazil import aio
from frazil.errors import Closed, ConfigError, LayoutExhausted, RegistryUnavailable
from frazil.remote.http.calls import ServiceCalls
from frazil.system import clock
from tests.needs import needs
from tests.tools.proxy import Faults, Proxy
from tests.unit.service.conftest import token

needs("aiohttp", "the client of a service")

TOKEN = "frazil_right"
CONFIG = f"""
[namespaces.a]
registry = "memory:"
lead = "500ms"
[namespaces.js]
scheme = "js53"
registry = "memory:"
[namespaces.wide]
scheme = "globalid-128"
registry = "memory:"
[namespaces.uuids]
scheme = "uuid7"
registry = "memory:"
[namespaces.texts]
scheme = "globalid-128"
registry = "memory:"
encoding = "uuid"
[namespaces.spread]
scheme = "uniqueid-spread"
registry = "memory:"
fields = {{ cluster = 3 }}
{token("all", secret=TOKEN)}
"""


@pytest.fixture(autouse=True)
def _token(monkeypatch):
    monkeypatch.setenv("FRAZIL_TOKEN", TOKEN)


@pytest.fixture
def wire(service):
    with Proxy(int(service.url.rpartition(":")[2])) as wire:
        yield wire


def at(wire, more="/a"):
    return f"http://127.0.0.1:{wire.port}{more}"


class TestIds:
    @pytest.mark.parametrize(
        ("name", "scheme"),
        [
            ("a", frazil.scheme()),
            ("js", frazil.scheme("js53")),
            ("wide", frazil.scheme("globalid-128")),
            ("uuids", frazil.scheme("uuid7")),
            ("texts", frazil.scheme("globalid-128", encoding="uuid")),
            ("spread", frazil.scheme("uniqueid-spread", fields={"cluster": 3})),
        ],
    )
    def test_every_way(self, service, name, scheme):
        with frazil.open(f"{service.url}/{name}", scheme) as ids:
            found = [ids(), next(ids), *ids.take(50), scheme.parse(ids.text())]
            uuids = [ids.uuid()] if name == "uuids" else []
            array = ids.array(50)
        if scheme.bits > 64:
            found += [int(hi) << 64 | int(lo) for hi, lo in array.tolist()]
        else:
            found += array.tolist()
        assert len({*found, *(each.int for each in uuids)}) == 103 + len(uuids)
        assert all(each.version == 7 for each in uuids)
        now = time.time() * 1e6
        assert all(abs(scheme.unpack(n).moment_us - now) < 60e6 for n in found)
        assert all(scheme.unpack(n).foreign == () for n in found)

    @pytest.mark.filterwarnings("ignore:unclosed (transport|<):ResourceWarning")
    def test_async_in_another_loop(self, service):
        ids = aio.open(url=f"{service.url}/a")
        one, other = asyncio.run(ids.take(3)), asyncio.run(ids.take(3))
        assert len({*one, *other}) == 6
        asyncio.run(ids.aclose())
        with pytest.raises(Closed):
            asyncio.run(ids())
        del ids
        collect()

    @pytest.mark.filterwarnings("ignore:unclosed (transport|<):ResourceWarning")
    def test_a_loop_that_ended_first_is_no_warning(self, service):
        """Nor if a cycle holds the session and what owns it, in whatever order these end."""

        async def forgotten():
            ids = aio.open(url=f"{service.url}/a")
            await ids()
            for life in gc.get_objects():
                if isinstance(life, ServiceCalls) and hasattr(life, "_session"):
                    life.cycle = [life, life._session]

        for _ in range(5):
            asyncio.run(forgotten())
        collect()

    def test_a_pickle_makes_other_ids(self, service):
        ids = frazil.open(f"{service.url}/a?prefetch=10")
        ids()
        other = pickle.loads(pickle.dumps(ids))
        assert not {ids() for _ in range(10)} & {other() for _ in range(10)}


def collect():
    """Also the connections of loops that ended before they were closed, and what these hold."""
    for _ in range(3):
        gc.collect()


class TestTrouble:
    def test_lost_replies_are_retried(self, wire):
        with frazil.open(at(wire)) as ids:
            found = [ids()]
            for _ in range(3):
                with wire.losing_replies():
                    late = threading.Timer(0.3, lambda: setattr(wire, "_faults", Faults()))
                    late.start()
                    found += ids.take(10)
                    late.join()
        assert wire.lost >= 3
        assert len(set(found)) == len(found) == 31

    @pytest.mark.parametrize("silently", [False, True])
    def test_the_final_error_has_every_reason(self, wire, silently):
        with frazil.open(at(wire), timeout=2) as ids:
            with wire.losing_replies(silently=silently):
                began = time.monotonic()
                with pytest.raises(RegistryUnavailable) as caught:
                    ids()
                assert time.monotonic() - began < 60
            assert caught.value.attempts >= 2
            assert not caught.value.outcome_known
            assert all(reason in str(caught.value) for reason in caught.value.reasons)
            assert f"{wire.port}/a gave no ID within 2s" in str(caught.value)
            ids()  # and it goes on

    def test_prefetched_ids_last_while_the_service_is_down(self, wire):
        with frazil.open(at(wire, "/a?prefetch=1000"), timeout=1) as ids:
            ids()
            with wire.refusing():
                left = len(ids._life.prefetch.buffer)
                assert left > 0
                found = {ids() for _ in range(left)}
                assert len(found) == left
                with pytest.raises(RegistryUnavailable):
                    ids()


async def awaited(url):
    async with aio.open(url, token=TOKEN) as ids:
        await ids()


class TestSecrets:
    def test_a_wrong_token_fails_at_once(self, service):
        ids = frazil.open(f"{service.url}/a", token="frazil_wrong", timeout="10min")
        began = time.monotonic()
        with pytest.raises(ConfigError, match="FRAZIL_TOKEN"):
            ids()
        assert time.monotonic() - began < 300

    def test_a_token_is_never_shown(self, service, wire, caplog):
        caplog.set_level(logging.DEBUG)
        with frazil.open(at(wire, "/nope"), token=TOKEN) as ids:
            seen = [repr(ids), str(ids), repr(ids.config), repr(vars(ids))]
            with pytest.raises(ConfigError) as caught:
                ids()
            seen += [str(caught.value), repr(caught.value.facts)]
        with pytest.raises(ConfigError) as caught:
            asyncio.run(awaited(at(wire, "/nope")))
        seen.append(str(caught.value))
        assert not [text for text in [*seen, caplog.text] if TOKEN in text]

    def test_none_in_the_url(self):
        for url in ("http://me:frazil_x@h/a", "http://frazil_x@h/a", "http://h/a?token=frazil_x"):
            with pytest.raises(ConfigError) as caught:
                frazil.open(url)
            assert "token=frazil_x" in url or "frazil_x" not in str(caught.value)
        with pytest.raises(ConfigError) as caught:
            frazil.open("http://h/a", token="frazil_x\r\nX: y")
        assert "frazil_x" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "how", "told"),
    [
        ("http://h/a?prefetch=x", {}, "whole number"),
        ("http://h/a?prefetch=1000000", {}, "from 0 to 100000"),
        ("http://h/a?shards=1", {}, "unknown option"),
        ("http://h/a%20b", {}, "letters"),
        ("http:///a", {}, "write the service's URL"),
        ("http://h:99999/a", {}, "write the service's URL"),
        ("http://h/a#x", {}, "written %23"),
        ("http://h/a", {"namespace": "b"}, "pass one of them"),
        ("http://h/a", {"lead": "1s"}, "takes no lead="),
        ("http://h/a", {"block": 5}, "takes no block="),
        ("http://h/a", {"sequence_start": "random"}, "takes no sequence_start="),
        ("memory:", {"token": "x"}, "for a service"),
    ],
)
def test_misuse(url, how, told):
    with pytest.raises(ConfigError, match=told):
        frazil.open(url, **how)


@pytest.mark.parametrize("url", ["http://h/a", "icicle://h", "memory:"])
@pytest.mark.parametrize("open_ids", [frazil.open, aio.open])
def test_a_full_layout_fails_at_open(url, open_ids, monkeypatch):
    century_us = 100 * 365 * 86_400_000_000
    monkeypatch.setattr(clock, "wall_us", lambda: century_us * 2)
    with pytest.raises(LayoutExhausted, match="is full since"):
        open_ids(url)


def test_no_prefetch_in_a_loop():
    with pytest.raises(ConfigError, match="for threads"):
        aio.open("http://h/a?prefetch=5")
