"""An ID of another system, as a number that is cut into parts.

A ``Layout`` has at most 128 bits, whole microseconds and a field that claims advance along. Some of
these formats have none of the three, and no registry grants their regions. So a part is only a
name, a role for its colour, a width and a value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from frazil.layout.field import Role

Pieces: TypeAlias = Sequence[tuple[str, Role, int, bool]]
"""A name, a role, a width in bits, and ``counted`` of each part."""


@dataclass(frozen=True, slots=True)
class Part:
    """``bits`` bits of an ID. counted: whether the value is a number to people, and not bytes."""

    name: str
    role: Role
    bits: int
    value: int
    counted: bool

    @property
    def text(self) -> str:
        """The value: decimal if it is counted, else hex."""
        return str(self.value) if self.counted else f"{self.value:0{-(-self.bits // 4)}x}"


@dataclass(frozen=True)
class Foreign:
    """An ID of another system.

    text: as it was given. written: what that form is called. texts: its forms by name, the usual
    one first. moment_us: µs since 1970, None if it has no time. others: formats that the text could
    also be. note: what its time and parts mean, if that is not obvious.
    """

    format: str
    text: str
    written: str
    number: int
    parts: tuple[Part, ...]
    texts: dict[str, str]
    moment_us: int | None = None
    prefix: str = ""
    others: tuple[str, ...] = ()
    note: str = ""

    @property
    def canonical(self) -> str:
        """Its usual form."""
        return next(iter(self.texts.values()))

    @property
    def bits(self) -> int:
        """The width."""
        return sum(part.bits for part in self.parts)

    @property
    def spans(self) -> list[tuple[str, Role, str]]:
        """(name, role, binary digits) of each part, most significant first."""
        return [(part.name, part.role, f"{part.value:0{part.bits}b}") for part in self.parts]


def cut(number: int, pieces: Pieces) -> tuple[Part, ...]:
    """The parts of a number."""
    parts: list[Part] = []
    for name, role, bits, counted in reversed(pieces):
        parts.append(Part(name, role, bits, number & ((1 << bits) - 1), counted))
        number >>= bits
    return tuple(reversed(parts))
