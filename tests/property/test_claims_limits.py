"""The script of the verbs at their limits, to the microsecond, beside ``record``."""

import pytest

from frazil.claims.claim import Claim, LastSeen, VerbRequest, Wait
from frazil.claims.record import JUMP_US, WITNESS_US
from frazil.generator.verb_requests import ask_of
from frazil.registries.redis.registry import RedisRegistry
from tests.property.test_claims_lua import Pair

S = 1_000_000


def pair_of(server, layout, horizon="1s"):
    return Pair(server, layout, 10**12, horizon)


@pytest.fixture
def pair(server):
    pair = pair_of(server, "time:41 sequence:2 @1ms since 2025-01-01T00:00:00Z")
    pair.initialise(0, 0)
    return pair


def same(pair, verb, amount, apart_us=0, held=None):
    """What both answer, which is the same."""
    registry = pair.members[0]
    pair.tokens += 1
    ask = VerbRequest(LastSeen(), pair.us + apart_us, f"t{pair.tokens}", "me", held)
    expected = pair.on_record(verb, registry.terms, ask, amount)
    assert pair.on_server(verb, registry, ask, amount) == expected
    assert registry.holdings() == pair.record.holdings()
    return expected


@pytest.mark.parametrize("over_us", [0, 1])
@pytest.mark.parametrize("apart_us", [WITNESS_US, WITNESS_US + 1, -WITNESS_US, -WITNESS_US - 1])
def test_a_jump_and_its_witness(pair, over_us, apart_us):
    same(pair, "grant", 10)
    pair.us += JUMP_US + over_us
    refused = not isinstance(same(pair, "grant", 10, apart_us), Claim | Wait)
    assert refused == (over_us == 1 and abs(apart_us) > WITNESS_US)


@pytest.mark.parametrize(
    ("back_us", "on_us", "whole"),
    [
        (122 * S, 61 * S, False),
        (122 * S - 1, 61 * S, True),
        (150 * S, 61 * S, False),
        (100 * S, JUMP_US, False),
        (100 * S, JUMP_US + 1, True),
    ],
)
def test_a_clock_that_is_set_right(pair, back_us, on_us, whole):
    same(pair, "grant", 10)
    pair.us -= back_us
    same(pair, "grant", 10)
    assert pair.record.offset_us == back_us
    pair.us += on_us
    same(pair, "grant", 10)
    assert pair.record.offset_us == max(0, back_us - (on_us if whole else on_us // 8))


@pytest.mark.parametrize("before_us", [0, 1])
def test_a_clock_at_the_epoch(server, before_us):
    pair = pair_of(server, "time:41 sequence:2 @1ms since 2025-01-01T00:00:00Z")
    pair.us -= 10**12 + before_us
    assert isinstance(same(pair, "grant", 10), Claim | Wait) == (not before_us)


@pytest.mark.parametrize("later_ms", [0, 8, 9, 10, 11])
def test_a_hundredth_of_the_horizon(pair, later_ms):
    same(pair, "grant", 1000)
    pair.us += later_ms * 1000
    same(pair, "grant", 500)


def test_a_tick_of_a_microsecond(server):
    pair = pair_of(server, "time:52 node:1 sequence:2 @1us since 2025-01-01T00:00:00Z", "1ms")
    for _ in range(4):
        same(pair, "grant", 10)
        pair.us += 10


@pytest.mark.parametrize("below", [-1, 0, 1])
def test_a_counter_begins_before_its_end(server, below):
    pair = pair_of(server, "run:30 sequence:14")
    same(pair, "initialise", (1 << 30) - below)
    same(pair, "grant", 3)


@pytest.mark.parametrize("verb", ["renew", "release"])
@pytest.mark.parametrize("start", [0, 1, 2])
@pytest.mark.parametrize("until", [0, 1, 2, 3])
def test_a_claim_that_was_never_granted(pair, verb, start, until):
    """The record is an older one where it ends behind all that this one knows of."""
    same(pair, verb, until, held=Claim(0, start, until, "nobody", pair.us))
    assert (pair.record.guard > 0) == (until > 0 < start)
    same(pair, "grant", 3)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_counters_of_several_nodes_are_moved_on(server, number):
    """Ahead of all that any of them gave, and not a value sooner."""
    pair = pair_of(server, "run:30 node:2 sequence:2")
    same(pair, "initialise", 0)
    for n in range(number):
        same(pair, "grant", 10 * (n + 1))
    for start in (10 * number, 10 * number + 1):
        same(pair, "initialise", start)
    same(pair, "grant", 3)


def test_a_look_tells_the_layout_and_now(pair):
    registry = pair.members[0]
    same(pair, "grant", 10)
    pair.us -= 7 * S
    same(pair, "grant", 10)
    look = registry.look()
    assert (look.layout, look.now_us) == (registry.terms.layout, pair.us + 7 * S)


@pytest.mark.parametrize(("replicas", "parts"), [(0, 2), (1, 4), (2, 4)])
def test_with_replicas_their_comings_are_of_the_incarnation(server, replicas, parts):
    registry = pair_of(server, "run:30 sequence:14").members[0]
    arguments = registry._arguments("incarnation", ask_of(LastSeen()), 0)
    arguments[22] = str(replicas)
    source = registry.link.script.source.replace("redis.call('GET','info')", "redis.call('INFO')")
    _, _, incarnation = server.client().eval(source, 1, registry._key, *arguments)
    assert len(incarnation.split(b".")) == parts


@pytest.mark.parametrize("size", [1, 31, 32, 33, 40, 64])
def test_a_pool_grants_exactly_its_slots(server, size):
    """A server that is one of several has a share of the slots, which fills no whole pages."""
    pair = pair_of(server, "time:41 node:10 sequence:2 @1ms since 2025-01-01T00:00:00Z")
    whole = pair.members[0]
    terms = whole.terms._replace(slots=range(size))
    pair.members[0] = RedisRegistry(whole.link.access, whole.namespace, terms)
    pair.members[0].link = whole.link
    same(pair, "initialise", 0)
    given = [same(pair, "grant", 1000).slot for _ in range(size)]
    assert given == list(range(size))
    for _ in range(3):
        pair.us += 500_000
        same(pair, "grant", 1000)
