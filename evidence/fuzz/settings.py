"""The service's configuration: a TOML file is refused by file and key, or read correctly."""

import tomllib

from evidence.fuzz.accepted import accepted
from evidence.fuzz.files import kept
from frazil.inputs.duration import duration_us
from frazil.inputs.masking import masked
from frazil.service.settings import read_settings

__all__ = ["check_settings"]


def check_settings(data: bytes) -> None:
    """Settings have the addresses, namespaces and tokens that the standard library reads."""
    with kept(data) as path:
        settings = accepted(read_settings, path)
    if settings is None:
        return
    toml = tomllib.loads(data.decode())
    server = toml.get("server", {})
    assert settings.host == server.get("host", "127.0.0.1")
    assert settings.port == server.get("port", 8080)
    assert 0 <= settings.port <= 65535
    assert settings.resp_port == server.get("resp_port")
    assert settings.workers == server.get("workers", 1)
    assert settings.cors == tuple(server.get("cors", ()))
    assert settings.client_timeout_us == duration_us(server.get("client_timeout", "10s")) > 0
    names = tuple(toml.get("namespaces", {})) or ("default",)
    assert tuple(one.namespace for one in settings.namespaces) == names
    for one in settings.namespaces:
        asked = toml.get("namespaces", {}).get(one.namespace, {})
        assert str(one.url) == masked(asked.get("registry", "sqlite:"))
        assert one.scheme.layout.fixed.items() >= asked.get("fields", {}).items()
        for name, us in (("lead", one.lead_us), ("timeout", one.timeout_us)):
            assert us == duration_us(asked.get(name, {"lead": "0s", "timeout": "10s"}[name]))
    tokens = toml.get("tokens", [])
    for token, asked in zip(settings.tokens, tokens, strict=True):
        assert token.name == asked["name"]
        assert asked["hash"] == f"sha256:{token.digest.hex()}"
        assert set(token.namespaces) == set(asked["namespaces"])
        assert set(token.scopes) == set(asked["scopes"])
        assert token.ids_per_minute == (asked.get("ids_per_minute") or None)
