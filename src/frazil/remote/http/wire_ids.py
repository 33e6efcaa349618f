"""Packed IDs: big-endian, each in as many whole bytes as the scheme has bits.

They need no parsing, their length gives their number, and numpy reads them directly.
"""

from array import array
from sys import byteorder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def ints(body: bytes, width: int) -> list[int]:
    """Return the IDs of a body, each of ``width`` bytes."""
    if width != 8:
        return [int.from_bytes(body[i : i + width], "big") for i in range(0, len(body), width)]
    found = array("Q", body)
    if byteorder == "little":
        found.byteswap()
    return found.tolist()


def words(body: bytes, width: int) -> "NDArray[np.uint64]":
    """Return the IDs as rows of numpy words, (n, 1), or (n, 2) with the higher half first."""
    import numpy as np

    whole = 8 if width <= 8 else 16
    rows: Any = np.zeros((len(body) // width, whole), dtype=np.uint8)
    rows[:, whole - width :] = np.frombuffer(body, dtype=np.uint8).reshape(-1, width)
    found: NDArray[np.uint64] = rows.view(">u8").astype(np.uint64)
    return found
