"""Fields: what the bits of an ID mean, and where each of them lies.

The usual code has one formula to build an ID (``time << 22 | node << 12 | sequence``) and another,
with masks, to read it. The two drift apart. A mask turns a value that is too large into another
valid one (node 1024 into node 0). A field in two places, or backwards, needs a third formula.

Here the cut is data. A *piece* is a run of neighbouring bits of one field, written as the range
``high..low`` of the field's value. A layout is its pieces, most significant first. A *field* is all
pieces of one name. A reversed value is reversed as a whole, before it is cut. ``pack`` and
``unpack`` follow the same pieces, and a value that does not fit is refused, never masked.

The names ``time``, ``run``, ``node`` and ``sequence`` are roles. Every other name is a constant and
has a value. Parts of a node (``node.worker``, ``node.process``) are fields of role ``node`` with
names of their own.
"""

import re
from collections import Counter
from contextlib import suppress
from operator import index
from typing import Any, Literal, NamedTuple

from frazil.errors import LayoutError, brief

Role = Literal["time", "run", "node", "sequence", "fixed"]
ROLES: tuple[Role, ...] = ("time", "run", "node", "sequence")  # named by themselves, so not fixed
MOST_BITS = 128
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Piece(NamedTuple):
    """Bits ``high`` to ``low`` of the field ``name``, side by side in the ID.

    ``reversed`` is the same for all pieces of a field. Only the first piece of a constant has a
    ``value``.
    """

    name: str
    role: Role
    high: int
    low: int = 0
    reversed: bool = False
    value: int | None = None

    @property
    def bits(self) -> int:
        """Its width."""
        return self.high - self.low + 1

    @property
    def label(self) -> str:
        """The name in a layout string: ``node.worker`` for a part of the node."""
        return f"node.{self.name}" if self.role == "node" != self.name else self.name


class Field(NamedTuple):
    """All bits of one name.

    ``fixed`` is the value of a constant, else None. ``places`` holds (low, mask, shift into the
    ID) for each piece.
    """

    name: str
    role: Role
    bits: int
    reversed: bool
    fixed: int | None
    places: tuple[tuple[int, int, int], ...]

    @property
    def limit(self) -> int:
        """The largest value."""
        return (1 << self.bits) - 1

    @property
    def positions(self) -> tuple[int, ...]:
        """For each bit of the value from the least significant, its bit in the ID (0 = lsb)."""
        cut = {
            low + i: shift + i for low, mask, shift in self.places for i in range(mask.bit_length())
        }
        return tuple(cut[i] for i in sorted(cut, reverse=self.reversed))

    def pack(self, value: int) -> int:
        """The bits of ``value`` at their places in the ID; LayoutError if it does not fit."""
        raw = self._ordered(fit(self.name, self.bits, value))
        number = 0
        for low, mask, shift in self.places:
            number |= (raw >> low & mask) << shift
        return number

    def unpack(self, number: int) -> int:
        """The value that an ID holds in this field."""
        raw = 0
        for low, mask, shift in self.places:
            raw |= (number >> shift & mask) << low
        return self._ordered(raw)

    def _ordered(self, value: int) -> int:
        return int(f"{value:0{self.bits}b}"[::-1], 2) if self.reversed else value


def fit(name: str, bits: int, value: Any) -> int:
    """``value`` as an int; LayoutError if it has more than ``bits`` bits, or is negative.

    An integer of numpy is one. A bool and a float are not.
    """
    limit = (1 << bits) - 1
    if not isinstance(value, int):
        with suppress(TypeError):
            value = index(value)
    if isinstance(value, bool) or not isinstance(value, int):
        problem = f"{name} must be an int from 0 to {limit}, not {brief(value)}"
    elif not 0 <= value <= limit:
        problem = (
            f"{name} {shown(value)} does not fit: the field has {bits} bit{'s' * (bits > 1)}, for "
            f"0 to {limit}; give a value in that range, or use a layout with more bits there"
        )
    else:
        return value
    raise misfit(problem, field=name, value=value, limit=limit)


def misfit(
    message: str, *, field: str | None = None, value: object = None, limit: object = None
) -> LayoutError:
    """A LayoutError with the three facts that each one has."""
    return LayoutError(message, field=field, value=value, limit=limit)


def shown(value: int) -> str:
    """An int for a message. Python refuses to write an int of many thousand digits."""
    return str(value) if value.bit_length() <= 256 else f"(an int of {value.bit_length()} bits)"


def fields_of(pieces: tuple[Piece, ...]) -> tuple[Field, ...]:
    """The fields of pieces (most significant first), in the order of their first pieces.

    Raises LayoutError for an invalid name or role, a field written twice, pieces that overlap or
    leave bits out, and a constant without a value or whose value does not fit.
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
            f"the layout has node whole and in parts ({', '.join(parts)}); keep one of the two",
            field="node",
            value=parts[0],
        )
    return fields


def _check_piece(piece: Piece) -> None:
    """Refuse a piece that is invalid by itself."""
    name, role = piece.name, piece.role
    facts: dict[str, Any] = {"field": name, "value": piece.value}
    if role not in (*ROLES, "fixed") or not _NAME.fullmatch(name):
        raise misfit(
            f"{brief(name)} of role {brief(role)} is not a field; a name has small letters, "
            f"digits and _, and a role is one of {', '.join(ROLES)}, fixed",
            **facts,
        )
    if (name in ROLES and name != role) or role not in ("node", "fixed", name):
        raise misfit(
            f"{piece.label} cannot be a field of role {role}: the names {', '.join(ROLES)} are "
            "reserved for their roles; choose another name",
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
            f"{piece.label} has role {role} and another value in every ID, so it cannot be "
            f"fixed at {shown(piece.value)}; leave =value out or choose another name",
            **facts,
        )


def _field(group: list[tuple[Piece, int]]) -> Field:
    """One field of its pieces and their shifts. Refuses pieces that do not belong together."""
    first = group[0][0]
    pieces = [piece for piece, _ in group]
    bits = max(piece.high for piece in pieces) + 1
    facts: dict[str, Any] = {"field": first.name, "value": first.value, "limit": bits}
    if len(pieces) > 1 and any(piece.bits == bits or piece.role != first.role for piece in pieces):
        raise misfit(
            f"the layout has field {first.name} twice; give the second another name, or write "
            f"pieces as {first.name}[high..low]",
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
            f"a later piece of {first.name} has a value; write =value on the first one only",
            **facts,
        )
    if first.role == "fixed":
        if first.value is None:
            raise misfit(
                f"{first.name} is not one of {', '.join(ROLES)}, so it is a constant and needs a "
                f"value: write {first.name}:{bits}=0, for example",
                **facts,
            )
        fit(first.name, bits, first.value)
    places = tuple((piece.low, (1 << piece.bits) - 1, shift) for piece, shift in group)
    return Field(first.name, first.role, bits, first.reversed, first.value, places)


def _check_cover(name: str, bits: int, pieces: list[Piece]) -> None:
    """Refuse pieces that do not cover every bit of a value of ``bits`` bits exactly once."""
    count = Counter(bit for piece in pieces for bit in range(piece.low, piece.high + 1))
    for what, wrong in (
        ("are in more than one piece", [bit for bit in range(bits) if count[bit] > 1]),
        ("are in no piece", [bit for bit in range(bits) if not count[bit]]),
    ):
        if wrong:
            raise misfit(
                f"bits {', '.join(map(str, wrong))} of {name} {what}; the pieces together must "
                f"hold each of the bits {bits - 1}..0 once",
                field=name,
                value=tuple(wrong),
                limit=bits,
            )
