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


def one_text(text: str) -> Any:
    """A text as a scalar of Arrow."""
    data = text.encode()
    ends = pa.py_buffer(np.array([0, len(data)], np.int32))
    return pa.Array.from_buffers(pa.string(), 1, [None, ends, pa.py_buffer(data)])[0]


class Ids:
    """New IDs of a generator, in arrays; counts them and keeps the first and the last.

    ``numeric``: whether every ID is a number that fits a signed column of 64 bits.
    """

    def __init__(self, generator: frazil.Generator) -> None:
        self._generator = generator
        scheme = self._scheme = generator.scheme
        self._plain = scheme.encoding == "decimal" and scheme.bits <= 64
        self.numeric = self._plain and scheme.signed_safe and not scheme.prefix
        self.count = 0
        self.first: str | None = None
        self.last: str | None = None

    def numbers(self, count: int) -> Any:
        """The next IDs as an Arrow array of int64; only if they are ``numeric``."""
        return as_arrow(self._next(count).view(np.int64))

    def texts(self, count: int) -> Any:
        """The next IDs as an Arrow array of strings."""
        row = self._next(count)
        if self._plain:
            texts = pc.cast(as_arrow(row), pa.string())
            if not self._scheme.prefix:
                return texts
            return pc.binary_join_element_wise(one_text(self._scheme.prefix), texts, one_text(""))
        # Every encoding but decimal has one width, so the array is its own buffer.
        encoded = self._scheme.codec.encode_array(row)
        if self._scheme.encoding == "decimal":
            return pa.array(encoded.astype(str))
        offsets = np.arange(len(encoded) + 1, dtype=np.int32) * encoded.itemsize
        return pa.StringArray.from_buffers(
            len(encoded), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(encoded))
        )

    def _next(self, count: int) -> Any:
        row = self._generator.array(count)
        if count:
            first, self.last = map(self._scheme.format, ints(row[[0, -1]]))
            self.first = self.first or first
            self.count += count
        return row
