"""``frazil.open`` and ``frazil.mint``: who makes the IDs is chosen by the URL.

Most URLs name a registry, from which a generator in this process claims node numbers. ``icicle:``
names servers that make the IDs themselves, and ``http:`` a service that does. All are used alike.
The arguments become one ``Request``, and the kind of its URL names what opens it
(``frazil.inputs.kinds``).
"""

from collections.abc import Mapping
from typing import Never

from frazil.generator.generator import Generator
from frazil.generator.local import LocalGenerator, registry_of
from frazil.generator.mint import mint
from frazil.generator.request import Duration, Request, UrlInput, make_request
from frazil.inputs.arguments import refuse_unknown
from frazil.schemes.scheme import Scheme
from frazil.system.process import ProcessIdentity

__all__ = ["mint_ids", "mint_request", "open_ids", "open_request"]


def open_request(request: Request) -> Generator:
    """The generator of a request. Nothing is contacted before the first ID is asked for."""
    if request.url.maker == "registry":
        return LocalGenerator(request, registry_of(request))
    generator: Generator = request.url.opened_by.load().open_generator(request)
    return generator


def mint_request(n: int, request: Request) -> list[int]:
    """``n`` unique IDs, for a process that will not stay."""
    while True:
        identity = ProcessIdentity()
        minted = _minted(n, request)
        if identity.mine:  # else a signal handler has forked, and these are the parent's
            return minted


def _minted(n: int, request: Request) -> list[int]:
    """What ``mint_request`` answers. What it opens is gone when it returns: drivers hang up.

    That may be interrupted by a handler that forks, so it has to be over when the caller looks.
    """
    if request.url.maker == "registry":
        return mint(n, request, registry_of(request))
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
    **unknown: Never,
) -> Generator:
    """A generator of unique IDs. Nothing is contacted before the first ID is asked for.

    url: where numbers come from. A registry: ``sqlite:///path`` (or a Path), ``redis://host``,
    ``postgresql://host/db``, ``etcd://host``, ``static:7``, ``static:env:NAME``,
    ``static:hostname``, ``memory:``. Or servers that make the IDs: ``icicle://host,host,...``, or a
    service (``frazil serve``): ``http://host:8080/namespace``, ``https://...``; what these answer
    has the same methods. The default is what the environment's FRAZIL_URL says, else ``sqlite:``, a
    file of this user on this host (of all users after ``frazil init --shared``); in a container
    there is no default.
    scheme: a name (``frazil.schemes.scheme.names()``), a layout text, or a Scheme.
    namespace: whose IDs must not repeat among each other; members share it, the scheme and the url.
    fields: values of the layout's constants, like ``{"cluster": 3}``.
    lead: how far timestamps may run ahead of the clock when a tick's sequence is used up, instead
    of waiting; a duration (``"200ms"``, seconds, a timedelta), at most the registry's horizon, or
    1 s with ``icicle:``.
    timeout: how long a call waits without getting an ID before it raises PoolExhausted or
    RegistryUnavailable. A call for more IDs than their ticks hold lasts as long as those ticks.
    sequence_start: 0, or "random" for consumers that shard by ``id % n``.
    block: for a layout without time, how many counter values (or runs) are taken at a time; 1,000
    (or one) unless said. The next block is asked for when half of one is used. ``block=1`` is
    strict: each value of a counter is taken when it is asked for, so values follow each other
    across all members, at a round trip each.
    token: of a service that asks for one; the environment's FRAZIL_TOKEN unless said.

    Raises ConfigError and LayoutError.
    """
    refuse_unknown("open", open_ids, unknown)
    request = make_request(
        url,
        scheme,
        namespace=namespace,
        fields=fields,
        lead=lead,
        timeout=timeout,
        sequence_start=sequence_start,
        block=block,
        token=token,
    )
    return open_request(request)


def mint_ids(
    n: int = 1,
    url: UrlInput | None = None,
    scheme: str | Scheme = "icicle",
    *,
    namespace: str = "default",
    fields: Mapping[str, int] | None = None,
    lead: Duration = 0,
    timeout: Duration = 10,
    **unknown: Never,
) -> list[int]:
    """``n`` unique IDs, for a process that will not stay. The arguments are those of ``open``.

    Nothing is left behind that would have to be given back. Timestamps lie in the ticks that the
    IDs fill, so many IDs take as long as their layout needs for them, less ``lead``. Raises what
    the registry raises, and PoolExhausted after ``timeout`` without an ID.
    """
    refuse_unknown("mint", mint_ids, unknown)
    request = make_request(
        url, scheme, namespace=namespace, fields=fields, lead=lead, timeout=timeout
    )
    return mint_request(n, request)
