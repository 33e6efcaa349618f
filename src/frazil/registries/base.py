"""The registry interface: five verbs on the record of one namespace, each atomic and durable.

``RecordRegistry`` implements a registry except for the store. A store provides a locked record for
the duration of a step (``step``), a clock reading and its incarnation. The verbs are pure functions
of ``record``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from frazil.claims.claim import (
    Claim,
    Holding,
    LastSeen,
    LossNoticed,
    Lost,
    Snapshot,
    Terms,
    VerbRequest,
    Wait,
    past_in,
)
from frazil.claims.past import claim_past, declare_past
from frazil.claims.record import Record
from frazil.errors import ConfigError, RegistryUnavailable, brief
from frazil.inputs.masking import masked
from frazil.inputs.url import Url, parse_url
from frazil.schemes.scheme import Scheme
from frazil.system import clock

if TYPE_CHECKING:
    from frazil.registries.doctor import StoreReport

Answer = TypeVar("Answer")

RECORD_COLUMNS = tuple(f.name for f in fields(Record) if f.name != "slots")
"""The parts of a record that a store keeps beside its slots, in the order of their columns."""

_LEAST_HORIZON_TICKS = 4  # with fewer, a generator with slow ticks would wait at each new tick
_AXIS_LIMIT = 1 << 62  # the highest tick of a walk
_SLOTS = (1 << 63) - 1  # the largest number in every store, and the longest Python range
_LONGEST_BLOCK = {"run": 64, "sequence": 1 << 20}
_POSIX = {"fcntl", "grp", "pwd"}


@lru_cache(maxsize=64)  # a forked child that makes one ID finds the result in the cache
def terms_of(scheme: Scheme, horizon_us: int, node: int | None = None) -> Terms:
    """The terms under which a scheme's regions are claimed.

    Constants are not part of the identity: each combination of their values has its own slots,
    from ``constants * nodes`` to below ``(constants + 1) * nodes``. Deployments with different
    constants therefore share a record but no region. node: the only node number to grant, if any.
    """
    layout = scheme.layout
    if not horizon_us:
        raise ConfigError("?horizon= must be longer than zero, like 5s", value=horizon_us)
    constants = 0
    for field in layout.fields:
        if field.fixed is not None:
            constants = constants << field.bits | field.fixed
    first = constants * layout.nodes
    slots = range(first, min(first + layout.nodes, _SLOTS))
    if not slots:
        raise ConfigError(
            f"the constants {layout.fixed} of {str(layout)!r} are too large for a registry: "
            f"followed by the node number they are {first}, and the limit is {_SLOTS - 1}; use "
            "smaller constants",
            value=first,
            limit=_SLOTS - 1,
        )
    if node is not None:
        if not 0 <= node < len(slots):
            raise ConfigError(
                f"node number {node} is not within 0..{len(slots) - 1} of scheme {scheme.name}",
                value=node,
                limit=len(slots) - 1,
            )
        slots = slots[node : node + 1]
    tick_us = layout.tick_us or 0
    horizon_ticks = _LONGEST_BLOCK.get(layout.axis, 0)
    if tick_us:
        horizon_ticks = max(_LEAST_HORIZON_TICKS, -(-horizon_us // tick_us))
    assert slots
    assert horizon_ticks > 0  # else no region could be granted
    same = scheme.with_fields(**dict.fromkeys(layout.fixed, 0))
    return Terms(
        identity=same.fingerprint,
        layout=str(layout),
        slots=slots,
        nodes=layout.nodes,
        end=min(layout.axis_end, _AXIS_LIMIT),
        tick_us=tick_us,
        epoch_us=layout.epoch_us or 0,
        horizon_ticks=horizon_ticks,
    )


@runtime_checkable
class Registry(Protocol):
    """The verbs of ``record`` on one namespace of one store.

    Every verb may raise RegistryUnavailable (with ``outcome_known``), ConfigError and ClockError;
    ``grant`` and ``mint`` also LayoutExhausted. One thread at a time may use the object; after a
    fork the child may use it too. ``read_ns`` is the latest time, by the boot clock, at which the
    last verb can have read the store's clock, if the registry knows one before the verb's end.
    """

    url: str
    terms: Terms
    read_ns: int | None

    def grant(self, ask: VerbRequest, want: int) -> Claim | Wait:
        """A region of up to ``want`` ticks for a new owner; Wait if none can be granted now."""

    def mint(self, ask: VerbRequest, ticks: int) -> Claim | Wait:
        """A region of up to ``ticks`` ticks for immediate use, never renewed or released."""

    def renew(self, ask: VerbRequest, until: int) -> Claim | Lost:
        """Extend the claim in ``ask`` to ``until``, or as far as the horizon permits.

        Lost if the slot has another owner, or the store lost the claim.
        """

    def release(self, ask: VerbRequest, used: int) -> LastSeen | Lost:
        """Give back the claim in ``ask`` from tick ``used`` on; Lost as for ``renew``."""

    def initialise(self, ask: VerbRequest, start: int | None) -> LastSeen:
        """Create the record. Nothing from ``start`` on was ever granted; None: unknown."""

    def prepare(self) -> None:
        """Create what the store needs before its first record, like a table, if it is missing."""
        return  # not abstract: most stores need nothing

    def look(self) -> Snapshot | None:
        """The contents of the record; None if there is none. Read-only."""

    def holdings(self) -> list[Holding]:
        """Every slot that was ever granted, with its present or last holder. Read-only."""
        found = self.look()
        return list(found.holdings) if found else []

    def examine(self) -> "StoreReport":
        """The store's settings, and the failures it survives. Read-only."""

    def close(self) -> None:
        """Release all resources. Garbage collection does the same."""
        return  # not abstract: most registries have none to release


