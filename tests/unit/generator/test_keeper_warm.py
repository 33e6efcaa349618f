"""The claim of a generator that is used rarely: kept warm for a while, for few requests."""

import pytest

from frazil.claims.claim import Lost
from frazil.errors import ConfigError
from frazil.generator.request import make_request
from tests.unit.generator.test_keeper import Answers, call, tend


@pytest.fixture
def warm(supplied, monkeypatch):
    """(walk, keeper, the verbs sent): a claim that is kept for 10 s; the horizon is 1 s."""
    ids, keeper, answers = supplied
    keeper.policy._keep_ns = 10 * 10**9
    sent = []
    for name in ("grant", "renew", "release"):
        verb = getattr(keeper.registry, name)

        def noted(*asked, name=name, verb=verb):
            sent.append(name)
            return verb(*asked)

        monkeypatch.setattr(keeper.registry, name, noted)
    call(ids, keeper, answers)
    return ids, keeper, sent


def pass_s(world, ids, keeper, seconds):
    """Let time pass, and have each round when it is due; the claim is never spent meanwhile."""
    until_ns = world.ns + int(seconds * 1e9)
    look_s = keeper.policy._next_round_s(ids)
    while look_s is not None and world.ns + look_s * 1e9 < until_ns:
        world.advance(int(look_s * 1000) + 1)
        assert ids.left() > 0
        look_s = tend(keeper, ids)
    world.advance(max(0, (until_ns - world.ns) // 10**6))
    return look_s


@pytest.mark.parametrize("rest_s", [0.1, 1, 5, 9])
def test_an_id_after_a_rest_costs_no_request_and_has_a_fresh_tick(warm, world, rest_s):
    ids, keeper, sent = warm
    ids.poll()
    pass_s(world, ids, keeper, rest_s)
    before = len(sent)
    assert isinstance(ids.poll(), int)
    assert ids.tick == ids.due_now()
    assert len(sent) == before
    assert sent.count("grant") == 1


@pytest.mark.parametrize(("ids_made", "reach_ms"), [(1, 1000), (2, 400)])
def test_the_first_id_alone_does_not_make_a_generator_busy(warm, world, ids_made, reach_ms):
    """So a start costs the store two requests: a claim, and one for the whole horizon."""
    ids, keeper, sent = warm
    for _ in range(ids_made):
        world.advance(1)
        ids.poll()
    world.advance(60)
    tend(keeper, ids)
    assert sent == ["grant", "renew"]
    assert ids.reach() == reach_ms


def test_a_claim_that_is_not_kept_warm_for_long_is_not_for_the_whole_horizon(warm, world):
    """An idle claim is looked at when half of it is left, here after 500 ms."""
    ids, keeper, _sent = warm
    keeper.policy._keep_ns = 400 * 10**6
    ids.poll()
    world.advance(60)
    tend(keeper, ids)
    assert ids.reach() == 400


def test_a_renewal_that_was_late_is_for_the_whole_horizon(warm, world):
    """The next one is far away, which helps a store or a machine that has too much to do."""
    ids, keeper, sent = warm
    for rest_ms in (0, 2000, 3000):
        world.advance(rest_ms)
        if ids.left() <= 0:
            call(ids, keeper, Answers())
        ids.poll()
    assert sent == ["grant", "renew", "renew"]
    assert ids.reach() == 1000


@pytest.mark.parametrize(("ids_made", "reach_ms"), [(1, 1000), (2, 400)])
def test_one_id_after_a_late_renewal_makes_no_generator_busy(warm, world, ids_made, reach_ms):
    ids, keeper, _sent = warm
    keeper.policy.jitter, keeper.policy._spread = (lambda: 0.5), True  # twice as much each time
    for _ in range(3):
        world.advance(1)
        ids.poll()
    world.advance(200)
    call(ids, keeper, Answers())
    assert ids.reach() == 200
    for _ in range(ids_made):
        world.advance(1)
        ids.poll()
    world.advance(110)
    tend(keeper, ids)
    assert ids.reach() == reach_ms


def test_a_claim_that_is_lost_after_one_id_is_followed_by_a_longer_one(warm, world, monkeypatch):
    """Not by one of the whole horizon: the number was taken, so others want it too."""
    ids, keeper, _sent = warm
    ids.poll()
    world.advance(60)
    with monkeypatch.context() as lost:
        lost.setattr(keeper.registry, "renew", lambda *_: Lost(keeper.policy._seen))
        tend(keeper, ids)
    world.advance(60)
    call(ids, keeper, Answers())
    assert keeper.policy.claim.until - keeper.policy.claim.start == 400


def test_an_idle_claim_takes_two_requests_in_each_horizon(warm, world):
    ids, keeper, sent = warm
    ids.poll()
    pass_s(world, ids, keeper, 1)
    sent.clear()
    pass_s(world, ids, keeper, 7)
    assert set(sent) == {"renew"}
    assert 14 <= len(sent) <= 16  # after a loss it must report within half a horizon, here 500 ms


def test_it_is_given_back_after_a_while_and_asks_no_more(warm, world):
    ids, keeper, sent = warm
    ids.poll()
    assert pass_s(world, ids, keeper, 12) is None
    assert sent[-1] == "release"
    assert not any(holding.held for holding in keeper.registry.holdings())


def test_each_id_prolongs_the_while(warm, world):
    ids, keeper, sent = warm
    for _ in range(4):
        ids.poll()
        pass_s(world, ids, keeper, 8)
    assert "release" not in sent
    assert sent.count("grant") == 1


def test_who_loses_an_idle_claim_keeps_none_for_a_while(warm, world, monkeypatch):
    """Another member needed the node number, so they are scarce."""
    ids, keeper, _ = warm
    ids.poll()
    pass_s(world, ids, keeper, 1.5)
    seen = keeper.policy._seen
    with monkeypatch.context() as lost:
        lost.setattr(keeper.registry, "renew", lambda *_: Lost(seen))
        while tend(keeper, ids) is not None:
            world.advance(20)
    call(ids, keeper, Answers())
    ids.poll()
    world.advance(600)
    tend(keeper, ids)  # busy: renewed
    world.advance(700)
    assert tend(keeper, ids) is None  # and idle: given back
    assert keeper.policy.claim is None


def test_an_idle_claim_that_ended_before_it_was_lost_says_nothing(warm, world, monkeypatch):
    """Its number was free, and any member could have it."""
    ids, keeper, _ = warm
    ids.poll()
    pass_s(world, ids, keeper, 1)
    world.advance(4000)
    with monkeypatch.context() as lost:
        lost.setattr(keeper.registry, "renew", lambda *_: Lost(keeper.policy._seen))
        assert tend(keeper, ids) is None
    call(ids, keeper, Answers())
    ids.poll()
    pass_s(world, ids, keeper, 8)
    assert keeper.policy.claim is not None


def test_a_late_renewal_reaches_into_the_future(warm, world):
    """The process was stopped for longer than its claim, and nobody else took the slot."""
    ids, keeper, sent = warm
    ids.poll()
    pass_s(world, ids, keeper, 1)
    world.advance(4000)
    assert ids.left() == 0
    tend(keeper, ids)
    assert sent.count("grant") == 1
    assert ids.reach() == 1000


def test_keep_is_a_duration():
    assert make_request("memory:").keep_us == 60_000_000
    assert make_request("memory:", keep="5s").keep_us == 5_000_000
    with pytest.raises(ConfigError, match="keep"):
        make_request("memory:", keep="5")
