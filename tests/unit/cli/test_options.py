"""Six options make one scheme; contradictory options are an error with a next step."""

import re

import click
import pytest
from click.testing import CliRunner

from frazil.cli._options import is_default, request_options, scheme_options
from frazil.errors import ConfigError
from frazil.generator.request import OpenRequest
from frazil.schemes.scheme import Scheme, scheme


@click.command
@scheme_options
def show(*, scheme: Scheme) -> None:
    show.got = scheme
    show.named = not is_default("scheme")


@click.command
@request_options
@click.option("--lead")
def request(*, request: OpenRequest) -> None:
    show.got = request


def run(command: click.Command, args: tuple[str, ...]) -> Scheme | OpenRequest:
    result = CliRunner().invoke(command, args, standalone_mode=False)
    if result.exception:
        raise result.exception
    got: Scheme | OpenRequest = show.got
    return got


def chosen(*args: str) -> Scheme:
    return run(show, args)


def requested(*args: str) -> OpenRequest:
    return run(request, args)


def test_default():
    assert chosen() == scheme()
    assert not show.named


def test_all_options():
    text = "version:3=0 time:32 node:10 @1s since ?"
    got = chosen("-s", text, "--field", "version=0b101", "--epoch", "2025-01-01")
    assert show.named
    assert got.layout.fixed == {"version": 5}
    assert str(got.layout).endswith("since 2025-01-01T00:00:00Z")
    got = chosen("--scheme", "tsid", "--prefix", "order_", "--check")
    assert got.format(0) == "order_" + "0" * 14
    assert chosen("--encoding", "base62").encoding == "base62"
    got = chosen("--encoding", "alphabet:BCDFGHJKMN", "--group", "4", "--check")
    assert got == scheme(encoding="alphabet:BCDFGHJKMN", group=4, check=True)
    with pytest.raises(ConfigError, match="'base63' is unknown"):
        chosen("--encoding", "base63")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--field", "cluster"], "it has no '='"),
        (["--field", "cluster=x"], "'x' is not a whole number"),
        (["--field", "sign=0", "--field", "sign=1"], "--field sign is given twice"),
        (["-s", "chibrary-time"], "--epoch 2025-01-01"),
        (["-s", "time:32 node:4 @1s since ?"], "--epoch 2025-01-01"),
    ],
)
def test_wrong_option(args, words):
    with pytest.raises(click.UsageError, match=re.escape(words)):
        chosen(*args)


def test_options_make_a_request(monkeypatch):
    monkeypatch.setenv("FRAZIL_URL", "static:3")
    assert str(requested().url) == "static:3"
    assert (requested().lead_us, requested().timeout_us) == (0, 10_000_000)
    got = requested("-u", "static:7", "--namespace", "x", "-s", "tsid", "--check", "--lead", "2ms")
    assert (str(got.url), got.namespace, got.lead_us) == ("static:7", "x", 2000)
    assert got.scheme == scheme("tsid", check=True)
    assert requested("--lead", "0").lead_us == 0
    with pytest.raises(ConfigError, match="is empty"):
        requested("-u", "")


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
