"""An audit of the IDs in files: one pass over the rows, and one over what did not fit in memory.

Rows are counted as valid IDs or not; valid ones go to the survey and to the search for duplicates.
What could be long without end, invalid rows and duplicates, is counted, and only the first few are
kept. Positions are one number, the file above 48 bits of line or row, so that the search need not
know of files.
"""

import heapq
import importlib.util
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from frazil.cli.files.chunks import Table
from frazil.cli.files.duplicates import Duplicate, Duplicates, Key
from frazil.cli.files.not_text import reason, shown
from frazil.cli.files.survey import Survey
from frazil.errors import CodecError
from frazil.schemes.scheme import Scheme

__all__ = ["Auditor", "Invalid", "Place"]

_NUMBER_BITS = 48
_AT_ONCE = 10_000
_SHOWN = 60  # characters of a text that is no ID


class Place(NamedTuple):
    """Where a row is: the file, and the line or row."""

    file: str
    unit: str
    number: int


class Invalid(NamedTuple):
    """A row without a valid ID, and why it is none."""

    position: int
    text: str
    reason: str


class Auditor:
    """The audit of the files given to ``read``, in order. Without a scheme, values are only texts.

    memory: bytes for the search for duplicates; folder: for what exceeds it; most: how many
    invalid rows and duplicates to keep.
    """

    def __init__(self, scheme: Scheme | None, memory: int, folder: Path, most: int) -> None:
        self.scheme = scheme
        self.survey = None if scheme is None else Survey(scheme)
        self._search = Duplicates(memory, folder)
        self.most = most
        self.names: list[str] = []
        """The files."""
        self._units: list[str] = []
        self._fast = importlib.util.find_spec("numpy") is not None
        self.rows = 0
        self.invalid = 0
        self.first_invalid: list[Invalid] = []
        self.duplicates = 0
        """Rows whose ID an earlier row has."""
        self.first_duplicates: list[Duplicate] = []

    @property
    def clean(self) -> bool:
        """Whether nothing was found that must not be."""
        foreign = 0 if self.survey is None else self.survey.foreign_ids
        return not (self.invalid or self.duplicates or foreign)

    @property
    def spilled(self) -> int:
        """IDs that did not fit into the memory."""
        return self._search.spilled

    @property
    def parts(self) -> int:
        """Temporary files that were written."""
        return self._search.parts

    def read(self, table: Table, column: str, tell: Callable[[int], None]) -> None:
        """Audit a file; ``tell`` hears how many bytes were read."""
        above = len(self.names) << _NUMBER_BITS
        self.names.append(table.source.name)
        self._units.append(table.unit)
        if self.survey is not None:
            self.survey.new_file()
        for chunk in table.chunks():
            positions = [above | number for number in chunk.numbers]
            self._add(table.values(chunk, column), positions)
            tell(table.done())

    def finish(self, tell: Callable[[int], None]) -> None:
        """Search what did not fit into the memory; ``tell`` hears of how many IDs that is done."""
        rest = self._search.rest(tell)
        while some := list(islice(rest, _AT_ONCE)):
            self._found(some)

    def place(self, position: int) -> Place:
        """The place that a position stands for."""
        file = position >> _NUMBER_BITS
        number = position & ((1 << _NUMBER_BITS) - 1)
        return Place(self.names[file], self._units[file], number)

    def text(self, key: Key) -> str:
        """An ID as it is written."""
        return self.scheme.format(key) if isinstance(key, int) and self.scheme else str(key)

    def _add(self, values: list[Any], positions: list[int]) -> None:
        self.rows += len(values)
        if self.scheme is None:
            keys, where = self._texts(values, positions)
            self._found(self._search.add(keys, where))
            return
        ids = self._decoded(values)
        if ids is None:
            ids, positions = self._each_decoded(self.scheme, values, positions)
        if self.survey is not None:
            self.survey.add(ids, positions)
        self._found(self._search.add(ids, positions))

    def _texts(self, values: list[Any], positions: list[int]) -> tuple[list[str], list[int]]:
        keys, where = [], []
        for value, position in zip(values, positions, strict=True):
            if (type(value) is str and not reason(value)) or type(value) is int:
                keys.append(str(value))
                where.append(position)
            else:
                self._refuse(position, value, _no_text(value))
        return keys, where

    def _decoded(self, values: list[Any]) -> list[int] | None:
        """The IDs of values that are valid all of them, in one step; None if that cannot be."""
        kinds = set(map(type, values))
        if kinds == {int} and self.scheme is not None:
            return values if min(values) >= 0 and max(values) >> self.scheme.bits == 0 else None
        if kinds != {str} or self.scheme is None or self.scheme.bits > 64 or not self._fast:
            return None
        try:
            ids: list[int] = self.scheme.codec.decode_array(values).tolist()
        except CodecError:
            return None
        return ids

    def _each_decoded(
        self, scheme: Scheme, values: list[Any], positions: list[int]
    ) -> tuple[list[int], list[int]]:
        ids, where = [], []
        for value, position in zip(values, positions, strict=True):
            try:
                if type(value) is int:
                    # Checks the width; a column of numbers has no other text to be read.
                    scheme.codec.encode(value)
                    n = value
                elif type(value) is str and not reason(value):
                    n = scheme.parse(value)
                else:
                    raise CodecError(_no_text(value))
            except CodecError as error:
                self._refuse(position, value, str(error).partition("\n")[0])
            else:
                ids.append(n)
                where.append(position)
        return ids, where

    def _refuse(self, position: int, value: Any, reason: str) -> None:
        self.invalid += 1
        if len(self.first_invalid) < self.most:
            text = "" if value is None else shown(str(value))
            text = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
            self.first_invalid.append(Invalid(position, text, reason))

    def _found(self, some: list[Duplicate]) -> None:
        if some:
            self.duplicates += len(some)
            self.first_duplicates = heapq.nsmallest(
                self.most, self.first_duplicates + some, key=lambda found: found.again
            )


def _no_text(value: Any) -> str:
    if type(value) is str:
        return reason(value)
    return "there is no value" if value is None else f"a {type(value).__name__} is no ID"
