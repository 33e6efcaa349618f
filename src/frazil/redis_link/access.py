"""How to reach a Redis or Valkey server, with which driver, and the script that it is sent."""

from dataclasses import dataclass, field
from typing import Any

from frazil.system.extras import missing_extra

__all__ = ["Access", "Place", "Script", "driver"]

Place = tuple[str, int] | str
"""Where a server listens: host and port, or the path of a socket."""


def driver() -> Any:
    """The redis package; ConfigError where it is not installed.

    What its first connection loads comes with it: a fork beside a thread that imports leaves the
    child with an import that never ends, so nothing is imported where a thread may be at work.
    """
    import encodings.idna  # noqa: F401 - for the name of the host

    try:
        import redis
        import redis.connection
        import redis.exceptions
    except ImportError as error:
        raise missing_extra("redis: needs redis-py", "redis", error) from None
    return redis


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script: its source, and the SHA-1 by which a server knows it."""

    source: str
    sha: str


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach a server. name: for messages. options: the driver's, for any place.

    places: of the one server, or of nodes of the one cluster. replicas: how many must confirm.
    durable: whether it must have each write on disk before its answer. cluster: True if it must be
    one, False if it must not, None if either will do.
    """

    name: str
    places: tuple[Place, ...]
    tls: bool = False
    timeout_s: float = 2.0
    replicas: int = 0
    durable: bool = False
    cluster: bool | None = None
    options: dict[str, Any] = field(default_factory=dict, repr=False)
