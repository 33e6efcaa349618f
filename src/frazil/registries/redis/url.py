"""URLs of Redis and Valkey servers: their hosts, and what the driver must know to connect to them.

``redis://[user:password@]host[:port][,host...][/db]``, or ``unix:///path/to/socket``. Several kinds
of URL have this form, so it is read here once. What is shown to people never has the password.
"""

from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from frazil.errors import ConfigError
from frazil.masking import masked
from frazil.registries.base import Options
from frazil.registries.redis.link import Place

__all__ = ["TLS", "driver_options", "number", "places", "shown", "split_url"]

TLS = {"icicles", "rediss", "valkeys"}
"""The kinds of URL that are over TLS."""

_PORT = 6379


def split_url(url: str) -> SplitResult:
    """The parts of a URL; ConfigError if it is none."""
    try:
        return urlsplit(url)
    except ValueError as error:
        raise ConfigError(f"{masked(url)!r} is no URL: {error}") from None


def places(parts: SplitResult) -> tuple[Place, ...]:
    """Where the servers of a URL listen; ConfigError for one that is named twice."""
    if parts.scheme == "unix":
        if not parts.path:
            raise ConfigError("write the socket's path: unix:///path/to/redis.sock")
        return (unquote(parts.path),)
    found: list[Place] = []
    for each in parts.netloc.rpartition("@")[2].split(","):
        host, _, port = each.rpartition(":") if ":" in each.rpartition("]")[2] else (each, "", "")
        if port and not port.isdecimal():
            raise ConfigError(f"port {port!r} is no number; write {parts.scheme}://host:6379")
        found.append((host.strip("[]") or "localhost", int(port or _PORT)))
    if len(set(found)) < len(found):
        raise ConfigError(f"{shown(parts)}: a host is named twice; name each once")
    return tuple(found)


def shown(parts: SplitResult, place: Place | None = None) -> str:
    """The URL for people: without its password, and with one of its hosts, if one is given."""
    if place is not None:
        who, at, _ = parts.netloc.rpartition("@")
        parts = parts._replace(netloc=f"{who}{at}{place[0]}:{place[1]}")
    return masked(parts.geturl())


def driver_options(parts: SplitResult, options: Options) -> dict[str, Any]:
    """What the driver's connections need to know beyond where to."""
    name, _, password = parts.netloc.rpartition("@")[0].partition(":")
    found: dict[str, Any] = {"db": 0}
    if parts.scheme == "unix":
        found["db"] = number(options, "db")
    elif parts.path.strip("/"):
        text = parts.path.strip("/")
        if not text.isdecimal():
            raise ConfigError(f"database {text!r} is no number; write {parts.scheme}://host/0")
        found["db"] = int(text)
    if name:
        found["username"] = unquote(name)
    if password:
        found["password"] = unquote(password)
    if parts.scheme in TLS:
        found["ssl_check_hostname"] = True
        for option, meant in (("ca", "ca_certs"), ("cert", "certfile"), ("key", "keyfile")):
            path = options.text(option)
            if path is not None:
                found[f"ssl_{meant}"] = path
    return found


def number(options: Options, name: str) -> int:
    """The option as a whole number, 0 where it is not given."""
    text = options.text(name, "0") or ""
    if not text.isdecimal():
        raise ConfigError(f"?{name}={text} is not a whole number", url=options.url)
    return int(text)
