"""New IDs as Arrow arrays, for the rows of files."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import frazil
from frazil.errors import ConfigError, FrazilError, brief
from frazil.schemes.arrays import ints
from frazil.tables.new_column import new_column


class Ids:
    """New IDs of a generator, in arrays; counts them and keeps the first and the last.

    ``numeric``: whether every ID is a number that fits a signed column of 64 bits. time_column: the
    column of the rows' moments, if the IDs are of a history.
    """

    first: str | None = None
    last: str | None = None
    count = 0

    def __init__(
        self, generator: frazil.Generator | frazil.History, time_column: str | None = None
    ) -> None:
        self._generator, self._scheme = generator, generator.scheme
        self.time_column = time_column
        plain = replace(self._scheme, prefix="").codec.plain
        self._plain = plain and self._scheme.bits <= 64
        self.numeric = self._plain and self._scheme.signed_safe and not self._scheme.prefix

    def numbers(self, count: int, moments: Any = None) -> Any:
        """The next IDs as an Arrow array of int64; only if they are ``numeric``."""
        return as_arrow(self._next(count, moments).view(np.int64))

    def texts(self, count: int, moments: Any = None) -> Any:
        """The next IDs as an Arrow array of strings."""
        row = self._next(count, moments)
        if self._plain:
            texts = pc.cast(as_arrow(row), pa.string())
            parts = one_text(self._scheme.prefix), texts, one_text("")
            return pc.binary_join_element_wise(*parts) if self._scheme.prefix else texts
        # Texts of every encoding but decimal have one length, so the array is its own buffer.
        encoded = self._scheme.codec.encode_array(row)
        if self._scheme.encoding == "decimal" or self._scheme.group:
            return pa.array(encoded.astype(str))
        return _as_texts(np.ascontiguousarray(encoded), np.arange(count + 1) * encoded.itemsize)

    def _next(self, count: int, moments: Any) -> Any:
        try:
            if self.time_column is not None:
                moments = _moments(moments)
            row = new_column(self._generator, count, "uint64", moments)
        except FrazilError as error:
            index = error.facts.get("index")
            if not isinstance(index, int):
                raise
            place = f"row {self.count + index + 1:,}, column {self.time_column!r}"
            text = str(error).removeprefix(f"element {index}").removeprefix(":").strip()
            raise ConfigError(f"{place}: {text}", **error.facts) from None
        if count:
            first, self.last = map(self._scheme.format, ints(row[[0, -1]]))
            self.first = self.first or first
            self.count += count
        return row


def _moments(column: Any) -> Any:
    """The moments of a column. A text is ISO 8601, in UTC unless it has an offset."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        return column
    made = []
    for index, text in enumerate(column.to_pylist()):
        try:
            made.append(text and datetime.fromisoformat(text))
        except ValueError:
            problem = f"{brief(text)} is not a moment; write it in ISO 8601"
            raise ConfigError(problem, index=index) from None
    return made


# ``pa.array`` and ``pa.scalar`` import pandas where it is installed, to recognise its types. That
# takes a second and 60 MB, more than an audit of a million IDs.


def as_arrow(numbers: Any, valid: Any = None) -> Any:
    """An array of numpy, of integers, as one of Arrow. valid: an array of which are not null."""
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    data = pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(pa.from_numpy_dtype(numbers.dtype), len(numbers), [bits, data])


def _as_texts(data: Any, ends: Any) -> Any:
    """An array of texts in one buffer. ends: where each begins, and where the last one ends."""
    ends = pa.py_buffer(np.asarray(ends, np.int32))
    return pa.StringArray.from_buffers(ends.size // 4 - 1, ends, pa.py_buffer(data))


def one_text(text: str) -> Any:
    """A text as a scalar of Arrow."""
    data = text.encode()
    return _as_texts(data, [0, len(data)])[0]
