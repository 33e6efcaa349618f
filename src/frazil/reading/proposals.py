"""Layouts for a need: so many nodes, so many IDs per second on each, until a year.

A need becomes widths: the node field counts the nodes, the sequence field the IDs of a tick, and
the time field the ticks from the epoch to the end of the year. Their sum hardly depends on the
tick, since a tick ten times as long takes as many values from the time as it adds to the sequence.
Only a slow node leaves its sequence empty at a short tick; then a longer tick saves bits. So the
shortest tick that fits is the one to take: it orders IDs best.

Bits that are left over go where needs usually grow. The first one goes to the nodes, since a
deployment that replaces its processes has twice as many for a moment. The next ones go to the rate
and the lifetime, then to each in turn, until more is of no use: IDs of fewer bits are shorter
texts.

A column of type UUID takes 128 bits in any case, so ``uuid7`` is proposed beside the others.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from math import ceil
from typing import NamedTuple

from frazil.errors import ConfigError
from frazil.inputs.duration import duration_text
from frazil.reading.capacity import Plan, plan_of
from frazil.system.clock import moment_text, wall_us

NODES_MOST = 1 << 48
RATE_LEAST_HZ = 1e-9
RATE_MOST_HZ = 1e12
YEAR_MOST = 9999

_TICKS_US = (1_000, 10_000, 100_000, 1_000_000)
# A scheme with a name is proposed if it is enough.
_KNOWN = {64: "icicle", 53: "js53", 128: "uuid7"}
_SIGNED_BITS, _JAVASCRIPT_BITS, _WIDEST_BITS = 64, 53, 128
_CENTURIES_US = 1000 * 31_556_952_000_000  # more lifetime than this is of no use
_GROWING_BITS = 8  # by how many bits the nodes and the sequence grow at most


class Need(NamedTuple):
    """nodes: at the same time. node_hz: IDs per second of one node. year: the last one served."""

    nodes: int
    node_hz: float
    year: int

    def check(self, now_us: int) -> None:
        """Raises ConfigError for a number outside its limits."""
        for field, value, least, most in (
            ("nodes", self.nodes, 1, NODES_MOST),
            ("rate", self.node_hz, RATE_LEAST_HZ, RATE_MOST_HZ),
            ("until", self.year, _year(now_us), YEAR_MOST),
        ):
            if not least <= value <= most:
                raise ConfigError(
                    f"{field}: {value} is outside {least:.12g} to {most:.15g}; choose another",
                    field=field,
                    limit=most,
                )


def proposals(need: Need, now_us: int | None = None) -> list[Plan]:
    """Up to three layouts for a need: 64 bits for a signed column, 53 bits, and 128 for a UUID.

    A width at which the need does not fit is left out. The layout of 128 bits is ``uuid7``; if that
    and 64 bits are not enough, it is one of up to 128 bits. Time starts with the current year,
    unless the scheme has a name. Raises ConfigError for a number outside its limits.
    """
    now_us = wall_us() if now_us is None else now_us
    need.check(now_us)
    narrow = [_fit(need, bits, now_us) for bits in (_SIGNED_BITS, _JAVASCRIPT_BITS)]
    found = [plan for plan in narrow if plan is not None]
    wide = _fit(need, _WIDEST_BITS, now_us)
    assert wide is not None  # the limits of a need take 48 + 31 + 48 bits at a tick of 1 ms
    if not found or wide.name == _KNOWN[_WIDEST_BITS]:
        found.append(wide)
    return found


def _fit(need: Need, bits: int, now_us: int) -> Plan | None:
    """The plan of this width, or None if the need does not fit."""
    end_us = _start_us(need.year + 1)
    if bits in _KNOWN:
        known = plan_of(_KNOWN[bits])
        if _is_enough(known, need, end_us):
            return known
    sign = "sign:1=0 " if bits == _SIGNED_BITS else ""
    room = bits - len(sign.split())
    epoch_us = _start_us(_year(now_us))
    ticks = [(tick_us, _widths(need, end_us - epoch_us, tick_us)) for tick_us in _TICKS_US]
    fitting = [(tick_us, widths) for tick_us, widths in ticks if sum(widths.values()) <= room]
    if not fitting:
        return None
    tick_us, widths = fitting[0]
    for name in _growing(need, widths, tick_us):
        if sum(widths.values()) == room:
            break
        widths[name] += 1
    fields = " ".join(f"{name}:{width}" for name, width in widths.items() if width)
    return plan_of(f"{sign}{fields} @{duration_text(tick_us)} since {moment_text(epoch_us)}")


def _is_enough(plan: Plan, need: Need, end_us: int) -> bool:
    layout = plan.layout
    rate_hz, plan_end_us = layout.ids_per_second or 0, plan.end_us or 0
    return layout.nodes >= need.nodes and rate_hz >= need.node_hz and plan_end_us >= end_us


def _widths(need: Need, lasts_us: int, tick_us: int) -> dict[str, int]:
    """The bits of each field at a tick, from the most significant."""
    a_tick = ceil(need.node_hz * tick_us / 1e6)
    return {
        "time": _bits_of(-(-lasts_us // tick_us)),
        "node": _bits_of(need.nodes),
        "sequence": _bits_of(a_tick),
    }


def _growing(need: Need, widths: dict[str, int], tick_us: int) -> Iterator[str]:
    """The fields that get the bits that are left over, one bit each time."""
    if 1 << widths["node"] < 2 * need.nodes:
        yield "node"
    yield from ("sequence", "time")
    most = {name: widths[name] + _GROWING_BITS for name in ("node", "sequence")}
    while any(widths[name] < bits for name, bits in most.items()):
        if (1 << widths["time"]) * tick_us < _CENTURIES_US:
            yield "time"
        yield from (name for name in ("sequence", "node") if widths[name] < most[name])


def _bits_of(count: int) -> int:
    """The bits that so many different numbers need."""
    return (count - 1).bit_length()


def _year(us: int) -> int:
    return int(moment_text(us)[:4])


def _start_us(year: int) -> int:
    if year > YEAR_MOST:
        return _start_us(YEAR_MOST) + 366 * 86_400_000_000
    return int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