@runtime_checkable
class PastRegistry(Registry, Protocol):
    """A registry that also grants past regions; see ``frazil.claims.past``."""

    def claim_past(self, ask: VerbRequest, region: tuple[int, int]) -> Claim | Wait | Lost:
        """The ticks ``(start, stop)``, without a token; -1 from the first known one, 0 to now.

        Lost if every slot has granted some of them.
        """

    def declare_past(self, ask: VerbRequest, start: int) -> LastSeen | Wait:
        """Note that no ID has a tick from ``start`` on, but those of claims of the record."""


def connect(url: Url | str, namespace: str, scheme: Scheme) -> Registry:
    """The registry at a URL, for one namespace and scheme. Contacts nothing.

    Raises ConfigError for an invalid URL, for a URL of something else, and for unknown options.
    """
    where = parse_url(url) if isinstance(url, str) else url
    if where.opened_by.maker != "registry":
        raise ConfigError(
            f"{where.kind}: makes IDs and keeps no claims; name a registry, like redis://host",
            url=str(where),
        )
    if not namespace or len(namespace) > 200 or not namespace.isprintable():
        raise ConfigError(
            f"namespace {brief(namespace)} is invalid; use 1 to 200 printable characters"
        )
    try:
        make = where.opened_by.load()
    except ImportError as error:  # a registry of another package: those of frazil name their extra
        if error.name in _POSIX:
            raise ConfigError(
                f"{where.kind}: locks files as POSIX systems do, and this system has no "
                f"{error.name}; use a server (redis://...), or memory: for tests",
                url=str(where),
            ) from None
        raise ConfigError(
            f"{where.kind}: {where.opened_by.home} cannot be imported ({error}); install its "
            "driver, or uninstall the package that brings it",
            url=str(where),
        ) from error
    registry: Registry = make(where, namespace, scheme)
    return registry


def with_past(registry: Registry) -> PastRegistry:
    """The registry, if it grants past regions. Raises ConfigError if it does not."""
    if isinstance(registry, PastRegistry):
        return registry
    raise ConfigError(
        f"{registry.url}: this registry has no claim_past and declare_past; derive it from "
        "frazil.registries.base.RecordRegistry, which has them",
        url=registry.url,
    )


def reading_ns(registry: Registry, sent_ns: int, heard_ns: int) -> int:
    """The latest time, by the boot clock, at which a registry can have read its clock for a reply.

    An earlier time would put IDs ahead of the clock: a verb may first connect, wait for the verbs
    of others, and be repeated.
    """
    read_ns = registry.read_ns
    return read_ns if read_ns is not None and sent_ns <= read_ns <= heard_ns else heard_ns


