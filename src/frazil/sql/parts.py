"""Where the parts of an ID lie, for expressions of every dialect.

A field may be in pieces, reversed or shuffled. All three are one thing: the position in the ID of
each bit of the value. Neighbouring bits that are neighbours in the ID are one *run*, and a run is a
shift and a mask in any SQL.

The functions in SQL agree with ``Scheme.read``: a number whose constants differ from the scheme's
is not an ID of it. It has no time, no fields and no text (NULL).
"""

from typing import NamedTuple

from frazil.errors import ConfigError, LayoutError
from frazil.layout.field import Field
from frazil.schemes.scheme import Scheme

__all__ = ["Fixed", "Run", "Window", "fixed_of", "parts_of", "refuse_unreadable", "runs", "window"]

_RESERVED = {"from", "id", "text", "time", "window"}


class Run(NamedTuple):
    """``bits`` bits of a value from bit ``low`` on, which lie in the ID from bit ``shift`` on."""

    low: int
    bits: int
    shift: int

    @property
    def mask(self) -> int:
        """All ones, as many as it has bits."""
        return (1 << self.bits) - 1


class Fixed(NamedTuple):
    """An ID ``n`` of the scheme has ``n & mask == value``."""

    mask: int
    value: int


class Window(NamedTuple):
    """The first ID of a tick is ``base + (tick << shift)``."""

    base: int
    shift: int


def runs(positions: tuple[int, ...], longest: int = 64) -> list[Run]:
    """The runs of a value whose bits lie at ``positions``, lowest first.

    A run has at most ``longest`` bits and lies inside one half of a 128-bit ID.
    """
    found: list[Run] = []
    for low, shift in enumerate(positions):
        last = found[-1] if found else None
        joins = (
            last is not None
            and shift == last.shift + last.bits
            and shift % 64 != 0
            and last.bits < longest
        )
        if joins and last is not None:
            found[-1] = last._replace(bits=last.bits + 1)
        else:
            found.append(Run(low, 1, shift))
    return found


def parts_of(scheme: Scheme) -> dict[str, tuple[int, ...]]:
    """The positions of each part that changes, by name; the time's number is ``tick``.

    Raises ConfigError if two functions would have one name.
    """
    layout = scheme.layout
    found = {"tick": scheme.positions("time")} if layout.bits_of("time") else {}
    for role in ("run", "node", "sequence"):
        if positions := scheme.positions(role):
            found[role] = positions
    for field in layout.fields:
        if field.role == "node" != field.name:
            if field.name in _RESERVED | found.keys():
                raise ConfigError(
                    f"field {field.name!r} has the name of another function; rename it in the "
                    "layout",
                    field=field.name,
                )
            found[field.name] = _positions(scheme, field)
    return found


def fixed_of(scheme: Scheme, width: int) -> Fixed:
    """The bits that every ID of the scheme has, in a number of ``width`` bits."""
    mask = (1 << width) - (1 << scheme.bits)
    value = 0
    for field in scheme.layout.fields:
        if field.fixed is not None:
            positions = _positions(scheme, field)
            mask |= sum(1 << position for position in positions)
            value |= sum((field.fixed >> i & 1) << at for i, at in enumerate(positions))
    return Fixed(mask, value)


def window(scheme: Scheme) -> Window:
    """The range of IDs of a time; raises LayoutError if there is none."""
    epoch_us, tick_us = scheme.layout.epoch_us, scheme.layout.tick_us
    if epoch_us is None or tick_us is None:
        raise LayoutError("the scheme has no time", field="time")
    found = scheme.window(epoch_us, epoch_us + tick_us)
    size = found.stop - found.start  # which may be more than len() can count
    return Window(found.start, size.bit_length() - 1)


def refuse_unreadable(scheme: Scheme) -> None:
    """Raise ConfigError for a scheme whose text SQL cannot read or write."""
    if scheme.key is not None:
        raise ConfigError(
            f"the text of scheme {scheme.name!r} needs a key, which a database should not hold; "
            "print the functions without the key, and read and write the text in the application",
            scheme=scheme.name,
        )


def _positions(scheme: Scheme, field: Field) -> tuple[int, ...]:
    shuffle = scheme.shuffle
    return field.positions if shuffle is None else tuple(map(shuffle.position_of, field.positions))
