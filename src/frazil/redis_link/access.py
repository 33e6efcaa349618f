"""How to reach a Redis or Valkey server: its URL, its driver, and the script that it runs.

``redis://[user:password@]host[:port][,host...][/db]``, or ``unix:///path/to/socket``. Several kinds
of URL have this form. Messages never show the password.
"""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from frazil.errors import ConfigError
from frazil.inputs.masking import masked
from frazil.inputs.url import Options, Url, host_port, whole
from frazil.system.extras import needs
from frazil.system.imports import load

Place = tuple[str, int] | str  # where a server listens: host and port, or the path of a socket

_TLS = {"icicles", "rediss", "valkeys"}
_PORT = 6379
_LAST_DATABASE = (1 << 31) - 1


def driver() -> Any:
    """Return the redis package. Raises ConfigError if it is not installed.

    This also imports what the first connection would import. A fork during an import in another
    thread would leave the child with an import that never ends.
    """
    import encodings.idna  # noqa: F401 - for the name of the host

    with needs("redis: needs redis-py", "redis"):
        load("redis.connection")
        load("redis.exceptions")
        return load("redis")


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script: its source, and the SHA-1 by which a server knows it."""

    source: str
    sha: str


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach a server. name: the server in messages. options: those of the driver.

    places: of the server, or of nodes of the cluster. replicas: how many must confirm a write.
    durable: whether each write must be on disk before the reply. cluster: True if it must be a
    cluster, False if it must not, None if both are allowed.
    """

    name: str
    places: tuple[Place, ...]
    tls: bool = False
    timeout_s: float = 2.0
    replicas: int = 0
    durable: bool = False
    cluster: bool | None = None
    options: dict[str, Any] = field(default_factory=dict, repr=False)


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
    name, password = url.user
    found: dict[str, Any] = {"db": 0}
    if url.kind == "unix":
        found["db"] = options.number("db")
    elif url.path.strip("/"):
        text = url.path.strip("/")
        database = whole(text, _LAST_DATABASE)
        if database is None:
            raise ConfigError(
                f"database {masked(text)[:20]!r} is not a number; write {url.kind}://host/0"
            )
        found["db"] = database
    found |= {key: text for key, text in (("username", name), ("password", password)) if text}
    if url.kind in _TLS:
        found["ssl_check_hostname"] = True
        for option, meant in (("ca", "ca_certs"), ("cert", "certfile"), ("key", "keyfile")):
            path = options.text(option)
            if path is not None:
                found[f"ssl_{meant}"] = path
    return found