class _LeaveError(Exception):
    """Ends a step without saving."""


class RecordRegistry(PastRegistry, ABC):
    """A registry over a store that can lock one record for the duration of a verb."""

    def __init__(self, url: Url | str, namespace: str, terms: Terms) -> None:
        self.url = masked(url) if isinstance(url, str) else url.shown
        self.namespace = namespace
        self.terms = terms._replace(namespace=namespace)
        self.read_ns: int | None = None

    @abstractmethod
    def step(self) -> AbstractContextManager[tuple[Record, str]]:
        """The record, locked, and the store's incarnation.

        The record is saved durably when the block ends; if the block raises, it is not saved.
        """

    def reading_us(self) -> int:
        """The store's clock in µs since 1970, read inside a step. Here: this host's."""
        now_us = clock.wall_us()
        self.read_ns = clock.boot_ns()
        return now_us

    def perform(self, verb: Callable[[Record, int, str], Answer]) -> Answer:
        """Take one step: call ``verb`` with the record, the clock's reading and the incarnation.

        Stores with optimistic transactions override this to repeat a step after a conflict.
        """
        return self.kept(self.step(), verb)

    def kept(
        self,
        step: AbstractContextManager[tuple[Record, str]],
        verb: Callable[[Record, int, str], Answer],
    ) -> Answer:
        """The answer of a verb in a step. What it noticed of a loss is saved although it raises."""
        with step as (record, incarnation):
            try:
                return verb(record, self.reading_us(), incarnation)
            except LossNoticed as error:
                noticed = error
        raise noticed

    def grant(self, ask: VerbRequest, want: int) -> Claim | Wait:
        return self.perform(lambda r, us, inc: r.grant(self.terms, ask, us, inc, want))

    def mint(self, ask: VerbRequest, ticks: int) -> Claim | Wait:
        return self.perform(lambda r, us, inc: r.mint(self.terms, ask, us, inc, ticks))

    def renew(self, ask: VerbRequest, until: int) -> Claim | Lost:
        return self.perform(lambda r, us, inc: r.renew(self.terms, ask, us, inc, until))

    def release(self, ask: VerbRequest, used: int) -> LastSeen | Lost:
        return self.perform(lambda r, us, inc: r.release(self.terms, ask, us, inc, used))

    def initialise(self, ask: VerbRequest, start: int | None) -> LastSeen:
        return self.perform(lambda r, us, inc: r.initialise(self.terms, ask, us, inc, start))

    def claim_past(self, ask: VerbRequest, region: tuple[int, int]) -> Claim | Wait | Lost:
        """See PastRegistry."""
        return self.perform(lambda r, us, inc: claim_past(r, self.terms, ask, us, inc, region))

    def declare_past(self, ask: VerbRequest, start: int) -> LastSeen | Wait:
        """See PastRegistry."""
        return self.perform(lambda r, us, inc: declare_past(r, self.terms, ask, us, inc, start))

    def crowded(self) -> RegistryUnavailable:
        """The error for a step that others' steps made invalid again and again."""
        return RegistryUnavailable(
            f"{self.url}: too many members write this namespace; use a longer ?horizon=, so that "
            "each member writes less often",
            url=self.url,
            outcome_known=True,
        )

    def examine(self) -> "StoreReport":
        """See Registry. Here: only the events that every store survives."""
        from frazil.registries.doctor import COMMON_EVENTS, StoreReport

        return StoreReport(type(self).__name__, (), COMMON_EVENTS)

    def look(self) -> Snapshot | None:
        found: Snapshot | None = None
        with suppress(_LeaveError), self.step() as (record, _):
            if record.sid:
                now_us = max(self.reading_us(), record.last_us) + record.offset_us
                held = tuple(record.holdings())
                layout, known = past_in(record.layout)
                found = Snapshot(layout, record.fingerprint, now_us, held, past_from=known)
            raise _LeaveError
        return found
