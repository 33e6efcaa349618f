"""Numbers and texts by the million: numpy kernels for the codec and the shuffle.

Converting IDs one by one spends most of its time in the interpreter. Here a column of texts is a
matrix of character codes with a text in each row, and the loops run over its few columns. The
kernels get encodings and widths, and report which rows are valid. The code for a single text finds
the fault.

IDs of up to 64 bits are uint64. Wider ones are a structured array with the fields ``hi`` and
``lo``. Only this module loads numpy, at first use.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from frazil.errors import Misuse
from frazil.schemes.alphabet import digit_values, digits_of
from frazil.system.extras import needs

with needs("arrays need numpy", "numpy"):
    import numpy as np
    from numpy.typing import NDArray

WIDE = np.dtype([("hi", "<u8"), ("lo", "<u8")])
_NONE = 0xFFFF  # the value of what is no digit, or no check character
_LOW = (1 << 64) - 1


def empty(count: int, bits: int, kind: str) -> tuple[NDArray[Any], NDArray[np.uint64]]:
    """An array for ``count`` IDs of ``bits`` bits, and its memory as unsigned 64-bit words.

    kind: the dtype of IDs of up to 64 bits.
    """
    if bits <= 64:
        row: NDArray[np.uint64] = np.empty(count, np.uint64)
        return row.view(kind), row
    wide: NDArray[Any] = np.empty(count, WIDE)
    return wide, wide.view(np.uint64)


def filled(spans: Iterable[tuple[int, int]], count: int) -> NDArray[np.uint64]:
    """The ``count`` IDs of spans. A span is a first ID and the number of consecutive IDs."""
    row, at = np.empty(count, np.uint64), 0
    for first, number in spans:
        row[at : at + number] = np.arange(first, first + number, dtype=np.uint64)
        at += number
    return row


def from_ints(numbers: Sequence[int], bits: int) -> NDArray[Any]:
    """Valid IDs of ``bits`` bits as an array."""
    if bits <= 64:
        return np.array(numbers, np.uint64)
    return np.array([(n >> 64, n & _LOW) for n in numbers], dtype=WIDE)


def checked(numbers: Any, limit: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """IDs as uint64, or as WIDE if ``limit`` needs it; and which of them are at most ``limit``.

    ``limit`` is all ones. Raises Misuse if ``numbers`` is not such an array of one dimension.
    """
    wide = limit > _LOW
    row = isinstance(numbers, np.ndarray) and numbers.ndim == 1
    if not row or not (numbers.dtype == WIDE if wide else numbers.dtype.kind in "iu"):
        want = "[('hi', '<u8'), ('lo', '<u8')]" if wide else "'uint64'"
        raise Misuse(
            f"expected IDs as a numpy array of dtype {want}, one dimension, not {_kind(numbers)}"
        )
    if wide:
        return numbers, numbers["hi"] <= np.uint64(limit >> 64)
    values = numbers.astype(np.uint64)
    return values, (values <= np.uint64(limit)) & (numbers >= 0)


def ints(numbers: NDArray[Any]) -> list[int]:
    """The numbers of an array of either kind, as ints."""
    if numbers.dtype == WIDE:
        return [hi << 64 | lo for hi, lo in numbers.tolist()]
    return list(numbers.tolist())


def write(
    values: NDArray[np.uint64], prefix: str, encoding: str, places: int, checks: Sequence[str]
) -> NDArray[np.bytes_]:
    """Texts of ``places`` digits, in decimal without leading zeros, with ``checks[n % count]``.

    Every value must fit ``places`` digits; ``checks`` are of one length, which may be 0.
    """
    start, end, count = len(prefix), len(prefix) + places, len(checks)
    ends = _codes_of("".join(checks)).reshape(count, len(checks[0]))
    matrix = np.zeros((len(values), end + ends.shape[1]), np.uint8)
    matrix[:, :start] = _codes_of(prefix)
    matrix[:, end:] = ends[values % np.uint64(count)]
    digits = digits_of(encoding)
    rest, base, symbols = values, np.uint64(len(digits)), _codes_of(digits)
    for column in range(end - 1, start - 1, -1):
        above = rest // base
        matrix[:, column] = symbols[rest - above * base]
        rest = above
    if encoding == "decimal":
        powers = np.array([10**power for power in range(1, places)], np.uint64)
        sizes = 1 + np.searchsorted(powers, values, side="right") + ends.shape[1]
        matrix[:, start:] = _at_left(matrix[:, start:], sizes)
    return matrix.reshape(-1).view(f"S{matrix.shape[1]}")


def read(
    matrix: NDArray[np.uint8],
    prefix: str,
    encoding: str,
    places: int,
    limit: int,
    checks: Mapping[str, int],
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """The numbers of rows of codes, and which rows ``write`` makes of the numbers 0 to ``limit``.

    ``places`` must be the fewest for the limit. Then the digits before the last one fit 64 bits,
    and the last digit is compared with the limit before it is added. checks: the number modulo
    their count, by check characters.
    """
    start, base = len(prefix), len(digits_of(encoding))
    good: NDArray[np.bool_] = (matrix[:, :start] == _codes_of(prefix)).all(axis=1)
    body = matrix[:, start:]
    if encoding == "decimal":
        count, least = np.count_nonzero(body, axis=1), 1 + body.shape[1] - places
        good &= (count >= least) & ((count == least) | (body[:, 0] != ord("0")))
        body = _at_right(body, count)
    digits = _table(digit_values(encoding))[body[:, :places]]
    good &= (digits != _NONE).all(axis=1)
    values = np.zeros(len(matrix), np.uint64)
    for column in range(places - 1):
        values = values * np.uint64(base) + digits[:, column]
    last, most = digits[:, -1], np.uint64(limit // base)
    good &= (values < most) | ((values == most) & (last <= limit % base))
    values = values * np.uint64(base) + last
    if body.shape[1] > places:
        count = np.uint64(max(checks.values()) + 1)
        good &= _table(checks)[_numbered(body[:, places:])] == values % count
    return values, good


def text_column(texts: Any) -> list[Any] | NDArray[Any]:
    """Texts as a numpy array if they can be one, else as a list."""
    if hasattr(texts, "__array__") and not isinstance(texts, str | bytes):
        texts = np.asarray(texts)
    if isinstance(texts, str | bytes) or (isinstance(texts, np.ndarray) and texts.ndim != 1):
        raise Misuse(f"expected texts as a list of str, not {_kind(texts)}")
    return texts if isinstance(texts, np.ndarray) and texts.dtype.kind in "SU" else list(texts)


def listed(column: list[Any] | NDArray[Any]) -> list[Any]:
    """The texts of a column as ``str``, each byte one character."""
    if isinstance(column, np.ndarray):
        texts: list[Any] = column.tolist()
        return texts if column.dtype.kind == "U" else [text.decode("latin-1") for text in texts]
    return column


def codes(column: list[Any] | NDArray[Any], length: int) -> NDArray[np.uint8] | None:
    """``length`` ASCII codes for each text, padded with zeros; None if a text has no such row."""
    if isinstance(column, np.ndarray):
        unit = np.dtype(np.uint8 if column.dtype.kind == "S" else np.uint32)
        plain = np.ascontiguousarray(column, dtype=column.dtype.newbyteorder("="))
        given = plain.view(unit).reshape(len(column), column.dtype.itemsize // unit.itemsize)
        if (given > 127).any() or given[:, length:].any():
            return None
        matrix = np.zeros((len(column), length), np.uint8)
        matrix[:, : given.shape[1]] = given[:, :length]
        return matrix
    if not all(isinstance(text, str) and len(text) <= length for text in column):
        return None
    if "\0" in "".join(column):
        return None
    joined = "".join([text.ljust(length, "\0") for text in column])
    if not joined.isascii():
        return None
    return np.frombuffer(joined.encode(), np.uint8).reshape(len(column), length)


def permute(numbers: NDArray[Any], tables: Sequence[Sequence[int]]) -> NDArray[Any]:
    """The bitwise OR of ``tables[i][byte i]`` over the bytes of every number, lowest byte first."""
    if numbers.dtype != WIDE:
        return _permuted([numbers], tables)
    words = [numbers["lo"], numbers["hi"]]
    result = np.empty(len(numbers), WIDE)
    result["hi"] = _permuted(words, [[entry >> 64 for entry in table] for table in tables])
    result["lo"] = _permuted(words, [[entry & _LOW for entry in table] for table in tables])
    return result


def _permuted(
    words: Sequence[NDArray[np.uint64]], tables: Sequence[Sequence[int]]
) -> NDArray[np.uint64]:
    result = np.zeros(len(words[0]), np.uint64)
    for i, table in enumerate(tables):
        byte = words[i // 8] >> np.uint64(i % 8 * 8) & np.uint64(255)
        result |= np.array(table, np.uint64)[byte]
    return result


def _codes_of(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode("ascii"), np.uint8)


def _table(values: Mapping[str, int]) -> NDArray[np.uint16]:
    """The value of each text of one length, by the number that its codes are."""
    table = np.full(1 << 8 * len(next(iter(values))), _NONE, np.uint16)
    for text, value in values.items():
        table[int.from_bytes(text.encode("ascii"), "big")] = value
    return table


def _numbered(codes: NDArray[np.uint8]) -> NDArray[np.intp]:
    """The codes of each row as one number."""
    number = np.zeros(len(codes), np.intp)
    for column in codes.T:
        number = number << 8 | column
    return number


def _at_left(body: NDArray[np.uint8], count: NDArray[np.intp]) -> NDArray[np.uint8]:
    """Rows with their last ``count`` characters moved to the beginning, then zero bytes."""
    moved = np.zeros_like(body)
    for n in np.unique(count):
        rows = count == n
        moved[rows, :n] = body[rows, body.shape[1] - n :]
    return moved


def _at_right(body: NDArray[np.uint8], count: NDArray[np.intp]) -> NDArray[np.uint8]:
    """Rows with their first ``count`` characters moved to the end, after digits 0."""
    moved = np.full_like(body, ord("0"))
    for n in np.unique(count[count > 0]):
        rows = count == n
        moved[rows, body.shape[1] - n :] = body[rows, :n]
    return moved


def _kind(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with {value.ndim} dimension(s)"
    return f"a {type(value).__name__}"


def all_constant(numbers: NDArray[Any], mask: int, value: int, most: int) -> NDArray[np.bool_]:
    """Which numbers are from 0 to ``most`` and have ``value`` in the bits of ``mask``."""
    words = numbers.astype(np.uint64)
    fits = (numbers >= 0) & (words <= np.uint64(most))
    same: NDArray[np.bool_] = words & np.uint64(mask) == np.uint64(value)
    return fits & same
