"""Plans: the lifetime, the capacity and the text lengths of a layout.

The width of each field determines how long IDs last, how many nodes can issue them and how fast,
and whether a database and a browser can hold them. The command and the service show the same
values, so both take them from here.
"""

from dataclasses import dataclass
from typing import Any

from frazil.errors import LayoutError
from frazil.inputs.duration import SPANS_S, YEAR_S
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
