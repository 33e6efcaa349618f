"""``frazil.mint``, and the request that ``frazil.open`` and it make of their arguments.

``aio.open``, the command and the service take the same arguments. This module loads no generator,
which one ID does not need.
"""

from collections.abc import Mapping
from typing import Never

from frazil.errors import ConfigError, brief
from frazil.generator.mint import mint
from frazil.generator.request import Duration, OpenRequest
from frazil.inputs.arguments import check_fields, check_whole, expect, refuse_unknown
from frazil.inputs.duration import duration_us
from frazil.inputs.kinds import GIVEN
from frazil.inputs.url import Url, UrlInput, url_of
from frazil.registries.base import Registry, terms_of
from frazil.schemes.scheme import Scheme
from frazil.schemes.scheme import scheme as scheme_of
from frazil.system.imports import load
from frazil.system.process import ProcessIdentity

__all__ = ["make_request", "mint_ids", "mint_request"]


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
) -> OpenRequest:
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
    return OpenRequest(
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
