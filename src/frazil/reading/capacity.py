"""Plans: the lifetime, the capacity and the text lengths of a layout, and layouts for a need.

The width of each field determines how long IDs last, how many nodes can issue them and how fast,
and whether a database and a browser can hold them. The command and the service show the same
values, so both take them from here.

A need is so many nodes, so many IDs per second on each, until a year. It becomes widths: the node
field counts the nodes, the sequence field the IDs of a tick, and the time field the ticks from the
epoch to the end of the year. Their sum hardly depends on the tick, since a tick ten times as long
takes as many values from the time as it adds to the sequence. Only a slow node leaves its sequence
empty at a short tick; then a longer tick saves bits. So the shortest tick that fits is the one to
take: it orders IDs best.

Bits that are left over go where needs usually grow. The first one goes to the nodes, since a
deployment that replaces its processes has twice as many for a moment. The next ones go to the rate
and the lifetime, then to each in turn, until more is of no use: IDs of fewer bits are shorter
texts. A column of type UUID takes 128 bits in any case, so ``uuid7`` is proposed beside the others.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from typing import Any, NamedTuple

from frazil.errors import ConfigError, LayoutError
from frazil.inputs.duration import SPANS_S, YEAR_S, duration_text
from frazil.layout.layout import Layout
from frazil.schemes.alphabet import encodings_of
from frazil.schemes.codec import Codec
from frazil.schemes.presets import PRESETS
from frazil.schemes.scheme import scheme as make_scheme
from frazil.schemes.shuffle import Shuffle
from frazil.system.cached import Cached
from frazil.system.clock import moment_text, wall_us


@dataclass(frozen=True)
class Plan:
    """A layout with a name, an encoding and a shuffle."""

    name: str
    layout: Layout
    encoding: str = "decimal"
    shuffle: Shuffle | None = None

    @Cached
    def id_max(self) -> int:
        """The largest ID."""
        n = self.layout.id_max
        return n if self.shuffle is None else self.shuffle.apply(n)

    @Cached
    def lifetime_us(self) -> int | None:
        """The range of the time field in µs; None without one."""
        tick_us = self.layout.tick_us
        return None if tick_us is None else self.layout.axis_end * tick_us

    @Cached
    def end_us(self) -> int | None:
        """The moment the time field is full, in µs since 1970; None without time or epoch."""
        return None if self.layout.epoch_us is None else self.layout.exhausted_us

    @Cached
    def widths(self) -> dict[str, int]:
        """The length of the longest text in each encoding, in characters."""
        bits = self.layout.bits
        codecs = {encoding: Codec(encoding, bits) for encoding in encodings_of(bits)}
        return {name: c.width or len(c.encode(self.id_max)) for name, c in codecs.items()}

    @Cached
    def unsorted(self) -> str:
        """The reason why IDs do not sort by time; "" if they do."""
        if self.layout.tick_us is None:
            return "it has no time field"
        if self.shuffle is not None:
            return "its bits are shuffled"
        layout = self.layout.with_epoch(0)
        try:
            layout.window(0, 0)
        except LayoutError as error:
            return str(error).partition(", so ")[0]
        return ""

    @Cached
    def total_hz(self) -> float | None:
        """IDs per second of all nodes together; None without time."""
        node_hz = self.layout.ids_per_second
        return None if node_hz is None else node_hz * self.layout.nodes

    def as_json(self) -> dict[str, Any]:
        """All values, with units in their names."""
        layout, now_us = self.layout, wall_us()
        end_us = self.end_us
        return {
            "scheme": self.name,
            "layout": str(layout),
            "fingerprint": layout.fingerprint,
            "bits": layout.bits,
            "axis": layout.axis,
            "exhausted": None if end_us is None else moment_text(end_us),
            "lasts_s": None if self.lifetime_us is None else self.lifetime_us / 1e6,
            "left_s": None if end_us is None else round((end_us - now_us) / 1e6, 3),
            "years": None if self.lifetime_us is None else _round(years(self.lifetime_us)),
            "years_left": None if end_us is None else _round(years(end_us - now_us)),
            "nodes": layout.nodes,
            "ids_per_node": layout.sequences,
            "ids_per_second": layout.ids_per_second,
            "ids_per_second_in_all": self.total_hz,
            "highest": str(self.id_max),
            "javascript_safe": self.id_max < 1 << 53,
            "bigint_safe": self.id_max < 1 << 63,
            "sorted_by_time": not self.unsorted,
            "encoding": self.encoding,
            "characters": self.widths,
        }


def plan_of(spec: str, epoch: str | None = None, bits: int | None = None) -> Plan:
    """The plan of a scheme's name or of a layout string, optionally with another epoch.

    Raises ConfigError for an unknown name, and LayoutError for an invalid layout or one that is
    not ``bits`` wide.
    """
    if spec not in PRESETS and ":" not in spec and "[" not in spec:
        make_scheme(spec)  # raises ConfigError with the nearest name
    layout = Layout.parse(PRESETS[spec].layout if spec in PRESETS else spec, bits=bits)
    if epoch is not None and layout.tick_us is not None:
        layout = make_scheme(str(layout), epoch=epoch).layout
    if spec not in PRESETS:
        return Plan(str(layout), layout)
    preset = PRESETS[spec]
    shuffle = Shuffle.parse(preset.shuffle, layout.bits) if preset.shuffle else None
    return Plan(spec, layout, preset.encoding, shuffle)


def years(us: int) -> float:
    """Microseconds as years."""
    return us / 1e6 / YEAR_S


def span_text(us: int) -> str:
    """A length of time to three digits: ``17.5 minutes``, ``69.7 years``."""
    size, unit = next((pair for pair in SPANS_S if us >= pair[0] * 1_000_000), SPANS_S[-1])
    amount = us / 1e6 / size
    text = f"{amount:,.0f}" if amount >= 1000 else f"{amount:.3g}"
    return f"{text} {unit}{'s' * (text != '1')}"


def _round(value: float) -> float:
    """Round to a tenth, and small values to three digits."""
    return round(value, 1) if abs(value) >= 10 else float(f"{value:.3g}")


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
