"""Arrays of numpy as arrays of Arrow, over the same memory.

``pa.array`` and ``pa.scalar`` import pandas where it is installed, to recognise its
types. That takes a second and 60 MB, more than an audit of a million IDs. These functions do not.
"""

from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["as_arrow", "one_text"]


def as_arrow(numbers: Any) -> Any:
    """An array of numpy, of integers or bools, as one of Arrow."""
    kind = pa.from_numpy_dtype(numbers.dtype)
    plain = np.ascontiguousarray(numbers)
    if plain.dtype == bool:
        plain = np.packbits(plain, bitorder="little")
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(plain)])


def one_text(data: bytes) -> Any:
    """Bytes as a scalar of Arrow."""
    ends = pa.py_buffer(np.array([0, len(data)], np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, ends, pa.py_buffer(data)])[0]
