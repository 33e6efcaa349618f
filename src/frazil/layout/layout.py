"""Layouts: how an ID is cut into fields, as a value.

Most libraries keep the cut in constants, or in globals that the decoder reads again later. Then a
second layout in one process decodes the IDs of the first, and a program cannot compute when the
time field is full. A ``Layout`` is frozen and equal by value. Everything else follows from its
pieces, its tick and its epoch: packing and unpacking, the IDs of a node per tick, the day on which
the time ends, whether a database column or JavaScript holds every ID, and the drawing.

The *axis* is the field along which claims advance: the time, else the run, else the sequence. A
tick is a whole number of microseconds. Widths go up to 128 bits. A time of 71 bits outlasts every
calendar, so moments are integers (µs since 1970), and a ``datetime`` only where there is one. Code
that must be fast uses ``positions`` and not ``pack``.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from frazil.errors import brief
from frazil.layout.field import MOST_BITS, ROLES, Field, Piece, Role, fields_of, fit, misfit
from frazil.layout.text import format_layout, parse_layout
from frazil.layout.values import Values
from frazil.system import clock
from frazil.system.cached import Cached
from frazil.system.digest import digest

Axis = Literal["time", "run", "sequence"]

_EARLIEST_US = clock.to_us(datetime(1, 1, 1, tzinfo=UTC))  # no text has an earlier year


@dataclass(frozen=True, repr=False)
class Layout:
    """A cut of 1 to 128 bits, most significant piece first.

    ``tick_us`` is the length of a tick in µs and ``epoch_us`` the moment of tick 0 in µs since
    1970; both are None without a time field. With one, an ``epoch_us`` of None is an epoch that
    is chosen at deployment (``with_epoch``). Raises LayoutError if the parts are not a layout.
    """

    pieces: tuple[Piece, ...]
    tick_us: int | None = None
    epoch_us: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "pieces", tuple(self.pieces))
        if not 1 <= self.bits <= MOST_BITS:
            raise misfit(
                f"the fields add up to {self.bits} bits{self._sum}; a layout has 1 to {MOST_BITS}",
                value=self.bits,
                limit=MOST_BITS,
            )
        self._check_axis()
        self._check_time()

    @classmethod
    def parse(cls, text: str, *, bits: int | None = None) -> "Layout":
        """The layout of a layout string, as ``str(layout)`` returns it.

        Raises LayoutError with the position of the wrong word, or the field; and for a layout that
        is not ``bits`` wide.
        """
        layout = cls(*parse_layout(text))
        if bits is not None and layout.bits != bits:
            raise misfit(
                f"the fields add up to {layout.bits} bits{layout._sum}, not {bits}; widen or "
                "narrow one, or add a constant",
                value=layout.bits,
                limit=bits,
            )
        return layout

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Layout.parse({str(self)!r})"

    # --- the cut

    @Cached
    def bits(self) -> int:
        """The width of an ID."""
        return sum(piece.bits for piece in self.pieces)

    @Cached
    def _text(self) -> str:
        return format_layout(self.pieces, self.tick_us, self.epoch_us)

    @Cached
    def fields(self) -> tuple[Field, ...]:
        """The fields, in the order of their first pieces from the most significant bit."""
        return fields_of(self.pieces)

    @Cached
    def axis(self) -> Axis:
        """The field along which claims advance."""
        return "time" if self.bits_of("time") else "run" if self.bits_of("run") else "sequence"

    @Cached
    def fingerprint(self) -> str:
        """16 hex characters: a hash of the canonical text, equal by chance with odds of 2**-64."""
        return digest(str(self))

    @property
    def fixed(self) -> dict[str, int]:
        """The values of the constant fields, by name."""
        return {field.name: field.fixed for field in self.fields if field.fixed is not None}

    def bits_of(self, role: Role) -> int:
        """The bits of all fields of a role; 0 without one."""
        return sum(field.bits for field in self._of(role))

    def positions(self, role: Role) -> tuple[int, ...]:
        """For each bit of the role's value from the least significant, its bit in the ID (0 = lsb).

        The parts of a node count as one number, with the first part on top.
        """
        return tuple(bit for field in reversed(self._of(role)) for bit in field.positions)

    def with_fixed(self, **values: int) -> "Layout":
        """The same layout with other values of constants; LayoutError for any other field."""
        present = self.fixed
        for name, value in values.items():
            if name not in present:
                raise misfit(
                    f"{name} is not a constant of this layout, which has "
                    f"{', '.join(present) or 'none'}; only constants have a fixed value",
                    field=name,
                    value=value,
                )
        if all(type(value) is int and value == present[name] for name, value in values.items()):
            return self
        pieces = [
            piece._replace(value=values[piece.name])
            if piece.value is not None and piece.name in values
            else piece
            for piece in self.pieces
        ]
        return replace(self, pieces=tuple(pieces))

    def with_epoch(self, epoch_us: int) -> "Layout":
        """The same layout counting from ``epoch_us`` (µs since 1970).

        Raises LayoutError for a moment in the future, and without a time field.
        """
        return replace(self, epoch_us=epoch_us)

    # --- numbers

    def pack(self, /, **values: int) -> int:
        """The ID of raw field values (ticks for the time); constants are optional.

        A node in parts is given part by part or as ``node=``. Raises LayoutError for an unknown
        or missing name and for a value that does not fit.
        """
        given = self._in_parts(values)
        unknown = given.keys() - {field.name for field in self.fields}
        if unknown:
            raise misfit(
                f"this layout has no field {', '.join(sorted(unknown))}; it has {self._names}",
                field=min(unknown),
                value=given[min(unknown)],
            )
        number = 0
        for field in self.fields:
            value = given.get(field.name, field.fixed)
            if value is None:
                raise misfit(
                    f"no value for {field.name}, which is 0 to {field.limit}; pack needs every "
                    f"field of {self._names} that is not a constant",
                    field=field.name,
                    limit=field.limit,
                )
            number |= field.pack(value)
        return number

    def unpack(self, number: int) -> Values:
        """The field values of an ID, as read: a constant may differ (``Values.foreign``).

        Raises LayoutError for a number of another width.
        """
        number = fit("ID", self.bits, number)
        read = {field.name: field.unpack(number) for field in self.fields}
        foreign = tuple(name for name, value in self.fixed.items() if read[name] != value)
        node = None
        if "node" not in read and self.bits_of("node"):
            node = 0
            for part in self._of("node"):
                node = node << part.bits | read[part.name]
        us = None
        if self.tick_us is not None and self.epoch_us is not None:
            us = self.us_at(read["time"])
        return Values(read, node=node, moment_us=us, foreign=foreign)

    @Cached
    def id_max(self) -> int:
        """The largest ID."""
        return self.pack(**{f.name: f.limit for f in self.fields if f.fixed is None})

    @Cached
    def signed_safe(self) -> bool:
        """Whether a signed 64-bit column holds every ID."""
        return self.id_max < 1 << 63

    @Cached
    def javascript_safe(self) -> bool:
        """Whether JavaScript, whose numbers are doubles, holds every ID."""
        return self.id_max < 1 << 53

    # --- capacity

    @property
    def axis_end(self) -> int:
        """The first value of the axis that does not fit its field."""
        return 1 << self.bits_of(self.axis)

    @property
    def sequences(self) -> int:
        """IDs of a node in one tick, or of a run; without either, all IDs of a node."""
        return 1 << self.bits_of("sequence")

    @property
    def nodes(self) -> int:
        """The number of nodes; 1 without a node field."""
        return 1 << self.bits_of("node")

    @property
    def ids_per_second(self) -> float | None:
        """IDs of one node in a second; None without a time."""
        return None if self.tick_us is None else self.sequences * 1_000_000 / self.tick_us

    @property
    def exhausted_us(self) -> int | None:
        """The moment (µs since 1970) at which the time field is full; None without a time."""
        return None if self.tick_us is None else self.us_at(self.axis_end)

    # --- time

    def tick_at(self, us: int, *, up: bool = False) -> int:
        """The tick of a moment (µs since 1970). Raises LayoutError outside the time field.

        up: the first tick, or ``axis_end``, that begins at the moment or after it.
        """
        if isinstance(us, bool) or not isinstance(us, int):
            raise misfit(
                f"a moment must be an int of µs since 1970, not {brief(us)}; convert it first",
                field="time",
                value=us,
            )
        tick_us, epoch_us, bits = self._time
        passed_us = us - epoch_us
        tick = -(-passed_us // tick_us) if up else passed_us // tick_us
        if passed_us < 0 or tick >= (1 << bits) + up:
            end_us = self.us_at(1 << bits)
            raise misfit(
                f"{clock.moment_text(us)} is outside the time field, which begins at "
                f"{clock.moment_text(epoch_us)} and ends before {clock.moment_text(end_us)}; "
                "choose a moment inside, or a layout with another epoch or more bits of time",
                field="time",
                value=us,
                limit=(epoch_us, end_us),
            )
        return tick

    def us_at(self, tick: int) -> int:
        """The moment (µs since 1970) at which a tick begins; ``axis_end`` is valid as a bound.

        Raises LayoutError for a tick outside the time field.
        """
        tick_us, epoch_us, bits = self._time
        if tick != 1 << bits:
            tick = fit("time", bits, tick)
        return epoch_us + tick * tick_us

    def first_at(self, moment: datetime | int, values: dict[str, int]) -> dict[str, int]:
        """The field values of an ID of a moment, as for ``window``, 0 where none is given."""
        us = clock.to_us(moment) if isinstance(moment, datetime) else moment
        given = self._in_parts(values)
        free = {field.name: 0 for field in self.fields if field.fixed is None}
        return free | {"time": self.tick_at(us)} | given

    def window(self, start: datetime | int, stop: datetime | int) -> range:
        """The IDs whose tick begins at or after ``start`` and before ``stop``, as one range.

        Moments are datetimes (naive ones are UTC) or µs since 1970. Raises LayoutError for a moment
        outside the time field, and if the IDs are not one range: the time must lead, with only
        constants above it, in order, in one run of bits.
        """
        start_us, stop_us = (
            clock.to_us(when) if isinstance(when, datetime) else when for when in (start, stop)
        )
        first, end = self.tick_at(start_us, up=True), self.tick_at(stop_us, up=True)
        if start_us > stop_us:
            raise misfit(
                f"a window from {start} to {stop} ends before it starts; swap the two",
                field="time",
                value=start,
                limit=stop,
            )
        base, shift = self._window_bits
        return range(base + (first << shift), base + (end << shift))

    # --- inside

    @Cached
    def _time(self) -> tuple[int, int, int]:
        """The length of a tick, the epoch, and the bits of a tick; LayoutError without them."""
        if self.tick_us is None:
            raise misfit(
                "the layout has no time field, so its IDs have no moment; use one with a time",
                field="time",
            )
        if self.epoch_us is None:
            raise misfit(
                "the layout's epoch is not chosen yet; write a moment after 'since', or call "
                "with_epoch",
                field="since",
            )
        return self.tick_us, self.epoch_us, self.bits_of("time")

    @Cached
    def _window_bits(self) -> tuple[int, int]:
        """(base, shift): ``base + (tick << shift)`` is the first ID of a tick.

        Otherwise the IDs of one second are spread over all numbers, and a plausible range would
        miss most of them: raises LayoutError, which names the field.
        """
        time = next(field for field in self.fields if field.role == "time")
        shift = time.positions[0]
        top = shift + time.bits
        if time.positions != tuple(range(shift, top)):
            how = "is reversed" if time.reversed else "is in pieces"
            raise misfit(
                f"the layout's time {how}, so the IDs of an interval are not one range; filter by "
                "the unpacked moment instead",
                field="time",
            )
        above = 0
        for field in self.fields:
            if max(field.positions) >= top:
                if field.fixed is None:
                    raise misfit(
                        f"{field.name} is above the time, so the IDs of an interval are not one "
                        "range; use a layout whose time leads, or filter by the unpacked moment",
                        field=field.name,
                    )
                above |= field.pack(field.fixed)
        return above >> top << top, shift

    @property
    def _names(self) -> str:
        return ", ".join(field.name for field in self.fields)

    @property
    def _sum(self) -> str:
        words = " + ".join(f"{piece.name} {piece.bits}" for piece in self.pieces)
        return f" ({words})" if words else ""

    def _of(self, role: Role) -> tuple[Field, ...]:
        if role not in ROLES:
            raise misfit(
                f"{brief(role)} is not a role of changing bits; the roles are {', '.join(ROLES)}",
                field=role if isinstance(role, str) else None,
            )
        return tuple(field for field in self.fields if field.role == role)

    def _in_parts(self, values: dict[str, int]) -> dict[str, int]:
        """The values with ``node=`` cut into its parts."""
        parts = [field for field in self._of("node") if field.name != "node"]
        if not parts or "node" not in values:
            return values
        twice = [part.name for part in parts if part.name in values]
        if twice:
            raise misfit(
                f"the values have node and its part {twice[0]}; give the node or its parts",
                field="node",
                value=values["node"],
            )
        rest = fit("node", self.bits_of("node"), values["node"])
        given = {name: value for name, value in values.items() if name != "node"}
        for part in reversed(parts):
            given[part.name] = rest & part.limit
            rest >>= part.bits
        return given

    def _check_axis(self) -> None:
        if self.bits_of("time") and self.bits_of("run"):
            raise misfit(
                "the layout has a time and a run, and claims advance along one; leave one out",
                field="run",
                value=self.bits_of("run"),
            )
        if not self.bits_of(self.axis):
            raise misfit(
                f"the layout has only {self._names}, so a node could issue only one ID; add a "
                "time, a run or a sequence",
                field="sequence",
                value=0,
                limit=1,
            )

    def _check_time(self) -> None:
        if not self.bits_of("time"):
            if self.tick_us is not None or self.epoch_us is not None:
                raise misfit(
                    "the layout has a tick or an epoch but no time field; leave them out, or add a "
                    "time",
                    field="time",
                    value=self.tick_us,
                )
        elif self.tick_us is None:
            raise misfit(
                "the layout has a time field but no tick; add one, like "
                "'@1ms since 2025-01-01T00:00:00Z'",
                field="time",
            )
        elif type(self.tick_us) is not int or self.tick_us < 1:
            raise misfit(
                "tick_us must be a whole number of microseconds, 1 or more, not "
                f"{brief(self.tick_us)}; give it as an int",
                field="tick",
                value=self.tick_us,
                limit=1,
            )
        elif self.epoch_us is not None:
            self._check_epoch(self.epoch_us, clock.wall_us())

    def _check_epoch(self, epoch_us: int, now_us: int) -> None:
        if type(epoch_us) is not int or epoch_us < _EARLIEST_US:
            raise misfit(
                f"{brief(epoch_us)} is not an epoch; give µs since 1970, an int from the year 1 on",
                field="since",
                value=epoch_us,
                limit=_EARLIEST_US,
            )
        if epoch_us > now_us:
            raise misfit(
                f"the epoch {clock.moment_text(epoch_us)} is in the future (it is "
                f"{clock.moment_text(now_us)}); choose an earlier one, or set the clock of this "
                "host",
                field="since",
                value=epoch_us,
                limit=now_us,
            )
