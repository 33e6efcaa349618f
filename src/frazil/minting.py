"""``frazil.mint``. This module loads no generator, which one ID does not need."""

from collections.abc import Mapping
from typing import Never

from frazil.generator.mint import mint
from frazil.generator.request import Duration, OpenRequest, make_request
from frazil.inputs.arguments import refuse_unknown
from frazil.inputs.url import UrlInput
from frazil.registries.base import Registry
from frazil.schemes.scheme import Scheme
from frazil.system.imports import load
from frazil.system.process import ProcessIdentity

__all__ = ["mint_ids", "mint_request"]


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
    options = locals()  # at the beginning: all arguments, and nothing else
    refuse_unknown("mint", mint_ids, options.pop("unknown"))
    return mint_request(options.pop("n"), make_request(**options))


def mint_request(n: int, request: OpenRequest) -> list[int]:
    """``n`` unique IDs, for a process that ends soon."""
    while True:
        identity = ProcessIdentity()
        minted = _minted(n, request)
        if identity.mine:  # else a signal handler forked, and these are the parent's
            return minted


def _minted(n: int, request: OpenRequest) -> list[int]:
    """The IDs of ``mint_request``; every connection is closed when this returns.

    A signal handler may fork while a connection is being closed, so the caller checks afterwards
    that this is still the same process.
    """
    if request.url.opened_by.maker == "registry":
        return mint(n, request, request.connect())
    with load("frazil.generator.local").open_request(request) as ids:
        some: list[int] = ids.take(n)
    return some
