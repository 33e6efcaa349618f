"""``frazil.open``: the URL chooses where IDs are made.

Most URLs name a registry, from which a generator in this process claims node numbers. ``icicle:``
names servers that make the IDs themselves, and ``http:`` names a service. All three are used in the
same way. Nothing is contacted.
"""

from collections.abc import Mapping
from typing import Never, TypedDict

from frazil.generator.generator import Generator
from frazil.generator.local import open_request
from frazil.generator.request import Duration, make_request
from frazil.inputs.arguments import refuse_unknown
from frazil.inputs.url import UrlInput
from frazil.registries.base import Registry
from frazil.schemes.scheme import Scheme

__all__ = ["OpenOptions", "TaskOptions", "open_ids"]


class TaskOptions(TypedDict, total=False):
    """The keyword arguments of ``frazil.open`` that a task of many has too."""

    namespace: str
    fields: Mapping[str, int] | None
    lead: Duration
    timeout: Duration
    token: str | None


class OpenOptions(TaskOptions, total=False):
    """The keyword arguments of ``frazil.open``."""

    sequence_start: int | str
    block: int | None
    keep: Duration
    registry: Registry | None


def open_ids(
    url: UrlInput | None = None,
    scheme: str | Scheme = "icicle",
    *,
    namespace: str = "default",
    fields: Mapping[str, int] | None = None,
    lead: Duration = 0,
    timeout: Duration = 10,
    sequence_start: int | str = 0,
    block: int | None = None,
    token: str | None = None,
    keep: Duration = "1min",
    registry: Registry | None = None,
    **unknown: Never,
) -> Generator:
    """A generator of unique IDs. Contacts nothing until the first ID is requested.

    url: a registry: ``sqlite:///path`` (or a Path), ``redis://host``, ``postgresql://host/db``,
    ``mysql://host/db``, ``etcd://host``, ``zookeeper://host``, ``static:7``, ``static:env:NAME``,
    ``static:hostname``, ``memory:``. Or servers that make the IDs: ``icicle://host,host,...``. Or a
    service (``frazil serve``): ``http://host:8080/namespace``, ``https://...``. The default is the
    environment variable FRAZIL_URL, else ``sqlite:``, a file of this user on this host (of all
    users after ``frazil init --shared``); a container has no default.
    scheme: a name (``frazil.schemes.scheme.names()``), a layout string, or a Scheme.
    namespace: a set of IDs without duplicates. Its members use the same scheme and url.
    fields: values of the layout's constants, like ``{"cluster": 3}``.
    lead: how far timestamps may run ahead of the clock when the sequence of a tick is used up,
    instead of waiting; a duration (``"200ms"``, seconds, a timedelta), at most the registry's
    horizon, or 1 s with ``icicle:``.
    timeout: how long a call waits without an ID before it raises PoolExhausted or
    RegistryUnavailable; a wait known to be longer raises at once. Many IDs may take longer.
    sequence_start: 0, or "random" for consumers that shard by ``id % n``.
    block: for a layout without time, how many counter values (or runs) to claim at a time; the
    default is 1,000 (or one). The next block is claimed when half of one is used. ``block=1`` is
    strict: each value of a counter is claimed when it is requested, so values are consecutive
    across all members, and each takes a round trip.
    keep: how long after its last ID a generator keeps its claim, so that a rare ID does not wait
    for a new claim; a duration. In the background it sends at most about one small request in each
    horizon (1 s on this host, 5 s on a server); 0 gives an unused claim back at once.
    token: the token of a service; the default is the environment variable FRAZIL_TOKEN.
    registry: a registry of your own, instead of ``url`` and ``namespace``, for this generator alone
    (``docs/how-to/own-registry.md``).

    Raises ConfigError for an invalid argument, LayoutError, and LayoutExhausted if time is full.
    """
    options = locals()  # at the beginning: all arguments, and nothing else
    refuse_unknown("open", open_ids, options.pop("unknown"))
    return open_request(make_request(**options))
