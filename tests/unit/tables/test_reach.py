"""Which stores the workers of an engine may share."""

import pytest

from frazil.errors import ConfigError
from frazil.generator.request import make_request
from frazil.tables.attempt import make_attempt
from frazil.tables.reach import check_reach, is_loopback

LOCAL = [
    "sqlite:",
    "sqlite:///tmp/a.db",
    "unix:///tmp/redis.sock",
    "redis://localhost",
    "redis://a.example,127.0.0.1:6379",
    "redis://:secret@[::1]:6379",
    "postgresql:///db",
    "etcd://127.0.0.2",
    "icicle://0.0.0.0:1",
    "http://LOCALHOST:8080/a",
]


@pytest.mark.parametrize("url", LOCAL)
def test_a_store_of_each_host_is_refused(url: str) -> None:
    request = make_request(url)
    check_reach(request, "Spark", one_host=True)
    with pytest.raises(ConfigError, match="another store on each host of Spark") as error:
        check_reach(request, "Spark", one_host=False)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("url", ["memory:", "static:7", "static:hostname"])
def test_never(url: str) -> None:
    for one_host in (True, False):
        with pytest.raises(ConfigError, match="cannot be shared"):
            check_reach(make_request(url), "Ray", one_host=one_host)


def test_addresses() -> None:
    here = ("127.0.0.1", "localhost:8786", "tcp://127.0.0.1:8786", "[::1]:5", "", "0.0.0.0")
    assert all(map(is_loopback, here))
    for away in ("10.0.0.1", "tcp://10.0.0.1:8786", "[fe80::1]:5", "ids.example:1", "localhosts"):
        assert not is_loopback(away)


def test_an_attempt_is_checked_when_it_is_made() -> None:
    def made(url: str, scheme: str, *, text: bool = False) -> str:
        return make_attempt(
            "id", url, scheme, "Spark", one_host=False, text=text, unsigned=False
        ).kind

    assert made("redis://a", "icicle") == "int64"
    assert made("redis://a", "globalid-128", text=True) == "text"
    with pytest.raises(ConfigError, match="text=True"):
        made("redis://a", "tsid")
    with pytest.raises(ConfigError, match="cannot be shared"):
        made("sqlite:", "icicle")
