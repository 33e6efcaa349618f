"""Errors of a Redis or Valkey server, or of its connection, as errors of frazil.

The driver has a class for some error codes of the server. Other codes, and errors inside the
script, are found by their text. An error is temporary (RegistryUnavailable: the same call may
succeed in a moment), or a person must change something (ConfigError).
"""

from typing import Any, NamedTuple

from frazil.errors import ConfigError, FrazilError, RegistryUnavailable


class Kind(NamedTuple):
    """Errors with the same next step: by a code in the text, or by classes of the driver."""

    advice: str
    code: str = ""
    classes: tuple[str, ...] = ()


_RIGHTS = (
    "this user lacks a right; it needs +eval +evalsha +info +time +hmget +hset (+wait with "
    "?replicas=, +hgetall for `frazil claims`) on the keys frazil:*"
)
_PERMANENT = (
    Kind(_RIGHTS, "ACL failure in script", ("NoPermissionError",)),
    Kind(_RIGHTS, "can't run this command"),  # in a script, Redis 6
    Kind(
        "it requires another user or password; write them as redis://USER:PASSWORD@host",
        "NOAUTH",
        ("AuthenticationError", "AuthenticationWrongNumberOfArgsError"),
    ),
    Kind(
        "the key of this namespace, frazil:{namespace}, holds other data; choose another namespace",
        "WRONGTYPE",
    ),
    Kind(
        "the data under the key of this namespace, frazil:{namespace}, are damaged; DEL the key: "
        "layouts with time then wait one horizon, and counters need frazil init URL --start N",
        "FRAZIL user_script",
    ),
    Kind(
        "it has no database with this number; the URL's path is redis://host/NUMBER",
        "DB index is out of range",
    ),
    Kind("it accepts no connections from other hosts; change its protected mode or bind", "DENIED"),
)
_TEMPORARY = (
    Kind("it is a read-only replica; point the URL at the primary", "READONLY", ("ReadOnlyError",)),
    Kind("its memory is full; raise maxmemory or delete data", "OOM ", ("OutOfMemoryError",)),
    Kind("it cannot write to its disk; free some space or see its log", "MISCONF"),
    Kind(
        "too few replicas are connected to it; connect them, or lower its min-replicas-to-write",
        "NOREPLICAS",
    ),
    Kind("it is still loading its data; try again", "LOADING", ("BusyLoadingError",)),
    Kind("another script is running on it; try again", "BUSY "),
    Kind(
        "the cluster is failing over or moving slots; try again",
        "CLUSTERDOWN",
        ("ClusterDownError", "MasterDownError", "TryAgainError", "AskError"),
    ),
    Kind("it lost the script between two commands; try again", "NOSCRIPT", ("NoScriptError",)),
    Kind("it has too many clients; raise its maxclients", "max number of clients"),
    Kind("no answer in time; check that it runs, or raise ?timeout=", classes=("TimeoutError",)),
    Kind("no connection; check that it runs and can be reached", classes=("ConnectionError",)),
)


def explained(redis: Any, error: Exception, name: str, *, sent: bool) -> FrazilError:
    """Return a driver's error as an error of frazil, with the next step.

    redis: the driver. name: the server in messages. sent: whether the server may have executed the
    command. After an error reply it has not.
    """
    text = str(error)

    def matches(kind: Kind) -> bool:
        classes = tuple(getattr(redis.exceptions, each) for each in kind.classes)
        return isinstance(error, classes) or (kind.code != "" and kind.code in text)

    for kind in filter(matches, _PERMANENT):
        return ConfigError(f"{name}: {kind.advice} ({text})", url=name)
    known = not sent or isinstance(error, redis.exceptions.ResponseError)
    for kind in filter(matches, _TEMPORARY):
        return RegistryUnavailable(f"{name}: {kind.advice} ({text})", url=name, outcome_known=known)
    return ConfigError(f"{name}: it answered with an error: {text}", url=name)
