"""Shuffles: a fixed permutation of the bits of a number.

Consecutive IDs show how many records there are and which came first, and all go to the same end of
an index. Random numbers are not unique, and a hash cannot be inverted. A permutation of the bits is
unique and invertible at every width.

The convention is Chibrary's: output bit i, counted from the most significant, is input bit
``table[i]``. A table is written down or derived from a seed. The method of derivation has a
version, so a later method does not change existing IDs. Method ``v1``: the SHA-256 digests of
``frazil shuffle v1 <bits> <counter> <seed>`` (UTF-8, counter from 0) are read as big-endian words
of 64 bits; a Fisher-Yates shuffle, from the last position to the second, swaps position i with
position (next word modulo i + 1). It prefers some tables by less than one part in 2**50.

Limits: this hides the order from people and is not encryption. The map is linear: numbers that
differ in one bit have images that differ in one bit, and a few known pairs reveal the table. Every
bit moves, so only a reader that knows the table finds a version number inside an ID;
``position_of`` returns its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from operator import index as whole
from typing import TYPE_CHECKING, Any

from frazil.errors import ConfigError, LayoutError, brief
from frazil.system.cached import Cached
from frazil.system.digest import digest

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Tables = tuple[tuple[int, ...], ...]

METHODS = ("v1",)  # the methods that derive a table from a seed, newest last
_BITS_MAX = 128
_VERSION = re.compile(r"[a-z][a-z0-9]{0,15}", re.ASCII)
_ENTRY = r"(?:0|[1-9][0-9]{0,2})"
_TABLE_TEXT = re.compile(rf"table:(?:([a-z][a-z0-9]*):)?({_ENTRY}(?:,{_ENTRY}){{0,127}})")
_SEED_TEXT = re.compile(r"seed:([a-z][a-z0-9]*):(.+)", re.DOTALL)


@dataclass(frozen=True)
class Shuffle:
    """The permutation of ``len(table)`` bits that ``table`` defines.

    ``version`` is a name of your own (small letters and digits), for a deployment that may need a
    second table; for a shuffle from a seed it is the method. Raises ConfigError for a table that
    does not name each of its 1 to 128 positions once.
    """

    table: tuple[int, ...]
    version: str = field(default="", kw_only=True)
    seed: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        table = tuple(self.table)
        object.__setattr__(self, "table", table)
        _check_bits(len(table))
        left = set(range(len(table)))
        for i, source in enumerate(table):
            if type(source) is not int or source not in left:
                raise ConfigError(
                    f"entry {i} of the shuffle table, {brief(source)}, is out of range or a "
                    f"repeat; write each of 0 to {len(table) - 1} once",
                    position=i,
                    value=source,
                    limit=len(table) - 1,
                )
            left.remove(source)
        if self.version != "" and not _VERSION.fullmatch(str(self.version)):
            raise ConfigError(
                f"shuffle version {brief(self.version)} is not at most 16 small letters and "
                "digits, a letter first; write one like 'v2'",
                value=self.version,
            )

    @classmethod
    def from_seed(cls, seed: int | str, bits: int, *, version: str = METHODS[-1]) -> Shuffle:
        """The shuffle of ``bits`` bits of a seed; 7 and ``"7"`` are the same seed.

        ``version`` is the method (see the module). Raises ConfigError for an empty seed, an
        unknown method or a width that is not 1 to 128.
        """
        text = _seed_text(seed)
        if version not in METHODS:
            raise ConfigError(
                f"shuffle method {brief(version)} is unknown; this version has "
                f"{', '.join(METHODS)}",
                value=version,
            )
        _check_bits(bits)
        shuffle = cls(_table_v1(text, bits), version=version)
        object.__setattr__(shuffle, "seed", text)
        return shuffle

    @classmethod
    def parse(cls, text: str, bits: int) -> Shuffle:
        """The shuffle of a text (``seed:v1:hello``, ``table:2,0,1``), for IDs of ``bits`` bits.

        Raises ConfigError for another text, and for a table of another width.
        """
        if seeded := _SEED_TEXT.fullmatch(text):
            return cls.from_seed(seeded[2], bits, version=seeded[1])
        written = _TABLE_TEXT.fullmatch(text)
        if written is None:
            raise ConfigError(
                f"{brief(text)} is not a shuffle; write 'seed:{METHODS[-1]}:' and a seed, or "
                "'table:' and the input bit of each output bit, like 'table:2,0,1'",
                value=text,
            )
        shuffle = cls(tuple(map(int, written[2].split(","))), version=written[1] or "")
        if shuffle.bits != bits:
            raise ConfigError(
                f"the shuffle table has {shuffle.bits} entries and the ID {bits} bits; "
                "write one entry for each bit",
                value=shuffle.bits,
                limit=bits,
            )
        return shuffle

    @property
    def text(self) -> str:
        """The text that ``parse`` reads. It holds the seed, which is not a secret."""
        if self.seed is not None:
            return f"seed:{self.version}:{self.seed}"
        version = f"{self.version}:" if self.version else ""
        return f"table:{version}{','.join(map(str, self.table))}"

    @Cached
    def fingerprint(self) -> str:
        """16 hex characters of the table, whatever its seed or version."""
        return digest(",".join(map(str, self.table)))

    @property
    def bits(self) -> int:
        """The width of the numbers."""
        return len(self.table)

    @Cached
    def inverse(self) -> tuple[int, ...]:
        """The table of the inverse permutation."""
        inverse = [0] * self.bits
        for i, source in enumerate(self.table):
            inverse[source] = i
        return tuple(inverse)

    def position_of(self, bit: int) -> int:
        """The output bit of input bit ``bit``; both count from the least significant, 0."""
        if type(bit) is not int or not 0 <= bit < self.bits:
            raise LayoutError(
                f"bit {brief(bit)} is not in 0 to {self.bits - 1}, the bits of the shuffle",
                field="bit",
                value=bit,
                limit=self.bits - 1,
            )
        return self.bits - 1 - self.inverse[self.bits - 1 - bit]

    def apply(self, n: int) -> int:
        """The image of ``n``. Raises LayoutError (value, limit) for a number of another width."""
        return _looked_up(self._checked(n), self._forth)

    def invert(self, n: int) -> int:
        """The number whose image is ``n``. Raises LayoutError as ``apply`` does."""
        return _looked_up(self._checked(n), self._back)

    def apply_array(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """The images, as uint64, of a numpy array of one dimension with an integer dtype.

        More than 64 bits are an array with the uint64 fields ``hi`` and ``lo``. Raises LayoutError
        (index, value, limit), Misuse for another kind of array, ConfigError without numpy.
        """
        return self._array(numbers, self._forth)

    def invert_array(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """The inverse of ``apply_array``."""
        return self._array(numbers, self._back)

    @Cached
    def _forth(self) -> _Tables:
        return _byte_tables([self.position_of(bit) for bit in range(self.bits)])

    @Cached
    def _back(self) -> _Tables:
        return _byte_tables(sorted(range(self.bits), key=self.position_of))

    def _array(self, numbers: NDArray[Any], tables: _Tables) -> NDArray[Any]:
        from frazil.schemes import arrays

        values, fits = arrays.checked(numbers, (1 << self.bits) - 1)
        if not fits.all():
            first = int(fits.argmin())
            self._checked(arrays.ints(numbers)[first], index=first)
        return arrays.permute(values, tables)

    def _checked(self, n: Any, **facts: int) -> int:
        if not isinstance(n, int):  # an integer of numpy, or not a number
            with suppress(TypeError):
                n = whole(n)
        if type(n) is int and 0 <= n < 1 << self.bits:
            return n
        limit = (1 << self.bits) - 1
        where = "".join(f"element {index}: " for index in facts.values())
        raise LayoutError(
            f"{where}{brief(n)} is not an int of {self.bits} bits, 0 to {limit}; a shuffle needs "
            "a whole ID",
            field="ID",
            value=n,
            limit=limit,
            **facts,
        )


def _seed_text(seed: int | str) -> str:
    given: object = seed
    if isinstance(given, int | str) and not isinstance(given, bool) and given != "":
        with suppress(ValueError):  # an int that is too long to write, a text with lone surrogates
            return str(given).encode().decode()
    raise ConfigError("a seed is an int or a text that is not empty", value=seed)


def _check_bits(bits: int) -> None:
    if type(bits) is not int or not 1 <= bits <= _BITS_MAX:
        raise ConfigError(
            f"a shuffle has 1 to {_BITS_MAX} bits, not {brief(bits)}", value=bits, limit=_BITS_MAX
        )


def _table_v1(seed: str, bits: int) -> tuple[int, ...]:
    words = _words_v1(seed, bits)
    table = list(range(bits))
    for i in range(bits - 1, 0, -1):
        j = next(words) % (i + 1)
        table[i], table[j] = table[j], table[i]
    return tuple(table)


def _words_v1(seed: str, bits: int) -> Iterator[int]:
    from hashlib import sha256

    for counter in count():
        hashed = sha256(f"frazil shuffle v1 {bits} {counter} {seed}".encode()).digest()
        for start in range(0, 32, 8):
            yield int.from_bytes(hashed[start : start + 8], "big")


def _byte_tables(position: Sequence[int]) -> _Tables:
    """For each byte of the input, lowest first, the output bits of each of its 256 values.

    ``position[bit]`` is the output bit of input bit ``bit``, both from the least significant.
    """
    tables = []
    for start in range(0, len(position), 8):
        table = [0]
        for out in position[start : start + 8]:
            table += [entry | 1 << out for entry in table]
        tables.append(tuple(table))
    return tuple(tables)


def _looked_up(n: int, tables: _Tables) -> int:
    image = 0
    for table in tables:
        image |= table[n & 255]
        n >>= 8
    return image
