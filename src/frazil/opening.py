"""``frazil.open`` and ``frazil.mint``: who makes the IDs is chosen by the URL.

Most URLs name a registry, from which a generator in this process claims node numbers. ``icicle:``
names servers that make the IDs themselves. Both are used alike, so one function opens both.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from frazil.generator import Duration, Generator, configure
from frazil.minting import mint
from frazil.schemes import Scheme

if TYPE_CHECKING:
    from frazil.icicle.generator import IcicleConfig

__all__ = ["icicle_config", "is_icicle", "mint_ids", "open_ids"]


def is_icicle(url: str | None) -> bool:
    """Whether a URL, or the environment's FRAZIL_URL, names servers that issue IDs themselves."""
    return (url or os.environ.get("FRAZIL_URL") or "").partition(":")[0] in ("icicle", "icicles")


def icicle_config(
    url: str | None, scheme: str | Scheme = "icicle", **options: Any
) -> "IcicleConfig":
    """What ``open_ids`` was told of an ``icicle:`` URL, or of the environment's."""
    from frazil.icicle.opening import configure_icicle

    return configure_icicle(url or os.environ["FRAZIL_URL"], scheme, **options)


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
) -> Generator:
    """A generator of unique IDs. Nothing is contacted before the first ID is asked for.

    url: where numbers come from (the default is ``sqlite:``, or what the environment's FRAZIL_URL
    says). A registry: ``sqlite:///path``, ``redis://host``, ``postgresql://host/db``,
    ``etcd://host``, ``static:7``, ``static:env:NAME``, ``static:hostname``, ``memory:``. Or servers
    that make the IDs: ``icicle://host,host,...``; what that answers has the same methods.
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
    if is_icicle(url):
        from frazil.icicle.generator import IcicleGenerator

        # Typed as what nearly every call answers; users of either call the same methods.
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
    if is_icicle(url):
        with open_ids(url, scheme, **told) as ids:
            return ids.take(n)
    return mint(n, *configure(url, scheme, **told))
