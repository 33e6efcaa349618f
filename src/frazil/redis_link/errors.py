"""What a Redis or Valkey server, or the way to it, can answer instead, and what to do about it.

The driver's errors are told apart by class where it has one for the server's error code, and by the
code in the text where it has none, or where the error came up inside the script. Each kind either
passes (RegistryUnavailable: the same call may succeed in a moment) or waits for somebody to change
something (ConfigError).
"""

from typing import Any, NamedTuple

from frazil.errors import ConfigError, FrazilError, RegistryUnavailable

__all__ = ["explained"]


class Kind(NamedTuple):
    """Errors that mean the same: classes of the driver, a code in the text, and what to do."""

    classes: tuple[str, ...]
    code: str
    passes: bool
    advice: str


_RIGHTS = (
    "this user lacks a right; it needs +eval +evalsha +info +time +hmget +hset (+wait with "
    "?replicas=, +hgetall for `frazil claims`) on the keys frazil:*"
)
_KINDS = (
    Kind(("NoPermissionError",), "ACL failure in script", passes=False, advice=_RIGHTS),
    Kind((), "can't run this command", passes=False, advice=_RIGHTS),  # in a script, Redis 6
    Kind(
        ("AuthenticationError", "AuthenticationWrongNumberOfArgsError"),
        "NOAUTH",
        passes=False,
        advice="it wants another user or password; write them as redis://USER:PASSWORD@host",
    ),
    Kind(
        ("ReadOnlyError",),
        "READONLY",
        passes=True,
        advice="it is a replica and takes no writes; point the URL at the primary",
    ),
    Kind(
        ("OutOfMemoryError",),
        "OOM ",
        passes=True,
        advice="its memory is full; raise maxmemory or remove something",
    ),
    Kind(
        (), "MISCONF", passes=True, advice="it cannot write to its disk; make room or see its log"
    ),
    Kind((), "NOREPLICAS", passes=True, advice="too few replicas are connected to it"),
    Kind(("BusyLoadingError",), "LOADING", passes=True, advice="it is still reading its data"),
    Kind((), "BUSY ", passes=True, advice="another script keeps it busy"),
    Kind(
        ("ClusterDownError", "MasterDownError", "TryAgainError", "AskError"),
        "CLUSTERDOWN",
        passes=True,
        advice="the cluster is being rearranged",
    ),
    Kind(("NoScriptError",), "NOSCRIPT", passes=True, advice="it forgets scripts at once"),
    Kind(
        (),
        "WRONGTYPE",
        passes=False,
        advice="something else is kept under this namespace's key, frazil:{namespace}; "
        "choose another namespace",
    ),
    Kind(
        (),
        "FRAZIL user_script",
        passes=False,
        advice="what is kept under this namespace's key, frazil:{namespace}, is damaged; DEL it: "
        "layouts with time then wait one horizon, and counters need frazil init URL --start N",
    ),
    Kind(
        (),
        "DB index is out of range",
        passes=False,
        advice="it has no database of that number; the URL's path is redis://host/NUMBER",
    ),
    Kind((), "DENIED", passes=False, advice="it takes no connections from other hosts yet"),
    Kind((), "max number of clients", passes=True, advice="it has too many clients"),
    Kind(
        ("TimeoutError",),
        "",
        passes=True,
        advice="no answer in time; see that it runs, or give it longer with ?timeout=",
    ),
    Kind(
        ("ConnectionError",),
        "",
        passes=True,
        advice="no connection; see that it runs and can be reached",
    ),
)


def explained(redis: Any, error: Exception, name: str, *, sent: bool) -> FrazilError:
    """A driver's error in frazil's words, with the next step.

    redis: the driver. name: of the server. sent: whether the server may have done what was asked.
    An error answer always means that it has not.
    """
    text = str(error)
    known = not sent or isinstance(error, redis.exceptions.ResponseError)
    for kind in _KINDS:
        classes = tuple(getattr(redis.exceptions, each) for each in kind.classes)
        if isinstance(error, classes) or (kind.code and kind.code in text):
            problem = f"{name}: {kind.advice} ({text})"
            if kind.passes:
                return RegistryUnavailable(problem, url=name, outcome_known=known)
            return ConfigError(problem, url=name)
    return ConfigError(f"{name}: it answered with an error: {text}", url=name)
