"""Fields: what the bits of an ID mean, and where each of them lies.

The usual code writes ``time << 22 | node << 12 | sequence`` once to build and again, with masks,
to read. That fails in three ways: the formulas drift apart, a mask turns a value that is too
large into another valid one (node 1024 into node 0), and a field that lies in two places, or
backwards, needs a third formula.

Here a cut is data. A *piece* is a run of neighbouring bits of one field, written as the range
``high..low`` of the field's value; a layout is nothing but its pieces, most significant first. A
*field* is what the pieces of one name amount to: a width, and for every bit of the value the bit of
the ID that carries it. Reversal turns the whole value round before it is cut, so a reversed field
in pieces has one meaning. ``place`` and ``read`` follow the same list, and ``fit`` refuses; nothing
masks.

A name says the role: ``time``, ``run``, ``node`` and ``sequence``; every other name is a constant
and has a value. Parts of a node (``node.worker``, ``node.process``) are fields of role ``node``
with names of their own.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from frazil.errors import LayoutError

__all__ = ["MOST_BITS", "ROLES", "Field", "Piece", "Role", "fields_of", "fit", "misfit", "shown"]

Role = Literal["time", "run", "node", "sequence", "fixed"]
ROLES: tuple[Role, ...] = ("time", "run", "node", "sequence")  # named by themselves, so not fixed
MOST_BITS = 128
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Piece:
    """Bits ``high`` to ``low`` of the field ``name``, side by side in the ID.

    ``reversed`` belongs to the field and is the same on each of its pieces. ``value``, the value
    of a constant, stands on the field's first piece only.
    """

    name: str
    role: Role
    high: int
    low: int = 0
    reversed: bool = False
    value: int | None = None

    @property
    def bits(self) -> int:
        """How many bits of the ID the piece takes."""
        return self.high - self.low + 1

    @property
    def label(self) -> str:
        """The name as a layout text has it: ``node.worker`` for a part of the node."""
        return f"node.{self.name}" if self.role == "node" != self.name else self.name


@dataclass(frozen=True, slots=True)
class Field:
    """All bits of one name.

    ``fixed`` is the value of a constant, and None for the roles whose value changes. ``places``
    holds, for each piece, (low, mask, shift into the ID).
    """

    name: str
    role: Role
    bits: int
    reversed: bool
    fixed: int | None
    places: tuple[tuple[int, int, int], ...]

    @property
    def limit(self) -> int:
        """The largest value the field holds."""
        return (1 << self.bits) - 1

    @property
    def positions(self) -> tuple[int, ...]:
        """For each bit of the value from the least significant, its bit in the ID (0 = lsb)."""
        cut = {
            low + i: shift + i for low, mask, shift in self.places for i in range(mask.bit_length())
        }
        order = range(self.bits)
        return tuple(cut[i] for i in (reversed(order) if self.reversed else order))

    def place(self, value: int) -> int:
        """The ID whose only set bits are those of ``value``; LayoutError where it does not fit."""
        raw = self._turned(fit(self.name, self.bits, value))
        number = 0
        for low, mask, shift in self.places:
            number |= (raw >> low & mask) << shift
        return number

    def read(self, number: int) -> int:
        """The value that an ID holds in this field; the inverse of ``place``."""
        raw = 0
        for low, mask, shift in self.places:
            raw |= (number >> shift & mask) << low
        return self._turned(raw)

    def _turned(self, value: int) -> int:
        return int(f"{value:0{self.bits}b}"[::-1], 2) if self.reversed else value


def fit(name: str, bits: int, value: Any) -> int:
    """``value`` if it is an int of at most ``bits`` bits and not negative; else a LayoutError."""
    limit = (1 << bits) - 1
    if isinstance(value, bool) or not isinstance(value, int):
        raise misfit(
            f"{name} must be an int from 0 to {limit}, not {value!r}",
            field=name,
            value=value,
            limit=limit,
        )
    if not 0 <= value <= limit:
        raise misfit(
            f"{name} {shown(value)} does not fit: the field has {bits} bit{'s' * (bits > 1)}, for "
            f"0 to {limit}; give a value in that range, or use a layout with more bits there",
            field=name,
            value=value,
            limit=limit,
        )
    return value


def misfit(
    message: str, *, field: str | None = None, value: object = None, limit: object = None
) -> LayoutError:
    """A LayoutError to raise, with the three facts that every one carries."""
    return LayoutError(message, field=field, value=value, limit=limit)


def shown(value: int) -> str:
    """An int for a message; Python refuses to write one of many thousand digits, this does not."""
    return str(value) if value.bit_length() <= 256 else f"(an int of {value.bit_length()} bits)"


def fields_of(pieces: tuple[Piece, ...]) -> tuple[Field, ...]:
    """The fields that pieces (most significant first) make up, in the order of first pieces.

    Raises LayoutError for a name or role that cannot be, a field written twice, pieces that
    overlap or leave bits out, and a constant without a value or whose value does not fit.
    """
    shifts: list[int] = []
    shift = sum(piece.bits for piece in pieces)
    groups: dict[str, list[tuple[Piece, int]]] = {}
    for piece in pieces:
        _check_piece(piece)
        shift -= piece.bits
        shifts.append(shift)
        groups.setdefault(piece.name, []).append((piece, shift))
    fields = tuple(_field(group) for group in groups.values())
    parts = [field.name for field in fields if field.role == "node" != field.name]
    if parts and "node" in groups:
        raise misfit(
            f"node stands in the layout whole and in parts ({', '.join(parts)}); keep one of the "
            "two",
            field="node",
            value=parts[0],
            limit=None,
        )
    return fields


def _check_piece(piece: Piece) -> None:
    """Refuse a piece that is wrong by itself, whatever stands beside it."""
    name, role = piece.name, piece.role
    facts: dict[str, Any] = {"field": name, "value": piece.value}
    if role not in (*ROLES, "fixed") or not _NAME.fullmatch(name):
        raise misfit(
            f"{name!r} of role {role!r} is not a field; a name is small letters, digits and _, and "
            f"a role is one of {', '.join(ROLES)}, fixed",
            **facts,
        )
    if (name in ROLES and name != role) or role not in ("node", "fixed", name):
        raise misfit(
            f"{piece.label} cannot be a field of role {role}: the names time, run, node and "
            "sequence are kept for their roles; choose another name",
            **facts,
        )
    if not 0 <= piece.low <= piece.high < MOST_BITS:
        raise misfit(
            f"{name} takes bits {piece.high}..{piece.low} of its value; write the higher bit "
            f"first, from {MOST_BITS - 1} down to 0",
            limit=MOST_BITS - 1,
            **facts,
        )
    if role != "fixed" and piece.value is not None:
        raise misfit(
            f"{piece.label} has role {role} and gets its value anew in every ID, so it cannot be "
            f"fixed at {shown(piece.value)}; leave =value out or choose another name",
            **facts,
        )


def _field(group: list[tuple[Piece, int]]) -> Field:
    """One field of its pieces and their shifts; refuses pieces that do not belong together."""
    first = group[0][0]
    pieces = [piece for piece, _ in group]
    bits = max(piece.high for piece in pieces) + 1
    facts: dict[str, Any] = {"field": first.name, "value": first.value, "limit": bits}
    if len(pieces) > 1 and any(piece.bits == bits or piece.role != first.role for piece in pieces):
        raise misfit(
            f"field {first.name} is written twice; give the second another name, or write pieces "
            f"as {first.name}[high..low]",
            **facts,
        )
    _check_cover(first.name, bits, pieces)
    if any(piece.reversed != first.reversed for piece in pieces):
        raise misfit(
            f"some pieces of {first.name} are marked reversed (~) and some are not; the whole "
            "value is reversed before it is cut, so mark each piece or none",
            **facts,
        )
    if any(piece.value is not None for piece in pieces[1:]):
        raise misfit(
            f"a later piece of {first.name} carries a value; write =value on the first one only",
            **facts,
        )
    if first.role == "fixed":
        if first.value is None:
            raise misfit(
                f"{first.name} is none of time, run, node and sequence, so it is a constant and "
                f"needs its value: write {first.name}:{bits}=0, say",
                **facts,
            )
        fit(first.name, bits, first.value)
    places = tuple((piece.low, (1 << piece.bits) - 1, shift) for piece, shift in group)
    return Field(first.name, first.role, bits, first.reversed, first.value, places)


def _check_cover(name: str, bits: int, pieces: list[Piece]) -> None:
    """Refuse pieces that do not cover every bit of a value of ``bits`` bits exactly once."""
    count = [0] * bits
    for piece in pieces:
        for bit in range(piece.low, piece.high + 1):
            count[bit] += 1
    for what, wrong in (
        ("lie in more than one piece", [bit for bit in range(bits) if count[bit] > 1]),
        ("are in no piece", [bit for bit in range(bits) if count[bit] == 0]),
    ):
        if wrong:
            raise misfit(
                f"of {name}, bits {', '.join(_ranges(wrong))} {what}; the pieces together must "
                f"hold each of the bits {bits - 1}..0 once",
                field=name,
                value=tuple(wrong),
                limit=bits,
            )


def _ranges(bits: list[int]) -> Iterator[str]:
    """Ascending bit numbers as texts of ranges: 3, 4, 5, 9 is ``5..3`` and ``9``."""
    start = bits[0]
    for here, following in zip(bits, [*bits[1:], None], strict=True):
        if following != here + 1:
            yield f"{here}..{start}" if here > start else str(here)
            start = following if following is not None else here
