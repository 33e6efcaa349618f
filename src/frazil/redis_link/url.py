"""URLs of Redis and Valkey servers: their hosts, and what the driver must know to connect to them.

``redis://[user:password@]host[:port][,host...][/db]``, or ``unix:///path/to/socket``. Several kinds
of URL have this form, so it is read here once. What is shown to people never has the password.
"""

from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from frazil.errors import ConfigError
from frazil.inputs.masking import masked
from frazil.inputs.url import Options, host_port, whole
from frazil.redis_link.access import Access, Place

__all__ = ["access_of", "shown", "split_url"]

_TLS = {"icicles", "rediss", "valkeys"}

_PORT = 6379
_LAST_DATABASE = (1 << 31) - 1


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
        place = host_port(each, _PORT)
        if place is None:  # not shown: it may be a password with a mistyped @ behind it
            raise ConfigError(
                f"{parts.scheme}: a host or port is none; write {parts.scheme}://host:6379, the "
                "port a number up to 65535"
            )
        found.append((place[0] or "localhost", place[1]))
    if len(set(found)) < len(found):
        raise ConfigError(f"{shown(parts)}: a host is named twice; name each once")
    return tuple(found)


def shown(parts: SplitResult, place: Place | None = None) -> str:
    """The URL for people: without its password, and with one of its hosts, if one is given."""
    if place is not None:
        who, at, _ = parts.netloc.rpartition("@")
        parts = parts._replace(netloc=f"{who}{at}{place[0]}:{place[1]}")
    return masked(parts.geturl())


def access_of(url: str, options: Options, timeout_us: int) -> Access:
    """How to reach all hosts of a URL as one. Raises ConfigError.

    Takes ``?cluster=`` (the hosts are nodes of one), ``?replicas=``, ``?timeout=`` (else
    ``timeout_us``), ``?db=`` and those of TLS from the options.
    """
    parts = split_url(url)
    return Access(
        name=shown(parts),
        places=places(parts),
        tls=parts.scheme in _TLS,
        timeout_s=max(options.duration_us("timeout", timeout_us), 1_000) / 1e6,
        replicas=options.number("replicas"),
        cluster=options.number("cluster") > 0,
        options=_driver_options(parts, options),
    )


def _driver_options(parts: SplitResult, options: Options) -> dict[str, Any]:
    """What the driver's connections need to know beyond where to."""
    name, _, password = parts.netloc.rpartition("@")[0].partition(":")
    found: dict[str, Any] = {"db": 0}
    if parts.scheme == "unix":
        found["db"] = options.number("db")
    elif parts.path.strip("/"):
        text = parts.path.strip("/")
        database = whole(text, _LAST_DATABASE)
        if database is None:
            raise ConfigError(f"database {text[:20]!r} is no number; write {parts.scheme}://host/0")
        found["db"] = database
    if name:
        found["username"] = unquote(name)
    if password:
        found["password"] = unquote(password)
    if parts.scheme in _TLS:
        found["ssl_check_hostname"] = True
        for option, meant in (("ca", "ca_certs"), ("cert", "certfile"), ("key", "keyfile")):
            path = options.text(option)
            if path is not None:
                found[f"ssl_{meant}"] = path
    return found
