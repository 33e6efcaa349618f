"""What a registry is: five verbs on the record of one namespace, each one atomic and durable step.

``RecordRegistry`` is all of a registry but the store. A store says how to hold a record locked for
the length of a step and keep it (``step``), what its clock reads, and what its incarnation is; the
verbs themselves are pure and live in ``record``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import fields
from functools import lru_cache
from typing import Protocol, TypeVar

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
)
from frazil.claims.record import Record
from frazil.errors import ConfigError
from frazil.inputs.masking import masked
from frazil.registries.doctor import COMMON_EVENTS, StoreReport
from frazil.schemes.scheme import Scheme
from frazil.system import clock

__all__ = ["RECORD_COLUMNS", "Answer", "RecordRegistry", "Registry", "reading_ns", "terms_of"]

Answer = TypeVar("Answer")

RECORD_COLUMNS = tuple(f.name for f in fields(Record) if f.name != "slots")
"""The parts of a record that a store keeps beside its slots, in the order of their columns."""

_LEAST_HORIZON_TICKS = 4  # with fewer a generator would stand still at each change of a slow tick
_AXIS_LIMIT = 1 << 62  # as far as a walk counts
_SLOTS = (1 << 63) - 1  # as far as every store counts them, and Python the items of a range
_LONGEST_BLOCK = {"run": 64, "sequence": 1 << 20}


@lru_cache(maxsize=64)  # so that a child that lives for one ID finds it worked out
def terms_of(scheme: Scheme, horizon_us: int, node: int | None = None) -> Terms:
    """The terms under which a scheme's regions are claimed.

    Constants are no part of the identity: each combination of their values owns slots of its own,
    ``constants * nodes`` to before ``(constants + 1) * nodes``, so deployments with different
    constants share a record and never a region. node: the one node number to hand out, if any.
    """
    layout = scheme.layout
    constants = 0
    for field in layout.fields:
        if field.fixed is not None:
            constants = constants << field.bits | field.fixed
    first = constants * layout.nodes
    slots = range(first, min(first + layout.nodes, _SLOTS))
    if not slots:
        raise ConfigError(
            f"the constants {layout.fixed} of {str(layout)!r} are beyond what a registry can "
            f"number: with the node number behind them they make {first}, and the limit is "
            f"{_SLOTS - 1}; use smaller constants",
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


class Registry(Protocol):
    """The verbs of ``record`` on one namespace of one store.

    Every verb may raise RegistryUnavailable (with ``outcome_known``), ConfigError and ClockError.
    The object may be used by one thread at a time, and after a fork by the child as well.
    ``read_ns`` is when the last verb read the clock, by the boot clock, where that is known. It may
    be much nearer to the verb's end than to its beginning: others, who came first, were waited for.
    """

    url: str
    terms: Terms
    read_ns: int | None

    def grant(self, ask: VerbRequest, want: int) -> Claim | Wait:
        """A region of up to ``want`` ticks for a new owner."""

    def mint(self, ask: VerbRequest, ticks: int) -> Claim | Wait:
        """A region of up to ``ticks`` ticks that is used at once; nothing is left to release."""

    def renew(self, ask: VerbRequest, until: int) -> Claim | Lost:
        """Make the claim in ``ask`` longer."""

    def release(self, ask: VerbRequest, used: int) -> LastSeen | Lost:
        """Give back the claim in ``ask`` from tick ``used`` on."""

    def initialise(self, ask: VerbRequest, start: int | None) -> LastSeen:
        """Make the record of the namespace: from ``start`` on nothing was given; None: unknown."""

    def look(self) -> Snapshot | None:
        """What the record holds; None if there is none. Nothing is made or changed."""

    def holdings(self) -> list[Holding]:
        """Who holds what."""

    def examine(self) -> StoreReport:
        """What the store is like, and what it survives. Nothing is made or changed."""

    def close(self) -> None:
        """Nothing more will be asked: give up what is held for it. A collected one needs none."""


def reading_ns(registry: Registry, sent_ns: int, heard_ns: int) -> int:
    """When a registry read its clock for an answer, by the boot clock.

    Where it does not know, that is taken to be the middle between request and answer.
    """
    read_ns = registry.read_ns
    if read_ns is not None and sent_ns <= read_ns <= heard_ns:
        return read_ns
    return (sent_ns + heard_ns) // 2


class _LeaveError(Exception):
    """Ends a step that shall keep nothing."""


class RecordRegistry(ABC):
    """A registry over a store that can hold one record locked for the length of a verb."""

    def __init__(self, url: str, namespace: str, terms: Terms) -> None:
        self.url = masked(url)
        self.namespace = namespace
        self.terms = terms
        self.read_ns: int | None = None

    @abstractmethod
    def step(self) -> AbstractContextManager[tuple[Record, str]]:
        """The record, locked, and the store's incarnation.

        What the block leaves in the record is durable when the block has ended; if it raises,
        nothing is kept.
        """

    def reading_us(self) -> int:
        """The store's clock in µs since 1970, read inside a step. Here: this host's."""
        self.read_ns = clock.boot_ns()
        return clock.wall_us()

    def perform(self, verb: Callable[[Record, int, str], Answer]) -> Answer:
        """Take one step: ``verb`` is told the record, the clock's reading, and the incarnation.

        A store whose steps may find the record changed under them takes the step again here.
        """
        with self.step() as (record, incarnation):
            try:
                return verb(record, self.reading_us(), incarnation)
            except LossNoticed as error:
                noticed = error
        raise noticed

    def grant(self, ask: VerbRequest, want: int) -> Claim | Wait:
        """See Registry."""
        return self.perform(lambda r, us, inc: r.grant(self.terms, ask, us, inc, want))

    def mint(self, ask: VerbRequest, ticks: int) -> Claim | Wait:
        """See Registry."""
        return self.perform(lambda r, us, inc: r.mint(self.terms, ask, us, inc, ticks))

    def renew(self, ask: VerbRequest, until: int) -> Claim | Lost:
        """See Registry."""
        return self.perform(lambda r, us, inc: r.renew(self.terms, ask, us, inc, until))

    def release(self, ask: VerbRequest, used: int) -> LastSeen | Lost:
        """See Registry."""
        return self.perform(lambda r, us, inc: r.release(self.terms, ask, us, inc, used))

    def initialise(self, ask: VerbRequest, start: int | None) -> LastSeen:
        """See Registry."""
        return self.perform(lambda r, us, inc: r.initialise(self.terms, ask, us, inc, start))

    def holdings(self) -> list[Holding]:
        """See Registry."""
        found = self.look()
        return list(found.holdings) if found else []

    def examine(self) -> StoreReport:
        """See Registry. A store that tells nothing of itself survives what all do."""
        return StoreReport(type(self).__name__, (), COMMON_EVENTS)

    def close(self) -> None:  # noqa: B027 - most hold nothing between two verbs
        """See Registry."""

    def look(self) -> Snapshot | None:
        """See Registry. A step that raises keeps nothing, so it is left by raising."""
        found: Snapshot | None = None
        with suppress(_LeaveError), self.step() as (record, _):
            if record.sid:
                now_us = self.reading_us() + record.offset_us
                found = Snapshot(
                    record.layout, record.fingerprint, now_us, tuple(record.holdings())
                )
            raise _LeaveError
        return found
