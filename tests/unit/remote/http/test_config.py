"""URLs and options that ``open`` refuses without a connection."""

import pytest

import frazil
from frazil import aio
from frazil.errors import ConfigError
from tests.needs import needs

needs("httpx", "the client of a service")


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


def test_no_prefetch_in_a_loop():
    with pytest.raises(ConfigError, match="for threads"):
        aio.open("http://h/a?prefetch=5")
