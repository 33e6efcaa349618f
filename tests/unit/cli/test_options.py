"""Six options make one scheme; contradictory options are an error with a next step."""

import pytest

import frazil
from frazil.minting import mint_request

LAYOUT = "version:3=0 time:32 node:10 @1s since ?"


@pytest.fixture
def requested(call, monkeypatch):
    """``requested("-s", "tsid")``: what a call of ``mint`` requests."""
    seen = []

    def spy(count, request, *args):
        seen.append(request)
        return mint_request(count, request, *args)

    monkeypatch.setattr("frazil.cli.mint.mint_request", spy)
    monkeypatch.setenv("FRAZIL_URL", "static:3?state=none")

    def request(*args):
        result = call("mint", *args)
        assert result.exit_code == 0, result.output
        return seen.pop()

    return request


def test_default(requested):
    got = requested()
    assert got.scheme == frazil.scheme()
    assert str(got.url) == "static:3?state=none"
    assert (got.lead_us, got.timeout_us) == (0, 10_000_000)


def test_all_options(requested):
    got = requested("-s", LAYOUT, "--field", "version=0b101", "--epoch", "2025-01-01").scheme
    assert got.layout.fixed == {"version": 5}
    assert str(got.layout).endswith("since 2025-01-01T00:00:00Z")
    words = ("-u", "memory:", "--namespace", "x", "-s", "tsid", "--prefix", "order_", "--check")
    got = requested(*words, "--lead", "2ms")
    assert (str(got.url), got.namespace, got.lead_us) == ("memory:", "x", 2000)
    assert got.scheme == frazil.scheme("tsid", prefix="order_", check=True)
    words = ("--namespace", "y", "--encoding", "alphabet:BCDFGHJKMN", "--group", "4", "--check")
    got = requested(*words).scheme
    assert got == frazil.scheme(encoding="alphabet:BCDFGHJKMN", group=4, check=True)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--field", "cluster"], "it has no '='"),
        (["--field", "cluster=x"], "'x' is not a whole number"),
        (["--field", "sign=0", "--field", "sign=1"], "--field sign is given twice"),
        (["-s", "chibrary-time"], "--epoch 2025-01-01"),
        (["-s", "time:32 node:4 @1s since ?"], "--epoch 2025-01-01"),
        (["--encoding", "base63"], "'base63' is unknown"),
        (["-u", ""], "is empty"),
    ],
)
def test_wrong_option(args, words, refused):
    assert words in refused(2, "mint", *args)


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("sql", "--key"),
        *(("bench", each) for each in ("--encoding", "--prefix", "--check", "--key")),
    ],
)
def test_an_option_without_effect_is_not_offered(call, command, option):
    assert option not in call(command, "--help").stdout
    assert option in call("mint", "--help").stdout
