"""Constants and node numbers as large as a store counts, and larger, on every store."""

import pytest

import frazil
from frazil.claims.claim import LastSeen
from frazil.errors import ConfigError
from frazil.registries import connect
from tests.servers.stores import store
from tests.tools.verbs import begin, grant, release, renew

EPOCH = "@1ms since 2025-01-01T00:00:00Z"
SITES = f"time:41 site:64=0 node:10 sequence:12 {EPOCH}"
NODES = f"time:41 node:64 sequence:12 {EPOCH}"


@pytest.fixture(
    scope="module",
    params=[
        "sqlite",
        "memory",
        "redis",
        "postgresql",
        pytest.param("etcd", marks=pytest.mark.long),
    ],
)
def url(request, tmp_path_factory):
    if request.param == "sqlite":
        yield f"sqlite://{tmp_path_factory.mktemp('large')}/claims.db"
    elif request.param == "memory":
        yield "memory:large"
    else:
        with store(request.param) as one:
            yield one.url


def whole_life(registry):
    """Grant, renewal and release of a claim; answers its slot."""
    begin(registry)
    claim = grant(registry, 5)
    longer = renew(registry, claim)
    assert [holding.slot for holding in registry.holdings()] == [claim.slot]
    assert isinstance(release(registry, longer, longer.start), LastSeen)
    return claim.slot


def test_the_largest_constants(url):
    site = 2**53 - 2
    scheme = frazil.scheme(SITES, fields={"site": site})
    registry = connect(url, "largest", scheme)
    assert registry.terms.slots == range(site << 10, (site + 1) << 10)
    assert whole_life(registry) in registry.terms.slots


@pytest.mark.parametrize("node", [2**63 - 1, 2**63, 2**64 - 1])
def test_a_static_number_that_no_store_counts(tmp_path, node):
    with pytest.raises(ConfigError, match=r"is not within 0\.\.9223372036854775806") as caught:
        connect(f"static:{node}?state={tmp_path}/n.db", "x", frazil.scheme(NODES))
    assert caught.value.limit == 2**63 - 2


def test_the_largest_static_number(tmp_path):
    url = f"static:{2**63 - 2}?state={tmp_path}/n.db"
    assert whole_life(connect(url, "x", frazil.scheme(NODES))) == 2**63 - 2


def test_numbers_of_ids(url):
    for fields in ({"site": 2**53}, {"site": 2**63}):
        with pytest.raises(ConfigError):
            frazil.mint(1, url, SITES, namespace="mint", fields=fields)
