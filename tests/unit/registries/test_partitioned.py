"""Several servers that share nothing, one of which has a wrong clock."""

import time
from contextlib import ExitStack
from copy import copy

import pytest

import frazil
from frazil.claims.claim import Claim, LastSeen, Lost, Wait
from frazil.errors import ClockError, ConfigError, RegistryUnavailable
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from tests.servers.redis import Server, until
from tests.tools.verbs import ONE_RECORD, begin, grant, new

HOUR_S = 3600


@pytest.fixture
def pair():
    with ExitStack() as stack:
        yield [stack.enter_context(Server("valkey", faked=True)) for _ in range(2)]


@pytest.fixture
def url(pair):
    hosts = ",".join(f"127.0.0.1:{server.port}" for server in pair)
    registry = new(f"redis://{hosts}", "x")
    return registry.url


def step(server):
    """Set a server's clock an hour ahead."""
    server.step_clock(HOUR_S)
    until(lambda: int(server.do("TIME")[0]) > time.time() + HOUR_S - 60, "its new clock")


@pytest.mark.parametrize("reported", [True, False])
def test_a_member_that_moved_reports_to_the_store_that_it_left(pair, reported):
    """That lost the last claim there meanwhile, and whose clock is set back."""
    hosts = ",".join(f"127.0.0.1:{server.port}" for server in pair)
    url = f"redis://{hosts}?horizon=1s"
    member, newcomer = (connect(url, "x", ONE_RECORD) for _ in range(2))
    begin(member)
    left = member.parts[0]
    member._at = 0
    here = grant(member, 1000)
    assert here.slot in left.terms.slots
    here = member.renew(ask_of(LastSeen(), here), here.until + 1000)
    pair[0].kill()
    assert isinstance(member.renew(ask_of(LastSeen(), here), here.until + 1000), Lost)
    there = grant(member, 1000)
    assert there.slot not in left.terms.slots
    pair[0].step_clock(-3)
    pair[0].start()
    assert int(pair[0].do("TIME")[0]) < time.time() - 2
    newcomer.parts = newcomer.parts[:1]
    assert isinstance(grant(newcomer), Wait)
    if reported:
        assert isinstance(member.renew(ask_of(LastSeen(), there), there.until), Claim)
    granted = until(lambda: isinstance(claim := grant(newcomer), Claim) and claim, "a claim")
    assert (granted.start >= here.until) is reported


def test_a_child_reports_a_claim_that_its_parent_went_back_to(pair):
    """It gives nothing of it back."""
    hosts = ",".join(f"127.0.0.1:{server.port}" for server in pair)
    parent = new(f"redis://{hosts}?horizon=5s", "x")
    parent._at = 0
    here = grant(parent, 100)
    place, parent.parts[0].renew = parent.parts[0].renew, away
    assert isinstance(parent.renew(ask_of(LastSeen(), here), here.until), Lost)
    parent.parts[0].renew = place
    child = copy(parent)
    child._left, child._memory = dict(parent._left), list(parent._memory)  # as of now
    later = parent.renew(ask_of(LastSeen(), here), here.until + 1000)
    assert later.until > here.until
    there = grant(child.parts[1])
    assert isinstance(child.renew(ask_of(LastSeen(), there), there.until), Claim)
    [mine] = [each for each in parent.parts[0].look().holdings if each.slot == here.slot]
    assert mine.until == later.until


def away(*_):
    raise RegistryUnavailable("away", outcome_known=True)


def test_the_error_is_raised_where_no_server_is_left(pair, url):
    for server in pair:
        step(server)
    with pytest.raises(ClockError, match="correct the wrong one"):
        grant(connect(url, "x", ONE_RECORD))
    pair[0].kill()
    for _ in range(4):  # whichever is asked first
        with pytest.raises(RegistryUnavailable):
            grant(connect(url, "x", ONE_RECORD))


def test_a_past_may_be_left_on_a_store_that_does_not_answer(pair, url):
    scheme = frazil.scheme("sign:1=0 time:41 node:1 sequence:21 @1ms since 2016-02-18")
    new(url, "z", scheme)
    registry = connect(url, "z", scheme)
    registry.declare_past(ask_of(LastSeen()), 0)
    claims = [registry.claim_past(ask_of(LastSeen()), (5, 9)) for _ in range(3)]
    assert [type(claim) for claim in claims] == [Claim, Claim, Lost]
    pair[1].kill()
    with pytest.raises(RegistryUnavailable):
        registry.claim_past(ask_of(LastSeen()), (5, 9))
    assert isinstance(registry.claim_past(ask_of(LastSeen()), (9, 12)), Claim)


def test_a_wrong_store_is_not_left_out_of_a_new_namespace_unnoticed(pair, url):
    step(pair[0])
    with pytest.raises(ClockError):
        new(url, "y")


def test_a_namespace_is_not_new_where_one_store_has_a_record(pair, url):
    """A store that was emptied may have claims that are held."""
    registry = connect(url, "x", ONE_RECORD)
    for part in registry.parts:
        grant(part)
    pair[0].do("FLUSHALL")
    before = registry.parts[1].look()
    with pytest.raises(ConfigError, match="leave out --new"):
        new(url, "x")
    with pytest.raises(ConfigError, match="leave out --new"):
        frazil.init(url, namespace="x", scheme=ONE_RECORD, new=True)
    assert registry.parts[0].look() is None
    assert registry.parts[1].look().holdings == before.holdings
    assert frazil.init(url, namespace="x", scheme=ONE_RECORD) is True
    assert isinstance(grant(registry.parts[0]), Wait)  # for a member that was not there before
