"""``frazil.open`` and ``frazil.mint``: who makes the IDs is chosen by the URL.

Most URLs name a registry, from which a generator in this process claims node numbers. ``icicle:``
names servers that make the IDs themselves, and ``http:`` a service that does. All are used alike,
so one function opens them.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from frazil.errors import ConfigError
from frazil.generator import Duration, Generator, configure
from frazil.minting import mint
from frazil.schemes import Scheme

if TYPE_CHECKING:
    from frazil.client.config import ServiceConfig
    from frazil.icicle.generator import IcicleConfig

__all__ = ["icicle_config", "is_icicle", "is_service", "mint_ids", "open_ids", "service_config"]


def is_icicle(url: str | None) -> bool:
    """Whether a URL, or the environment's FRAZIL_URL, names servers that issue IDs themselves."""
    return _kind(url) in ("icicle", "icicles")


def is_service(url: str | None) -> bool:
    """Whether a URL, or the environment's FRAZIL_URL, is the address of a service."""
    return _kind(url) in ("http", "https")


def _kind(url: str | None) -> str:
    return (url or os.environ.get("FRAZIL_URL") or "").partition(":")[0]


def icicle_config(
    url: str | None, scheme: str | Scheme = "icicle", **options: Any
) -> "IcicleConfig":
    """What ``open_ids`` was told of an ``icicle:`` URL, or of the environment's."""
    from frazil.icicle.opening import configure_icicle

    return configure_icicle(url or os.environ["FRAZIL_URL"], scheme, **options)


def service_config(
    url: str | None,
    scheme: str | Scheme = "icicle",
    *,
    token: str | None = None,
    **options: Any,
) -> "ServiceConfig":
    """What ``open_ids`` was told of a service, its URL and token maybe by the environment."""
    from frazil.client.config import configure_service
    from frazil.client.generator import the_driver

    the_driver()  # that it is missing is told here, and not to the first who asks for an ID
    token = token or os.environ.get("FRAZIL_TOKEN")
    return configure_service(url or os.environ["FRAZIL_URL"], scheme, token=token, **options)


def open_ids(
    url: str | None = None,
    scheme: str | Scheme = "icicle",
    *,
    namespace: str = "default",
    fields: Mapping[str, int] | None = None,
    lead: Duration = 0,
    timeout: Duration = 10,
    sequence_start: int | str = 0,
    block: int | None = None,
    token: str | None = None,
) -> Generator:
    """A generator of unique IDs. Nothing is contacted before the first ID is asked for.

    url: where numbers come from (the default is ``sqlite:``, or what the environment's FRAZIL_URL
    says). A registry: ``sqlite:///path``, ``redis://host``, ``postgresql://host/db``,
    ``etcd://host``, ``static:7``, ``static:env:NAME``, ``static:hostname``, ``memory:``. Or servers
    that make the IDs: ``icicle://host,host,...``, or a service (``frazil serve``):
    ``http://host:8080/namespace``, ``https://...``; what these answer has the same methods.
    scheme: a name (``frazil.schemes.names()``), a layout text, or a Scheme.
    namespace: whose IDs must not repeat among each other; members share it, the scheme and the url.
    fields: values of the layout's constants, like ``{"cluster": 3}``.
    lead: how far timestamps may run ahead of the clock when a tick's sequence is used up, instead
    of waiting; a duration (``"200ms"``, seconds, a timedelta), at most the registry's horizon, or
    1 s with ``icicle:``.
    timeout: how long a call waits for IDs before it raises PoolExhausted or RegistryUnavailable.
    sequence_start: 0, or "random" for consumers that shard by ``id % n``.
    block: for a layout without time, how many counter values (or runs) are taken at a time; 1,000
    (or one) unless said. The next block is asked for when half of one is used. ``block=1`` is
    strict: each value of a counter is taken when it is asked for, so values follow each other
    across all members, at a round trip each.
    token: of a service that asks for one; the environment's FRAZIL_TOKEN unless said.

    Raises ConfigError and LayoutError.
    """
    told: dict[str, Any] = {
        "namespace": namespace,
        "fields": fields,
        "lead": lead,
        "timeout": timeout,
        "sequence_start": sequence_start,
        "block": block,
    }
    # The others are typed as what nearly every call answers; their users call the same methods.
    if is_service(url):
        from frazil.client.generator import ServiceGenerator

        service = ServiceGenerator(service_config(url, scheme, token=token, **told))
        return cast("Generator", service)
    if token is not None:
        raise ConfigError("token= is for a service, http://host:8080/namespace")
    if is_icicle(url):
        from frazil.icicle.generator import IcicleGenerator

        return cast("Generator", IcicleGenerator(icicle_config(url, scheme, **told)))
    return Generator(*configure(url, scheme, **told))


def mint_ids(
    n: int = 1,
    url: str | None = None,
    scheme: str | Scheme = "icicle",
    *,
    namespace: str = "default",
    fields: Mapping[str, int] | None = None,
    lead: Duration = 0,
    timeout: Duration = 10,
) -> list[int]:
    """``n`` unique IDs, for a process that will not stay. The arguments are those of ``open``.

    Nothing is left behind that would have to be given back. Timestamps lie in the ticks that the
    IDs fill, so many IDs take as long as their layout needs for them, less ``lead``. Raises what
    the registry raises, and PoolExhausted after ``timeout`` without an ID.
    """
    told: dict[str, Any] = {
        "namespace": namespace,
        "fields": fields,
        "lead": lead,
        "timeout": timeout,
    }
    if is_icicle(url) or is_service(url):
        with open_ids(url, scheme, **told) as ids:
            return ids.take(n)
    return mint(n, *configure(url, scheme, **told))
