"""An audit of the IDs in files: one pass over the rows, and a search for duplicates.

Each row is a valid ID or an invalid one. Valid IDs go to the survey and to the search. The audit
counts all invalid rows and all duplicates but keeps only the first few. A position is one number:
the file's index above 48 bits of line or row number, so that the search does not depend on files.

Texts are decoded a batch at a time. Where a batch has an invalid one, each is decoded by itself,
and the error of the codec says why.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.cli.files.ahead import ahead
from frazil.cli.files.buffers import as_numpy
from frazil.cli.files.memory import Memory
from frazil.cli.files.reading import Reading
from frazil.cli.files.search import Duplicate, Search
from frazil.cli.files.streams import Source
from frazil.cli.files.survey import Survey
from frazil.cli.files.utf8 import printable, text_problem
from frazil.cli.files.values import open_values
from frazil.errors import CodecError
from frazil.schemes.scheme import Scheme

__all__ = ["Auditor", "Invalid", "Place"]

Progress = Callable[[int, int], None]

_NUMBER_BITS = 48
_SHOWN_CHARACTERS = 60  # of a text that is not an ID


class Place(NamedTuple):
    """The file of a row, and its line or row number."""

    file: str
    unit: str
    number: int


class Invalid(NamedTuple):
    """A row without a valid ID, and the reason."""

    position: int
    text: str
    reason: str


class Auditor:
    """An audit of the files passed to ``read``. Without a scheme, values are compared as text.

    folder: for temporary files; kept_max: how many invalid rows and how many duplicates to keep.
    """

    def __init__(self, scheme: Scheme | None, memory: Memory, folder: Path, kept_max: int) -> None:
        self.scheme = scheme
        self.survey = None if scheme is None else Survey(scheme)
        self.kept_max = kept_max
        self.names: list[str] = []
        """The files."""
        self._units: list[str] = []
        self._search = Search(memory, folder)
        self.rows = 0
        self.invalid = 0
        self.first_invalid: list[Invalid] = []
        self.duplicates = 0
        """Rows with the ID of an earlier row."""
        self.first_duplicates: list[Duplicate] = []

    @property
    def clean(self) -> bool:
        """Whether the audit found no invalid row, no duplicate and no foreign ID."""
        foreign = 0 if self.survey is None else self.survey.foreign_ids
        return not (self.invalid or self.duplicates or foreign)

    def read(self, reading: Reading, source: Source, column: str, on_progress: Progress) -> None:
        """Audit a file; ``on_progress`` receives the number of bytes read, and of rows."""
        file_bits = len(self.names) << _NUMBER_BITS
        unit, values, bytes_read = open_values(reading, source, column)
        self.names.append(source.name)
        self._units.append(unit)
        if self.survey is not None:
            self.survey.new_file()
        for some, numbers in ahead(values):
            self._add(some, numbers | file_bits)
            on_progress(bytes_read(), self.rows)

    def finish(self) -> None:
        """Search for duplicates."""
        self.duplicates, self.first_duplicates = self._search.find(self.kept_max)

    def place(self, position: int) -> Place:
        """The file and line of a position."""
        file = position >> _NUMBER_BITS
        number = position & ((1 << _NUMBER_BITS) - 1)
        return Place(self.names[file], self._units[file], number)

    def text(self, key: int | str) -> str:
        """The text of an ID."""
        return self.scheme.format(key) if isinstance(key, int) and self.scheme else str(key)

    def _add(self, values: Any, positions: Any) -> None:
        self.rows += len(values)
        keys = self._decode_all(values)
        if keys is None:
            keys, positions = self._decode_each(values, positions)
        if self.survey is not None:
            self.survey.add(keys, positions)
        self._search.add(keys, positions)

    def _decode_all(self, values: Any) -> Any:
        """The keys, decoded in one step; None if a value is invalid or needs a step of its own."""
        scheme = self.scheme
        if not isinstance(values, pa.Array) or not len(values):
            return None
        if scheme is None:
            return _valid_texts(values)
        if scheme.bits > 64:
            return None
        if pa.types.is_integer(values.type):
            return _checked(as_numpy(values), scheme.bits)
        if scheme.encoding == "decimal" and not scheme.prefix:
            return _decimals(values, scheme.bits)
        fixed = _fixed(values)
        try:
            return None if fixed is None else scheme.codec.decode_array(fixed)
        except CodecError:
            return None

    def _decode_each(self, values: Any, positions: Any) -> tuple[Any, Any]:
        """The keys of the valid values, and their positions."""
        keys, kept = [], []
        for i, value in enumerate(values.to_pylist() if isinstance(values, pa.Array) else values):
            text = value.decode("utf-8", "surrogateescape") if type(value) is bytes else value
            try:
                keys.append(self._key(text))
                kept.append(i)
            except CodecError as error:
                self._add_invalid(int(positions[i]), text, str(error).partition("\n")[0])
        positions = positions[np.array(kept, np.int64)]
        if self.scheme is None:
            return pa.array(keys, pa.string()), positions
        wide = self.scheme.bits > 64
        return np.array(keys, object if wide else np.uint64), positions

    def _key(self, value: Any) -> int | str:
        """The ID or the text of a value. Raises CodecError if it is invalid."""
        if type(value) is str and (problem := text_problem(value)):
            raise CodecError(problem)
        if type(value) not in (int, str):
            kind = type(value).__name__
            raise CodecError("there is no value" if value is None else f"a {kind} is not an ID")
        if self.scheme is None:
            return str(value)
        return self.scheme.parse(value) if type(value) is str else self.scheme.codec.checked(value)

    def _add_invalid(self, position: int, value: Any, reason: str) -> None:
        self.invalid += 1
        if len(self.first_invalid) < self.kept_max:
            text = "" if value is None else printable(str(value))
            shortened = text[:_SHOWN_CHARACTERS] + "..."
            text = text if len(text) <= _SHOWN_CHARACTERS else shortened
            self.first_invalid.append(Invalid(position, text, reason))


def _checked(numbers: Any, bits: int) -> Any:
    """Integers as uint64; None if one does not fit."""
    low, high = int(numbers.min()), int(numbers.max())
    return numbers.astype(np.uint64) if low >= 0 and high >> bits == 0 else None


def _decimals(values: Any, bits: int) -> Any:
    """The numbers of decimal texts; None if one is not written as a codec writes it."""
    try:
        numbers = as_numpy(pc.cast(values.cast(pa.string()), pa.uint64()))
    except pa.ArrowInvalid:
        return None
    lengths = as_numpy(pc.binary_length(values))
    low, high = int(lengths.min()), int(lengths.max())
    if low == high and int(numbers.min()) >= 10 ** (low - 1):
        return _checked(numbers, bits)
    powers = np.array([10**power for power in range(1, 20)], np.uint64)
    if (lengths != 1 + np.searchsorted(powers, numbers, side="right")).any():
        return None  # a leading zero
    return _checked(numbers, bits)


def _fixed(values: Any) -> Any:
    """Texts of one length as a numpy array of bytes; None if their lengths differ."""
    lengths = as_numpy(pc.binary_length(values))
    width = int(lengths[0])
    if not width or (lengths != width).any():
        return None
    plain = values.cast(pa.binary())
    data = np.frombuffer(plain.buffers()[2], np.uint8)
    offset = int(np.frombuffer(plain.buffers()[1], np.int32)[plain.offset])
    texts = data[offset : offset + width * len(plain)].view(f"S{width}")
    # numpy drops zero bytes at the end of a text.
    return None if (texts.view(np.uint8) == 0).any() else texts


def _valid_texts(values: Any) -> Any:
    """The texts of an array; None if one is not UTF-8."""
    if pa.types.is_integer(values.type):
        return values.cast(pa.string())
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        return None
