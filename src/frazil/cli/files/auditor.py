"""An audit of the IDs in files: one pass over the rows, and one over IDs that exceed the memory.

Each row is a valid ID or an invalid one. Valid IDs go to the survey and to the search for
duplicates. The audit counts all invalid rows and all duplicates but keeps only the first few. A
position is one number: the file's index above 48 bits of line or row number, so that the search
does not depend on files.
"""

import heapq
import importlib.util
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from frazil.cli.files.chunks import Table
from frazil.cli.files.duplicates import Duplicate, Duplicates, Key
from frazil.cli.files.invalid_text import printable, text_problem
from frazil.cli.files.survey import Survey
from frazil.errors import CodecError
from frazil.schemes.scheme import Scheme

__all__ = ["Auditor", "Invalid", "Place"]

_NUMBER_BITS = 48
_BATCH = 10_000
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

    memory_bytes: for the search for duplicates; folder: for IDs that exceed it; kept_max: how many
    invalid rows and how many duplicates to keep.
    """

    def __init__(
        self, scheme: Scheme | None, memory_bytes: int, folder: Path, kept_max: int
    ) -> None:
        self.scheme = scheme
        self.survey = None if scheme is None else Survey(scheme)
        self.search = Duplicates(memory_bytes, folder)
        self.kept_max = kept_max
        self.names: list[str] = []
        """The files."""
        self._units: list[str] = []
        self._has_numpy = importlib.util.find_spec("numpy") is not None
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

    def read(self, table: Table, column: str, on_progress: Callable[[int], None]) -> None:
        """Audit a file; ``on_progress`` receives the number of bytes read."""
        file_bits = len(self.names) << _NUMBER_BITS
        self.names.append(table.source.name)
        self._units.append(table.unit)
        if self.survey is not None:
            self.survey.new_file()
        for chunk in table.chunks():
            positions = [file_bits | number for number in chunk.numbers]
            self._add(table.values(chunk, column), positions)
            on_progress(table.bytes_read())

    def finish(self, on_progress: Callable[[int], None]) -> None:
        """Search the IDs that did not fit in memory; ``on_progress`` receives how many are done."""
        rest = self.search.rest(on_progress)
        while batch := list(islice(rest, _BATCH)):
            self._add_duplicates(batch)

    def place(self, position: int) -> Place:
        """The file and line of a position."""
        file = position >> _NUMBER_BITS
        number = position & ((1 << _NUMBER_BITS) - 1)
        return Place(self.names[file], self._units[file], number)

    def text(self, key: Key) -> str:
        """The text of an ID."""
        return self.scheme.format(key) if isinstance(key, int) and self.scheme else str(key)

    def _add(self, values: list[Any], positions: list[int]) -> None:
        self.rows += len(values)
        keys = self._decode_all(values)
        if keys is None:
            keys, positions = self._decode_each(values, positions)
        if self.survey is not None:
            self.survey.add(keys, positions)
        self._add_duplicates(self.search.add(keys, positions))

    def _decode_all(self, values: list[Any]) -> list[int] | None:
        """The IDs, decoded in one step; None if a value is invalid or needs a step of its own."""
        scheme, types = self.scheme, set(map(type, values))
        if types == {int} and scheme is not None:
            return values if min(values) >= 0 and max(values) >> scheme.bits == 0 else None
        if types != {str} or scheme is None or scheme.bits > 64 or not self._has_numpy:
            return None
        try:
            ids: list[int] = scheme.codec.decode_array(values).tolist()
        except CodecError:
            return None
        return ids

    def _decode_each(self, values: list[Any], positions: list[int]) -> tuple[list[Any], list[int]]:
        """The keys of the valid values, and their positions."""
        keys, key_positions = [], []
        for value, position in zip(values, positions, strict=True):
            try:
                keys.append(self._key(value))
                key_positions.append(position)
            except CodecError as error:
                self._add_invalid(position, value, str(error).partition("\n")[0])
        return keys, key_positions

    def _key(self, value: Any) -> Key:
        """The ID or the text of a value. Raises CodecError if it is invalid."""
        if type(value) is str and (problem := text_problem(value)):
            raise CodecError(problem)
        if type(value) not in (int, str):
            kind = type(value).__name__
            raise CodecError("there is no value" if value is None else f"a {kind} is not an ID")
        if self.scheme is None:
            return str(value)
        if type(value) is str:
            return self.scheme.parse(value)
        self.scheme.codec.encode(value)  # checks the width
        return int(value)

    def _add_invalid(self, position: int, value: Any, reason: str) -> None:
        self.invalid += 1
        if len(self.first_invalid) < self.kept_max:
            text = "" if value is None else printable(str(value))
            shortened = text[:_SHOWN_CHARACTERS] + "..."
            text = text if len(text) <= _SHOWN_CHARACTERS else shortened
            self.first_invalid.append(Invalid(position, text, reason))

    def _add_duplicates(self, found: list[Duplicate]) -> None:
        if found:
            self.duplicates += len(found)
            self.first_duplicates = heapq.nsmallest(
                self.kept_max, self.first_duplicates + found, key=lambda one: one.again
            )
