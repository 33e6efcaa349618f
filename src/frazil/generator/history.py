"""A history: IDs of the past, by the moment of each row; see ``frazil.history``.

A region belongs to one process: a forked child claims another one at its first call. Nothing holds
it, so there is nothing to renew and nothing to give back; ``close`` only ends the use. A signal
handler cannot use a history that it interrupted.
"""

from __future__ import annotations

from datetime import datetime
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Any, Self, TypeVar

from frazil.claims.claim import Claim, LastSeen
from frazil.errors import ConfigError, LayoutExhausted, TryLater
from frazil.generator.complaints import closed
from frazil.generator.mint import answered
from frazil.generator.past_cells import PastCells
from frazil.generator.request import OpenRequest
from frazil.layout.field import Role
from frazil.registries.base import PastRegistry, Registry, with_past
from frazil.schemes.scheme import Scheme
from frazil.system.clock import boot_ns, to_us
from frazil.system.process import ProcessIdentity

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

Made = TypeVar("Made")


class _Region:
    """A claim of the past in this process, and how its cells become IDs."""

    def __init__(self, claim: Claim, registry: Registry, scheme: Scheme) -> None:
        self.identity = ProcessIdentity()
        self.claim, self._scheme, layout = claim, scheme, scheme.layout
        self.cells = PastCells(claim, registry.terms, layout.sequences)
        self.lock, self.user = Lock(), 0
        zeros = {field.name: 0 for field in layout.fields if field.fixed is None}
        if layout.bits_of("node"):
            parts = [field.name for field in layout.fields if field.role == "node"]
            zeros = {name: 0 for name in zeros if name not in parts}
            zeros["node"] = claim.slot % registry.terms.nodes
        self._base = scheme.pack(**zeros)
        roles: tuple[Role, ...] = ("time", "sequence") if layout.bits_of("sequence") else ("time",)
        self._segments = [scheme.segments(role) for role in roles]

    def one(self, us: int) -> int:
        """The ID of a row."""
        n = self._base
        for value, segments in zip(self.cells.one(us), self._segments, strict=False):
            for segment in segments:
                n |= (value >> segment.target & segment.mask) << segment.source
        return n

    def many(self, us: NDArray[Any], kind: str) -> NDArray[Any]:
        """The IDs of rows, in their order."""
        import numpy as np

        from frazil.schemes.arrays import empty

        array, words = empty(len(us), self._scheme.bits, kind)
        columns = [words[1::2], words[0::2]] if self._scheme.bits > 64 else [words]  # hi, lo
        for number, column in enumerate(columns):
            column[:] = np.uint64(self._base >> 64 * number & (1 << 64) - 1)

        def take(place: slice, *cells: NDArray[Any]) -> None:
            for values, segments in zip(cells, self._segments, strict=False):
                part = values.view(np.uint64)
                for segment in segments:
                    if segment.target < 64:
                        bits = part >> np.uint64(segment.target) if segment.target else part
                        if len(segments) > 1:
                            bits = bits & np.uint64(segment.mask)
                        column = columns[segment.source // 64]
                        column[place] |= bits << np.uint64(segment.source % 64)

        order = self.cells.many(us, take)
        if order is None:
            return array
        given = np.empty_like(array)
        given[order] = array
        return given


class History:
    """IDs of the past. Made by ``frazil.history``; threads may share it.

    Each method raises LayoutError for a moment outside, LayoutExhausted where the ticks of this
    history are full, Closed after ``close``, and TryLater in a signal handler that interrupted it.
    A copy, a pickle and a forked child claim a region of their own.
    """

    def __init__(self, config: OpenRequest, start_us: int | None, stop_us: int | None) -> None:
        self.config, self.scheme = config, config.scheme
        self._bounds = start_us, stop_us
        self._regions: dict[int, _Region] = {}
        self._closed = False

    def at(self, moment: datetime | int) -> int:
        """An ID of a moment: a datetime (a naive one is UTC), datetime64, or µs since 1970.

        Calls with one moment get IDs in order. When a tick is full, the ID is of a later one, at
        most an hour after the moment.
        """
        if isinstance(moment, datetime) and moment == moment:  # noqa: PLR0124 - pandas' NaT is not
            us = to_us(moment)
        elif type(moment) is int:
            us = moment
        else:
            from frazil.schemes.columns import moments_us

            us = int(moments_us([moment])[0])
        while True:
            identity, n = self._with_region(lambda region: region.one(us))
            if identity.mine:  # else a signal handler forked, and the ID is the parent's
                return n

    def at_many(self, moments: Any, dtype: str = "uint64") -> NDArray[Any]:
        """The IDs of many moments as a numpy array, in the order of the moments.

        moments: a column of numpy (datetime64), pandas, Arrow or Polars, in any order, or an
        iterable of what ``at`` takes; timestamps without a zone are UTC. dtype: as in
        ``Generator.array``. The IDs of one call are in the order of their moments; equal moments
        keep the order of the call. That holds too where ticks are full, and IDs are later ones: at
        most an hour, else the call raises and gives no ID. Raises Misuse for a missing moment.
        """
        from frazil.schemes.columns import moments_us

        kind, us = self.scheme.array_dtype(dtype), moments_us(moments)
        while True:
            identity, array = self._with_region(lambda region: region.many(us, kind))
            if identity.mine:
                return array

    def close(self) -> None:
        """End the use; its region stays used. A second call does nothing."""
        self._closed = True

    def __enter__(self) -> Self:
        """The history itself; the end of the ``with`` closes it."""
        return self

    def __exit__(self, *error: object) -> None:
        """See close."""
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return History, (self.config, *self._bounds)

    def __repr__(self) -> str:
        config = self.config
        return f"<frazil.History {config.scheme.name} {config.namespace!r} at {config.url}>"

    def claim(self) -> _Region:
        """The region of this process; claims one if it has none."""
        while True:
            identity = ProcessIdentity()
            region = self._regions.get(identity.era)
            if region is None:
                claim, registry = _claimed(self.config, *self._bounds)
                region = _Region(claim, registry, self.scheme)
                region = self._regions.setdefault(identity.era, region)
            if identity.mine:  # else a signal handler forked, and it is the parent's
                return region

    def _with_region(self, use: Callable[[_Region], Made]) -> tuple[ProcessIdentity, Made]:
        """What ``use`` returns for the region of this process, which no other thread uses then.

        A caller checks the identity as the last thing before it returns.
        """
        if self._closed:
            raise closed()
        region, me = self.claim(), get_ident()
        if region.user == me and region.lock.locked():
            raise TryLater(
                "this signal handler interrupted a call of the same history; make the ID after "
                "the handler has returned"
            )
        with region.lock:
            region.user = me
            try:
                return region.identity, use(region)
            finally:
                region.user = 0


def declare(request: OpenRequest, start_us: int) -> None:
    """Declare the past of the namespace of a request; see ``declare_past``."""
    registry, deadline_ns = past_registry(request), boot_ns() + request.timeout_us * 1000
    terms = registry.terms
    start = max(0, -(-(start_us - terms.epoch_us) // terms.tick_us))
    verb = registry.declare_past
    answered(registry, verb, start, LastSeen(), request.timeout_us, deadline_ns)


def _claimed(
    request: OpenRequest, start_us: int | None, stop_us: int | None
) -> tuple[Claim, Registry]:
    """A region that includes these moments, and the registry that granted it."""
    registry, layout = past_registry(request), request.scheme.layout
    start = -1 if start_us is None else layout.tick_at(start_us)
    stop = 0 if stop_us is None else layout.tick_at(stop_us, up=True)
    deadline_ns = boot_ns() + request.timeout_us * 1000
    verb, region = registry.claim_past, (start, stop)
    reply, *_ = answered(registry, verb, region, LastSeen(), request.timeout_us, deadline_ns)
    if isinstance(reply, Claim):
        return reply, registry
    raise LayoutExhausted(
        f"each of the {len(registry.terms.slots)} node numbers of {registry.terms.named} has used "
        "a part of this time, in claims or in other histories; choose a later start= and an "
        "earlier stop=, a layout with more bits of node, or another namespace",
        limit=len(registry.terms.slots),
    )


def past_registry(request: OpenRequest) -> PastRegistry:
    """The registry of a request. Raises ConfigError if it grants nothing of the past."""
    url, layout = request.url, request.scheme.layout
    if url.opened_by.maker != "registry" or url.kind == "static":
        raise ConfigError(
            f"{url} has no claims of the past; name a registry that assigns node numbers, like "
            "sqlite:///path, redis://host or postgresql://host/db",
            url=str(url),
        )
    if layout.tick_us is None:
        raise ConfigError(
            f"scheme {request.scheme.name!r} has no time, so its IDs have no past; use one with a "
            "time, like icicle",
            scheme=request.scheme.name,
        )
    return with_past(request.connect())
