"""``frazil.open`` and ``frazil.mint``: the URL chooses where IDs are made.

Most URLs name a registry, from which a generator in this process claims node numbers. ``icicle:``
names servers that make the IDs themselves, and ``http:`` names a service. All three are used in the
same way. ``aio.open``, the command and the service take the same arguments, and all make one
``Request`` of them here. Nothing is contacted.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Never, TypedDict

from frazil.errors import ConfigError, brief
from frazil.generator.mint import mint
from frazil.generator.request import Duration, Request
from frazil.inputs.arguments import check_fields, check_whole, expect, refuse_unknown
from frazil.inputs.duration import duration_us
from frazil.inputs.kinds import GIVEN
from frazil.inputs.url import Url, UrlInput, url_of
from frazil.registries.base import Registry, terms_of
from frazil.schemes.scheme import Scheme
from frazil.schemes.scheme import scheme as scheme_of
from frazil.system.imports import load
from frazil.system.process import ProcessIdentity

if TYPE_CHECKING:
    from frazil.generator.generator import Generator

__all__ = ["OpenOptions", "TaskOptions", "make_request", "mint_ids", "mint_request", "open_ids"]


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
) -> "Generator":
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
    return _opened(make_request(**options))


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


def make_request(
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
) -> Request:
    """The request for the arguments of ``open``. Raises ConfigError and LayoutError."""
    expect("namespace=", namespace, str, "a string")
    expect("sequence_start=", sequence_start, (int, str), '0 or "random"')
    expect("token=", token, (str, type(None)), "a string")
    check_fields(fields)
    if type(sequence_start) not in (int, str) or sequence_start not in (0, "random"):
        raise ConfigError(f'sequence_start= must be 0 or "random", not {brief(sequence_start)}')
    wanted = scheme_of(scheme, fields=fields)
    where = url_of(url) if registry is None else _given(registry, wanted, url, namespace)
    if token is not None and where.opened_by.maker != "service":
        raise ConfigError("token= is for a service, http://host:8080/namespace")
    return Request(
        url=where,
        scheme=wanted,
        namespace=namespace,
        lead_us=duration_us(lead, name="lead"),
        timeout_us=duration_us(timeout, name="timeout"),
        scattered=sequence_start == "random",
        block=None if block is None else check_whole("block=", block, 1),
        token=token,
        keep_us=duration_us(keep, name="keep"),
        registry=registry,
    )


def _given(registry: Registry, scheme: Scheme, url: UrlInput | None, namespace: str) -> Url:
    """A URL in the place of a registry that was passed as an object, if it grants the scheme."""
    given: object = registry
    if not isinstance(given, Registry):
        raise ConfigError(
            "registry= is an object with the methods of frazil.registries.base.Registry, not "
            f"{type(given).__name__}",
            value=given,
        )
    if url is not None or namespace != "default":
        raise ConfigError(
            "registry= is an object with a store and a namespace of its own; leave out url= and "
            "namespace=",
            url=registry.url,
        )
    terms, wanted = registry.terms, terms_of(scheme, 1)
    inside = terms.slots[0] in wanted.slots and terms.slots[-1] in wanted.slots
    if not terms.identity.startswith(wanted.identity) or not inside:
        raise ConfigError(
            f"registry= grants regions of {terms.layout!r}, and scheme= is {str(scheme.layout)!r}; "
            "make the registry for this scheme, or pass its scheme as scheme=",
            url=registry.url,
        )
    return Url(registry.url, registry.url, "", GIVEN, "", "", ())


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
    with _opened(request) as ids:
        return ids.take(n)


def _opened(request: Request) -> "Generator":
    generator: Generator = load("frazil.generator.local").open_request(request)  # none to mint
    return generator
