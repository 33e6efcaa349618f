"""How to reach a Redis or Valkey server, its driver, and the script that it runs."""

from dataclasses import dataclass, field
from typing import Any

from frazil.system.extras import missing_extra
from frazil.system.imports import load

Place = tuple[str, int] | str
"""Where a server listens: host and port, or the path of a socket."""


def driver() -> Any:
    """Return the redis package. Raises ConfigError if it is not installed.

    This also imports what the first connection would import. A fork during an import in another
    thread would leave the child with an import that never ends.
    """
    import encodings.idna  # noqa: F401 - for the name of the host

    try:
        load("redis.connection")
        load("redis.exceptions")
        return load("redis")
    except ImportError as error:
        raise missing_extra("redis: needs redis-py", "redis", error) from None


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
