"""IDs as a column: numbers for a typed file, texts for a text, a batch at a time.

``pa.array`` and ``pa.scalar`` import pandas where it is installed, to recognise its
types. That takes a second and 60 MB, more than an audit of a million IDs. ``as_arrow`` and
``one_text`` do not.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import frazil
from frazil.schemes.arrays import ints


class Place(NamedTuple):
    """The new column: its name, and whether it is the last one."""

    column: str
    last: bool


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


class Ids:
    """New IDs of a generator, in arrays; counts them and keeps the first and the last.

    ``numeric``: whether every ID is a number that fits a signed column of 64 bits.
    """

    first: str | None = None
    last: str | None = None
    count = 0

    def __init__(self, generator: frazil.Generator) -> None:
        self._generator, self._scheme = generator, generator.scheme
        self._plain = self._scheme.encoding == "decimal" and self._scheme.bits <= 64
        self.numeric = self._plain and self._scheme.signed_safe and not self._scheme.prefix

    def numbers(self, count: int) -> Any:
        """The next IDs as an Arrow array of int64; only if they are ``numeric``."""
        return as_arrow(self._next(count).view(np.int64))

    def texts(self, count: int) -> Any:
        """The next IDs as an Arrow array of strings."""
        row = self._next(count)
        if self._plain:
            texts = pc.cast(as_arrow(row), pa.string())
            parts = one_text(self._scheme.prefix), texts, one_text("")
            return pc.binary_join_element_wise(*parts) if self._scheme.prefix else texts
        # Every encoding but decimal has one width, so the array is its own buffer.
        encoded = self._scheme.codec.encode_array(row)
        if self._scheme.encoding == "decimal":
            return pa.array(encoded.astype(str))
        return _as_texts(np.ascontiguousarray(encoded), np.arange(count + 1) * encoded.itemsize)

    def _next(self, count: int) -> Any:
        row = self._generator.array(count)
        if count:
            first, self.last = map(self._scheme.format, ints(row[[0, -1]]))
            self.first = self.first or first
            self.count += count
        return row
