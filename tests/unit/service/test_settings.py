"""Errors in a configuration name the file, the key and the allowed values."""

from dataclasses import replace

import pytest

from frazil.errors import ConfigError
from frazil.service.settings import read_settings
from frazil.service.tokens import hash_of

HASH = hash_of("frazil_x")
TOKEN = f"""
[namespaces.a]
[[tokens]]
name = "one"
hash = "{HASH}"
namespaces = ["a"]
scopes = ["issue"]
"""


@pytest.fixture
def read(tmp_path):
    def read(text):
        file = tmp_path / "frazil.toml"
        file.write_text(text, encoding="utf-8")
        return read_settings(file, "memory:")

    return read


def test_every_command(read):
    settings = read(
        """
        [server]
        host = "::1"
        port = 0
        [namespaces.orders]
        scheme = "uniqueid-spread"
        fields = { cluster = 3 }
        encoding = "base62"
        prefix = "o_"
        registry = "memory:?horizon=3s"
        lead = "200ms"
        timeout = "2s"
        [namespaces."late-2.b_"]
        scheme = "chibrary-time"
        epoch = 2025-01-01T00:00:00Z
        [namespaces.numbers]
        scheme = "tickets"
        block = 7
        [[tokens]]
        name = "all"
        hash = "HASH"
        namespaces = ["*"]
        scopes = ["issue", "admin"]
        expires = 2030-01-01T00:00:00+01:00
    """.replace("HASH", HASH)
    )
    orders, late, numbers = settings.namespaces
    assert (settings.host, settings.port, settings.resp_port) == ("::1", 0, None)
    assert orders.scheme.layout.fixed["cluster"] == 3
    assert (orders.scheme.encoding, orders.scheme.prefix) == ("base62", "o_")
    assert (str(orders.url), orders.lead_us) == ("memory:?horizon=3s", 200_000)
    assert orders.timeout_us == 2_000_000
    assert (str(late.url), late.scheme.layout.epoch_us) == ("memory:", 1_735_689_600_000_000)
    assert numbers.block == 7
    (token,) = settings.tokens
    assert token.expires_us == 1_893_452_400_000_000
    assert token.scopes == {"issue", "admin"}


@pytest.mark.parametrize(
    ("text", "key", "allowed"),
    [
        ("[server]\nport = 70000", "server.port", "0 to 65535"),
        ("[server]\nhots = 'x'", "server.hots", "did you mean host"),
        ("[server]\nclient_timeout = '0s'", "server.client_timeout", "longer than zero"),
        ("[server]\nclient_timeout = 'x'", "server.client_timeout", "200ms"),
        ("[server]\ncors = ['app.example']", "server.cors", "https://app.example"),
        ("[server]\ncors = ['https://a/b']", "server.cors", "https://app.example"),
        ("[server]\ntls_cert = 'x'", "server.tls_key", "PEM"),
        ("[server]\ntls_client_ca = 'x'", "server.tls_cert", "PEM"),
        ("server = 1", "server", "a table, [server]"),
        ("[namespace.a]", "namespace", "did you mean namespaces"),
        ("[namespaces]\na = 1", "namespaces.a", "[namespaces.a]"),
        ("[namespaces.'a b']", "namespaces.a b", "1 to 64 letters"),
        ("[namespaces.a]\nscheme = 'icicel'", "namespaces.a.scheme", "did you mean 'icicle'"),
        ("[namespaces.a]\nscheme = 5", "namespaces.a.scheme", "a layout string"),
        ("[namespaces.a]\nlead = '5'", "namespaces.a", "200ms"),
        ("[namespaces.a]\nlead = 5", "namespaces.a.lead", "200ms"),
        ("[namespaces.a]\nblock = 5", "namespaces.a", "block= is for counters"),
        ("[namespaces.a]\nregistry = 'rediss'", "namespaces.a", "did you mean redis"),
        ("[namespaces.a]\nfields = {x = 'y'}", "namespaces.a.fields.x", "whole number"),
        ("[namespaces.a]\nfields = {x = 1}", "namespaces.a.scheme", "not a constant"),
        ("[namespaces.a]\nepoch = 5", "namespaces.a.epoch", "2025-01-01"),
        ("[namespaces.a]\ncheck = 1", "namespaces.a.check", "true or false"),
        ("tokens = 5", "tokens", "[[tokens]]"),
        (TOKEN.replace('name = "one"', ""), "tokens[0].name", "for the logs"),
        (TOKEN.replace(HASH, "frazil_secret"), "tokens[0].hash", "64 hex digits"),
        (TOKEN.replace('["a"]', '["b"]'), "tokens[0].namespaces", "of a, or ['*']"),
        (TOKEN.replace('["a"]', "[]"), "tokens[0].namespaces", "['*']"),
        (TOKEN + "ids_per_minute = 0", "tokens[0].ids_per_minute", "without it there is no limit"),
        ("[namespaces.a]\nscheme = 'tickets'\nblock = 0", "namespaces.a.block", "from 1"),
        ("[server]\nhost = ''", "server.host", "is empty; it must be an address"),
        ("[server]\ntls_cert = ''\ntls_key = ''", "server.tls_cert", "is empty"),
        ("[namespaces.a]\nregistry = ''", "namespaces.a.registry", "is empty"),
        ("[namespaces.a]\nepoch = ''", "namespaces.a.epoch", "is empty"),
        (
            TOKEN + TOKEN.partition("[[")[1] + TOKEN.partition("[[")[2].replace('"one"', '"two"'),
            "tokens",
            "'one' and 'two' have the same hash",
        ),
        (TOKEN.replace('["issue"]', '["isue"]'), "tokens[0].scopes", "did you mean issue"),
        (TOKEN + "expires = 2027-01-01", "tokens[0].expires", "a UTC offset"),
        (TOKEN + "expires = 2027-01-01T00:00:00", "tokens[0].expires", "a UTC offset"),
        (TOKEN + "scope = 1", "tokens[0].scope", "did you mean scopes"),
    ],
)
def test_a_wrong_value_is_reported(read, text, key, allowed):
    with pytest.raises(ConfigError) as caught:
        read(text)
    message = str(caught.value)
    assert f"frazil.toml: {key}" in message
    assert allowed in message
    assert "frazil_secret" not in message
    assert caught.value.key == key


