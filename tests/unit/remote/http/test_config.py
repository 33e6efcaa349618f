"""URLs and options that ``open`` refuses without a connection."""

import pytest

import frazil
from frazil import aio
from frazil.errors import ConfigError, LayoutExhausted
from frazil.system import clock
from tests.needs import needs

needs("aiohttp", "the client of a service")


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
