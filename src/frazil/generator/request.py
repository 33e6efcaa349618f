"""A request: the arguments of ``open``, checked, as values.

``mint``, ``aio.open``, the command and the service take the same arguments.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Any, TypeAlias

from frazil.errors import ConfigError, LayoutExhausted, brief
from frazil.inputs.arguments import check_fields, check_whole, expect
from frazil.inputs.duration import duration_text, duration_us
from frazil.inputs.kinds import GIVEN
from frazil.inputs.url import Url, UrlInput, url_of
from frazil.registries.base import Registry, connect, terms_of
from frazil.schemes.scheme import Scheme
from frazil.schemes.scheme import scheme as scheme_of
from frazil.system import clock

Duration: TypeAlias = str | float | timedelta


_ROW_BITS = 12  # a counter's row: few for a short step at the end of a claim, many for speed
_CELL_BITS = 62  # a tick's cells: a machine's word, and more than any tick has time for
KEEP_US = 60_000_000  # how long a generator keeps its claim after its last ID, by default


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """The arguments of ``open``. Generators of equal requests share nothing else.

    scattered: whether the sequence of a tick begins at a random number. block: None for the default
    of the layout. registry: an object that was passed instead of a URL, for this generator alone.
    """

    url: Url
    scheme: Scheme
    namespace: str
    lead_us: int = 0
    timeout_us: int = 10_000_000
    scattered: bool = False
    block: int | None = None
    token: str | None = field(default=None, repr=False)
    keep_us: int = KEEP_US
    registry: Registry | None = field(default=None, repr=False)

    def refuse(self, problem: str, **given: bool) -> None:
        """Raise ConfigError if an argument has no meaning here; {} in the text is its name."""
        if any(given.values()):
            names = ", ".join(name for name, is_given in given.items() if is_given)
            raise ConfigError(problem.format(names), url=str(self.url))

    def connect(self) -> Registry:
        """Its registry. Contacts nothing.

        Raises ConfigError for a lead or a block that it never grants.
        """
        registry = self.registry or connect(self.url, self.namespace, self.scheme)
        terms, block, lead_us = registry.terms, self.block, self.lead_us
        horizon_us = terms.horizon_ticks * terms.tick_us
        if terms.timed and block is not None:
            raise ConfigError(
                f"block= is for counters and runs, and {terms.layout!r} has a time; leave it out",
                value=block,
            )
        if terms.timed and lead_us > horizon_us:
            raise ConfigError(
                f"lead={duration_text(lead_us)} is more than the registry's horizon "
                f"{duration_text(horizon_us)}; lower lead=, or raise ?horizon= for all members",
                value=lead_us,
                limit=horizon_us,
            )
        if not terms.timed and block is not None and block > terms.horizon_ticks:
            raise ConfigError(
                f"block={brief(block)} is not within 1..{terms.horizon_ticks}, the limit of "
                "one claim",
                value=block,
                limit=terms.horizon_ticks,
            )
        return registry


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


def patience_us(timeout: Duration | None) -> int | None:
    """The ``timeout`` of a single call in µs; None for that of the generator."""
    return None if timeout is None else duration_us(timeout, name="timeout")


def refuse_full(scheme: Scheme) -> None:
    """Raise LayoutExhausted if the time field of a scheme is full, by this host's clock."""
    layout = scheme.layout
    if layout.tick_us is None or layout.epoch_us is None:
        return
    ends_us, now_us = layout.exhausted_us, clock.wall_us()
    if ends_us is not None and ends_us <= now_us:
        raise LayoutExhausted(
            f"the time field of {str(layout)!r} is full since {clock.moment_text(ends_us)} (it is "
            f"{clock.moment_text(now_us)} by this host's clock); choose a wider layout, or a later "
            "epoch, in a new namespace",
            limit=layout.axis_end,
        )


def walk_arguments(
    scheme: Scheme, lead_us: int, seed: int | None, *, clocked: bool = True
) -> tuple[Any, ...]:
    """The arguments of ``Walk`` for a scheme, after the identity.

    clocked=False: the whole claim is due at once.
    """
    tick_us = scheme.layout.tick_us or 0
    return *_places(scheme), tick_us * 1000 if clocked else 0, lead_us * 1000, seed


@lru_cache(maxsize=64)  # for a child that lives for one ID
def _places(scheme: Scheme) -> tuple[Any, ...]:
    """The places of the bits that the walk changes, and the bits that it never changes."""
    layout = scheme.layout
    free = {each.name: 0 for each in layout.fields if each.fixed is None}
    sequence = scheme.positions("sequence")
    return (
        scheme.bits,
        scheme.positions(layout.axis),
        scheme.positions("node"),
        sequence[: _ROW_BITS if layout.axis == "sequence" else _CELL_BITS],
        scheme.pack(**free),
    )
