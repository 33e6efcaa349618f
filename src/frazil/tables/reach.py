"""Where an engine of many workers may claim: in one store that every worker reaches.

The workers of Spark, Dask and Ray are other processes, most of them on other hosts. There
``sqlite:`` is a file of each host and ``redis://localhost`` is the server of each host: each of
them grants node 0, and IDs repeat. ``memory:`` does so in each process, and ``static:`` is one
number, where every task needs its own. Nothing would raise an error. So the URL is checked before
any task starts.

Limits: a name that means another server on each host, through DNS or /etc/hosts, is not noticed.
"""

import re

from frazil.errors import ConfigError
from frazil.generator.request import OpenRequest

_LOOPBACK = re.compile(
    r"(localhost|.*\.localhost|127(\.\d+){0,3}|0(\.0){0,3}|::1?|)", re.IGNORECASE
)


def is_loopback(host: str) -> bool:
    """Whether a host, with or without its port, is this one by every name; "" is."""
    found = re.fullmatch(r"(?:[a-z+]+://)?(?:\[([^\]]*)\]|([^:]*))(?::\d+)?/?", host)
    return bool(found and _LOOPBACK.fullmatch(found[1] or found[2] or ""))


def check_reach(request: OpenRequest, engine: str, *, one_host: bool) -> None:
    """Raise ConfigError unless the workers of an engine may all claim at the request's URL.

    one_host: whether all workers run on the host of the caller, now and later.
    """
    url = request.url
    if url.kind == "memory":
        raise _refused(request, f"each worker of {engine} is a process with a memory of its own")
    if url.kind == "static":
        raise _refused(request, f"it is one node number, and each task of {engine} needs its own")
    if one_host:
        return
    here = url.kind in ("sqlite", "unix") or any(map(is_loopback, url.hosts))
    if here:
        raise _refused(
            request,
            f"it is another store on each host of {engine}, and two of them would give the same "
            "IDs (it is accepted where all workers are on this host for certain)",
        )


def _refused(request: OpenRequest, reason: str) -> ConfigError:
    return ConfigError(
        f"{request.url} cannot be shared: {reason}; use a server that every worker reaches by the "
        "same name, like redis://ids.example:6379, or postgresql:, etcd:, icicle:, http:",
        url=str(request.url),
    )
