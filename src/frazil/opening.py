"""``frazil.open`` and ``frazil.mint``: the URL chooses where IDs are made.

Most URLs name a registry, from which a generator in this process claims node numbers. ``icicle:``
names servers that make the IDs themselves, and ``http:`` names a service. All three are used in the
same way. The arguments become one ``Request``. For ``icicle:`` and ``http:`` the kind of its URL
names the module that opens the generator (``frazil.inputs.kinds``).
"""

from collections.abc import Mapping
from typing import Never

from frazil.generator.generator import Generator
from frazil.generator.local import LocalGenerator
from frazil.generator.mint import mint
from frazil.generator.request import Duration, Request, make_request
from frazil.inputs.arguments import refuse_unknown
from frazil.inputs.url import UrlInput
from frazil.registries.base import Registry
from frazil.schemes.scheme import Scheme
from frazil.system.process import ProcessIdentity

__all__ = ["mint_ids", "mint_request", "open_ids", "open_request"]


def open_request(request: Request) -> Generator:
    """The generator of a request. Contacts nothing until the first ID is requested."""
    if request.url.opened_by.maker == "registry":
        return LocalGenerator(request)
    generator: Generator = request.url.opened_by.load().open_generator(request)
    return generator


def mint_request(n: int, request: Request) -> list[int]:
    """``n`` unique IDs, for a process that ends soon."""
    while True:
        identity = ProcessIdentity()
        minted = _minted(n, request)
        if identity.mine:  # else a signal handler forked, and these are the parent's
            return minted


def _minted(n: int, request: Request) -> list[int]:
    """The IDs of ``mint_request``; every connection is closed when this returns.

    A signal handler may fork while a connection is being closed, so the caller checks afterwards
    that this is still the same process.
    """
    if request.url.opened_by.maker == "registry":
        return mint(n, request, request.connect())
    with open_request(request) as ids:
        return ids.take(n)


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


def mint_ids(
    n: int = 1,
    url: UrlInput | None = None,
    scheme: str | Scheme = "icicle",
    *,
    namespace: str = "default",
    fields: Mapping[str, int] | None = None,
    lead: Duration = 0,
    timeout: Duration = 10,
    registry: Registry | None = None,
    **unknown: Never,
) -> list[int]:
    """``n`` unique IDs, for a process that ends soon. The arguments are those of ``open``.

    No claim is held afterwards. A tick holds a limited number of IDs, so many IDs take as long as
    the ticks that they fill, less ``lead``. Raises ConfigError, the errors of the registry, and
    PoolExhausted after ``timeout`` without an ID.
    """
    options = locals()  # as above
    refuse_unknown("mint", mint_ids, options.pop("unknown"))
    return mint_request(options.pop("n"), make_request(**options))