SECRET = "redis://u:hunter2-that-is-long-enough-to-be-cut-somewhere-in-the-middle@h/0"


KEYS = ["scheme", "epoch", "encoding", "prefix", "check", "group", "key"]
KEYS += ["lead", "timeout", "keep", "block"]


@pytest.mark.parametrize(
    "text",
    [
        "[namespaces.'bad name']\nregistry = '{}'",
        "[namespaces.a]\nregistry = ['{}']",
        "[namespaces]\nregistry = '{}'",
        "namespaces = ['{}']",
        "namespaces = '{}'",
        "[namespaces.'{}']",
        "[namespaces.a]\n'{}' = 1",
        "[server]\nhost = {{a = '{}'}}",
        "[server]\ncors = ['{}']",
        "[[tokens]]\nname = ['{}']",
        "[[tokens]]\nname = 'one'\nhash = '{}'",
        TOKEN.replace('["issue"]', "['{}']"),
        TOKEN.replace('["issue"]', "'{}'"),
        TOKEN + "expires = '{}'",
        *(f"[namespaces.a]\n{key} = '{{}}'" for key in KEYS),
        "[namespaces.a]\nfields = {{a = '{}'}}",
        "[namespaces.a]\nregistry = '{}?bogus=1'",
    ],
)
@pytest.mark.parametrize("secret", [SECRET, SECRET.replace("//", ""), SECRET.replace(":", "", 1)])
def test_no_password_is_shown(read, text, secret):
    """Whatever its place is, and if the URL is not valid."""
    with pytest.raises(ConfigError) as caught:
        read(text.format(secret))
    assert "hunter2" not in f"{caught.value} {vars(caught.value)}"


def test_no_password_as_the_host_is_shown(read):
    with pytest.raises(ConfigError) as caught:
        read(f"[server]\nhost = '{SECRET}'").check()
    assert "hunter2" not in str(caught.value)


def test_files_that_do_not_exist(read, tmp_path):
    with pytest.raises(ConfigError, match="is not valid TOML"):
        read("[server")
    (tmp_path / "x").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="is not valid TOML"):
        read_settings(tmp_path / "x")
    with pytest.raises(ConfigError, match="No such file"):
        read_settings(tmp_path / "absent")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])
def test_open_to_a_network_only_on_request(read, host):
    alone = read_settings(url="memory:")
    with pytest.raises(ConfigError, match="--without-tokens"):
        replace(alone, host=host).check()
    replace(alone, host=host, without_tokens=True).check()
    replace(read(TOKEN), host=host).check()
