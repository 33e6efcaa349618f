"""``frazil.open`` and ``frazil.mint``: who makes the IDs is chosen by the URL.

Most URLs name a registry, from which a generator in this process claims node numbers. ``icicle:``
names servers that make the IDs themselves, and ``http:`` a service that does. All are used alike,
so one function opens them.
"""

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Never, TypeAlias, cast

from frazil.errors import ConfigError
from frazil.generator.generator import Config, Duration, Generator, configure
from frazil.generator.mint import mint
from frazil.inputs.arguments import check_fields, expect, refuse_unknown
from frazil.registries.base import Registry
from frazil.schemes.scheme import Scheme
from frazil.system.process import ProcessIdentity

if TYPE_CHECKING:
    from frazil.remote.http.config import ServiceConfig
    from frazil.remote.icicle.generator import IcicleConfig

__all__ = ["choose", "is_icicle", "is_service", "mint_ids", "open_ids"]

Url: TypeAlias = str | os.PathLike[str]
Choice: TypeAlias = (
    "tuple[Literal['registry'], tuple[Config, Registry]]"
    "| tuple[Literal['icicle'], IcicleConfig] | tuple[Literal['service'], ServiceConfig]"
)


def is_icicle(url: str | None) -> bool:
    """Whether a URL, or the environment's FRAZIL_URL, names servers that issue IDs themselves."""
    return _kind(url) in ("icicle", "icicles")


def is_service(url: str | None) -> bool:
    """Whether a URL, or the environment's FRAZIL_URL, is the address of a service."""
    return _kind(url) in ("http", "https")


def _kind(url: str | None) -> str:
    return (url or os.environ.get("FRAZIL_URL") or "").partition(":")[0]


def choose(url: Url | None, scheme: str | Scheme, told: Mapping[str, Any]) -> Choice:
    """Who makes the IDs, and all that it was told. Contacts nothing.

    told: arguments of ``open`` by name. Raises ConfigError and LayoutError.
    """
    where = _url_text(url)
    expect("namespace=", told.get("namespace", ""), str, "a text")
    expect("sequence_start=", told.get("sequence_start", 0), (int, str), '0 or "random"')
    expect("token=", told.get("token"), (str, type(None)), "a text")
    check_fields(told.get("fields"))
    rest = {name: value for name, value in told.items() if name != "token"}
    token = told.get("token")
    if is_service(where):
        from frazil.remote.http.config import configure_service
        from frazil.remote.http.generator import the_driver

        the_driver()  # that it is missing is told here, and not to the first who asks for an ID
        token = token or os.environ.get("FRAZIL_TOKEN")
        return "service", configure_service(where, scheme, token=token, **rest)
    if token is not None:
        raise ConfigError("token= is for a service, http://host:8080/namespace")
    if is_icicle(where):
        from frazil.remote.icicle.config import configure_icicle

        return "icicle", configure_icicle(where, scheme, **rest)
    return "registry", configure(where, scheme, **rest)


def _url_text(url: Url | None) -> str:
    """The URL as text; a path is that of a file with claims."""
    if url is None:
        from frazil.system.host import default_url

        return default_url()
    expect("url=", url, (str, os.PathLike), "a text like 'redis://host', or a Path")
    if isinstance(url, str):
        if not url.strip():
            raise ConfigError("url= is empty; leave it out for the default, or name a registry")
        return url
    from pathlib import Path  # which nobody else needs here

    path = str(Path(url).absolute())  # whose special characters the URL would take for its own
    return "sqlite://" + re.sub("[ #%?]", lambda found: f"%{ord(found[0]):02X}", path)


def open_ids(
    url: Url | None = None,
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
    told = {
        "namespace": namespace,
        "fields": fields,
        "lead": lead,
        "timeout": timeout,
        "sequence_start": sequence_start,
        "block": block,
        "token": token,
    }
    return _opened(choose(url, scheme, told))


def _opened(choice: Choice) -> Generator:
    # The others are typed as what nearly every call answers; their users call the same methods.
    if choice[0] == "service":
        from frazil.remote.http.generator import ServiceGenerator

        return cast("Generator", ServiceGenerator(choice[1]))
    if choice[0] == "icicle":
        from frazil.remote.icicle.generator import IcicleGenerator

        return cast("Generator", IcicleGenerator(choice[1]))
    return Generator(*choice[1])


def mint_ids(
    n: int = 1,
    url: Url | None = None,
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
    told = {"namespace": namespace, "fields": fields, "lead": lead, "timeout": timeout}
    while True:
        identity = ProcessIdentity()
        minted = _minted(n, url, scheme, told)
        if identity.mine:  # else a signal handler has forked, and these are the parent's
            return minted


def _minted(n: int, url: Url | None, scheme: str | Scheme, told: Mapping[str, Any]) -> list[int]:
    """What ``mint_ids`` answers. What it opens is gone when it returns: drivers hang up in Python.

    That may be interrupted by a handler that forks, so it has to be over when the caller looks.
    """
    choice = choose(url, scheme, told)
    if choice[0] == "registry":
        return mint(n, *choice[1])
    with _opened(choice) as ids:
        return ids.take(n)
