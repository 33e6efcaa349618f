"""URLs of Redis and Valkey servers: their hosts, and the options of the driver.

``redis://[user:password@]host[:port][,host...][/db]``, or ``unix:///path/to/socket``. Several kinds
of URL have this form. Messages never show the password.
"""

from typing import Any
from urllib.parse import unquote

from frazil.errors import ConfigError
from frazil.inputs.url import Options, Url, host_port, whole
from frazil.redis_link.access import Access, Place

_TLS = {"icicles", "rediss", "valkeys"}

_PORT = 6379
_LAST_DATABASE = (1 << 31) - 1


def places(url: Url) -> tuple[Place, ...]:
    """Return the hosts of a URL. Raises ConfigError for a host that is named twice."""
    if url.kind == "unix":
        if not url.path:
            raise ConfigError("write the socket's path: unix:///path/to/redis.sock")
        return (unquote(url.path),)
    found: list[Place] = []
    for each in url.hosts:
        place = host_port(each, _PORT)
        if place is None:  # not shown: it may be a password before a mistyped @
            raise ConfigError(
                f"{url.kind}: a host or port is not valid; write {url.kind}://host:6379, with a "
                "port up to 65535"
            )
        found.append((place[0] or "localhost", place[1]))
    if len(set(found)) < len(found):
        raise ConfigError(f"{url}: a host is named twice; name each once")
    return tuple(found)


def shown(url: Url, place: Place) -> str:
    """Return the URL with only one of its hosts, without the password."""
    return url.at(f"{place[0]}:{place[1]}")


def access_of(url: Url, options: Options, timeout_us: int) -> Access:
    """Return the access to all hosts of a URL. Raises ConfigError.

    Reads the options ``cluster`` (the hosts are nodes of one), ``replicas``, ``timeout`` (by
    default ``timeout_us``), ``db`` and those of TLS.
    """
    return Access(
        name=str(url),
        places=places(url),
        tls=url.kind in _TLS,
        timeout_s=max(options.duration_us("timeout", timeout_us), 1_000) / 1e6,
        replicas=options.number("replicas"),
        cluster=options.number("cluster") > 0,
        options=_driver_options(url, options),
    )


def _driver_options(url: Url, options: Options) -> dict[str, Any]:
    """Return the driver's options for all connections."""
    name, password = url.user
    found: dict[str, Any] = {"db": 0}
    if url.kind == "unix":
        found["db"] = options.number("db")
    elif url.path.strip("/"):
        text = url.path.strip("/")
        database = whole(text, _LAST_DATABASE)
        if database is None:
            raise ConfigError(f"database {text[:20]!r} is not a number; write {url.kind}://host/0")
        found["db"] = database
    found |= {key: text for key, text in (("username", name), ("password", password)) if text}
    if url.kind in _TLS:
        found["ssl_check_hostname"] = True
        for option, meant in (("ca", "ca_certs"), ("cert", "certfile"), ("key", "keyfile")):
            path = options.text(option)
            if path is not None:
                found[f"ssl_{meant}"] = path
    return found
