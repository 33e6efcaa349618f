"""``look`` reads a record and changes nothing."""

from pathlib import Path

import pytest

from frazil.claims.claim import Claim, LastSeen
from frazil.cli.stores.store import look, persistent
from frazil.errors import ConfigError
from frazil.generator.verb_requests import ask_of
from frazil.minting import make_request
from frazil.schemes.scheme import scheme


def request(path, scheme="icicle", **options):
    return make_request(f"sqlite://{path}", scheme, **options)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "claims.db"


def test_missing_file_is_not_created(path):
    assert look(persistent(request(path)), same_terms=False) is None
    assert not path.exists()


def test_missing_namespace_is_not_created(path):
    registry = persistent(request(path))
    registry.initialise(ask_of(LastSeen()), 0)
    before = path.read_bytes()
    assert look(persistent(request(path, namespace="other")), same_terms=False) is None
    assert path.read_bytes() == before


def test_record_is_read_and_does_not_change(path):
    registry = persistent(request(path))
    registry.initialise(ask_of(LastSeen()), 0)
    claim = registry.grant(ask_of(LastSeen()), 100)
    assert isinstance(claim, Claim)
    before = path.read_bytes()
    found = look(registry, same_terms=False)
    assert found is not None
    assert found.layout == str(scheme().layout)
    (holding,) = found.holdings
    assert (holding.slot, holding.until, holding.held) == (claim.slot, claim.until, True)
    assert path.read_bytes() == before


def test_same_terms_refuses_another_scheme(path):
    registry = persistent(request(path))
    registry.initialise(ask_of(LastSeen()), 0)
    before = path.read_bytes()
    other = persistent(request(path, "tsid"))
    assert look(other, same_terms=False) is not None
    with pytest.raises(ConfigError) as caught:
        look(other, same_terms=True)
    assert "since 2016-02-18" in str(caught.value)
    assert "since 2020-01-01" in str(caught.value)
    assert path.read_bytes() == before
    assert look(registry, same_terms=True) is not None


def test_memory_is_refused():
    with pytest.raises(ConfigError, match="memory of each process"):
        persistent(make_request("memory:"))
