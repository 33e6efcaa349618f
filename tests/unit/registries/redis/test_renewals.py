"""Renewals in a Redis: nearly all take the short way through the script, and change one slot."""

import pytest

from frazil.claims.claim import Claim, LastSeen, Lost
from frazil.errors import ConfigError
from frazil.generator.verb_requests import ask_of
from tests.tools.verbs import grant, new, renew

MEMBERS = 70  # on three pages of 32
SHORT = {"evalsha": 1, "hmget": 1, "hset": 1, "info": 2, "time": 1}


@pytest.fixture
def registry(server, request):
    return new(server.url, request.node.name)


def commands(server):
    """How often each was called since this was last asked, but for what asks."""
    found = server.info("commandstats")
    server.do("CONFIG", "RESETSTAT")
    asking = {"config|resetstat", "hello", "client|setinfo", "select"}
    named = {name.removeprefix("cmdstat_"): facts["calls"] for name, facts in found.items()}
    return {name: calls for name, calls in named.items() if name not in asking}


@pytest.mark.parametrize("number", [0, 1, 30, 31, 32, 33, 63, 64, 69])
def test_the_short_way_changes_one_slot(registry, server, number):
    claims = [grant(registry, 4_000) for _ in range(MEMBERS)]
    assert [claim.slot for claim in claims] == list(range(MEMBERS))
    before = registry.look()
    commands(server)
    claim = claims[number]
    longer = registry.renew(ask_of(claims[0].seen, claim, rate_hz=70), claim.until + 500)
    called = commands(server)
    assert called == SHORT
    seen = LastSeen(claim.seen.sid, claims[-1].seen.revision + 1, longer.now_us)
    assert longer == claim._replace(until=claim.until + 500, now_us=longer.now_us, seen=seen)
    after = registry.look()
    assert after.now_us >= longer.now_us >= before.now_us
    assert [one for one in after.holdings if one.slot != number] == [
        one for one in before.holdings if one.slot != number
    ]
    was, now = before.holdings[number], after.holdings[number]
    assert now == was._replace(until=longer.until, holder=f"{was.holder} 70/s")


def test_a_changed_claim_takes_the_long_way(registry, server):
    claim = grant(registry, 1_000)
    longer = renew(registry, claim, 500)
    for held in (claim, longer._replace(token="another")):
        commands(server)
        assert isinstance(registry.renew(ask_of(claim.seen, held), longer.until + 500), Lost)
        called = commands(server)
        assert called["hmget"] > 1
    assert isinstance(registry.renew(ask_of(claim.seen, longer), longer.until + 500), Claim)


HEAD = """
local head = cmsgpack.unpack(redis.call('HGET', KEYS[1], 'head'))
return {#head, string.format('%.0f', head[6]), string.format('%.0f', head[9]),
  string.format('%.0f', head[11])}
"""


def test_the_short_way_keeps_what_it_told(registry, server):
    """The revision, the clock's last reading, and the highest now, by which losses are noticed."""
    claim = grant(registry, 1_000)
    for _ in range(3):
        commands(server)
        claim = renew(registry, claim, 10)
        assert commands(server) == SHORT
        told = server.client().eval(HEAD, 1, f"frazil:{{{registry.namespace}}}")
        now = str(claim.now_us).encode()
        assert told == [11, str(claim.seen.revision).encode(), now, now]


@pytest.mark.parametrize("field", ["head", "slot:0:0"])
def test_a_deleted_field_takes_the_long_way(registry, server, field):
    claim = grant(registry, 1_000)
    assert server.client().hdel(f"frazil:{{{registry.namespace}}}", field) == 1
    assert isinstance(renew(registry, claim, 500), Lost)


def test_a_deleted_page_is_an_error(registry, server):
    claim = grant(registry, 1_000)
    assert server.client().hdel(f"frazil:{{{registry.namespace}}}", "page:0:0") == 1
    with pytest.raises(ConfigError, match="it answered with an error"):
        renew(registry, claim, 500)
