"""A request: all that ``open`` was asked for, checked and as values.

``open``, ``mint``, ``aio.open``, the command and the service each take the same arguments. All make
one request of them, here, and whoever makes the IDs gets that. Nothing is contacted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeAlias

from frazil.errors import ConfigError
from frazil.inputs.arguments import check_fields, expect
from frazil.inputs.duration import duration_us
from frazil.inputs.url import Url, parse_url
from frazil.schemes.scheme import Scheme, scheme

__all__ = ["Duration", "Request", "make_request"]

Duration: TypeAlias = str | float | timedelta


@dataclass(frozen=True, slots=True)
class Request:
    """What ``open`` was asked for. Generators of equal requests share nothing but that.

    scattered: whether a tick's sequence begins anywhere. block: None for the layout's usual one.
    token: None for none.
    """

    url: Url
    scheme: Scheme
    namespace: str
    lead_us: int = 0
    timeout_us: int = 10_000_000
    scattered: bool = False
    block: int | None = None
    token: str | None = field(default=None, repr=False)

    def refuse(self, problem: str, **given: bool) -> None:
        """ConfigError for arguments that have no meaning here; {} in it is their names."""
        if any(given.values()):
            names = ", ".join(name for name, is_given in given.items() if is_given)
            raise ConfigError(problem.format(names), url=str(self.url))


def make_request(
    url: str,
    scheme_: str | Scheme = "icicle",
    *,
    namespace: str = "default",
    fields: Mapping[str, int] | None = None,
    lead: Duration = 0,
    timeout: Duration = 10,
    sequence_start: int | str = 0,
    block: int | None = None,
    token: str | None = None,
) -> Request:
    """The request that arguments of ``open`` make. Raises ConfigError and LayoutError."""
    expect("namespace=", namespace, str, "a text")
    expect("sequence_start=", sequence_start, (int, str), '0 or "random"')
    expect("token=", token, (str, type(None)), "a text")
    check_fields(fields)
    if type(sequence_start) not in (int, str) or sequence_start not in (0, "random"):
        raise ConfigError(f'sequence_start is 0 or "random", not {sequence_start!r}')
    where = parse_url(url)
    if token is not None and where.maker != "service":
        raise ConfigError("token= is for a service, http://host:8080/namespace")
    return Request(
        url=where.anchored(),
        scheme=scheme(scheme_, fields=fields),
        namespace=namespace,
        lead_us=duration_us(lead, name="lead"),
        timeout_us=duration_us(timeout, name="timeout"),
        scattered=sequence_start == "random",
        block=_checked_block(block),
        token=token,
    )


def _checked_block(block: Any) -> int | None:
    """ConfigError for a block that is no number; how long it may be depends on the registry."""
    if block is None or (isinstance(block, int) and not isinstance(block, bool) and block > 0):
        return block
    raise ConfigError(f"block={block!r} is no whole number from 1 on", value=block)
